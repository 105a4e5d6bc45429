//! A file with a position, which does one thing at a time.
//!
//! Whatever waits goes on when its future is dropped; the next operation waits for it first. What a
//! dropped read has read is kept and returned by the next read, or, if something else comes next, the
//! position goes back to before it.

use super::lent::{Lent, Return};
use super::{Memory, Refusal, nowait};
use crate::fs::ring;
use crate::io::ReadBuf;
use crate::io::offload::{lost, read_once, spawn};
use crate::runtime::is_shutdown_error;
use crate::task::{JoinHandle, coop};
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
    /// There is or was a clone.
    has_clone: bool,
    /// Read, and returned up to `start`. The file's position is behind all of it.
    bytes: Memory,
    start: usize,
    job: Option<Job>,
    /// Of a write that was reported as done.
    write_error: Option<io::Error>,
    /// Where the last seek led, until somebody asks.
    arrived: Option<u64>,
}

/// Who moves the file's position.
///
/// The kernel lets reads and writes of several at it one after the other, with a lock, which operations of a
/// ring do not take: what others may move too is never left to the ring. Nor is it done at once if there is a
/// clone: a call waits for the lock even if it was told not to wait, for as long as the clone's call takes.
#[derive(Debug, Default, Clone, Copy)]
enum Sharing {
    /// Nobody else; or nothing is moved, as with a pipe.
    #[default]
    Alone,
    /// Perhaps others too, and nobody has looked what kind of file it is.
    Suspected,
    /// Perhaps others too.
    Shared,
}

/// Something that goes on.
#[derive(Debug)]
enum Job {
    /// Has the memory of `bytes`, as has a write.
    Read(JoinHandle<io::Result<Memory>>),
    ReadOnRing(ring::Read),
    Write(JoinHandle<(io::Result<()>, Memory)>),
    Seek(JoinHandle<io::Result<u64>>),
    /// A seek to where the reader believes it is.
    Back(JoinHandle<io::Result<u64>>),
    /// Asks where the file is.
    Position(JoinHandle<io::Result<u64>>),
    SetLen(JoinHandle<io::Result<()>>),
    SetLenOnRing(ring::SetLen),
    /// A read or a write with somebody's buffer.
    Lent(Return),
}

/// How a job ended. A write's error is kept for the next write or flush instead.
enum Ended {
    Read(io::Result<()>),
    Write,
    Seek(io::Result<()>),
    Back(io::Result<()>),
    /// Where the reader believes it is.
    Position(io::Result<u64>),
    SetLen(io::Result<()>),
    Lent,
}

impl Cursor {
    /// That of a file of which there may be duplicates.
    pub(super) fn shared() -> Cursor {
        Cursor {
            sharing: Sharing::Suspected,
            ..Cursor::default()
        }
    }

    /// There is a clone from now on. Nothing may be going on.
    pub(super) fn share(&mut self) {
        self.sharing = Sharing::Suspected;
        self.has_clone = true;
    }

    /// Might a call at the position have to wait for a clone's?
    #[inline]
    fn is_locked(&mut self, file: &File) -> bool {
        self.has_clone && self.is_shared(file)
    }

