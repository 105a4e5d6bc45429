//! Reads and writes with owned buffers, at the position of the file or at another.

use super::{File, Refusal, nowait};
use crate::fs::ring;
use crate::io::offload::{lost, spawn};
use crate::io::owned::room;
use crate::io::{AsyncReadOwned, AsyncWriteOwned, Buffer, BufferMut, ReadBuf};
use crate::sys::Mutex;
use crate::task::coop;
use std::future::poll_fn;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::task::{Poll, ready};

/// Reads at the position of the file, as [`AsyncReadExt::read`](crate::io::AsyncReadExt::read) does.
///
/// # Cancel safety
///
/// A dropped read has not moved the position. What it has read from a file without a position, such
/// as a terminal, is lost with the buffer.
impl AsyncReadOwned for File {
    async fn read_owned<B: BufferMut>(&mut self, mut buffer: B) -> (io::Result<usize>, B) {
        coop::consume_budget().await;
        let cursor = self.cursor.get_mut();
        cursor.settle().await;
        // A read at a given offset cannot move a position that is shared, and only Unix has one. The
        // cursor reads instead, and keeps the bytes if this future is dropped.
        if !cfg!(unix) || cursor.is_shared(&self.std) {
            let read = poll_fn(|cx| {
                let mut buf = ReadBuf::uninit(room(&mut buffer));
                ready!(cursor.poll_read(cx, &mut buf, &self.std, self.max_buf_size))?;
                Poll::Ready(Ok(buf.filled().len()))
            });
            let read = read.await;
            if let Ok(n) = read {
                // SAFETY: that many bytes were filled, from the start of the room.
                unsafe { buffer.set_filled(n) };
            }
            return (read, buffer);
        }
        let ahead = cursor.take_ahead(room(&mut buffer));
        let now = match ahead {
            0 => nowait::read(&self.std, room(&mut buffer), None),
            n => Ok(Ok(n)),
        };
        let refusal = match now {
            Ok(result) => {
                if let Ok(n) = result {
                    // SAFETY: that many bytes were written, from the start of the room.
                    unsafe { buffer.set_filled(n) };
                }
                return (result, buffer);
            }
            Err(refusal) => refusal,
        };
        let position = match self.position() {
            Ok(Some(position)) => position,
            Ok(None) => return self.read_next(buffer, refusal).await,
            Err(error) => return (Err(error), buffer),
        };
        let (result, buffer) = self
            .read_waiting(buffer, Some(position), Some(refusal))
            .await;
        match result {
            Ok(n) => {
                let moved = (&*self.std).seek(SeekFrom::Start(position + n as u64));
                (moved.map(|_| n), buffer)
            }
            // An eventfd reports a position although it has none.
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => {
                self.read_next(buffer, refusal).await
            }
            Err(error) => (Err(error), buffer),
        }
    }
}

/// Writes at the position of the file, and waits until the bytes are written: the error of this write
/// is returned by it, not by a later operation.
///
/// # Cancel safety
///
/// A dropped write may have written some or all of its bytes and moved the position. The next
/// operation waits until it has ended; seek before it.
impl AsyncWriteOwned for File {
    async fn write_owned<B: Buffer>(&mut self, buffer: B) -> (io::Result<usize>, B) {
        coop::consume_budget().await;
        let (cursor, std) = (self.cursor.get_mut(), &self.std);
        if let Err(error) = poll_fn(|cx| cursor.poll_ready_to_write(cx, std)).await {
            return (Err(error), buffer);
        }
        match cursor.write_now(&self.std, buffer.bytes()) {
            Ok(result) => (result, buffer),
            Err(refusal) => {
                let lent = cursor.lend(buffer);
                let (result, lent) = self.write_waiting(lent, None, refusal).await;
                (result, self.cursor.get_mut().take_back(lent))
            }
        }
    }
}

