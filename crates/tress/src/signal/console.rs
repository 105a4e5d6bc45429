//! What the process knows about the events of its console, for all runtimes together.
//!
//! The system calls the handler on a thread that it makes for the purpose: there, unlike in a handler of
//! Unix, locks may be taken and wakers woken. No runtime takes part.
//!
//! As on Unix, an event that was listened for once has lost its usual effect for good, and one that comes
//! while nobody listens is kept for the next who does: who listens, handles and listens again misses none.
//! The three that end the process do so all the same; listening buys them the time that the system gives.

use crate::sys::plain::Mutex;
use crate::sys::thread;
use crate::task::coop;
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};
use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::core::BOOL;

/// What a console reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    C,
    Break,
    Close,
    Logoff,
    Shutdown,
}

impl Event {
    fn from_system(number: u32) -> Option<Event> {
        Some(match number {
            CTRL_C_EVENT => Event::C,
            CTRL_BREAK_EVENT => Event::Break,
            CTRL_CLOSE_EVENT => Event::Close,
            CTRL_LOGOFF_EVENT => Event::Logoff,
            CTRL_SHUTDOWN_EVENT => Event::Shutdown,
            _ => return None,
        })
    }

    /// Does the system end the process as soon as the handler has returned?
    fn is_last(self) -> bool {
        matches!(self, Event::Close | Event::Logoff | Event::Shutdown)
    }
}

/// By event. The lock is held for moments, and no foreign code runs meanwhile.
static AUDIENCES: [Mutex<Audience>; 5] = [const { Mutex::new(Audience::new()) }; 5];

/// Has the handler been installed? Held while it is.
static INSTALLED: Mutex<bool> = Mutex::new(false);

struct Audience {
    /// Somebody has listened at some time.
    ours: bool,
    /// It came while nobody did.
    missed: bool,
    places: Vec<Arc<Mutex<News>>>,
}

impl Audience {
    const fn new() -> Audience {
        Audience {
            ours: false,
            missed: false,
            places: Vec::new(),
        }
    }
}

/// What a listener is told.
#[derive(Debug, Default)]
struct News {
    heard: bool,
    waker: Option<Waker>,
}

/// A listener, until dropped.
#[derive(Debug)]
pub(super) struct Place {
    event: Event,
    news: Arc<Mutex<News>>,
}

impl Place {
    /// Listens for an event. The first call in a process installs the handler.
    pub(super) fn listen(event: Event) -> io::Result<Place> {
        install()?;
        let mut audience = AUDIENCES[event as usize].lock();
        let news = Arc::new(Mutex::new(News {
            heard: std::mem::take(&mut audience.missed),
            waker: None,
        }));
        audience.ours = true;
        audience.places.push(news.clone());
        Ok(Place { event, news })
    }

    /// Waits for the event. One waker is kept.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        let progress = ready!(coop::poll_proceed(cx));
        let mut news = self.news.lock();
        if std::mem::take(&mut news.heard) {
            progress.made_progress();
            return Poll::Ready(());
        }
        if !matches!(&news.waker, Some(waker) if waker.will_wake(cx.waker())) {
            let old = news.waker.replace(cx.waker().clone());
            drop(news);
            drop(old);
        }
        Poll::Pending
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut audience = AUDIENCES[self.event as usize].lock();
        audience
            .places
            .retain(|news| !Arc::ptr_eq(news, &self.news));
        // What this one has not asked for yet is the next one's.
        if audience.places.is_empty() && self.news.lock().heard {
            audience.missed = true;
        }
    }
}

fn install() -> io::Result<()> {
    let mut installed = INSTALLED.lock();
    if !*installed {
        // SAFETY: the handler has the signature that is asked for, and is there as long as the process.
        if unsafe { SetConsoleCtrlHandler(Some(handle), 1) } == 0 {
            return Err(io::Error::last_os_error());
        }
        *installed = true;
    }
    Ok(())
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Nobody has ever listened for it.
    Foreign,
    /// Kept for the next who listens.
    Kept,
    /// Somebody was told.
    Told,
}

#[must_use]
fn tell(event: Event) -> Heard {
    let mut audience = AUDIENCES[event as usize].lock();
    if !audience.ours {
        return Heard::Foreign;
    }
    if audience.places.is_empty() {
        audience.missed = true;
        return Heard::Kept;
    }
    let wakers: Vec<Waker> = audience
        .places
        .iter()
        .filter_map(|news| {
            let mut news = news.lock();
            news.heard = true;
            news.waker.take()
        })
        .collect();
    drop(audience);
    wakers.into_iter().for_each(Waker::wake);
    Heard::Told
}

/// True keeps other handlers, and the system's, from doing anything about it.
unsafe extern "system" fn handle(number: u32) -> BOOL {
    let Some(event) = Event::from_system(number) else {
        return 0;
    };
    let heard = tell(event);
    if event.is_last() {
        if heard != Heard::Told {
            return 0;
        }
        // The process is at work on its end, for which the system has a limit.
        loop {
            thread::park();
        }
    }
    BOOL::from(heard != Heard::Foreign)
}

#[cfg(test)]
mod tests;
