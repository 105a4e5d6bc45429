//! The position of a file, at which one operation happens at a time.
//!
//! An operation that has to wait continues if its future is dropped, and the next operation waits for
//! it first. The bytes that a dropped read has read are kept: the next read returns them; before any
//! other operation the position moves back to before them.

use super::lent::{Lent, Return};
use super::way::{OnPool, Way};
use super::{Memory, Refusal, nowait};
use crate::fs::ring;
use crate::io::ReadBuf;
use crate::io::offload::{self, lost, read_once, spawn, spawn_mandatory};
use crate::runtime::is_shutdown_error;
use crate::task::coop;
use crate::words;
use std::fs::File;
use std::future::{Future, poll_fn};
use std::io::{self, Seek, SeekFrom, Write};
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

#[derive(Debug, Default)]
pub(super) struct Cursor {
    sharing: Sharing,
    /// Whether there is or was a clone.
    has_clone: bool,
    /// Bytes that were read, of which those up to `start` were returned. The position of the file is
    /// behind all of them.
    bytes: Memory,
    start: usize,
    job: Option<Job>,
    /// The error of a write that was reported as complete.
    write_error: Option<io::Error>,
    /// The result of the last seek, until it is returned.
    arrived: Option<u64>,
}

/// Whether other handles can move the position of the file.
///
/// The kernel serialises reads and writes at a shared position with a lock. Operations of a ring do not
/// take that lock, so a shared position is never left to the ring. Nor is it used directly if there is
/// a clone: even a call that was told not to wait waits for the lock, as long as the clone's call takes.
#[derive(Debug, Default, Clone, Copy)]
enum Sharing {
    /// No other handle can; or there is no position, as for a pipe.
    #[default]
    Alone,
    /// Others may, and the kind of the file has not been looked up yet.
    Suspected,
    /// Others may.
    Shared,
}

/// An operation in progress.
#[derive(Debug)]
enum Job {
    /// Holds the memory of `bytes`, as `Write` does.
    Read(Way<ring::Read, Memory>),
    Write(offload::Job<(io::Result<()>, Memory)>),
    Seek(OnPool<u64>),
    /// A seek back to the position that the reader sees.
    Back(OnPool<u64>),
    /// A query of the position.
    Position(OnPool<u64>),
    SetLen(Way<ring::SetLen, ()>),
    /// A read or a write with a buffer of the user's.
    Lent(Return),
}

/// The outcome of a job. The error of a write is kept for the next write or flush instead.
enum Ended {
    Read(io::Result<()>),
    Write,
    Seek(io::Result<()>),
    Back(io::Result<()>),
    /// The position that the reader sees.
    Position(io::Result<u64>),
    SetLen(io::Result<()>),
    Lent,
}

impl Cursor {
    /// Creates the cursor of a file that may have duplicates.
    pub(super) fn shared() -> Cursor {
        Cursor {
            sharing: Sharing::Suspected,
            ..Cursor::default()
        }
    }

    /// Notes that there is a clone from now on. No operation may be in progress.
    pub(super) fn share(&mut self) {
        self.sharing = Sharing::Suspected;
        self.has_clone = true;
    }

    /// Returns whether a call at the position might have to wait for a call of a clone.
    #[inline]
    fn is_locked(&mut self, file: &File) -> bool {
        self.has_clone && self.is_shared(file)
    }

    /// Returns whether other handles may move the position.
    #[inline]
    pub(super) fn is_shared(&mut self, file: &File) -> bool {
        match self.sharing {
            Sharing::Alone => false,
            Sharing::Suspected => self.look_closer(file),
            Sharing::Shared => true,
        }
    }

    #[cold]
    fn look_closer(&mut self, file: &File) -> bool {
        // Only regular files have the lock.
        let is_regular = nowait::is_regular(file);
        self.sharing = if is_regular {
            Sharing::Shared
        } else {
            Sharing::Alone
        };
        is_regular
    }

    /// Returns whether no operation is in progress.
    pub(super) fn is_idle(&self) -> bool {
        self.job.is_none()
    }

    /// Returns the error of an earlier write, once.
    pub(super) fn take_write_error(&mut self) -> io::Result<()> {
        self.write_error.take().map_or(Ok(()), Err)
    }

