//! Values that panic, or call back into what they are part of, when they are woken, cloned, dropped or printed.

mod tasks;
