//! An executor around one driver, and every test on every backend that this machine has.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use tress_driver::{Choice, Config, Driver};

/// The backends that can be had here, with their names.
pub fn backends() -> Vec<(&'static str, Choice)> {
    let mut all = vec![("readiness", Choice::Readiness)];
    match Driver::new(Config::new().backend(Choice::Uring)) {
        Ok(_) => all.push(("uring", Choice::Uring)),
        Err(error) => eprintln!("without the uring backend: {error}"),
    }
    all
}

/// Runs a test with a new driver of each backend.
pub fn on_each_backend(test: impl Fn(Arc<Driver>)) {
    for (name, choice) in backends() {
        eprintln!("backend {name}");
        test(driver(choice));
    }
}

pub fn driver(choice: Choice) -> Arc<Driver> {
    Arc::new(Driver::new(Config::new().backend(choice)).expect("the driver can be made"))
}

struct Unpark(Arc<Driver>);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs one future; parks in the driver while it waits.
pub fn block_on<T>(driver: &Arc<Driver>, future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(driver.clone())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        driver.park(None).expect("the driver can wait");
    }
}

/// Parks until the condition holds; every round waits for an event of the driver.
pub fn park_until(driver: &Driver, mut condition: impl FnMut() -> bool) {
    while !condition() {
        driver.park(None).expect("the driver can wait");
    }
}

/// A waker that counts.
#[derive(Default)]
pub struct Count(AtomicUsize);

impl Count {
    pub fn new() -> (Arc<Count>, Waker) {
        let count = Arc::new(Count::default());
        (count.clone(), count.into())
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// The descriptors this process has open.
#[cfg(target_os = "linux")]
pub fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The version of the running kernel.
#[cfg(target_os = "linux")]
pub fn kernel() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).map(|n| n.trim().parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// Has a system call fail on the thread that calls what this returns, for good. That makes system calls only.
#[cfg(target_os = "linux")]
pub fn denial(
    call: libc::c_long,
    errno: i32,
) -> impl FnMut() -> std::io::Result<()> + Send + Sync + 'static {
    let step = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let denied = libc::SECCOMP_RET_ERRNO | errno as u32;
    let mut program = [
        // The number of the call is at the start of what a filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            call as u32,
            0,
            1,
        ),
        step(libc::BPF_RET | libc::BPF_K, denied, 0, 0),
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
    ];
    move || {
        let filter = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: plain calls; the filter is readable.
        let installed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(
                    libc::PR_SET_SECCOMP,
                    libc::SECCOMP_MODE_FILTER,
                    &raw const filter,
                ) == 0
        };
        installed
            .then_some(())
            .ok_or_else(std::io::Error::last_os_error)
    }
}