impl File {
    /// Returns the position of the next read, or `None` for a file without a position.
    fn position(&self) -> io::Result<Option<u64>> {
        match (&*self.std).stream_position() {
            Ok(position) => Ok(Some(position)),
            Err(error) if error.kind() == io::ErrorKind::NotSeekable => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads from a file without a position. Other operations wait until it has ended, also if this
    /// future is dropped.
    async fn read_next<B: BufferMut>(
        &mut self,
        buffer: B,
        refusal: Refusal,
    ) -> (io::Result<usize>, B) {
        let lent = self.cursor.get_mut().lend(buffer);
        let (result, lent) = self.read_waiting(lent, None, Some(refusal)).await;
        (result, self.cursor.get_mut().take_back(lent))
    }

    /// Reads on the ring, or on the blocking pool if there is no refusal, at the offset `at`. Without an
    /// offset it reads at the position of the file, which moves.
    pub(super) async fn read_waiting<B: BufferMut>(
        &self,
        buffer: B,
        at: Option<u64>,
        refusal: Option<Refusal>,
    ) -> (io::Result<usize>, B) {
        let on_ring = match refusal {
            Some(refusal) => ring::read_into(&self.std, buffer, at, refusal),
            None => Err(buffer),
        };
        match on_ring {
            Ok(read) => read.await,
            Err(buffer) => {
                let file = self.std.clone();
                lend(buffer, move |buffer| {
                    let room = room(buffer);
                    // The standard library reads into initialised memory.
                    room.fill(MaybeUninit::new(0));
                    // SAFETY: the line above has initialised all of it.
                    let room = unsafe { &mut *(&raw mut *room as *mut [u8]) };
                    let n = again(|| read(&file, room, at))?;
                    // SAFETY: that many bytes were read, from the start of the room.
                    unsafe { buffer.set_filled(n) };
                    Ok(n)
                })
                .await
            }
        }
    }

    /// Writes, by the rules of `read_waiting`.
    pub(super) async fn write_waiting<B: Buffer>(
        &self,
        buffer: B,
        at: Option<u64>,
        refusal: Option<Refusal>,
    ) -> (io::Result<usize>, B) {
        let on_ring = match refusal {
            Some(refusal) => ring::write_from(&self.std, buffer, at, refusal),
            None => Err(buffer),
        };
        match on_ring {
            Ok(written) => written.await,
            Err(buffer) => {
                let file = self.std.clone();
                let write = move |buffer: &mut B| again(|| write(&file, buffer.bytes(), at));
                lend(buffer, write).await
            }
        }
    }
}

/// Repeats a call for as long as signals interrupt it.
fn again(mut f: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match f() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Runs `f` with a buffer on the blocking pool. The buffer comes back even if the pool refuses.
async fn lend<B: Send + 'static>(
    buffer: B,
    f: impl FnOnce(&mut B) -> io::Result<usize> + Send + 'static,
) -> (io::Result<usize>, B) {
    let place = Arc::new(Mutex::new(Some(buffer)));
    let lent = place.clone();
    let job = spawn(move || {
        // The other side looks only when this has ended, or was never started.
        let mut buffer = lent.lock().take().expect("lent once");
        let result = f(&mut buffer);
        *lent.lock() = Some(buffer);
        result
    });
    let result = match job {
        Ok(job) => job.await.map_err(lost).and_then(|result| result),
        Err(error) => Err(error),
    };
    let buffer = place.lock().take();
    (result, buffer.expect("given back, or never taken"))
}

fn read(mut file: &std::fs::File, room: &mut [u8], at: Option<u64>) -> io::Result<usize> {
    match at {
        #[cfg(unix)]
        Some(offset) => std::os::unix::fs::FileExt::read_at(file, room, offset),
        _ => file.read(room),
    }
}

fn write(mut file: &std::fs::File, bytes: &[u8], at: Option<u64>) -> io::Result<usize> {
    match at {
        #[cfg(unix)]
        Some(offset) => std::os::unix::fs::FileExt::write_at(file, bytes, offset),
        _ => file.write(bytes),
    }
}
