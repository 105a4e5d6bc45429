//! What several tests need.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::{Arc, Mutex};
use tress_actor::{ExitReason, Host, Lifecycle, Message, Pid, ProcessError};

/// Runs a test on a runtime with so many workers.
pub fn run<F: Future>(workers: usize, test: F) -> F::Output {
    let runtime = tress::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test)
}

pub fn host() -> Host {
    Host::builder("test").start().unwrap()
}

/// A hook that remembers what it saw.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Log>>);

#[derive(Default)]
pub struct Log {
    pub started: Vec<Pid>,
    pub ended: Vec<(Pid, String)>,
    pub undeliverable: Vec<(Pid, Option<u64>)>,
}

impl Seen {
    pub fn log<R>(&self, look: impl FnOnce(&Log) -> R) -> R {
        look(&self.0.lock().unwrap())
    }
}

impl Lifecycle for Seen {
    fn on_start(&self, pid: Pid, _: Option<Pid>) -> Result<(), ProcessError> {
        self.0.lock().unwrap().started.push(pid);
        Ok(())
    }

    fn on_exit(&self, pid: Pid, reason: &ExitReason) {
        self.0.lock().unwrap().ended.push((pid, reason.to_string()));
    }

    fn on_undeliverable(&self, target: Pid, message: &Message) {
        let number = message.payload.downcast_ref::<u64>().copied();
        self.0.lock().unwrap().undeliverable.push((target, number));
    }
}
