//! Bytes arrive through the adapters, all of them and in order, and a reader that breaks its contract is blamed.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tress::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, duplex};
use tress_hyper::TressIo;

/// Ours, made hyper's, made ours again.
#[tress::test]
async fn there_and_back_again() {
    for limit in [1, 2, 7, 64, 4096] {
        let (here, there) = duplex(limit);
        let mut writer = TressIo::new(TressIo::new(here));
        let mut reader = TressIo::new(TressIo::new(there));
        let sent: Vec<u8> = (0..5000_u32).map(|i| (i * 7 / 3) as u8).collect();
        let expected = sent.clone();
        let writing = tress::spawn(async move {
            for piece in sent.chunks(limit + 3) {
                writer.write_all(piece).await.unwrap();
            }
            writer.flush().await.unwrap();
            writer.shutdown().await.unwrap();
        });
        let mut received = Vec::new();
        reader.read_to_end(&mut received).await.unwrap();
        assert!(received == expected, "limit {limit}");
        writing.await.unwrap();
    }
}

/// Reads into a buffer of its own.
struct Liar(&'static mut [u8]);

impl AsyncRead for Liar {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let own: &'static mut [u8] = std::mem::take(&mut self.0);
        let mut other = ReadBuf::new(own);
        other.advance(2);
        *buf = other;
        Poll::Ready(Ok(()))
    }
}

#[test]
#[should_panic(expected = "another buffer")]
fn a_reader_that_changes_the_buffer_is_blamed() {
    let mut reader = pin!(TressIo::new(Liar(Box::leak(Box::new([1, 2, 3])))));
    let mut memory = [0; 3];
    let mut buf = hyper::rt::ReadBuf::new(&mut memory);
    let mut cx = Context::from_waker(Waker::noop());
    let _ = hyper::rt::Read::poll_read(reader.as_mut(), &mut cx, buf.unfilled());
}
