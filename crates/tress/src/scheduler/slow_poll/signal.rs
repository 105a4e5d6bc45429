//! The stack of another thread, captured by a signal that makes it write down where it is.
//!
//! The signal is SIGURG: ignored by default, so that a late one does no harm, and hardly used. A handler installed
//! before still gets the signals that are not ours. The handler calls glibc's `backtrace`, which allocates nothing
//! after its first call; that is made beforehand. It follows the unwind tables, whose list glibc has kept without a
//! lock since 2.35; before that, a thread which is interrupted while it loads a library could wait for itself.
//!
//! One request at a time, in one word: idle, the thread asked, being answered, answered. The frames belong to the
//! handler while it answers, and to the asking thread before and after.

use super::Backtrace;
use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicI64, AtomicUsize, Mutex};
use crate::sys::{clock, keep_errno, thread};
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

const SIGNAL: i32 = libc::SIGURG;
const MAX_FRAMES: usize = 64;
/// How long to wait for an answer. A thread in an uninterruptible system call gives none.
const PATIENCE: Duration = Duration::from_millis(100);

const IDLE: i64 = 0;
const ANSWERING: i64 = -1;
const ANSWERED: i64 = -2;

/// Above zero: the thread that is asked.
static REQUEST: AtomicI64 = AtomicI64::new(IDLE);
static FRAMES: [AtomicUsize; MAX_FRAMES] = [const { AtomicUsize::new(0) }; MAX_FRAMES];
static LEN: AtomicUsize = AtomicUsize::new(0);
/// Held by the thread that asks.
static ASKING: Mutex<()> = Mutex::new(());
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Returns the kernel's id of this thread.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: it only reads the id.
    let id = unsafe { libc::syscall(libc::SYS_gettid) };
    id as u64
}

/// Installs the handler, once, and lets `backtrace` load what it needs.
pub(super) fn prepare() {
    PREVIOUS.get_or_init(|| {
        let mut frames = [ptr::null_mut::<c_void>(); 4];
        // SAFETY: room for four frames. The structures are plain data, and the handler has the signature
        // that SA_SIGINFO asks for.
        unsafe {
            libc::backtrace(frames.as_mut_ptr(), frames.len() as i32);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            let mut previous: libc::sigaction = std::mem::zeroed();
            libc::sigaction(SIGNAL, &action, &mut previous);
            previous
        }
    });
}

/// Returns the frames of a thread of this process, or `None` if it does not answer.
pub(super) fn capture(thread: u64) -> Option<Backtrace> {
    let _asking = ASKING.lock();
    let asked = REQUEST.compare_exchange(IDLE, thread as i64, Ordering::AcqRel, Ordering::Relaxed);
    if asked == Err(ANSWERED) {
        // The answer to a request that was given up.
        REQUEST.store(thread as i64, Ordering::Release);
    } else {
        asked.ok()?;
    }
    // SAFETY: a thread that is gone is an error, and its number is not given to another process's.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, SIGNAL) };
    let start = clock::now();
    while sent == 0
        && REQUEST.load(Ordering::Acquire) != ANSWERED
        && clock::elapsed(start) < PATIENCE
    {
        thread::sleep(Duration::from_micros(200));
    }
    // Take the question back, unless it is being answered: then the next one finds it so.
    let _ = REQUEST.compare_exchange(thread as i64, IDLE, Ordering::AcqRel, Ordering::Relaxed);
    if REQUEST.load(Ordering::Acquire) != ANSWERED {
        return None;
    }
    let len = LEN.load(Ordering::Relaxed);
    let frames = FRAMES[..len].iter().map(|f| f.load(Ordering::Relaxed));
    let frames = frames.collect();
    REQUEST.store(IDLE, Ordering::Release);
    Some(Backtrace::new(frames))
}

extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let mine = REQUEST.compare_exchange(
        thread_id() as i64,
        ANSWERING,
        Ordering::AcqRel,
        Ordering::Relaxed,
    );
    if mine.is_err() {
        return pass_on(signal, info, context);
    }
    keep_errno(|| {
        let mut frames = [ptr::null_mut::<c_void>(); MAX_FRAMES];
        // SAFETY: there is room for `MAX_FRAMES` frames.
        let len = unsafe { libc::backtrace(frames.as_mut_ptr(), MAX_FRAMES as i32) };
        let frames = &frames[..usize::try_from(len).unwrap_or(0)];
        // The handler's own frames come first.
        // SAFETY: the context is what the kernel saved.
        let pc = unsafe { interrupted_at(context) };
        let start = frames.iter().position(|frame| frame.addr() == pc);
        let frames = &frames[start.unwrap_or(0)..];
        for (slot, frame) in FRAMES.iter().zip(frames) {
            slot.store(frame.addr(), Ordering::Relaxed);
        }
        LEN.store(frames.len(), Ordering::Relaxed);
    });
    REQUEST.store(ANSWERED, Ordering::Release);
}

/// # Safety
/// `context` is what the kernel gave to a signal handler.
unsafe fn interrupted_at(context: *mut c_void) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: by the caller's promise.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        return (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return (*context).uc_mcontext.pc as usize;
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            let _ = context;
            0
        }
    }
}

/// Passes a signal that is not ours on to the handler installed before.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(previous) = PREVIOUS.get() else {
        return;
    };
    let handler = previous.sa_sigaction;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        return;
    }
    // SAFETY: what was installed is a handler of the kind that its flags say.
    unsafe {
        if previous.sa_flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                std::mem::transmute(handler);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(i32) = std::mem::transmute(handler);
            handler(signal);
        }
    }
}
