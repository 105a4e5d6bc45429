//! Transfer of bytes to and from a socket by the system's library.

use super::Socket;
use crate::io::uninterrupted;
use std::io::{self, Write};
use std::mem::MaybeUninit;

/// Receives into memory that need not be initialized. The bytes whose number is returned are initialized.
pub(in crate::net) fn receive<S: Socket>(
    socket: &S,
    room: &mut [MaybeUninit<u8>],
) -> io::Result<usize> {
    socket.attempt(|socket| socket.recv(room))
}

/// Sends as many bytes as there is room for, and returns how many that was.
pub(in crate::net) fn send<S: Socket>(mut socket: &S, bytes: &[u8]) -> io::Result<usize>
where
    for<'a> &'a S: Write,
{
    uninterrupted(|| socket.write(bytes))
}
