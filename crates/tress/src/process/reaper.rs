//! Waits for a child to exit.

use super::pidfd;
use crate::io::source::Source;
use crate::runtime::driver::IoHandle;
use crate::sight::WaitKind;
use crate::signal::unix::{Signal, SignalKind, signal_in};
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::task::{Context, Poll};
use tress_driver::{Direction, Interest};

/// A child that has not been waited for.
#[derive(Debug)]
pub(super) struct Reaper {
    pub(super) child: Child,
    pub(super) watch: Watch,
}

/// Watches for the exit of a child.
#[derive(Debug)]
pub(super) struct Watch {
    news: News,
    /// The runtime that spawned the child. Waits outside of a runtime are served by it.
    pub(super) home: IoHandle,
}

/// The source of notifications.
#[derive(Debug)]
enum News {
    /// The child has not been waited for yet.
    None,
    Descriptor(Source<OwnedFd>),
    Signal(Signal),
}

impl Reaper {
    /// Creates the reaper of a child that has just been spawned.
    ///
    /// # Panics
    /// If called outside of a runtime, or in one built without I/O.
    #[track_caller]
    pub(super) fn new(child: Child) -> Reaper {
        let watch = Watch {
            news: News::None,
            home: IoHandle::current("spawning a child process"),
        };
        Reaper { child, watch }
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let pid = self.child.id();
        self.watch.poll(cx, pid, || self.child.try_wait())
    }
}

impl Watch {
    /// Calls `look` now, and whenever the child may have exited, until it returns a value.
    ///
    /// Until then `pid` belongs to the child. If other code reaps it between two calls, another process
    /// may be watched for that moment.
    pub(super) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        pid: u32,
        mut look: impl FnMut() -> io::Result<Option<T>>,
    ) -> Poll<io::Result<T>> {
        let mut renewed = false;
        loop {
            // Listens before it looks, so that no exit falls in between.
            let heard = match &mut self.news {
                News::None => {
                    if let Some(seen) = look()? {
                        return Poll::Ready(Ok(seen));
                    }
                    self.news = News::of(pid, &self.home)?;
                    continue;
                }
                News::Descriptor(source) => {
                    source.follow();
                    source.poll_ready(cx, Direction::Read)
                }
                News::Signal(signal) => match signal.poll_recv(cx) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(Some(())) => Poll::Ready(Ok(())),
                    Poll::Ready(None) => Poll::Ready(Err(io::Error::other(tress_driver::Gone))),
                },
            };
            if let Some(seen) = look()? {
                return Poll::Ready(Ok(seen));
            }
            match heard {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => {
                    if matches!(self.news, News::Descriptor(_)) {
                        // The child has exited, but a debugger has to release it first; the kernel sends a
                        // signal when it does.
                        self.news = News::signal(&self.home)?;
                    }
                }
                // The runtime that listened has shut down; the one that spawned the child may not have.
                Poll::Ready(Err(_)) if !renewed => {
                    renewed = true;
                    self.news = News::of(pid, &self.home)?;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl News {
    /// Watches a process in its home runtime, until a task waits in another one.
    fn of(pid: u32, home: &IoHandle) -> io::Result<News> {
        match pidfd::open(pid) {
            Some(fd) => {
                let source = Source::lazy_in(home.clone(), fd, Interest::READABLE);
                Ok(News::Descriptor(source.known_as(WaitKind::Child)))
            }
            None => News::signal(home),
        }
    }

    fn signal(home: &IoHandle) -> io::Result<News> {
        signal_in(home.clone(), SignalKind::child()).map(News::Signal)
    }
}
