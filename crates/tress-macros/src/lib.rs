//! The attribute macros of `tress`, [`main`](macro@main) and [`test`](macro@test), and that of `tress-sim`,
//! [`sim_test`](macro@sim_test).
//!
//! Use them through those crates, which re-export them. This crate has no dependencies and
//! compiles in about a second.
//!
//! # How it works
//!
//! An attribute macro is given the tokens of its arguments and of the item it stands on, and they
//! go through these files:
//!
//! 1. `token` mirrors them into a type that does not need a compiler behind it, so that the parsers
//!    run in unit tests.
//! 2. `args` reads the arguments into settings, `function` finds the parts of the function.
//! 3. `diagnostic` is what both report. A mistake is reported at its own token and never stops the
//!    expansion: the function is still there afterwards, and the editor still understands its body.
//! 4. `expand` puts the function together again.
#![forbid(unsafe_code)]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![warn(missing_docs, missing_debug_implementations)]

mod args;
mod diagnostic;
mod expand;
mod function;
#[cfg(test)]
mod lex;
mod sim_test;
mod token;

use proc_macro::TokenStream;

/// The two attributes, most of whose work is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attribute {
    Main,
    Test,
}

impl Attribute {
    /// The last segment of the attribute's path.
    fn name(self) -> &'static str {
        match self {
            Attribute::Main => "main",
            Attribute::Test => "test",
        }
    }
}

/// Turns an `async fn` into a function that builds a runtime and runs the body on it to completion.
///
/// The function keeps its attributes, visibility, generics and return type; only `async` is removed. It
/// is usually `main`, but can be any function without arguments. Each call builds a runtime of its own
/// and shuts it down before it returns, so the function must not be called inside another runtime.
///
/// The body runs on the calling thread and need not be `Send`. It is not a spawned task: on the
/// multi-thread flavour, work that should run on the workers has to be spawned. To configure more than
/// the arguments allow, use `tress::runtime::Builder`.
///
/// # Arguments
///
/// Any number of them, separated by commas, in any order.
///
/// | argument | value | default | meaning |
/// |---|---|---|---|
/// | `flavor` | `"multi_thread"`, `"current_thread"` or `"local"` | `"multi_thread"` | the scheduler that runs the tasks; `"local"` can also spawn tasks that are not `Send` |
/// | `worker_threads` | an integer of at least 1 | as the runtime's builder | the number of workers; `"multi_thread"` only |
/// | `start_paused` | `true` or `false` | `false` | whether the clock starts paused; `"current_thread"` and `"local"` only |
/// | `name` | a string | none | the name of the runtime |
/// | `unhandled_panic` | `"ignore"` or `"shutdown_runtime"` | as the runtime's builder | what a panic in a spawned task does to the runtime |
/// | `crate` | a path, in a string | `"::tress"` | where the expansion finds `tress`, should it be renamed or re-exported |
///
/// # Examples
///
/// ```ignore
/// #[tress::main]
/// async fn main() {
///     let answer = tress::spawn(async { 42 });
///     println!("{}", answer.await.unwrap());
/// }
/// ```
///
/// The return type is the function's own, so `?` works:
///
/// ```ignore
/// #[tress::main(flavor = "current_thread")]
/// async fn main() -> std::io::Result<()> {
///     let listener = tress::net::TcpListener::bind("127.0.0.1:0").await?;
///     println!("listening on {}", listener.local_addr()?);
///     Ok(())
/// }
/// ```
///
/// A runtime with a name and four workers, in a function other than `main`:
///
/// ```ignore
/// #[tress::main(worker_threads = 4, name = "import")]
/// async fn import() -> usize {
///     // …
/// #   0
/// }
///
/// fn main() {
///     println!("{} rows", import());
/// }
/// ```
///
/// A `tress` that is re-exported under another path:
///
/// ```ignore
/// #[tress::main(crate = "my_framework::rt")]
/// async fn main() {}
/// ```
///
/// The second example expands to about this:
///
/// ```ignore
/// fn main() -> std::io::Result<()> {
///     let body = async { /* … */ };
///     let runtime = ::tress::runtime::Builder::new_current_thread()
///         .enable_all()
///         .build()
///         .expect("the async runtime could not be started");
///     runtime.block_on(body)
/// }
/// ```
///
/// # Panics
///
/// The function panics if the runtime cannot be built, for example because the system refuses to create
/// a thread.
#[proc_macro_attribute]
pub fn main(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(Attribute::Main, args, item)
}

