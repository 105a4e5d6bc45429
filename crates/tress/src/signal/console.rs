//! The events of the console of the process, for all of its runtimes.
//!
//! The system calls the handler on a thread that it creates for the purpose: unlike in a signal handler
//! of Unix, locks may be taken there and wakers woken. No runtime takes part.
//!
//! As on Unix, an event that was listened for once has lost its default effect for good, and one that
//! arrives while there is no listener is kept for the next one: a program that listens, handles and
//! listens again misses none. The three events that end the process still do; a listener only gains the
//! time that the system grants.

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

/// An event of the console.
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

    /// Returns whether the system ends the process as soon as the handler returns.
    fn is_last(self) -> bool {
        matches!(self, Event::Close | Event::Logoff | Event::Shutdown)
    }
}

/// The listeners, by event. No foreign code runs while a lock is held.
static AUDIENCES: [Mutex<Audience>; 5] = [const { Mutex::new(Audience::new()) }; 5];

/// Whether the handler has been installed. Held while it is being installed.
static INSTALLED: Mutex<bool> = Mutex::new(false);

struct Audience {
    /// Whether there was ever a listener.
    ours: bool,
    /// Whether the event arrived while there was no listener.
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

/// The state of a listener.
#[derive(Debug, Default)]
struct News {
    heard: bool,
    waker: Option<Waker>,
}

/// A listener, removed when dropped.
#[derive(Debug)]
pub(super) struct Place {
    event: Event,
    news: Arc<Mutex<News>>,
}

impl Place {
    /// Creates a listener for an event. The first call in a process installs the handler.
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

    /// Polls for the event. Only the most recent waker is kept.
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
        // An event that this listener has not received is kept for the next one.
        if audience.places.is_empty() && self.news.lock().heard {
            audience.missed = true;
        }
    }
}

fn install() -> io::Result<()> {
    let mut installed = INSTALLED.lock();
    if !*installed {
        // SAFETY: the handler has the required signature, and is a function of the program.
        if unsafe { SetConsoleCtrlHandler(Some(handle), 1) } == 0 {
            return Err(io::Error::last_os_error());
        }
        *installed = true;
    }
    Ok(())
}

/// The fate of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// There was never a listener for it.
    Foreign,
    /// It is kept for the next listener.
    Kept,
    /// At least one listener was told.
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

/// The handler of the console. Returning true keeps other handlers, and the default one, from running.
unsafe extern "system" fn handle(number: u32) -> BOOL {
    let Some(event) = Event::from_system(number) else {
        return 0;
    };
    let heard = tell(event);
    if event.is_last() {
        if heard != Heard::Told {
            return 0;
        }
        // The program is shutting down; returning would end the process. The system ends it when its
        // time limit is over.
        loop {
            thread::park();
        }
    }
    BOOL::from(heard != Heard::Foreign)
}

#[cfg(test)]
mod tests;