    /// Waits until no operation is in progress.
    pub(super) async fn settle(&mut self) {
        poll_fn(|cx| self.poll_ended(cx)).await;
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<Ended>> {
        let Some(job) = &mut self.job else {
            return Poll::Ready(None);
        };
        let ended = match job {
            Job::Read(job) => {
                let read = ready!(Pin::new(job).poll(cx));
                Ended::Read(self.have_read(read))
            }
            Job::Write(job) => {
                let written = ready!(Pin::new(job).poll(cx)).map_err(lost);
                let result = written.and_then(|(result, memory)| {
                    self.keep_memory(memory);
                    result
                });
                self.write_error = result.err();
                Ended::Write
            }
            Job::Seek(job) => {
                let sought = ready!(Pin::new(job).poll(cx));
                Ended::Seek(sought.map(|position| self.have_sought(position)))
            }
            Job::Back(job) => {
                let back = ready!(Pin::new(job).poll(cx));
                Ended::Back(self.have_gone_back(back))
            }
            Job::Position(job) => {
                let position = ready!(Pin::new(job).poll(cx));
                Ended::Position(self.position(position))
            }
            Job::SetLen(job) => Ended::SetLen(ready!(Pin::new(job).poll(cx))),
            Job::Lent(end) => {
                // Nothing is ever sent.
                let _ = ready!(Pin::new(end).poll(cx));
                Ended::Lent
            }
        };
        self.job = None;
        Poll::Ready(Some(ended))
    }

    /// Lends a buffer to an operation at the position of the file. The next operation waits until the
    /// buffer is taken back or dropped.
    pub(super) fn lend<B>(&mut self, buffer: B) -> Lent<B> {
        let (lent, end) = Lent::new(buffer);
        self.job = Some(Job::Lent(end));
        lent
    }

    /// Takes back a buffer that was lent.
    pub(super) fn take_back<B>(&mut self, lent: Lent<B>) -> B {
        self.job = None;
        lent.into_inner()
    }

    fn have_read(&mut self, read: io::Result<Memory>) -> io::Result<()> {
        self.bytes = read?;
        self.start = 0;
        Ok(())
    }

    fn have_sought(&mut self, position: u64) {
        self.arrived = Some(position);
        self.bytes.clear();
        self.start = 0;
    }

    /// Returns the bytes that were read and not returned yet.
    fn ahead(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Moves bytes that were read and not returned into `room`, and returns how many bytes of it are
    /// initialised.
    pub(super) fn take_ahead(&mut self, room: &mut [MaybeUninit<u8>]) -> usize {
        let n = self.ahead().len().min(room.len());
        for (to, &byte) in room.iter_mut().zip(self.ahead()) {
            to.write(byte);
        }
        self.start += n;
        n
    }

    /// Waits until no operation is in progress, and moves the position to where the reader sees it. Files
    /// without a position, such as terminals, keep the bytes that were read from them.
    pub(super) fn poll_go_back(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
    ) -> Poll<io::Result<()>> {
        let mut begun = false;
        loop {
            match ready!(self.poll_ended(cx)) {
                Some(Ended::Back(result)) if begun || !was_shut_down(&result) => {
                    return Poll::Ready(result);
                }
                _ => {}
            }
            if !self.is_locked(file) {
                return Poll::Ready(self.forget_ahead(file));
            }
            let Some(back) = self.way_back() else {
                return Poll::Ready(Ok(()));
            };
            let file = file.clone();
            self.job = Some(Job::Back(OnPool(spawn(move || (&*file).seek(back))?)));
            begun = true;
        }
    }

    /// Returns the seek from the position of the file to the one that the reader sees, if they differ.
    fn way_back(&self) -> Option<SeekFrom> {
        // No memory is longer than `isize::MAX`.
        let ahead = self.ahead().len() as i64;
        (ahead > 0).then_some(SeekFrom::Current(-ahead))
    }

    /// Does what `poll_go_back` does, but blocks if the position is shared and in use.
    pub(super) fn forget_ahead(&mut self, mut file: &File) -> io::Result<()> {
        match self.way_back() {
            Some(back) => self.have_gone_back(file.seek(back)),
            None => Ok(()),
        }
    }

    fn have_gone_back(&mut self, result: io::Result<u64>) -> io::Result<()> {
        match result {
            Ok(_) => {
                self.bytes.clear();
                self.start = 0;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
        file: &Arc<File>,
        most: usize,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let progress = ready!(coop::poll_proceed(cx));
        let mut begun = false;
        loop {
            let ended = ready!(self.poll_ended(cx));
            let ahead = self.ahead();
            let n = ahead.len().min(buf.remaining());
            buf.put_slice(&ahead[..n]);
            self.start += n;
            if n == 0 {
                match ended {
                    // The end of the file, or an error.
                    Some(Ended::Read(result)) if begun || !was_shut_down(&result) => {
                        progress.made_progress();
                        return Poll::Ready(result);
                    }
                    _ => match self.read_now(buf, file, most) {
                        Err(refusal) => {
                            self.start_read(file, buf.remaining().min(most), refusal)?;
                            begun = true;
                            continue;
                        }
                        Ok(result) => {
                            progress.made_progress();
                            return Poll::Ready(result);
                        }
                    },
                }
            }
            progress.made_progress();
            return Poll::Ready(Ok(()));
        }
    }

    /// Reads without waiting, if that is possible.
    fn read_now(
        &mut self,
        buf: &mut ReadBuf<'_>,
        file: &File,
        most: usize,
    ) -> Result<io::Result<()>, Option<Refusal>> {
        if self.is_locked(file) {
            return Err(None);
        }
        // SAFETY: bytes are only written to it.
        let room = unsafe { buf.unfilled_mut() };
        let most = room.len().min(most);
        let read = nowait::read(file, &mut room[..most], None);
        let read = read.map_err(|refusal| self.for_the_ring(file, refusal))?;
        Ok(read.map(|n| {
            // SAFETY: the kernel has written `n` bytes.
            unsafe { buf.assume_init(n) };
            buf.advance(n);
        }))
    }

    /// Starts a read. Without a refusal it does not go to the ring.
    fn start_read(
        &mut self,
        file: &Arc<File>,
        most: usize,
        refusal: Option<Refusal>,
    ) -> io::Result<()> {
        let mut bytes = mem::take(&mut self.bytes);
        self.start = 0;
        bytes.empty(most);
        let on_ring = match refusal {
            Some(refusal) => ring::read(file, bytes, most, refusal),
            None => Err(bytes),
        };
        self.job = Some(Job::Read(match on_ring {
            Ok(read) => Way::Ring(read),
            Err(mut bytes) => {
                let file = file.clone();
                let read = move || {
                    bytes.fill(most, |room| read_once(&*file, room))?;
                    Ok(bytes)
                };
                Way::Pool(OnPool(spawn(read)?))
            }
        }));
        Ok(())
    }

    /// Waits until a write may start, and returns the error of the previous one.
    pub(super) fn poll_ready_to_write(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
    ) -> Poll<io::Result<()>> {
        let back = ready!(self.poll_go_back(cx, file));
        self.take_write_error()?;
        Poll::Ready(back)
    }

    /// Writes without waiting what can be. Otherwise hands all bytes to the blocking pool, and reports
    /// them as written.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let progress = ready!(coop::poll_proceed(cx));
        ready!(self.poll_ready_to_write(cx, file))?;
        progress.made_progress();
        if let Ok(result) = self.write_now(file, bytes) {
            return Poll::Ready(result);
        }
        let mut memory = self.memory(bytes.len());
        memory.put(bytes);
        self.start_write(file, memory)
    }

    /// Writes bytes in pieces, as `poll_write` does.
    pub(super) fn poll_write_vectored(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
        pieces: &[io::IoSlice<'_>],
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let progress = ready!(coop::poll_proceed(cx));
        ready!(self.poll_ready_to_write(cx, file))?;
        progress.made_progress();
        let lengths = pieces.iter().map(|piece| piece.len());
        let most = lengths.fold(0, usize::saturating_add).min(most);
        let mut memory = self.memory(most);
        for piece in pieces {
            let room = most - memory.len();
            memory.put(&piece[..piece.len().min(room)]);
        }
        match self.write_now(file, &memory) {
            Ok(result) => {
                self.keep_memory(memory);
                Poll::Ready(result)
            }
            Err(_) => self.start_write(file, memory),
        }
    }

    /// Writes without waiting, if that is possible. If the error is `None`, the write must not go to the
    /// ring either.
    pub(super) fn write_now(
        &mut self,
        file: &File,
        bytes: &[u8],
    ) -> Result<io::Result<usize>, Option<Refusal>> {
        if self.is_locked(file) {
            return Err(None);
        }
        nowait::write(file, bytes, None).map_err(|refusal| self.for_the_ring(file, refusal))
    }

    /// Returns the refusal that the ring needs to know, or `None` if the ring must not be used.
    fn for_the_ring(&mut self, file: &File, refusal: Refusal) -> Option<Refusal> {
        (!self.is_shared(file)).then_some(refusal)
    }

    /// Returns empty memory with enough room: the spare one, unless it holds bytes that were read from a
    /// terminal.
    fn memory(&mut self, room: usize) -> Memory {
        let mut memory = Memory::default();
        if self.ahead().is_empty() {
            self.start = 0;
            memory = mem::take(&mut self.bytes);
        }
        memory.empty(room);
        memory
    }

    /// Keeps memory for reuse, unless there are bytes that were read from a terminal.
    fn keep_memory(&mut self, mut memory: Memory) {
        if self.ahead().is_empty() {
            memory.clear();
            self.bytes = memory;
            self.start = 0;
        }
    }

    fn start_write(&mut self, file: &Arc<File>, memory: Memory) -> Poll<io::Result<usize>> {
        let n = memory.len();
        let file = file.clone();
        // It is reported as complete now, so it must happen even if the runtime ends.
        let job = spawn_mandatory(move || ((&*file).write_all(&memory), memory))?;
        self.job = Some(Job::Write(job));
        Poll::Ready(Ok(n))
    }

    /// Changes the length of the file. If the future is dropped this continues, and the next operation
    /// waits for it: what that one writes must not be cut off.
    pub(super) async fn set_len(&mut self, file: &Arc<File>, length: u64) -> io::Result<()> {
        // The bytes that were read ahead may be cut off.
        poll_fn(|cx| self.poll_ready_to_write(cx, file)).await?;
        self.job = Some(Job::SetLen(match ring::set_len(file, length) {
            Some(job) => Way::Ring(job),
            None => {
                let file = file.clone();
                Way::Pool(OnPool(spawn(move || file.set_len(length))?))
            }
        }));
        match poll_fn(|cx| self.poll_ended(cx)).await {
            Some(Ended::SetLen(result)) => result,
            _ => unreachable!("nothing else was begun"),
        }
    }

    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_ended(cx));
        Poll::Ready(self.take_write_error())
    }

    pub(super) fn start_seek(&mut self, file: &Arc<File>, to: SeekFrom) -> io::Result<()> {
        if !self.is_idle() {
            return Err(io::Error::other(words::FILE_BUSY));
        }
        let to = match to {
            SeekFrom::Current(offset) => {
                let ahead = self.ahead().len() as i64;
                SeekFrom::Current(offset.checked_sub(ahead).ok_or_else(|| {
                    io::Error::new(io::ErrorKind::InvalidInput, "the position is out of range")
                })?)
            }
            to => to,
        };
        // Finding the end may need the network.
        if matches!(to, SeekFrom::End(_)) || self.is_locked(file) {
            let file = file.clone();
            self.job = Some(Job::Seek(OnPool(spawn(move || (&*file).seek(to))?)));
        } else {
            let position = (&**file).seek(to)?;
            self.have_sought(position);
        }
        Ok(())
    }

    pub(super) fn poll_complete(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
    ) -> Poll<io::Result<u64>> {
        let progress = ready!(coop::poll_proceed(cx));
        let mut begun = false;
        let position = loop {
            match ready!(self.poll_ended(cx)) {
                Some(Ended::Seek(Err(error))) => break Err(error),
                Some(Ended::Position(position)) if begun || !was_shut_down(&position) => {
                    break position;
                }
                _ => {}
            }
            if let Some(position) = self.arrived.take() {
                break Ok(position);
            }
            if !self.is_locked(file) {
                break self.position((&**file).stream_position());
            }
            let file = file.clone();
            let job = spawn(move || (&*file).stream_position())?;
            self.job = Some(Job::Position(OnPool(job)));
            begun = true;
        };
        progress.made_progress();
        Poll::Ready(position)
    }

    /// Waits until no operation is in progress. Returns the result of a seek whose future was dropped.
    pub(super) fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Option<u64>> {
        ready!(self.poll_ended(cx));
        Poll::Ready(self.arrived.take())
    }

    /// Converts the position of the file to the one that the reader sees.
    fn position(&self, position: io::Result<u64>) -> io::Result<u64> {
        match position {
            Ok(position) => Ok(position.saturating_sub(self.ahead().len() as u64)),
            // There is no seek to wait for: callers that wait for one anyway get 0.
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether nothing was done because the runtime ended. If that was the runtime of an operation
/// whose future was dropped, the next operation ignores it.
fn was_shut_down<T>(result: &io::Result<T>) -> bool {
    result.as_ref().is_err_and(is_shutdown_error)
}