    /// May others move the position?
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
        // Other files have no such lock.
        let is_regular = nowait::is_regular(file);
        self.sharing = if is_regular {
            Sharing::Shared
        } else {
            Sharing::Alone
        };
        is_regular
    }

    /// Is nothing going on?
    pub(super) fn is_idle(&self) -> bool {
        self.job.is_none()
    }

    /// The error of an earlier write, once.
    pub(super) fn take_write_error(&mut self) -> io::Result<()> {
        self.write_error.take().map_or(Ok(()), Err)
    }

    /// Waits for what is going on.
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
                Ended::Read(self.have_read(read.map_err(lost).and_then(|read| read)))
            }
            Job::ReadOnRing(job) => {
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
                let sought = sought.map_err(lost).and_then(|sought| sought);
                Ended::Seek(sought.map(|position| self.have_sought(position)))
            }
            Job::Back(job) => {
                let back = ready!(Pin::new(job).poll(cx)).map_err(lost);
                Ended::Back(self.have_gone_back(back.and_then(|back| back)))
            }
            Job::Position(job) => {
                let position = ready!(Pin::new(job).poll(cx)).map_err(lost);
                Ended::Position(self.position(position.and_then(|position| position)))
            }
            Job::SetLen(job) => {
                let done = ready!(Pin::new(job).poll(cx));
                Ended::SetLen(done.map_err(lost).and_then(|done| done))
            }
            Job::SetLenOnRing(job) => Ended::SetLen(ready!(Pin::new(job).poll(cx))),
            Job::Lent(end) => {
                // Nothing is ever sent.
                let _ = ready!(Pin::new(end).poll(cx));
                Ended::Lent
            }
        };
        self.job = None;
        Poll::Ready(Some(ended))
    }

    /// Something is about to be done with a buffer at the file's position. The next operation waits until
    /// the buffer comes back, or is dropped.
    pub(super) fn lend<B>(&mut self, buffer: B) -> Lent<B> {
        let (lent, end) = Lent::new(buffer);
        self.job = Some(Job::Lent(end));
        lent
    }

    /// The buffer that was lent comes back.
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

    /// Read and not returned.
    fn ahead(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Moves what was read and not returned into memory; as much of it is initialised afterwards as this
    /// says.
    pub(super) fn take_ahead(&mut self, room: &mut [MaybeUninit<u8>]) -> usize {
        let n = self.ahead().len().min(room.len());
        for (to, &byte) in room.iter_mut().zip(self.ahead()) {
            to.write(byte);
        }
        self.start += n;
        n
    }

    /// Waits for what is going on, and puts the position where the reader believes it is. Things without a
    /// position, such as terminals, keep what was read from them.
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
            self.job = Some(Job::Back(spawn(move || (&*file).seek(back), false)?));
            begun = true;
        }
    }

    /// From where the file is to where the reader believes it is. None if that is the same.
    fn way_back(&self) -> Option<SeekFrom> {
        // No memory is longer than `isize::MAX`.
        let ahead = self.ahead().len() as i64;
        (ahead > 0).then_some(SeekFrom::Current(-ahead))
    }

    /// As `poll_go_back`, at once: it may have to wait if the position is shared.
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

    /// Reads at once, if that is possible.
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
            // SAFETY: the kernel has written that many.
            unsafe { buf.assume_init(n) };
            buf.advance(n);
        }))
    }

    /// Without a refusal it is not for the ring.
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
        self.job = Some(match on_ring {
            Ok(read) => Job::ReadOnRing(read),
            Err(mut bytes) => {
                let file = file.clone();
                let read = move || {
                    bytes.fill(most, |room| read_once(&*file, room))?;
                    Ok(bytes)
                };
                Job::Read(spawn(read, false)?)
            }
        });
        Ok(())
    }

    /// Waits until a write may begin, and returns the error of the one before.
    pub(super) fn poll_ready_to_write(
        &mut self,
        cx: &mut Context<'_>,
        file: &Arc<File>,
    ) -> Poll<io::Result<()>> {
        let back = ready!(self.poll_go_back(cx, file));
        self.take_write_error()?;
        Poll::Ready(back)
    }

    /// Writes at once what can be; else has everything written, and says that it is.
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

    /// As `poll_write`, for bytes in pieces.
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

    /// Writes at once, if that is possible. Without a refusal it is not for the ring either.
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

    /// What the ring is to know of a refusal. None if it is not for the ring.
    fn for_the_ring(&mut self, file: &File, refusal: Refusal) -> Option<Refusal> {
        (!self.is_shared(file)).then_some(refusal)
    }

    /// Empty memory with room for as much: the spare one, unless it holds what a terminal was read from.
    fn memory(&mut self, room: usize) -> Memory {
        let mut memory = Memory::default();
        if self.ahead().is_empty() {
            self.start = 0;
            memory = mem::take(&mut self.bytes);
        }
        memory.empty(room);
        memory
    }

    /// Keeps memory for the next time, unless there is what a terminal was read from.
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
        // It is reported as done now, so it must be done even if the runtime ends.
        let job = spawn(move || ((&*file).write_all(&memory), memory), true)?;
        self.job = Some(Job::Write(job));
        Poll::Ready(Ok(n))
    }

    /// Gives the file another length. If this is dropped it goes on, and the next operation waits for it:
    /// what that one writes must not be cut off.
    pub(super) async fn set_len(&mut self, file: &Arc<File>, length: u64) -> io::Result<()> {
        // What was read ahead may be gone.
        poll_fn(|cx| self.poll_ready_to_write(cx, file)).await?;
        self.job = Some(match ring::set_len(file, length) {
            Some(job) => Job::SetLenOnRing(job),
            None => {
                let file = file.clone();
                Job::SetLen(spawn(move || file.set_len(length), false)?)
            }
        });
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
            return Err(io::Error::other(
                "the file is still busy with an operation: wait for it with `poll_complete` before \
                 `start_seek`",
            ));
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
        // The end may have to be asked for over a network.
        if matches!(to, SeekFrom::End(_)) || self.is_locked(file) {
            let file = file.clone();
            self.job = Some(Job::Seek(spawn(move || (&*file).seek(to), false)?));
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
            let job = spawn(move || (&*file).stream_position(), false)?;
            self.job = Some(Job::Position(job));
            begun = true;
        };
        progress.made_progress();
        Poll::Ready(position)
    }

    /// Waits for what is going on. Where a seek has led that nobody waits for any more.
    pub(super) fn poll_settled(&mut self, cx: &mut Context<'_>) -> Poll<Option<u64>> {
        ready!(self.poll_ended(cx));
        Poll::Ready(self.arrived.take())
    }

    /// Where the reader believes it is, if the file is there.
    fn position(&self, position: io::Result<u64>) -> io::Result<u64> {
        match position {
            Ok(position) => Ok(position.saturating_sub(self.ahead().len() as u64)),
            // Those who wait for a seek that was never begun have nothing to wait for.
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// Was nothing done because the runtime ended? If that was the runtime of an operation that was dropped, the
/// next one is not to hear of it.
fn was_shut_down<T>(result: &io::Result<T>) -> bool {
    result.as_ref().is_err_and(is_shutdown_error)
}
