//! What the tests of `tress::io` share: streams that do as they are told, or as chance has it, besides
//! what the tests of `tress::sync` have.

#![allow(dead_code, reason = "each test file uses its own part")]

#[path = "../sync_support/mod.rs"]
mod sync_support;

pub use sync_support::*;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use tress::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf, SeekFrom};

/// Random bytes, with some more newlines than there would be.
pub fn random_bytes(random: &mut Random, len: usize) -> Vec<u8> {
    (0..len)
        .map(|_| match random.below(20) {
            0 => b'\n',
            1 => b'\r',
            _ => random.below(256) as u8,
        })
        .collect()
}

/// A stream that reads and writes as little as chance has it, and sometimes makes wait or is
/// interrupted.
pub struct Choppy<T> {
    pub inner: T,
    pub random: Random,
    /// At most so many bytes at once.
    pub most: usize,
    /// May it be interrupted? Not everybody has to cope with that.
    pub interrupts: bool,
}

impl<T> Choppy<T> {
    pub fn new(inner: T, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let most = [1, 2, 7, 100, 10_000][random.below(5)];
        Choppy {
            inner,
            random,
            most,
            interrupts: false,
        }
    }

    pub fn interrupted(mut self) -> Self {
        self.interrupts = true;
        self
    }

    /// How much to do now.
    fn poll_chance(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match self.random.below(6) {
            0 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            1 if self.interrupts => Poll::Ready(Err(ErrorKind::Interrupted.into())),
            _ => Poll::Ready(Ok(1 + self.random.below(self.most))),
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Choppy<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n = std::task::ready!(self.poll_chance(cx))?;
        let mut space = vec![0; n.min(buf.remaining())];
        let mut part = ReadBuf::new(&mut space);
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, &mut part))?;
        buf.put_slice(part.filled());
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Choppy<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let n = std::task::ready!(self.poll_chance(cx))?;
        Pin::new(&mut self.inner).poll_write(cx, &buf[..n.min(buf.len())])
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let n = std::task::ready!(self.poll_chance(cx))?;
        let all: Vec<u8> = bufs.iter().flat_map(|buf| buf.iter().copied()).collect();
        Pin::new(&mut self.inner).poll_write(cx, &all[..n.min(all.len())])
    }

    fn is_write_vectored(&self) -> bool {
        self.most % 2 == 1
    }
}

impl<T: AsyncSeek + Unpin> AsyncSeek for Choppy<T> {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        Pin::new(&mut self.inner).start_seek(position)
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if self.random.below(3) == 0 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Pin::new(&mut self.inner).poll_complete(cx)
    }
}

/// What a [`Script`] does when it is read from or written to.
pub enum Act {
    /// Gives these bytes to one or more reads.
    Give(Vec<u8>),
    /// Takes at most so many bytes in one write.
    Take(usize),
    /// Makes wait until the next act is added, or `go_on` is called.
    Wait,
    Fail(ErrorKind),
}

pub fn give(bytes: impl AsRef<[u8]>) -> Act {
    Act::Give(bytes.as_ref().to_vec())
}

/// A stream that does as it is told. When it has done everything, it is at its end, and takes nothing.
#[derive(Clone, Default)]
pub struct Script(Rc<RefCell<Acts>>);

#[derive(Default)]
struct Acts {
    acts: VecDeque<Act>,
    written: Vec<u8>,
    flushes: usize,
    waiting: Option<Waker>,
}

impl Script {
    pub fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        let script = Script::default();
        script.0.borrow_mut().acts.extend(acts);
        script
    }

    /// Ends a wait, if that is what is next.
    pub fn go_on(&self) {
        let waker = {
            let mut acts = self.0.borrow_mut();
            if let Some(Act::Wait) = acts.acts.front() {
                acts.acts.pop_front();
            }
            acts.waiting.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// What was not read.
    pub fn rest(&self) -> Vec<u8> {
        let acts = self.0.borrow();
        let given = acts.acts.iter().filter_map(|act| match act {
            Act::Give(bytes) => Some(bytes.as_slice()),
            _ => None,
        });
        given.flatten().copied().collect()
    }

    pub fn is_done(&self) -> bool {
        self.0.borrow().acts.is_empty()
    }

    pub fn written(&self) -> Vec<u8> {
        self.0.borrow().written.clone()
    }

    pub fn flushes(&self) -> usize {
        self.0.borrow().flushes
    }
}

impl AsyncRead for Script {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self.0.borrow_mut();
        match this.acts.front_mut() {
            Some(Act::Give(bytes)) => {
                let n = bytes.len().min(buf.remaining());
                buf.put_slice(&bytes[..n]);
                bytes.drain(..n);
                if bytes.is_empty() {
                    this.acts.pop_front();
                }
                Poll::Ready(Ok(()))
            }
            Some(Act::Wait) => {
                this.waiting = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(&mut Act::Fail(kind)) => {
                this.acts.pop_front();
                Poll::Ready(Err(kind.into()))
            }
            Some(Act::Take(_)) => panic!("it was to be written to"),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl AsyncWrite for Script {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self.0.borrow_mut();
        match this.acts.front_mut() {
            Some(&mut Act::Take(n)) => {
                this.acts.pop_front();
                let n = n.min(buf.len());
                this.written.extend_from_slice(&buf[..n]);
                Poll::Ready(Ok(n))
            }
            Some(Act::Wait) => {
                this.waiting = Some(cx.waker().clone());
                Poll::Pending
            }
            Some(&mut Act::Fail(kind)) => {
                this.acts.pop_front();
                Poll::Ready(Err(kind.into()))
            }
            Some(Act::Give(_)) => panic!("it was to be read from"),
            None => Poll::Ready(Ok(0)),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.borrow_mut().flushes += 1;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(cx)
    }
}
