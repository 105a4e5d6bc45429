//! Waits for a child to exit.
//!
//! The thread pool of the system waits for the handle of the process and calls back once. The context of
//! the call is a number, not a pointer: a call that comes after the wait was dropped finds nothing, so
//! that dropping it need not wait for the call, and may happen inside of it.

use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicUsize, Mutex, MutexGuard};
use crate::task::coop;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::process::{Child, ExitStatus};
use std::ptr;
use std::task::{Context, Poll, Waker, ready};
use windows_sys::Win32::Foundation::HANDLE;
use windows_sys::Win32::System::Threading::{
    INFINITE, RegisterWaitForSingleObject, UnregisterWaitEx, WT_EXECUTEONLYONCE,
};

/// A child that has not been waited for.
#[derive(Debug)]
pub(super) struct Reaper {
    // Dropped before the child: a handle must not be closed while the system waits for it.
    wait: Option<Wait>,
    pub(super) child: Child,
}

impl Reaper {
    pub(super) fn new(child: Child) -> Reaper {
        Reaper { wait: None, child }
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let progress = ready!(coop::poll_proceed(cx));
        loop {
            if let Some(status) = self.child.try_wait()? {
                progress.made_progress();
                return Poll::Ready(Ok(status));
            }
            let wait = match &self.wait {
                Some(wait) => wait,
                None => self.wait.insert(Wait::begin(&self.child)?),
            };
            if wait.poll(cx).is_pending() {
                return Poll::Pending;
            }
            // The callback ran: the child has exited, as the next `try_wait` shows.
            self.wait = None;
        }
    }
}

/// The waits that have not been dropped, by number.
static WAITS: Mutex<BTreeMap<usize, News>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Default)]
struct News {
    ended: bool,
    waker: Option<Waker>,
}

fn waits() -> MutexGuard<'static, BTreeMap<usize, News>> {
    WAITS.lock()
}

/// A wait of the system for a process, which ends when this is dropped.
#[derive(Debug)]
struct Wait {
    number: usize,
    registered: HANDLE,
}

// SAFETY: the handle is a number that any thread may pass to the system.
unsafe impl Send for Wait {}
// SAFETY: as above.
unsafe impl Sync for Wait {}

impl Wait {
    fn begin(child: &Child) -> io::Result<Wait> {
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        waits().insert(number, News::default());
        let mut wait = Wait {
            number,
            registered: ptr::null_mut(),
        };
        // SAFETY: the handle of the process stays open until the wait is dropped; the callback has the
        // required signature, and uses the context as a number only.
        let registered = unsafe {
            RegisterWaitForSingleObject(
                &raw mut wait.registered,
                child.as_raw_handle(),
                Some(ended),
                ptr::without_provenance::<c_void>(number),
                INFINITE,
                WT_EXECUTEONLYONCE,
            )
        };
        if registered == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(wait)
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut waits = waits();
        let news = waits.entry(self.number).or_default();
        if news.ended {
            return Poll::Ready(());
        }
        if !matches!(&news.waker, Some(waker) if waker.will_wake(cx.waker())) {
            let old = news.waker.replace(cx.waker().clone());
            drop(waits);
            drop(old);
        }
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let news = waits().remove(&self.number);
        drop(news);
        if !self.registered.is_null() {
            // SAFETY: registered by `begin`, and unregistered once. An error says that the callback is
            // running, which finds nothing any more.
            unsafe { UnregisterWaitEx(self.registered, ptr::null_mut()) };
        }
    }
}

/// Called by the system, on a thread of its pool.
unsafe extern "system" fn ended(number: *mut c_void, _timed_out: bool) {
    let waker = waits().get_mut(&number.addr()).and_then(|news| {
        news.ended = true;
        news.waker.take()
    });
    if let Some(waker) = waker {
        waker.wake();
    }
}
