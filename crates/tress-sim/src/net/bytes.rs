//! Bytes on their way to a program, and copies between them and its buffers.

use std::collections::VecDeque;

/// Buffers to be filled one after the other.
pub(crate) type Into<'a, 'b> = &'a mut [&'b mut [u8]];
/// Buffers to be sent one after the other.
pub(crate) type From<'a, 'b> = &'a [&'b [u8]];

/// Returns the number of bytes of all buffers.
pub(crate) fn total(from: From<'_, '_>) -> usize {
    from.iter().map(|part| part.len()).sum()
}

/// Returns at most the first `most` bytes of the buffers.
pub(super) fn gather(from: From<'_, '_>, most: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(total(from).min(most));
    for part in from {
        let left = most - bytes.len();
        bytes.extend_from_slice(&part[..part.len().min(left)]);
    }
    bytes
}

/// Copies as much as fits. Returns how much that was.
pub(super) fn scatter(bytes: &[u8], into: Into<'_, '_>) -> usize {
    let mut copied = 0;
    for part in into.iter_mut() {
        let n = part.len().min(bytes.len() - copied);
        part[..n].copy_from_slice(&bytes[copied..copied + n]);
        copied += n;
    }
    copied
}

/// A stream of bytes, as pieces that came together.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pieces: VecDeque<Vec<u8>>,
    /// How much of the first piece has been read.
    read: usize,
    length: usize,
}

impl Stream {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn push(&mut self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.length += bytes.len();
            self.pieces.push_back(bytes);
        }
    }

    /// Copies as much as there is and fits, and removes it unless it is only looked at.
    pub(super) fn take(&mut self, into: Into<'_, '_>, peek: bool) -> usize {
        let mut copied = 0;
        // Where the next byte is: of which piece, and behind how many of it.
        let (mut piece, mut at) = (0, self.read);
        for part in into.iter_mut() {
            let mut filled = 0;
            while filled < part.len() && piece < self.pieces.len() {
                let bytes = &self.pieces[piece][at..];
                let n = bytes.len().min(part.len() - filled);
                part[filled..filled + n].copy_from_slice(&bytes[..n]);
                filled += n;
                at += n;
                if at == self.pieces[piece].len() {
                    (piece, at) = (piece + 1, 0);
                }
            }
            copied += filled;
        }
        if !peek {
            for _ in 0..piece {
                self.pieces.pop_front();
            }
            self.read = at;
            self.length -= copied;
        }
        copied
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_through_pieces_and_buffers() {
        let mut stream = Stream::default();
        for piece in [&b"abc"[..], b"", b"defg", b"h"] {
            stream.push(piece.to_vec());
        }
        let (mut one, mut two) = ([0; 2], [0; 3]);
        assert_eq!(stream.take(&mut [&mut one, &mut two], true), 5);
        assert_eq!((&one, &two), (b"ab", b"cde"));
        assert_eq!(stream.len(), 8);
        assert_eq!(stream.take(&mut [&mut one], false), 2);
        assert_eq!(stream.take(&mut [&mut two, &mut one], false), 5);
        assert_eq!((&two, &one), (b"cde", b"fg"));
        let mut rest = [0; 9];
        assert_eq!(stream.take(&mut [&mut rest], false), 1);
        assert!(stream.is_empty() && rest[0] == b'h');
        assert_eq!(stream.take(&mut [&mut rest], false), 0);
    }
}
