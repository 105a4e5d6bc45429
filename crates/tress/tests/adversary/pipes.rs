//! Pipes in memory and halves of streams, with wakers that come back to them, or panic.

use crate::child;
use crate::wakers::{Event, Wakes, reacting};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use tress::io::{AsyncRead, AsyncWrite, ReadBuf, WriteHalf, duplex, simplex, split};

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writer = Box<dyn AsyncWrite + Send + Unpin>;

/// What can be read now; `None` while it is pending.
fn read(reader: &mut (impl AsyncRead + Unpin), waker: &Waker) -> Option<io::Result<Vec<u8>>> {
    let mut bytes = [0; 8];
    let mut buf = ReadBuf::new(&mut bytes);
    match Pin::new(reader).poll_read(&mut Context::from_waker(waker), &mut buf) {
        Poll::Ready(result) => Some(result.map(|()| buf.filled().to_vec())),
        Poll::Pending => None,
    }
}

fn write(
    writer: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    waker: &Waker,
) -> Option<io::Result<usize>> {
    match Pin::new(writer).poll_write(&mut Context::from_waker(waker), bytes) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// Something with a reader and a writer that know each other.
fn pairs() -> Vec<(&'static str, Reader, Writer)> {
    let (simplex_reader, simplex_writer) = simplex(4);
    let (end, other) = duplex(4);
    let (near, far) = duplex(4);
    let (_, near_writer) = split(near);
    let (far_reader, _) = split(far);
    vec![
        (
            "simplex",
            Box::new(simplex_reader),
            Box::new(simplex_writer),
        ),
        ("duplex", Box::new(end), Box::new(other)),
        ("split", Box::new(far_reader), Box::new(near_writer)),
    ]
}

/// One who reads where it is woken, until there is nothing more.
struct Inline {
    reader: Mutex<Reader>,
    has_read: Mutex<Vec<u8>>,
}

impl Inline {
    fn go_on(self: &Arc<Self>) {
        let waker = Waker::from(self.clone());
        while let Some(bytes) = read(&mut *self.reader.lock().unwrap(), &waker) {
            let bytes = bytes.unwrap();
            if bytes.is_empty() {
                return;
            }
            self.has_read.lock().unwrap().extend(bytes);
        }
    }
}

impl Wake for Inline {
    fn wake(self: Arc<Self>) {
        self.go_on();
    }
}

/// A waker that polls at once finds what it was woken for, whoever writes.
#[test]
fn a_waker_polls_where_it_is_woken() {
    child::passes("pipes::inline", "");
}

#[test]
fn inline() {
    if child::case().is_none() {
        return;
    }
    for (name, reader, mut writer) in pairs() {
        let inline = Arc::new(Inline {
            reader: Mutex::new(reader),
            has_read: Mutex::default(),
        });
        inline.go_on();
        for bytes in [&b"abcd"[..], b"ef", b"g"] {
            let written = write(&mut writer, bytes, Waker::noop()).unwrap().unwrap();
            assert_eq!(written, bytes.len(), "{name}");
        }
        assert_eq!(*inline.has_read.lock().unwrap(), b"abcdefg", "{name}");
    }
}

/// Whatever happens to a waker, it uses both ends, those that nobody is using.
#[test]
fn wakers_meddle() {
    child::passes("pipes::meddling", "");
}

#[test]
fn meddling() {
    if child::case().is_none() {
        return;
    }
    for on in [Event::Clone, Event::Wake, Event::Drop] {
        for (name, reader, writer) in pairs() {
            let ends = Arc::new((Mutex::new(reader), Mutex::new(writer)));
            let reaction = {
                let ends = ends.clone();
                move |event| {
                    if event != on {
                        return;
                    }
                    if let Ok(mut writer) = ends.1.try_lock() {
                        let _ = write(&mut *writer, b"x", Waker::noop());
                    }
                    if let Ok(mut reader) = ends.0.try_lock() {
                        let _ = read(&mut *reader, Waker::noop());
                    }
                }
            };
            let reaction = Arc::new(reaction);
            for _ in 0..6 {
                let waker = reacting(reaction.clone());
                let _ = read(&mut *ends.0.lock().unwrap(), &waker);
                let _ = write(&mut *ends.1.lock().unwrap(), b"abc", &waker);
            }
            // Nothing has come out of order, and both ends work.
            let (mut reader, mut writer) = (ends.0.lock().unwrap(), ends.1.lock().unwrap());
            while read(&mut *reader, Waker::noop()).is_some() {}
            let written = write(&mut *writer, b"end", Waker::noop());
            assert_eq!(written.unwrap().unwrap(), 3, "{name} {on:?}");
            let rest = read(&mut *reader, Waker::noop());
            assert_eq!(rest.unwrap().unwrap(), b"end", "{name} {on:?}");
        }
    }
}

/// An end that goes is gone for all who wait, though one of them panics.
#[test]
fn a_waker_panics_when_the_other_end_is_dropped() {
    let (mut near, mut far) = duplex(1);
    let panics = reacting(Arc::new(|event| {
        assert_ne!(event, Event::Wake, "a waker's own trouble");
    }));
    let counts = Arc::new(Wakes::default());
    assert!(read(&mut near, &panics).is_none());
    assert_eq!(write(&mut near, b"x", Waker::noop()).unwrap().unwrap(), 1);
    assert!(write(&mut near, b"y", &counts.clone().into()).is_none());
    assert!(far_goes(&mut far).is_err());
    assert_eq!(counts.0.load(Ordering::SeqCst), 1);
    assert!(read(&mut near, Waker::noop()).unwrap().unwrap().is_empty());
    let error = write(&mut near, b"y", Waker::noop()).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}

/// Drops an end. What its drop panicked with is the error.
fn far_goes(far: &mut tress::io::DuplexStream) -> std::thread::Result<()> {
    let far = std::mem::replace(far, duplex(1).0);
    catch_unwind(AssertUnwindSafe(|| drop(far)))
}

/// A stream that writes to its own other half while it is read, and panics if it is told to.
#[derive(Default)]
struct Selfish {
    other: Arc<OnceLock<Mutex<WriteHalf<Selfish>>>>,
    woken: Arc<Wakes>,
    written: Arc<Mutex<Vec<u8>>>,
    panics: bool,
}

impl AsyncRead for Selfish {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut other = self.other.get().unwrap().lock().unwrap();
        assert!(write(&mut *other, b"x", &self.woken.clone().into()).is_none());
        assert!(write(&mut *other, b"x", &self.woken.clone().into()).is_none());
        drop(other);
        assert_eq!(self.woken.0.load(Ordering::SeqCst), 0, "too early");
        assert!(!self.panics, "a stream's own trouble");
        buf.put_slice(b"read");
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Selfish {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written.lock().unwrap().extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// A half that is polled from within a poll of the other one waits for its end, and hears of it.
#[test]
fn a_stream_polls_its_other_half() {
    child::passes("pipes::selfish", "");
}

#[test]
fn selfish() {
    if child::case().is_none() {
        return;
    }
    for panics in [false, true] {
        let stream = Selfish {
            panics,
            ..Selfish::default()
        };
        let (other, woken) = (stream.other.clone(), stream.woken.clone());
        let written = stream.written.clone();
        let (mut reader, writer) = split(stream);
        assert!(other.set(Mutex::new(writer)).is_ok());
        let was_read = catch_unwind(AssertUnwindSafe(|| read(&mut reader, Waker::noop())));
        assert_eq!(was_read.is_err(), panics);
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(written.lock().unwrap().is_empty());
        let mut writer = other.get().unwrap().lock().unwrap();
        let again = write(&mut *writer, b"now", Waker::noop());
        assert_eq!(again.unwrap().unwrap(), 3);
        assert_eq!(*written.lock().unwrap(), b"now");
    }
}
