//! Stands in for `tress`: a builder that writes down what is asked of it, and a runtime that only
//! knows `block_on`.
//!
//! The integration tests use it as a module; `diagnostics.rs` compiles it as a crate of the name
//! `tress`.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod runtime {
    use std::cell::RefCell;
    use std::future::Future;
    use std::io;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    thread_local! {
        static CALLS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    }

    /// What the builder of the running body was asked for, in order.
    pub fn calls() -> String {
        CALLS.with_borrow(|calls| calls.join(" "))
    }

    fn call(text: impl Into<String>) {
        CALLS.with_borrow_mut(|calls| calls.push(text.into()));
    }

    pub struct Builder(());

    #[derive(Debug)]
    pub enum UnhandledPanic {
        Ignore,
        ShutdownRuntime,
    }

    #[derive(Default)]
    pub struct LocalOptions(());

    impl Builder {
        pub fn new_multi_thread() -> Builder {
            call("multi_thread");
            Builder(())
        }

        pub fn new_current_thread() -> Builder {
            call("current_thread");
            Builder(())
        }

        pub fn enable_all(&mut self) -> &mut Self {
            call("enable_all");
            self
        }

        pub fn worker_threads(&mut self, number: usize) -> &mut Self {
            call(format!("worker_threads({number})"));
            self
        }

        pub fn start_paused(&mut self, paused: bool) -> &mut Self {
            call(format!("start_paused({paused})"));
            self
        }

        pub fn name(&mut self, name: impl Into<String>) -> &mut Self {
            call(format!("name({})", name.into()));
            self
        }

        pub fn unhandled_panic(&mut self, action: UnhandledPanic) -> &mut Self {
            call(format!("unhandled_panic({action:?})"));
            self
        }

        pub fn build(&mut self) -> io::Result<Runtime> {
            call("build");
            Ok(Runtime(()))
        }

        pub fn build_local(&mut self, _options: LocalOptions) -> io::Result<LocalRuntime> {
            call("build_local");
            Ok(LocalRuntime(()))
        }
    }

    pub struct Runtime(());

    pub struct LocalRuntime(());

    impl Runtime {
        pub fn block_on<F: Future>(&self, future: F) -> F::Output {
            block_on(future)
        }
    }

    impl LocalRuntime {
        pub fn block_on<F: Future>(&self, future: F) -> F::Output {
            block_on(future)
        }
    }

    fn block_on<F: Future>(future: F) -> F::Output {
        let mut future = pin!(future);
        let output = loop {
            if let Poll::Ready(output) = future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
            {
                break output;
            }
        };
        CALLS.with_borrow_mut(Vec::clear);
        output
    }
}
