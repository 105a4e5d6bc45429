//! Every test on every backend that this machine has, with one thread and with several.
#![allow(dead_code, reason = "each test file uses a part of it")]

#[cfg(target_os = "linux")]
pub mod child;
#[cfg(unix)]
pub mod kinds;
#[cfg(target_os = "linux")]
pub mod limit;
#[cfg(target_os = "linux")]
pub mod memory;

use std::sync::atomic::{AtomicUsize, Ordering};
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
    on_each_runtime_after(|| {}, test);
}

/// As `on_each_runtime`, for tests that are `alone` and count descriptors: one runtime after the other, also
/// with what each has.
#[cfg(target_os = "linux")]
pub fn on_each_runtime_in_turn(test: impl Fn(&Runtime)) {
    on_each_runtime_after(monitors_are_gone, test);
}

fn on_each_runtime_after(before: impl Fn(), test: impl Fn(&Runtime)) {
    for backend in backends() {
        before();
        eprintln!("{backend:?}, current thread");
        test(&current_thread(backend));
        before();
        eprintln!("{backend:?}, two workers");
        test(&multi_thread(backend, 2));
    }
}

/// Waits for the monitors of runtimes that were dropped: a drop does not, and each has a descriptor.
#[cfg(target_os = "linux")]
pub fn monitors_are_gone() {
    until(|| {
        let threads = std::fs::read_dir("/proc/self/task").unwrap();
        // One that has ended meanwhile has no name.
        let names =
            threads.map(|thread| std::fs::read_to_string(thread.unwrap().path().join("comm")));
        !names.flatten().any(|name| name.trim() == "tress-monitor")
    });
}

pub fn on_each_backend(test: impl Fn(IoBackend)) {
    for backend in backends() {
        eprintln!("{backend:?}");
        test(backend);
    }
}

/// A path that nobody else has, removed at the end.
pub struct Name(pub std::path::PathBuf);

impl Name {
    pub fn new() -> Name {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        Name(std::env::temp_dir().join(format!("tress-net-{}-{n}", std::process::id())))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        // It may not have come to be.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A number that the environment may set, for runs that take longer.
pub fn setting(variable: &str, default: usize) -> usize {
    match std::env::var(variable) {
        Ok(value) => value.parse().expect("a number"),
        Err(_) => default,
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

/// How many of them are sockets: a driver, made when it is needed, has none.
#[cfg(target_os = "linux")]
pub fn sockets() -> usize {
    let open = std::fs::read_dir("/proc/self/fd").unwrap();
    // One that was closed meanwhile cannot be read: the one for this directory, at the end.
    open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target.to_string_lossy().starts_with("socket:"))
        .count()
}

/// Waits, without sleeping, for a condition that another thread makes true.
pub fn until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::yield_now();
    }
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
