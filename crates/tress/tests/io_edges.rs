//! Limits at their edges, and errors of every kind.

mod io_support;

use io_support::{Act, Choppy, Script, block_on, give, task};
use std::io::{Cursor, ErrorKind, IoSlice};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::str::Utf8Error;
use std::string::FromUtf8Error;
use std::task::{Context, Poll};
use tress::io::{
    AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufStream,
    BufWriter, ReadBuf, SeekFrom, SimplexStream, copy, copy_bidirectional,
    copy_bidirectional_with_sizes, copy_buf, duplex, empty, join, repeat, simplex, sink, split,
};

/// Panics when it is read from.
struct Untouched;

impl AsyncRead for Untouched {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        panic!("nothing was to be read");
    }
}

fn panics(f: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(f)).is_err()
}

#[test]
fn pipes_of_one_byte_and_without_a_limit() {
    let (mut one, mut other) = duplex(1);
    assert_eq!(task(one.write(b"ab")).ready().unwrap(), 1);
    task(one.write(b"b")).pending();
    assert_eq!(task(one.write(b"")).ready().unwrap(), 0);
    let empty = [IoSlice::new(b""), IoSlice::new(b"")];
    assert_eq!(task(one.write_vectored(&empty)).ready().unwrap(), 0);
    assert_eq!(task(other.read(&mut [])).ready().unwrap(), 0);
    assert_eq!(task(other.read(&mut [0; 9])).ready().unwrap(), 1);
    task(other.read(&mut [0; 9])).pending();
    assert_eq!(task(other.read(&mut [])).ready().unwrap(), 0);

    let (mut one, mut other) = duplex(usize::MAX);
    let much = vec![7; 1 << 20];
    assert_eq!(task(one.write(&much)).ready().unwrap(), 1 << 20);
    let mut seen = vec![0; 1 << 20];
    task(other.read_exact(&mut seen)).ready().unwrap();
    assert_eq!(seen, much);

    assert!(panics(|| drop(duplex(0))));
    assert!(panics(|| drop(simplex(0))));
    assert!(panics(|| drop(SimplexStream::new_unsplit(0))));
}

