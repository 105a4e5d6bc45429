//! Readers and writers that do not keep to their contract: what is built on them panics with a word about it, and
//! nothing is read from memory that was never written.

use std::future::Future;
use std::io::{self, IoSlice, SeekFrom};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};
use tress::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeek, AsyncWrite, AsyncWriteExt,
    BufReader, BufStream, BufWriter, ReadBuf, copy, copy_bidirectional, copy_buf, duplex, join,
    simplex, split,
};

/// What a liar does when it is asked to read. To write, it takes more than it was given.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// Puts a longer buffer, all of it filled, in the place of the one that it was given.
    Exchange,
    /// Puts an empty one there.
    ExchangeForNothing,
    /// Makes the buffer less filled than it was.
    Empty,
    Panic,
}

const LIES: [Lie; 4] = [
    Lie::Exchange,
    Lie::ExchangeForNothing,
    Lie::Empty,
    Lie::Panic,
];

static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

#[derive(Clone)]
struct Liar(Lie);

impl AsyncRead for Liar {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.0 {
            Lie::Exchange => {
                let other = Box::leak(vec![1; 100_000].into_boxed_slice());
                // Leak checkers find it there.
                LEAKED.lock().unwrap().push(other.as_ptr() as usize);
                *buf = ReadBuf::new(other);
                buf.advance(100_000);
            }
            Lie::ExchangeForNothing => *buf = ReadBuf::new(&mut []),
            Lie::Empty if buf.filled().is_empty() => buf.put_slice(b"x"),
            Lie::Empty => buf.clear(),
            Lie::Panic => panic!("this reader panics"),
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncBufRead for Liar {
    fn poll_fill_buf(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(b"some"))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        assert!(amt <= 4, "more is consumed than there is");
    }
}

impl AsyncWrite for Liar {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len() + 1))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// What a future that never waits says when it panics; none if it returns.
fn complaint<F: Future>(future: F) -> Option<String> {
    let mut future = pin!(future);
    let poll = || {
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
    };
    match catch_unwind(AssertUnwindSafe(poll)) {
        Ok(polled) => {
            assert!(polled.is_ready());
            None
        }
        Err(payload) => Some(match payload.downcast::<String>() {
            Ok(text) => *text,
            Err(payload) => payload.downcast::<&str>().unwrap().to_string(),
        }),
    }
}

/// The complaint is about the reader.
fn blames_the_reader<F: Future>(what: &str, lie: Lie, future: F) {
    let complaint = complaint(future);
    let is_right = match (&complaint, lie) {
        (Some(text), Lie::Panic) => text == "this reader panics",
        (Some(text), _) => text.starts_with("the reader has "),
        // With nothing in the buffer there is nothing to take away.
        (None, lie) => matches!(lie, Lie::Empty),
    };
    assert!(is_right, "{what}, {lie:?}: {complaint:?}");
}

#[test]
fn readers_that_lie_are_blamed() {
    for lie in LIES {
        let liar = || Liar(lie);
        let mut bytes = [0; 8];
        blames_the_reader("read", lie, liar().read(&mut bytes));
        blames_the_reader("read_exact", lie, liar().read_exact(&mut bytes));
        blames_the_reader("read_u64", lie, liar().read_u64());
        blames_the_reader("take", lie, liar().take(u64::MAX).read(&mut bytes));
        blames_the_reader("take 0", lie, async {
            let mut taken = liar().take(0);
            assert_eq!(taken.read(&mut [0; 8]).await.unwrap(), 0);
            taken.set_limit(3);
            taken.read(&mut [0; 8]).await
        });
        blames_the_reader("chain", lie, liar().chain(liar()).read(&mut bytes));
        blames_the_reader("buffer", lie, BufReader::new(liar()).fill_buf());
        blames_the_reader("past a buffer", lie, async {
            BufReader::with_capacity(1, liar()).read(&mut [0; 8]).await
        });
        blames_the_reader(
            "join",
            lie,
            join(liar(), tress::io::sink()).read(&mut bytes),
        );
        blames_the_reader("split", lie, split(liar()).0.read(&mut bytes));
        if !matches!(lie, Lie::Empty) {
            let mut vec = Vec::new();
            blames_the_reader("read_to_end", lie, liar().read_to_end(&mut vec));
            assert!(vec.is_empty());
            let mut text = String::from("before");
            blames_the_reader("read_to_string", lie, liar().read_to_string(&mut text));
            assert_eq!(text, "before");
            blames_the_reader("read_buf", lie, liar().read_buf(&mut vec));
            blames_the_reader("copy", lie, copy(&mut liar(), &mut tress::io::sink()));
            blames_the_reader(
                "until",
                lie,
                BufReader::new(liar()).read_until(b'y', &mut vec),
            );
            let mut lines = BufReader::new(liar()).lines();
            blames_the_reader("lines", lie, lines.next_line());
        }
    }
}

/// One that makes the buffer less filled does so when there is something in it.
#[test]
fn readers_that_take_back_are_blamed() {
    let mut bytes = [0; 8];
    let text = complaint(Liar(Lie::Empty).read_exact(&mut bytes)).unwrap();
    assert_eq!(
        text,
        "the reader has emptied the buffer that it was to fill"
    );
    let text = complaint(Liar(Lie::Empty).read_u16()).unwrap();
    assert_eq!(
        text,
        "the reader has emptied the buffer that it was to fill"
    );
}

