//! Channels, groups of futures and locks.
