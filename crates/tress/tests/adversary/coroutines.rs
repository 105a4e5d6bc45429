//! Coroutines that suspend, unwind or end where nobody expects it.