#[test]
fn a_closed_pipe_gives_what_it_has_and_takes_nothing() {
    let (mut one, mut other) = duplex(8);
    block_on(one.write_all(b"last")).unwrap();
    block_on(one.shutdown()).unwrap();
    block_on(one.shutdown()).unwrap();
    for bytes in [&b"more"[..], b""] {
        let error = block_on(one.write(bytes)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    }
    // The other direction is open.
    block_on(other.write_all(b"open")).unwrap();
    assert_eq!(
        block_on(one.read_u32()).unwrap(),
        u32::from_be_bytes(*b"open")
    );
    drop(one);
    let mut text = String::new();
    block_on(other.read_to_string(&mut text)).unwrap();
    assert_eq!(text, "last");
    let error = block_on(other.write(b"gone")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

#[test]
fn halves_belong_together() {
    let (reader, writer) = split(duplex(1).0);
    let (other_reader, other_writer) = split(duplex(1).0);
    assert!(reader.is_pair_of(&writer) && writer.is_pair_of(&reader));
    assert!(!reader.is_pair_of(&other_writer) && !other_writer.is_pair_of(&reader));
    assert!(panics(|| drop(reader.unsplit(other_writer))));
    drop((writer, other_reader));

    let (reader, writer) = simplex(4);
    let mut whole = reader.unsplit(writer);
    block_on(whole.write_all(b"ab")).unwrap();
    assert_eq!(block_on(whole.read_u16()).unwrap(), 0x6162);
}

#[test]
fn take_of_nothing_and_of_everything() {
    let mut text = Vec::new();
    block_on(Untouched.take(0).read_to_end(&mut text)).unwrap();
    let mut nothing = BufReader::new(Untouched).take(0);
    assert_eq!(block_on(nothing.fill_buf()).unwrap(), b"");
    assert_eq!(nothing.limit(), 0);

    let mut all = (&b"abc"[..]).take(u64::MAX);
    block_on(all.read_to_end(&mut text)).unwrap();
    assert_eq!(text, b"abc");
    assert_eq!(all.limit(), u64::MAX - 3);
    assert_eq!(*all.get_ref(), b"");

    // More than it shows cannot be consumed.
    let mut some = (&b"abcdef"[..]).take(2);
    assert_eq!(block_on(some.fill_buf()).unwrap(), b"ab");
    some.consume(4);
    assert_eq!((some.limit(), some.into_inner()), (0, &b"cdef"[..]));

    // A buffer with something in it, initialised further than that: both marks stay right.
    let mut space = [9; 8];
    let mut buf = ReadBuf::new(&mut space);
    buf.put_slice(b"xy");
    let mut part = (&b"abcdef"[..]).take(3);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    assert!(Pin::new(&mut part).poll_read(&mut cx, &mut buf).is_ready());
    assert_eq!((buf.filled(), buf.initialized().len()), (&b"xyabc"[..], 8));
}

#[test]
fn chains_of_nothing() {
    let mut text = Vec::new();
    let mut chain = empty().chain(&b""[..]).chain(&b"x"[..]).chain(empty());
    // A read into no space does not end the first source.
    assert_eq!(block_on(chain.read(&mut [])).unwrap(), 0);
    block_on(chain.read_to_end(&mut text)).unwrap();
    assert_eq!(text, b"x");
    assert_eq!(block_on(chain.read(&mut [0; 4])).unwrap(), 0);
}

#[test]
fn buffers_of_all_sizes() {
    assert!(panics(|| drop(BufReader::with_capacity(0, empty()))));
    assert!(panics(|| drop(BufStream::with_capacity(0, 1, empty()))));
    let mut writer = BufWriter::with_capacity(0, Vec::new());
    block_on(writer.write_all(b"at once")).unwrap();
    assert_eq!(
        (writer.buffer(), &writer.get_ref()[..]),
        (&b""[..], &b"at once"[..])
    );
    let mut stream = BufStream::with_capacity(1, 0, Cursor::new(b"ab\n".to_vec()));
    let mut line = String::new();
    block_on(stream.read_line(&mut line)).unwrap();
    assert_eq!(line, "ab\n");

    // Taken apart and put together the other way round, with what is in the buffers.
    let mut outer = BufWriter::new(BufReader::new(Cursor::new(b"in".to_vec())));
    block_on(outer.fill_buf()).unwrap();
    block_on(outer.write_all(b"out")).unwrap();
    let mut stream = BufStream::from(outer);
    assert_eq!(block_on(stream.read_u16()).unwrap(), 0x696E);
    block_on(stream.flush()).unwrap();
    assert_eq!(stream.into_inner().into_inner(), b"inout");

    // Consuming more than there is takes what there is.
    let mut reader = BufReader::with_capacity(2, &b"abc"[..]);
    assert_eq!(block_on(reader.fill_buf()).unwrap(), b"ab");
    reader.consume(usize::MAX);
    assert_eq!(block_on(reader.read_u8()).unwrap(), b'c');
}

#[test]
fn seeks_that_cannot_be() {
    let mut reader = BufReader::with_capacity(4, Cursor::new(b"0123456789".to_vec()));
    block_on(async {
        assert_eq!(reader.read_u8().await.unwrap(), b'0');
        // It fails and changes nothing, though the source is ahead of the reader.
        assert!(reader.seek(SeekFrom::Current(-2)).await.is_err());
        assert_eq!(reader.stream_position().await.unwrap(), 1);
        assert!(reader.seek(SeekFrom::Current(i64::MIN)).await.is_err());
        assert_eq!(reader.read_u8().await.unwrap(), b'1');
        assert_eq!(
            reader.seek(SeekFrom::Start(u64::MAX)).await.unwrap(),
            u64::MAX
        );
        assert_eq!(reader.read(&mut [0; 4]).await.unwrap(), 0);
        reader.rewind().await.unwrap();
        assert_eq!(reader.read_u8().await.unwrap(), b'0');
    });
}

#[test]
fn the_end_comes_too_early() {
    let kind = |error: std::io::Error| error.kind();
    let mut buf = [0; 4];
    let error = block_on((&b"abc"[..]).read_exact(&mut buf)).unwrap_err();
    assert_eq!(kind(error), ErrorKind::UnexpectedEof);
    assert_eq!(&buf[..3], b"abc");
    let error = block_on((&b"abc"[..]).read_u32()).unwrap_err();
    assert_eq!(kind(error), ErrorKind::UnexpectedEof);
    // Nothing to read is not an early end.
    assert_eq!(block_on((&b""[..]).read_exact(&mut [])).unwrap(), 0);
}

#[test]
fn a_sink_that_takes_nothing() {
    fn full() -> Cursor<Box<[u8]>> {
        Cursor::new(Box::new([0; 2]))
    }
    let kind = |error: std::io::Error| error.kind();
    block_on(async {
        let error = full().write_all(b"abc").await.unwrap_err();
        assert_eq!(kind(error), ErrorKind::WriteZero);
        let error = full().write_u32(1).await.unwrap_err();
        assert_eq!(kind(error), ErrorKind::WriteZero);
        let mut buf = bytes::Bytes::from("abc");
        let error = full().write_all_buf(&mut buf).await.unwrap_err();
        assert_eq!((kind(error), &buf[..]), (ErrorKind::WriteZero, &b"c"[..]));
        let error = copy(&mut &b"abc"[..], &mut full()).await.unwrap_err();
        assert_eq!(kind(error), ErrorKind::WriteZero);
        let mut reader = &b"abc"[..];
        let error = copy_buf(&mut reader, &mut full()).await.unwrap_err();
        assert_eq!((kind(error), reader), (ErrorKind::WriteZero, &b"c"[..]));
        let mut writer = BufWriter::new(full());
        writer.write_all(b"abc").await.unwrap();
        let error = writer.flush().await.unwrap_err();
        assert_eq!(
            (kind(error), writer.buffer()),
            (ErrorKind::WriteZero, &b"c"[..])
        );
        // Nothing to write is no error.
        full().write_all(b"").await.unwrap();
        assert_eq!(full().write_buf(&mut bytes::Bytes::new()).await.unwrap(), 0);
    });
}

/// A single read or write tells that it was interrupted; what has to get to an end goes on.
#[test]
fn interruptions() {
    let interrupted = || Act::Fail(ErrorKind::Interrupted);
    block_on(async {
        let error = Script::new([interrupted()]).read(&mut [0]).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Interrupted);
        let error = Script::new([interrupted()]).write(b"x").await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Interrupted);

        let source = || Script::new([interrupted(), give("ab"), interrupted(), give("c\n")]);
        let mut text = String::new();
        source().read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc\n");
        let mut lines = BufReader::new(source()).lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "abc");
        assert_eq!(lines.next_line().await.unwrap(), None);

        let target = || Script::new([interrupted(), Act::Take(1), interrupted(), Act::Take(9)]);
        let mut sink = target();
        sink.write_u32(0x6162_6364).await.unwrap();
        assert_eq!(sink.written(), b"abcd");
        let mut sink = target();
        assert_eq!(copy(&mut source(), &mut sink).await.unwrap(), 4);
        assert_eq!(sink.written(), b"abc\n");
    });
}

