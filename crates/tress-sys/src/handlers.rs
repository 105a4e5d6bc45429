//! Handlers of signals that leave those that were there before them in their place.

use crate::atomic::Ordering;
use crate::keep_errno;
use crate::plain::{AtomicPtr, Mutex};
use std::io;
use std::ptr;

/// Length of a table by the numbers of signals: no system has more of them.
pub const SIGNALS: usize = 128;

/// Signals that cannot be handled, or mean that the thread that caused them cannot go on.
pub const UNFIT: [i32; 6] = [
    libc::SIGKILL,
    libc::SIGSTOP,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGFPE,
];

/// A handler that wants to know more than the number.
pub type Informed = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// One function that handles signals, in a static of its own.
///
/// A handler that somebody else had installed before goes on being called, after ours. It is never freed: a
/// handler may be running at any time. Earlier handlers are published with release and found with acquire.
#[derive(Debug)]
pub struct Handlers {
    /// What was there, by the numbers of the signals. Null where there was no function.
    earlier: [AtomicPtr<libc::sigaction>; SIGNALS],
    /// The signals that have the function; held while it is installed.
    handled: Mutex<Vec<i32>>,
}

impl Handlers {
    /// Creates one that handles no signal yet.
    pub const fn new() -> Self {
        Handlers {
            earlier: [const { AtomicPtr::new(ptr::null_mut()) }; SIGNALS],
            handled: Mutex::new(Vec::new()),
        }
    }

    /// Has `handler` called when the signal comes, if it is not yet. It does nothing but call
    /// [`handle`](Self::handle) of this very value.
    ///
    /// # Errors
    /// Any error of `sigaction(2)`.
    pub fn install(&'static self, signal: i32, handler: Informed) -> io::Result<()> {
        let mut handled = self.handled.lock();
        if handled.contains(&signal) {
            return Ok(());
        }
        // SAFETY: all zero is a valid `sigaction`.
        let mut found: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: nothing is changed, and there is room for the answer.
        checked(unsafe { libc::sigaction(signal, ptr::null(), &raw mut found) })?;
        // Known before our handler is there, which may be called at once.
        self.remember(signal, &found);
        // SAFETY: all zero is a valid `sigaction`, and everything that matters is set below.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK | libc::SA_SIGINFO;
        // What it has blocked while it runs, and hears of, stays so for an earlier handler.
        let earlier = is_function(&found).then_some(&found);
        action.sa_mask = all_but_faults(earlier);
        action.sa_flags |= libc::SA_NOCLDSTOP & earlier.map_or(!0, |earlier| earlier.sa_flags);
        let mut replaced = found;
        // SAFETY: the handler does only what a handler may do, and is there as long as the process.
        checked(unsafe { libc::sigaction(signal, &raw const action, &raw mut replaced) })?;
        // Another thread may have put its own there since we looked.
        if (replaced.sa_sigaction, replaced.sa_flags) != (found.sa_sigaction, found.sa_flags) {
            self.remember(signal, &replaced);
        }
        handled.push(signal);
        Ok(())
    }

    /// Has what was there called, if it can be.
    fn remember(&self, signal: i32, action: &libc::sigaction) {
        let earlier = if is_function(action) {
            ptr::from_ref(Box::leak(Box::new(*action))).cast_mut()
        } else {
            ptr::null_mut()
        };
        if let Some(place) = of(&self.earlier, signal) {
            place.store(earlier, Ordering::Release);
        }
    }

    /// Handles a signal by `ours`, which does only what a handler may do, and then as it was handled before.
    /// `errno` is left as it was.
    ///
    /// # Safety
    /// The arguments are those that the system has given to the handler that called this, for this signal, on
    /// this thread.
    pub unsafe fn handle(
        &self,
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        state: *mut libc::c_void,
        ours: impl FnOnce(),
    ) {
        keep_errno(|| {
            ours();
            let Some(earlier) = of(&self.earlier, signal) else {
                return;
            };
            // SAFETY: what is remembered is never freed, and it has a function; the arguments are the system's.
            unsafe {
                if let Some(earlier) = earlier.load(Ordering::Acquire).as_ref() {
                    call(earlier, signal, info, state);
                }
            }
        });
    }
}

/// Returns a signal's place in a table.
#[inline]
pub fn of<T>(table: &[T; SIGNALS], signal: i32) -> Option<&T> {
    table.get(usize::try_from(signal).ok()?)
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// What waits while a handler of ours runs: handlers do not interrupt each other, for each takes its share of a
/// small stack, more than 3 KiB of it for the registers of some processors alone. Faults cannot wait; those
/// that waited for an `earlier` handler go on waiting.
// D-SYS-02
fn all_but_faults(earlier: Option<&libc::sigaction>) -> libc::sigset_t {
    // SAFETY: all zero is a valid set; only sets that are there are asked and changed, by signals that exist.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        for fault in UNFIT.into_iter().chain([libc::SIGTRAP, libc::SIGSYS]) {
            if earlier.is_none_or(|earlier| libc::sigismember(&earlier.sa_mask, fault) == 0) {
                libc::sigdelset(&raw mut set, fault);
            }
        }
        set
    }
}

fn is_function(action: &libc::sigaction) -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction)
}

/// Does what the system would have done.
///
/// # Safety
/// The action has a function, and the arguments are those that the system has given to a handler for this
/// signal, on this thread.
unsafe fn call(
    action: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    state: *mut libc::c_void,
) {
    let function = action.sa_sigaction as *const ();
    // SAFETY: whoever gave this function to the system said by the flag which of the two it is, and that it
    // may be called for this signal at any time.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO == 0 {
            std::mem::transmute::<*const (), extern "C" fn(libc::c_int)>(function)(signal);
        } else {
            std::mem::transmute::<*const (), Informed>(function)(signal, info, state);
        }
    }
}
