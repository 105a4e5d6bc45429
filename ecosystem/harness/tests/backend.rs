//! The harness itself: the right backend, and leftovers that are noticed.

use harness::{Left, crowd, run, within};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tokio::net::TcpListener;

const _: () = tokio::__tress;

#[test]
fn runtimes_use_the_backend_that_is_asked_for() {
    run(|| async {
        let sum: usize = crowd(50, |n| async move { n }).await.into_iter().sum();
        assert_eq!(sum, 1225);
    });
}

#[test]
fn a_descriptor_that_is_left_is_noticed() {
    let before = Left::now();
    let kept = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(
        catch_unwind(AssertUnwindSafe(
            || before.assert_no_more_after(std::time::Duration::ZERO)
        ))
        .is_err()
    );
    drop(kept);
    before.assert_no_more();
}

#[test]
fn a_task_that_is_left_is_noticed() {
    let left = catch_unwind(|| {
        run(|| async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            tokio::spawn(async move { listener.accept().await.map(drop) });
        });
    });
    let said = left.unwrap_err().downcast::<String>().unwrap();
    assert!(said.contains("tasks are left running"), "{said}");
}

#[test]
#[should_panic(expected = "a step")]
fn a_step_that_hangs_is_named() {
    run(|| within("a step", std::future::pending()));
}