#[test]
fn writers_that_lie_are_blamed() {
    let blames = |what: &str, complaint: Option<String>| {
        let text = complaint.unwrap_or_default();
        assert!(text.starts_with("the writer says"), "{what}: {text}");
    };
    let liar = || Liar(Lie::Panic);
    blames("write_all", complaint(liar().write_all(b"some")));
    blames("write_u16", complaint(liar().write_u16(1)));
    let copied = complaint(copy(&mut &b"some"[..], &mut liar()));
    blames("copy", copied);
    blames("copy_buf", complaint(copy_buf(&mut liar(), &mut liar())));
    blames(
        "buffer",
        complaint(async {
            let mut writer = BufWriter::new(liar());
            writer.write_all(b"some").await?;
            writer.flush().await
        }),
    );
    blames(
        "stream",
        complaint(async {
            let mut stream = BufStream::new(join(tress::io::empty(), liar()));
            stream.write_all(b"some").await?;
            stream.shutdown().await
        }),
    );
    blames(
        "both ways",
        complaint(async {
            let mut one = join(&b"some"[..], tress::io::sink());
            copy_bidirectional(&mut one, &mut join(tress::io::empty(), liar())).await
        }),
    );
    // A buffer is as it was, and does not count what was not there.
    let mut writer = BufWriter::new(liar());
    assert_eq!(complaint(writer.write_all(b"some")), None);
    blames("buffer", complaint(writer.flush()));
    assert_eq!(writer.buffer(), b"some");
}

/// What is consumed beyond what there is.
#[test]
fn consuming_too_much_takes_what_there_is() {
    let mut reader = BufReader::with_capacity(4, &b"somemore"[..]);
    assert_eq!(complaint(reader.fill_buf()), None);
    Pin::new(&mut reader).consume(usize::MAX);
    assert_eq!(reader.buffer(), b"");
    let mut text = String::new();
    assert_eq!(complaint(reader.read_to_string(&mut text)), None);
    assert_eq!(text, "more");

    let mut taken = BufReader::new(&b"somemore"[..]).take(6);
    assert_eq!(complaint(taken.fill_buf()), None);
    Pin::new(&mut taken).consume(usize::MAX);
    assert_eq!(taken.limit(), 0);
    assert_eq!(taken.get_ref().buffer(), b"re");
}

#[test]
fn sizes_at_the_edge() {
    // As much as can be said, and little that comes.
    let mut vec = Vec::new();
    assert_eq!(
        complaint((&b"some"[..]).take(u64::MAX).read_to_end(&mut vec)),
        None
    );
    assert_eq!(vec, b"some");
    let (mut near, mut far) = duplex(usize::MAX);
    assert_eq!(complaint(near.write_all(&[7; 100_000])), None);
    assert_eq!(complaint(far.read_exact(&mut [0; 100_000])), None);
    let (mut reader, mut writer) = simplex(usize::MAX);
    assert_eq!(complaint(writer.write_all(b"some")), None);
    assert_eq!(complaint(reader.read_exact(&mut [0; 4])), None);
    // Nothing at all.
    let zero = |complaint: Option<String>| complaint.unwrap().contains("greater than zero");
    assert!(zero(complaint(async { duplex(0) })));
    assert!(zero(complaint(async { simplex(0) })));
    let mut writer = BufWriter::with_capacity(0, Vec::new());
    assert_eq!(complaint(writer.write_all(b"some")), None);
    assert_eq!(writer.get_ref(), b"some");
    let empty = [IoSlice::new(&[]), IoSlice::new(&[])];
    let written = complaint(async { assert_eq!(near.write_vectored(&empty).await.unwrap(), 0) });
    assert_eq!(written, None);
    assert_eq!(
        complaint(async { assert_eq!(far.read(&mut []).await.unwrap(), 0) }),
        None
    );
}

/// One whose seeks fail, or end only at the second look.
struct Seeker {
    pending: bool,
    at: u64,
    sought: Option<SeekFrom>,
}

impl AsyncSeek for Seeker {
    fn start_seek(mut self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        if position == SeekFrom::Start(u64::MAX) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        (self.sought, self.pending) = (Some(position), true);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        if std::mem::take(&mut self.pending) {
            return Poll::Pending;
        }
        match self.sought.take() {
            Some(SeekFrom::Start(at)) => self.at = at,
            Some(_) => panic!("only from the start"),
            None => {}
        }
        Poll::Ready(Ok(self.at))
    }
}

/// A seek that fails at once does not make an earlier one, which was given up, look as if it were still to be waited for.
#[test]
fn seeks_of_the_other_kind_of_stream() {
    let seeker = Seeker {
        pending: false,
        at: 0,
        sought: None,
    };
    let mut theirs = tress::io::compat::Compat::new(seeker);
    let mut cx = Context::from_waker(Waker::noop());
    let mut seek = |theirs: &mut tress::io::compat::Compat<Seeker>, to| {
        futures_io::AsyncSeek::poll_seek(Pin::new(theirs), &mut cx, SeekFrom::Start(to))
    };
    assert!(seek(&mut theirs, 5).is_pending());
    assert!(matches!(seek(&mut theirs, u64::MAX), Poll::Ready(Err(_))));
    // Somebody reads on.
    theirs.get_mut().at = 8;
    assert!(seek(&mut theirs, 5).is_pending());
    assert!(matches!(seek(&mut theirs, 5), Poll::Ready(Ok(5))));
}
