//! Buffers and descriptors that the kernel has in hand.
