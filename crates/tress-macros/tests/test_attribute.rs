//! `#[tress::test]`: these are tests only because the attribute makes them so.
#![deny(warnings)]

mod fake;

use std::error::Error;

use fake::runtime::calls;

#[tress_macros::test(crate = "fake")]
async fn by_default() {
    assert_eq!(calls(), "current_thread enable_all build");
}

#[tress_macros::test(crate = "fake", start_paused = true, name = "paused")]
async fn paused() {
    assert_eq!(
        calls(),
        "current_thread enable_all start_paused(true) name(paused) build"
    );
}

#[tress_macros::test(crate = "fake", flavor = "multi_thread", worker_threads = 2)]
async fn multi_thread() {
    assert_eq!(calls(), "multi_thread enable_all worker_threads(2) build");
}

#[tress_macros::test(crate = "fake", flavor = "local", unhandled_panic = "shutdown_runtime")]
async fn local() {
    assert_eq!(
        calls(),
        "current_thread enable_all unhandled_panic(ShutdownRuntime) build_local"
    );
}

#[tress_macros::test(crate = "fake")]
async fn question_mark() -> Result<(), Box<dyn Error>> {
    let number: u32 = "12".parse()?;
    assert_eq!(number, 12);
    Ok(())
}

/// Attributes of the harness work on either side.
#[should_panic(expected = "on purpose")]
#[tress_macros::test(crate = "fake")]
async fn panics() {
    panic!("on purpose");
}

#[tress_macros::test(crate = "fake")]
#[ignore = "must not run"]
async fn ignored() {
    panic!("`#[ignore]` was lost");
}

mod nested {
    #[tress_macros::test(crate = "super::fake")]
    pub(crate) async fn in_a_module() {}
}
