//! Waits for a child to end.

use super::pidfd;
use crate::io::source::Source;
use crate::runtime::driver::IoHandle;
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
    news: News,
    /// Where it was spawned. The news comes in there for who waits outside of a runtime.
    home: IoHandle,
}

/// How we hear that it has ended.
#[derive(Debug)]
enum News {
    /// Nobody has waited yet.
    None,
    Descriptor(Source<OwnedFd>),
    Signal(Signal),
}

impl Reaper {
    /// # Panics
    /// Outside of a runtime, or in one built without I/O.
    #[track_caller]
    pub(super) fn new(child: Child) -> Reaper {
        Reaper {
            child,
            news: News::None,
            home: IoHandle::current("spawning a child process"),
        }
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        let mut renewed = false;
        loop {
            // We listen before we look, so that nothing can happen in between.
            let heard = match &mut self.news {
                News::None => {
                    if let Some(status) = self.child.try_wait()? {
                        return Poll::Ready(Ok(status));
                    }
                    self.news = News::of(self.child.id(), &self.home)?;
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
            if let Some(status) = self.child.try_wait()? {
                return Poll::Ready(Ok(status));
            }
            match heard {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(())) => {
                    if matches!(self.news, News::Descriptor(_)) {
                        // It has ended, but a debugger has to let go of it first; the kernel sends a
                        // signal when it has.
                        self.news = News::signal(&self.home)?;
                    }
                }
                // The runtime that listened is gone; the first one may not be.
                Poll::Ready(Err(_)) if !renewed => {
                    renewed = true;
                    self.news = News::of(self.child.id(), &self.home)?;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl News {
    /// In that runtime, until somebody waits in another one.
    fn of(pid: u32, home: &IoHandle) -> io::Result<News> {
        match pidfd::open(pid) {
            Some(fd) => {
                let source = Source::lazy_in(home.clone(), fd, Interest::READABLE);
                Ok(News::Descriptor(source))
            }
            None => News::signal(home),
        }
    }

    fn signal(home: &IoHandle) -> io::Result<News> {
        signal_in(home.clone(), SignalKind::child()).map(News::Signal)
    }
}
