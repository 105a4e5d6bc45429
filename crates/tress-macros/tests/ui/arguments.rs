//! Mistakes in the arguments: one message each, at the argument.

#[tress_macros::main(threads = 4)] //~ ERROR unknown argument `threads`: expected `flavor`, `worker_threads`, `start_paused`, `name`, `unhandled_panic` or `crate`
async fn unknown() {}

#[tress_macros::main(
    name = "a",
    name = "b", //~ ERROR `name` is given more than once
)]
async fn duplicate() {}

#[tress_macros::main(
    flavor = "threaded", //~ ERROR `flavor` cannot be "threaded": expected `"multi_thread"`, `"current_thread"` or `"local"`
    worker_threads = "4", //~ ERROR `worker_threads` expects an integer literal of at least 1
    start_paused = "true", //~ ERROR `start_paused` expects `true` or `false`
    name = 'n', //~ ERROR `name` expects a string literal
    unhandled_panic = "abort", //~ ERROR `unhandled_panic` cannot be "abort": expected `"ignore"` or `"shutdown_runtime"`
    crate = "a b", //~ ERROR `crate` expects a path
)]
async fn values() -> Result<u8, std::num::ParseIntError> {
    "1".parse()
}

#[tress_macros::main(
    flavor = "current_thread",
    worker_threads = 2, //~ ERROR `worker_threads` needs the flavor with workers: add `flavor = "multi_thread"`
)]
async fn workers() {}

#[tress_macros::main(
    start_paused = true, //~ ERROR `start_paused` needs a flavor with a single thread: add `flavor = "current_thread"` or `flavor = "local"`
)]
async fn paused() {}

#[tress_macros::main(worker_threads = 0)] //~ ERROR `worker_threads` must be at least 1
async fn zero() {}

#[tress_macros::main(flavor = "local", flavour = "local")] //~ ERROR unknown argument `flavour`
async fn main() {
    unknown();
    duplicate();
    let _ = values();
    workers();
    paused();
    zero();
}
