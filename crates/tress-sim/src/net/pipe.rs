//! Pipes.

use super::bytes::{From, Into, Stream, gather, total};
use super::{Domain, Kind, Net, SocketId};
use crate::kernel::{Errno, HostId, ready};

/// Bytes that a pipe holds.
const CAPACITY: usize = 64 * 1024;
/// Bytes that are written at once or not at all.
const ATOMIC: usize = 4096;

/// The end that is read, with what was written.
#[derive(Debug, Default)]
pub(super) struct Reader {
    bytes: Stream,
    /// None: nobody will write.
    writer: Option<SocketId>,
}

/// The end that is written.
#[derive(Debug)]
pub(super) struct Writer {
    reader: SocketId,
}

impl Reader {
    pub(super) fn readiness(&self) -> u32 {
        let readable = if self.bytes.is_empty() { 0 } else { ready::IN };
        let ended = if self.writer.is_none() { ready::HUP } else { 0 };
        readable | ended
    }

    pub(super) fn unread(&self) -> usize {
        self.bytes.len()
    }
}

impl Writer {
    pub(super) fn reader(&self) -> SocketId {
        self.reader
    }
}

impl Net {
    fn reader(&mut self, id: SocketId) -> Option<&mut Reader> {
        match &mut self.sockets.get_mut(id.0)?.kind {
            Kind::Reader(reader) => Some(reader),
            _ => None,
        }
    }

    /// Makes a pipe, and returns the end to read and the end to write.
    pub(crate) fn pipe(&mut self, host: HostId) -> Result<(SocketId, SocketId), Errno> {
        if !self.wire.machines[host.0].runs {
            return Err(libc::ENETDOWN);
        }
        let reader = self.insert(host, Domain::Unix, Kind::Reader(Reader::default()));
        let writer = self.insert(host, Domain::Unix, Kind::Writer(Writer { reader }));
        if let Some(end) = self.reader(reader) {
            end.writer = Some(writer);
        }
        Ok((reader, writer))
    }

    pub(super) fn writer_readiness(&self, writer: &Writer) -> u32 {
        match self.sockets.get(writer.reader.0).map(|socket| &socket.kind) {
            Some(Kind::Reader(reader)) if reader.bytes.len() + ATOMIC <= CAPACITY => ready::OUT,
            Some(Kind::Reader(_)) => 0,
            _ => ready::OUT | ready::ERR,
        }
    }

    pub(super) fn write_pipe(&mut self, id: SocketId, from: From<'_, '_>) -> Result<usize, Errno> {
        let Kind::Writer(Writer { reader }) = self.socket_ref(id)?.kind else {
            return Err(libc::EBADF);
        };
        let end = self.reader(reader).ok_or(libc::EPIPE)?;
        let (total, room) = (total(from), CAPACITY - end.bytes.len());
        if total == 0 {
            return Ok(0);
        }
        if room == 0 || (total <= ATOMIC && total > room) {
            return Err(libc::EAGAIN);
        }
        let bytes = gather(from, room);
        let written = bytes.len();
        end.bytes.push(bytes);
        self.changed(reader);
        Ok(written)
    }

    pub(super) fn read_pipe(&mut self, id: SocketId, into: Into<'_, '_>) -> Result<usize, Errno> {
        let end = self.reader(id).ok_or(libc::EBADF)?;
        let writer = end.writer;
        let copied = end.bytes.take(into, false);
        match (copied, writer) {
            (0, Some(_)) if into.iter().any(|part| !part.is_empty()) => Err(libc::EAGAIN),
            (0, _) => Ok(0),
            (copied, writer) => {
                if let Some(writer) = writer {
                    self.changed(writer);
                }
                Ok(copied)
            }
        }
    }

    pub(super) fn close_pipe(&mut self, id: SocketId) {
        let Some(socket) = self.sockets.remove(id.0) else {
            return;
        };
        match socket.kind {
            Kind::Writer(Writer { reader }) => {
                if let Some(end) = self.reader(reader) {
                    end.writer = None;
                }
                self.changed(reader);
            }
            Kind::Reader(Reader {
                writer: Some(writer),
                ..
            }) => self.changed(writer),
            _ => {}
        }
    }
}
