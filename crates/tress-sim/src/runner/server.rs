//! The process that runs seeds: it is told one after the other, and forks for each.
//!
//! Two runs of a seed are the same only if they start alike, whatever has run before. So this process does not allocate
//! once it has started: what a fork finds in memory is always the same.

use super::page::{self, Page, state};
use super::{fixed, place, present};
use std::any::Any;
use std::ffi::c_int;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The first message: it has started.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Hello {
    /// Addresses are not the same in each process.
    pub(super) has_random_addresses: u64,
}

/// The message at the end of a run.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(super) struct Ended {
    /// As `waitpid` has it.
    pub(super) status: c_int,
    pub(super) timed_out: c_int,
}

/// Runs seeds until there are no more commands.
pub(super) fn serve(body: &dyn Fn() -> Result<(), String>) -> ! {
    let page = map();
    place::watch();
    wait_for_main_thread();
    // SAFETY: the argument asks for the present value.
    let personality = unsafe { libc::personality(0xffff_ffff) };
    let hello = Hello {
        has_random_addresses: u64::from(
            personality == -1 || personality & fixed::ADDR_NO_RANDOMIZE == 0,
        ),
    };
    send(&hello);
    loop {
        let mut seed = [0u8; 8];
        // SAFETY: the buffer has that size.
        let length = unsafe { libc::read(fixed::COMMANDS, seed.as_mut_ptr().cast(), seed.len()) };
        if length != seed.len() as isize {
            // There is nobody left to run seeds for.
            exit(0);
        }
        let _ = std::io::stdout().flush();
        // SAFETY: no other thread of this process holds a lock: the only one is the main thread, which waits.
        match unsafe { libc::fork() } {
            0 => run(u64::from_ne_bytes(seed), page, body),
            -1 => fail("cannot fork"),
            child => send(&wait(child, page)),
        }
    }
}

/// Maps the page that is shared with the process that has started this one, and with runs.
fn map() -> &'static Page {
    let (size, access) = (size_of::<Page>(), libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a new mapping; the file has that size. It stays for ever.
    unsafe {
        let at = libc::mmap(
            ptr::null_mut(),
            size,
            access,
            libc::MAP_SHARED,
            fixed::PAGE,
            0,
        );
        if at == libc::MAP_FAILED {
            fail("cannot map memory");
        }
        &*at.cast::<Page>()
    }
}

/// Waits until the main thread, which has started this one, waits for it: then it does not change memory any more.
fn wait_for_main_thread() {
    // SAFETY: these only return numbers.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    if is_main {
        return;
    }
    // Written to an array, since a text would be allocated, longer or shorter with the number of the process.
    let mut path = [0u8; 64];
    // SAFETY: only returns a number.
    let process = unsafe { libc::getpid() };
    if write!(&mut path[..63], "/proc/self/task/{process}/syscall").is_err() {
        return;
    }
    // Some systems do not show it; then a moment is enough in practice.
    for _ in 0..100_000 {
        match starts_with_futex(&path) {
            Some(true) => return,
            Some(false) => std::thread::yield_now(),
            None => return std::thread::sleep(std::time::Duration::from_millis(5)),
        }
    }
}

/// Returns whether the system call that the file shows is that for locks, or `None` if there is no such file.
fn starts_with_futex(path: &[u8; 64]) -> Option<bool> {
    let mut shown = [0u8; 8];
    // SAFETY: the path ends with a zero; the buffer has that size.
    unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        libc::read(file, shown.as_mut_ptr().cast(), shown.len());
        libc::close(file);
    }
    let number = shown.split(|&byte| byte == b' ').next()?;
    Some(std::str::from_utf8(number).ok()?.parse() == Ok(libc::SYS_futex))
}

fn send<T: Copy>(message: &T) {
    // SAFETY: the message is plain numbers without gaps.
    let length = unsafe {
        libc::write(
            fixed::RESULTS,
            ptr::from_ref(message).cast(),
            size_of::<T>(),
        )
    };
    if length != size_of::<T>() as isize {
        exit(0);
    }
}

fn exit(code: c_int) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

fn fail(what: &str) -> ! {
    eprintln!("tress-sim: {what}: {}", std::io::Error::last_os_error());
    exit(70)
}

/// Waits until a run has ended, or has taken too much time.
fn wait(child: libc::pid_t, page: &Page) -> Ended {
    let end = Instant::now() + std::time::Duration::from_millis(page.limit.load(Ordering::Relaxed));
    let mut ended = Ended::default();
    // SAFETY: plain system calls on descriptors and on the process that was started here.
    unsafe {
        let descriptor = libc::syscall(libc::SYS_pidfd_open, child, 0) as c_int;
        if descriptor < 0 {
            fail("cannot wait for a run");
        }
        loop {
            let mut waited = [
                libc::pollfd {
                    fd: descriptor,
                    events: libc::POLLIN,
                    revents: 0,
                },
                // An error or the other end closed: there is nobody left to run seeds for.
                libc::pollfd {
                    fd: fixed::COMMANDS,
                    events: 0,
                    revents: 0,
                },
            ];
            let left = end.saturating_duration_since(Instant::now()).as_millis();
            let left = c_int::try_from(left)
                .unwrap_or(c_int::MAX)
                .saturating_add(1);
            let ready = libc::poll(waited.as_mut_ptr(), 2, left);
            if waited[1].revents != 0 {
                libc::kill(child, libc::SIGKILL);
                exit(0);
            }
            if waited[0].revents != 0 {
                break;
            }
            if ready == 0 && Instant::now() >= end {
                ended.timed_out = 1;
                libc::kill(child, libc::SIGKILL);
                break;
            }
        }
        libc::close(descriptor);
        while libc::waitpid(child, &mut ended.status, 0) == -1 {
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                fail("cannot wait for a run");
            }
        }
    }
    ended
}

/// Runs a seed, and ends the process.
fn run(seed: u64, page: &'static Page, body: &dyn Fn() -> Result<(), String>) -> ! {
    // SAFETY: this process has just been forked, and owns these descriptors.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::dup2(fixed::OUT, 1);
        libc::dup2(fixed::ERR, 2);
        for descriptor in [fixed::COMMANDS, fixed::RESULTS, fixed::OUT, fixed::ERR] {
            libc::close(descriptor);
        }
    }
    page::set(page);
    present::begin(seed);
    let (state, text, place) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => (state::PASSED, String::new(), String::new()),
        Ok(Err(text)) => (state::FAILED, text, String::new()),
        Err(panic) => {
            let text = panic_text(&*panic).to_string();
            let place = place::of_panic(&text);
            (state::PANICKED, text, place)
        }
    };
    let _ = std::io::stdout().flush();
    // SAFETY: flushes all streams of the C library.
    unsafe { libc::fflush(ptr::null_mut()) };
    page.end(state, &text, &place);
    exit(if state == state::PASSED { 0 } else { 1 })
}

/// Returns the message of a panic.
pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let string = panic.downcast_ref::<String>().map(String::as_str);
    let string = string.or_else(|| panic.downcast_ref::<&str>().copied());
    string.unwrap_or("the value of the panic is no text")
}