/// Turns an `async fn` into a `#[test]` that runs the body on a runtime of its own.
///
/// Each test builds and shuts down its own runtime, by default a current-thread one. `#[ignore]`,
/// `#[should_panic]` and return types such as `Result` work as they do for any other test. A second
/// `#[test]` on the function is an error.
///
/// # Arguments
///
/// Any number of them, separated by commas, in any order.
///
/// | argument | value | default | meaning |
/// |---|---|---|---|
/// | `flavor` | `"multi_thread"`, `"current_thread"` or `"local"` | `"current_thread"` | the scheduler that runs the tasks; `"local"` can also spawn tasks that are not `Send` |
/// | `worker_threads` | an integer of at least 1 | as the runtime's builder | the number of workers; `"multi_thread"` only |
/// | `start_paused` | `true` or `false` | `false` | whether the clock starts paused; `"current_thread"` and `"local"` only |
/// | `name` | a string | none | the name of the runtime |
/// | `unhandled_panic` | `"ignore"` or `"shutdown_runtime"` | as the runtime's builder | what a panic in a spawned task does to the runtime |
/// | `crate` | a path, in a string | `"::tress"` | where the expansion finds `tress`, should it be renamed or re-exported |
///
/// # Examples
///
/// ```ignore
/// #[tress::test]
/// async fn adds_up() {
///     assert_eq!(tress::spawn(async { 1 + 1 }).await.unwrap(), 2);
/// }
/// ```
///
/// With a paused clock, an hour passes as soon as there is nothing else to do:
///
/// ```ignore
/// #[tress::test(start_paused = true)]
/// async fn sleeps_for_an_hour() {
///     let hour = std::time::Duration::from_secs(3600);
///     let start = tress::time::Instant::now();
///     tress::time::sleep(hour).await;
///     assert!(start.elapsed() >= hour);
/// }
/// ```
///
/// A test on two workers that can return an error:
///
/// ```ignore
/// #[tress::test(flavor = "multi_thread", worker_threads = 2)]
/// async fn reads_the_manifest() -> std::io::Result<()> {
///     let text = tress::fs::read_to_string("Cargo.toml").await?;
///     assert!(text.contains("[package]"));
///     Ok(())
/// }
/// ```
///
/// # Panics
///
/// The test fails if the runtime cannot be built, for example because the system refuses to create a
/// thread.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::expand(Attribute::Test, args, item)
}

/// Turns a function into a `#[test]` that runs it with many seeds, each in a process of its own.
///
/// The function makes a simulation with `tress_sim::Builder::new()`, which takes the seed of the run. It fails if it panics,
/// returns an error, takes too much real time or ends its process. Then no further seeds are run, and the test says which one it
/// was and how to run it again. `#[ignore]` and `#[should_panic]` work as they do for any other test: one that should panic passes if
/// some run does.
///
/// The environment can say which seeds are run and how: see the module `tress_sim::runner`.
///
/// # Arguments
///
/// | argument | value | default | meaning |
/// |---|---|---|---|
/// | `seeds` | an integer of at least 1 | 100 | the number of seeds, from 0 on |
/// | `sometimes` | `"note"`, `"require"` or `"ignore"` | `"note"` | what becomes of `assert_sometimes!` and `reachable!` anywhere in the program that hold in no run: they are listed, the test fails, or nothing |
/// | `crate` | a path, in a string | `"::tress_sim"` | where the expansion finds `tress_sim`, should it be renamed or re-exported |
///
/// # Examples
///
/// ```ignore
/// use std::time::Duration;
/// use tress_sim::Builder;
///
/// #[tress_sim::test(seeds = 200)]
/// fn a_day_is_over_at_once() -> tress_sim::Result {
///     let day = Duration::from_secs(24 * 60 * 60);
///     let mut sim = Builder::new().simulation_duration(2 * day).build();
///     sim.client("sleeper", async move {
///         tokio::time::sleep(day).await;
///         Ok(())
///     });
///     sim.run()
/// }
/// ```
#[proc_macro_attribute]
pub fn sim_test(args: TokenStream, item: TokenStream) -> TokenStream {
    sim_test::expand(args, item)
}