#[test]
fn text_that_is_none_loses_nothing() {
    const BAD: &[u8] = b"good\nb\xFFd\nrest\n";
    block_on(async {
        let mut line = String::from("before ");
        let mut source = BAD;
        source.read_line(&mut line).await.unwrap();
        let error = source.read_line(&mut line).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        let error = error.into_inner().unwrap().downcast::<Utf8Error>().unwrap();
        assert_eq!(error.valid_up_to(), "before good\nb".len());
        assert_eq!(line, "before good\n");
        source.read_line(&mut line).await.unwrap();
        assert_eq!(line, "before good\nrest\n");

        let mut text = String::from("before");
        let error = { BAD }.read_to_string(&mut text).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert_eq!(text, "before");

        // The error has the bytes, and the next line follows.
        let mut lines = BAD.lines();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "good");
        let error = lines.next_line().await.unwrap_err();
        let error = error.into_inner().unwrap().downcast::<FromUtf8Error>();
        assert_eq!(error.unwrap().into_bytes(), b"b\xFFd");
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "rest");
        assert_eq!(lines.next_line().await.unwrap(), None);
    });
}

/// An error in between: what was read before it is there, and what comes after it as well.
#[test]
fn errors_in_between() {
    let broken = || Act::Fail(ErrorKind::ConnectionReset);
    let source = || Script::new([give("ab"), broken(), give("c\nd")]);
    let kind = |error: std::io::Error| error.kind();
    block_on(async {
        let mut buf = Vec::new();
        let mut reader = source();
        let error = reader.read_to_end(&mut buf).await.unwrap_err();
        assert_eq!(
            (kind(error), &buf[..]),
            (ErrorKind::ConnectionReset, &b"ab"[..])
        );
        reader.read_to_end(&mut buf).await.unwrap();
        assert_eq!(buf, b"abc\nd");

        let mut lines = BufReader::new(source()).lines();
        assert_eq!(
            kind(lines.next_line().await.unwrap_err()),
            ErrorKind::ConnectionReset
        );
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "abc");
        assert_eq!(lines.next_line().await.unwrap().unwrap(), "d");

        let mut line = String::from("> ");
        let mut reader = BufReader::new(source());
        let error = reader.read_line(&mut line).await.unwrap_err();
        assert_eq!(
            (kind(error), &line[..]),
            (ErrorKind::ConnectionReset, "> ab")
        );

        // What was read before it is written before it is told.
        let mut written = Vec::new();
        let error = copy(&mut source(), &mut written).await.unwrap_err();
        assert_eq!(
            (kind(error), &written[..]),
            (ErrorKind::ConnectionReset, &b"ab"[..])
        );
        let mut written = Choppy::new(Vec::new(), 5);
        written.most = 1;
        let error = copy(&mut source(), &mut written).await.unwrap_err();
        assert_eq!(
            (kind(error), &written.inner[..]),
            (ErrorKind::ConnectionReset, &b"ab"[..])
        );

        // An error in one direction ends both.
        let mut a = join(source(), sink());
        let mut b = join(Script::new([Act::Wait]), sink());
        let error = copy_bidirectional(&mut a, &mut b).await.unwrap_err();
        assert_eq!(kind(error), ErrorKind::ConnectionReset);
    });
}

