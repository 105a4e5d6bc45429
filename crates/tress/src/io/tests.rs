use super::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use std::io::{self, Cursor, IoSlice, SeekFrom};
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

fn ready<T>(poll: Poll<io::Result<T>>) -> T {
    match poll {
        Poll::Ready(result) => result.unwrap(),
        Poll::Pending => panic!("bytes in memory are always there"),
    }
}

fn read<R: AsyncRead + Unpin + ?Sized>(reader: &mut R, n: usize) -> Vec<u8> {
    let mut space = vec![MaybeUninit::uninit(); n];
    let mut buf = ReadBuf::uninit(&mut space);
    ready(Pin::new(reader).poll_read(&mut cx(), &mut buf));
    buf.filled().to_vec()
}

fn write<W: AsyncWrite + Unpin + ?Sized>(writer: &mut W, bytes: &[u8]) -> usize {
    ready(Pin::new(writer).poll_write(&mut cx(), bytes))
}

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn the_marks_of_a_buffer_move_as_documented() {
    let mut space = [MaybeUninit::uninit(); 8];
    let mut buf = ReadBuf::uninit(&mut space);
    assert_eq!(
        (buf.capacity(), buf.remaining(), buf.initialized().len()),
        (8, 8, 0)
    );

    buf.put_slice(b"ab");
    assert_eq!(buf.filled(), b"ab");
    assert_eq!(buf.initialized(), b"ab");

    assert_eq!(buf.initialize_unfilled_to(2), [0, 0]);
    assert_eq!(buf.initialized().len(), 4);
    buf.initialize_unfilled_to(2).copy_from_slice(b"cd");
    // Asking for more must not wipe what is initialized already.
    assert_eq!(buf.initialize_unfilled(), b"cd\0\0\0\0");
    buf.advance(1);
    assert_eq!(buf.filled(), b"abc");

    buf.filled_mut()[0] = b'A';
    buf.clear();
    assert_eq!(buf.filled(), b"");
    assert_eq!(buf.initialized(), b"Abcd\0\0\0\0");
    buf.set_filled(4);
    buf.initialized_mut()[4] = b'e';
    buf.advance(1);
    assert_eq!(buf.filled(), b"Abcde");
    assert_eq!(buf.remaining(), 3);
    assert_eq!(
        format!("{buf:?}"),
        "ReadBuf { filled: 5, initialized: 8, capacity: 8 }"
    );
}

#[test]
fn a_part_of_a_buffer_does_not_move_the_marks_of_the_whole() {
    let mut space = [MaybeUninit::uninit(); 4];
    let mut buf = ReadBuf::uninit(&mut space);
    buf.put_slice(b"x");
    let mut part = buf.take(2);
    assert_eq!(part.capacity(), 2);
    part.put_slice(b"yz");
    assert_eq!(buf.filled(), b"x");
    assert!(panics(|| buf.advance(2)));
    // SAFETY: the part wrote them.
    unsafe { buf.assume_init(2) };
    buf.advance(2);
    assert_eq!(buf.filled(), b"xyz");
    assert_eq!(buf.take(100).capacity(), 1);
}

#[test]
fn the_unsafe_ways_to_fill_a_buffer() {
    let mut space = [MaybeUninit::uninit(); 6];
    let mut buf = ReadBuf::uninit(&mut space);
    buf.put_slice(b"a");
    // SAFETY: only initialized bytes are written, and exactly those are declared so.
    unsafe {
        for (byte, value) in buf.unfilled_mut().iter_mut().zip(b"bc") {
            byte.write(*value);
        }
        buf.assume_init(2);
        buf.assume_init(0);
        assert_eq!(buf.inner_mut().len(), 6);
    }
    assert_eq!(buf.initialized(), b"abc");
    assert_eq!(buf.filled(), b"a");
    buf.set_filled(3);
    assert_eq!(buf.filled(), b"abc");
}

#[test]
fn a_buffer_refuses_what_is_out_of_range() {
    let mut space = [MaybeUninit::uninit(); 4];
    let mut buf = ReadBuf::uninit(&mut space);
    buf.put_slice(b"ab");
    assert!(panics(|| buf.put_slice(b"cde")));
    assert!(panics(|| buf.advance(1)));
    assert!(panics(|| buf.advance(usize::MAX)));
    assert!(panics(|| buf.set_filled(3)));
    assert!(panics(|| {
        buf.initialize_unfilled_to(3);
    }));
    // SAFETY: refused, so nothing is assumed.
    assert!(panics(|| unsafe { buf.assume_init(3) }));
    assert_eq!(buf.filled(), b"ab");
    assert_eq!(buf.initialized(), b"ab");
}

#[cfg(feature = "bytes")]
#[test]
fn a_buffer_takes_what_bytes_puts() {
    use bytes::BufMut;
    let mut space = [MaybeUninit::uninit(); 6];
    let mut buf = ReadBuf::uninit(&mut space);
    buf.put_u16(0x0102);
    BufMut::put_slice(&mut buf, b"abc");
    assert_eq!(buf.remaining_mut(), 1);
    buf.chunk_mut()[0..1].copy_from_slice(b"d");
    // SAFETY: written just now.
    unsafe { buf.advance_mut(1) };
    assert_eq!(buf.filled(), b"\x01\x02abcd");
    assert!(!buf.has_remaining_mut());
}

