//! Workers, hooks and threads that fail.
