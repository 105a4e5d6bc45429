//! Every test on every backend that this machine has, with one thread and with several.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use tress::runtime::{Builder, IoBackend, Runtime};

fn backends() -> Vec<IoBackend> {
    let mut all = vec![IoBackend::Readiness];
    let mut config = tress_driver::Config::new();
    match tress_driver::Driver::new(config.backend(IoBackend::Uring)) {
        Ok(_) => all.push(IoBackend::Uring),
        Err(error) => eprintln!("without the uring backend: {error}"),
    }
    all
}

pub fn current_thread(backend: IoBackend) -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().io_backend(backend).build().unwrap()
}

pub fn multi_thread(backend: IoBackend, workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_all();
    builder.io_backend(backend).build().unwrap()
}

/// Runs a test on a runtime of each kind and backend.
pub fn on_each_runtime(test: impl Fn(&Runtime)) {
    for backend in backends() {
        eprintln!("{backend:?}, current thread");
        test(&current_thread(backend));
        eprintln!("{backend:?}, two workers");
        test(&multi_thread(backend, 2));
    }
}

pub fn on_each_backend(test: impl Fn(IoBackend)) {
    for backend in backends() {
        eprintln!("{backend:?}");
        test(backend);
    }
}

/// For tests that count descriptors: nobody else opens any meanwhile.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many descriptors this process has.
#[cfg(target_os = "linux")]
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Pseudo-random numbers, the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}