/// What was written is flushed when the reader makes wait, and at the end.
#[test]
fn copies_flush() {
    for buffered in [false, true] {
        let mut source = Script::new([give("ab"), Act::Wait, give("cd")]);
        let mut target = Script::new([Act::Take(9), Act::Take(9)]);
        let (reader, writer) = (source.clone(), target.clone());
        let mut copying = task(async {
            if buffered {
                copy_buf(&mut BufReader::new(&mut source), &mut target).await
            } else {
                copy(&mut source, &mut target).await
            }
        });
        copying.pending();
        assert_eq!((writer.written(), writer.flushes()), (b"ab".to_vec(), 1));
        // Once is enough.
        copying.pending();
        assert_eq!(writer.flushes(), 1);
        reader.go_on();
        assert!(copying.is_woken());
        assert_eq!(copying.ready().unwrap(), 4);
        assert_eq!((writer.written(), writer.flushes()), (b"abcd".to_vec(), 2));
    }
}

#[test]
fn sizes_of_nothing_are_refused() {
    for sizes in [(0, 1), (1, 0)] {
        assert!(panics(|| {
            let (mut a, mut b) = (empty(), empty());
            let _ = block_on(copy_bidirectional_with_sizes(
                &mut a, &mut b, sizes.0, sizes.1,
            ));
        }));
    }
}

/// A reader that does not fill the buffer that it was given, but another one, does no harm.
#[test]
fn a_reader_that_exchanges_the_buffer_is_found_out() {
    struct Exchanging;
    impl AsyncRead for Exchanging {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            *buf = ReadBuf::new(&mut []);
            Poll::Ready(Ok(()))
        }
    }
    let mut buf = Vec::with_capacity(64);
    assert!(panics(|| drop(block_on(Exchanging.read_buf(&mut buf)))));
    assert!(panics(|| drop(block_on(Exchanging.read_to_end(&mut buf)))));
    assert!(panics(|| drop(block_on(
        Exchanging.take(9).read(&mut [0; 9])
    ))));
    assert_eq!(buf, b"");
}

/// Nothing that is always ready keeps a task from yielding.
#[tress::test]
async fn what_is_always_ready_yields() {
    macro_rules! yields {
        ($($operation:expr;)*) => {
            $(
                let endless = async {
                    loop {
                        let _ = $operation.await;
                    }
                };
                let mut polls = 0;
                let mut endless = std::pin::pin!(endless);
                std::future::poll_fn(|cx| {
                    assert!(Future::poll(endless.as_mut(), cx).is_pending());
                    polls += 1;
                    if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
                })
                .await;
            )*
        };
    }
    let (mut one, mut other) = duplex(64);
    let mut pipe = SimplexStream::new_unsplit(64);
    yields! {
        empty().read(&mut [0; 4]);
        empty().fill_buf();
        empty().write(b"x");
        empty().seek(SeekFrom::Start(1));
        repeat(1).read(&mut [0; 4]);
        sink().write(b"x");
        sink().flush();
        sink().shutdown();
        copy(&mut &b"abc"[..], &mut Vec::new());
        copy_buf(&mut &b"abc"[..], &mut Vec::new());
        async { one.write(b"x").await?; other.read(&mut [0; 4]).await };
        async { pipe.write(b"x").await?; pipe.read(&mut [0; 4]).await };
    }
    // Without end, between two that know of no budget.
    struct Endless;
    impl AsyncRead for Endless {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buf: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let n = buf.initialize_unfilled().len();
            buf.advance(n);
            Poll::Ready(Ok(()))
        }
    }
    yields! {
        copy(&mut Endless, &mut Vec::new());
    }
}
