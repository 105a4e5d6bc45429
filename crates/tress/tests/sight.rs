//! What the dump says of tasks while sight is on: what each of them waits for, and which task holds it.

#![cfg(all(
    not(loom),
    feature = "extra",
    feature = "net",
    feature = "fs",
    feature = "signal",
    feature = "process"
))]

mod sight {
    mod holders;
    mod kinds;
    mod roots;
    mod support;
    mod switching;
}