#[test]
fn slices_and_cursors_are_read_to_their_end() {
    let mut slice: &[u8] = b"hello";
    assert_eq!(read(&mut slice, 3), b"hel");
    assert_eq!(read(&mut slice, 3), b"lo");
    assert_eq!(read(&mut slice, 3), b"");

    let mut cursor = Cursor::new(b"hello".to_vec());
    cursor.set_position(3);
    assert_eq!(read(&mut cursor, 9), b"lo");
    assert_eq!(cursor.position(), 5);
    cursor.set_position(u64::MAX);
    assert_eq!(read(&mut cursor, 9), b"");
}

#[test]
fn everything_that_points_to_a_reader_is_one() {
    let mut slice: &[u8] = b"abcdef";
    assert_eq!(read(&mut &mut slice, 1), b"a");
    let mut boxed: Box<dyn AsyncRead + Unpin> = Box::new(slice);
    assert_eq!(read(&mut boxed, 1), b"b");
    let mut pinned: Pin<Box<dyn AsyncRead>> = Box::into_pin(boxed);
    assert_eq!(read(&mut pinned, 1), b"c");
}

/// A reader that would be unsound to move while it is read.
struct Immovable(PhantomPinned);

impl AsyncRead for Immovable {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        buf.put_slice(b"still here");
        Poll::Ready(Ok(()))
    }
}

#[test]
fn a_pinned_reader_need_not_be_movable() {
    let mut immovable = pin!(Immovable(PhantomPinned));
    assert_eq!(read(&mut immovable, 16), b"still here");
}

#[test]
fn buffered_readers_show_what_they_have() {
    fn check<R: AsyncBufRead + Unpin>(mut reader: R) {
        assert_eq!(
            ready(Pin::new(&mut reader).poll_fill_buf(&mut cx())),
            b"abc"
        );
        Pin::new(&mut reader).consume(2);
        assert_eq!(ready(Pin::new(&mut reader).poll_fill_buf(&mut cx())), b"c");
        assert_eq!(read(&mut reader, 5), b"c");
        assert_eq!(ready(Pin::new(&mut reader).poll_fill_buf(&mut cx())), b"");
    }
    let slice: &[u8] = b"abc";
    check(slice);
    check(Box::new(slice));
    let mut again = slice;
    check::<&mut &[u8]>(&mut again);
    assert_eq!(again, b"");
    check(Box::pin(slice));
    check(Cursor::new("abc"));
}

#[test]
fn memory_is_written_to() {
    let mut vec = vec![b'>'];
    assert_eq!(write(&mut vec, b"ab"), 2);
    assert_eq!(write(&mut &mut vec, b"c"), 1);
    assert_eq!(vec, b">abc");

    let mut cursor = Cursor::new(vec);
    cursor.set_position(3);
    assert_eq!(write(&mut cursor, b"xyz"), 3);
    assert_eq!(cursor.get_ref(), b">abxyz");

    let mut cursor = Cursor::new(cursor.into_inner().into_boxed_slice());
    cursor.set_position(5);
    assert_eq!(write(&mut cursor, b"no room"), 1);
    assert_eq!(write(&mut cursor, b"at all"), 0);

    let mut array = [0; 2];
    assert_eq!(write(&mut Cursor::new(&mut array[..]), b"123"), 2);
    assert_eq!(array, *b"12");
    let mut vec = Vec::new();
    assert_eq!(write(&mut Cursor::new(&mut vec), b"123"), 3);
    assert_eq!(vec, b"123");
}

#[test]
fn several_buffers_are_written_at_once_where_that_works() {
    let bufs = [IoSlice::new(b""), IoSlice::new(b"ab"), IoSlice::new(b"c")];
    let mut boxed: Pin<Box<dyn AsyncWrite>> = Box::pin(Vec::new());
    assert!(boxed.is_write_vectored());
    assert_eq!(
        ready(Pin::new(&mut boxed).poll_write_vectored(&mut cx(), &bufs)),
        3
    );
    ready(Pin::new(&mut boxed).poll_flush(&mut cx()));
    ready(Pin::new(&mut boxed).poll_shutdown(&mut cx()));

    /// Implements the required methods and no others.
    struct Plain(Vec<u8>);
    impl AsyncWrite for Plain {
        fn poll_write(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
            buf: &[u8],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.0).poll_write(cx, buf)
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }
    let mut plain = Box::new(Plain(Vec::new()));
    assert!(!plain.is_write_vectored());
    assert_eq!(
        ready(Pin::new(&mut plain).poll_write_vectored(&mut cx(), &bufs)),
        2
    );
    assert_eq!(
        ready(Pin::new(&mut plain).poll_write_vectored(&mut cx(), &[])),
        0
    );
    assert_eq!(plain.0, b"ab");
}

#[test]
fn cursors_seek() {
    fn seek<S: AsyncSeek + Unpin>(mut s: S, to: SeekFrom) -> io::Result<u64> {
        Pin::new(&mut s).start_seek(to)?;
        Ok(ready(Pin::new(&mut s).poll_complete(&mut cx())))
    }
    let mut cursor = Cursor::new([0; 10]);
    assert_eq!(seek(&mut cursor, SeekFrom::Start(4)).unwrap(), 4);
    assert_eq!(
        seek(Pin::new(&mut cursor), SeekFrom::Current(-1)).unwrap(),
        3
    );
    assert_eq!(seek(Box::new(&mut cursor), SeekFrom::End(2)).unwrap(), 12);
    assert!(seek(&mut cursor, SeekFrom::Current(-13)).is_err());
    assert_eq!(cursor.position(), 12);
}
