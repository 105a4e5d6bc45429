//! Waits for a child to end.

use super::pidfd;
use crate::io::source::Source;
use crate::runtime::{Id, context};
use crate::signal::unix::{Signal, SignalKind, signal};
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
    /// Where the news comes in.
    runtime: Option<Id>,
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
    pub(super) fn new(child: Child) -> Reaper {
        Reaper {
            child,
            news: News::None,
            runtime: None,
        }
    }

    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        // Another runtime's news would come only when that one is driven.
        let here = context::with_runtime(|shared| shared.id);
        if here.is_some() && here != self.runtime {
            self.news = News::None;
            self.runtime = here;
        }
        let mut renewed = false;
        loop {
            // We listen before we look, so that nothing can happen in between.
            let heard = match &mut self.news {
                News::None => {
                    if let Some(status) = self.child.try_wait()? {
                        return Poll::Ready(Ok(status));
                    }
                    self.news = News::of(self.child.id())?;
                    continue;
                }
                News::Descriptor(source) => source.poll_ready(cx, Direction::Read),
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
                        self.news = News::Signal(signal(SignalKind::child())?);
                    }
                }
                // The runtime that listened is gone; this one may not be.
                Poll::Ready(Err(_)) if !renewed => {
                    renewed = true;
                    self.news = News::of(self.child.id())?;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl News {
    fn of(pid: u32) -> io::Result<News> {
        match pidfd::open(pid) {
            Some(fd) => {
                let what = "waiting for a child process";
                Source::with_interest(fd, Interest::READABLE, what).map(News::Descriptor)
            }
            None => signal(SignalKind::child()).map(News::Signal),
        }
    }
}
