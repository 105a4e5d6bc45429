//! Operations that are dropped at every point at which they can be: what they promise is kept.

#![allow(clippy::await_holding_refcell_ref, reason = "one task at a time")]

mod io_support;

use bytes::{Buf, Bytes};
use io_support::{Act, Script, drop_at_every_point, give, task};
use std::cell::RefCell;
use std::io::Cursor;
use std::rc::Rc;
use std::task::Poll;
use tress::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufWriter, DuplexStream,
    Lines, SeekFrom, Split, copy_buf, duplex, simplex,
};

type Shared<T> = Rc<RefCell<T>>;

fn shared<T>(value: T) -> Shared<T> {
    Rc::new(RefCell::new(value))
}

/// Bytes that come one by one, with a wait before each.
fn trickle(text: &[u8]) -> Script {
    Script::new(text.iter().flat_map(|&b| [Act::Wait, give([b])]))
}

/// Takes byte by byte, with a wait before each.
fn dripping(n: usize) -> Script {
    Script::new((0..n).flat_map(|_| [Act::Wait, Act::Take(1)]))
}

#[test]
fn reading_from_a_pipe() {
    drop_at_every_point(
        || {
            let (one, other) = duplex(3);
            (shared(one), RefCell::new(other))
        },
        |(stream, _)| {
            let stream: Shared<DuplexStream> = stream.clone();
            async move {
                let mut buf = [0; 8];
                let n = stream.borrow_mut().read(&mut buf).await.unwrap();
                buf[..n].to_vec()
            }
        },
        |(_, peer), _| {
            assert_eq!(task(peer.borrow_mut().write(b"ab")).ready().unwrap(), 2);
        },
        |(stream, peer), read| {
            // Together with what comes now it is everything that was written.
            let mut all = read.unwrap_or_default();
            task(peer.borrow_mut().shutdown()).ready().unwrap();
            let mut rest = Vec::new();
            task(stream.borrow_mut().read_to_end(&mut rest))
                .ready()
                .unwrap();
            all.extend_from_slice(&rest);
            assert!(all.is_empty() || all == b"ab", "{all:?}");
        },
    );
}

#[test]
fn writing_to_a_full_pipe() {
    drop_at_every_point(
        || {
            let (reader, mut writer) = simplex(2);
            assert_eq!(task(writer.write(b"__")).ready().unwrap(), 2);
            (RefCell::new(reader), shared(writer))
        },
        |(_, writer)| {
            let writer = writer.clone();
            async move { writer.borrow_mut().write(b"xy").await.unwrap() }
        },
        |(reader, _), _| {
            assert_eq!(task(reader.borrow_mut().read_u8()).ready().unwrap(), b'_');
        },
        |(reader, writer), written| {
            task(writer.borrow_mut().shutdown()).ready().unwrap();
            let mut rest = Vec::new();
            task(reader.borrow_mut().read_to_end(&mut rest))
                .ready()
                .unwrap();
            let rest: Vec<u8> = rest.into_iter().filter(|&b| b != b'_').collect();
            assert_eq!(rest, &b"xy"[..written.unwrap_or(0)]);
        },
    );
}

/// What was read is in the buffer, and the rest in the source.
#[test]
fn reading_into_a_vector() {
    const TEXT: &[u8] = b"ab,cd";
    for to_end in [false, true] {
        drop_at_every_point(
            || (trickle(TEXT), shared(Vec::new())),
            |(script, buf)| {
                let (mut script, buf) = (script.clone(), buf.clone());
                async move {
                    if to_end {
                        script.read_to_end(&mut buf.borrow_mut()).await
                    } else {
                        let mut reader = BufReader::with_capacity(1, script);
                        reader.read_until(b',', &mut buf.borrow_mut()).await
                    }
                }
            },
            |(script, _), _| script.go_on(),
            |(script, buf), read| {
                let mut all = buf.borrow().clone();
                if let Some(n) = read {
                    assert_eq!(n.unwrap(), if to_end { 5 } else { 3 });
                }
                all.extend(script.rest());
                assert_eq!(all, TEXT);
            },
        );
    }
}

#[test]
fn lines_and_segments() {
    const TEXT: &[u8] = "é\nb\n".as_bytes();
    drop_at_every_point(
        || {
            let script = trickle(TEXT);
            let lines = BufReader::with_capacity(1, script.clone()).lines();
            (script, shared(lines))
        },
        |(_, lines)| {
            let lines: Shared<Lines<_>> = lines.clone();
            async move { lines.borrow_mut().next_line().await.unwrap().unwrap() }
        },
        |(script, _), _| script.go_on(),
        |(script, lines), line| {
            let mut lines = lines.borrow_mut();
            let mut all: Vec<String> = line.into_iter().collect();
            while all.len() < 2 {
                let mut next = task(lines.next_line());
                let line = loop {
                    match next.poll() {
                        Poll::Ready(line) => break line,
                        Poll::Pending => script.go_on(),
                    }
                };
                all.push(line.unwrap().unwrap());
            }
            assert_eq!(all, ["é", "b"]);
        },
    );
    drop_at_every_point(
        || {
            let script = trickle(b"ab,c");
            let split = BufReader::with_capacity(1, script.clone()).split(b',');
            (script, shared(split))
        },
        |(_, split)| {
            let split: Shared<Split<_>> = split.clone();
            async move { split.borrow_mut().next_segment().await.unwrap().unwrap() }
        },
        |(script, _), _| script.go_on(),
        |(script, split), segment| {
            let mut split = split.borrow_mut();
            let mut all: Vec<Vec<u8>> = segment.into_iter().collect();
            while all.len() < 2 {
                let mut next = task(split.next_segment());
                let segment = loop {
                    match next.poll() {
                        Poll::Ready(segment) => break segment,
                        Poll::Pending => script.go_on(),
                    }
                };
                all.push(segment.unwrap().unwrap());
            }
            assert_eq!(all, [&b"ab"[..], b"c"]);
        },
    );
}

/// The string is a string at every point, begins as it did, and loses at most a part of a character.
#[test]
fn reading_into_a_string() {
    const TEXT: &str = "aé𝄞b\n";
    for whole in [false, true] {
        drop_at_every_point(
            || (trickle(TEXT.as_bytes()), shared(String::from("was "))),
            |(script, text)| {
                let (mut script, text) = (script.clone(), text.clone());
                async move {
                    if whole {
                        script.read_to_string(&mut text.borrow_mut()).await
                    } else {
                        let mut reader = BufReader::with_capacity(1, script);
                        reader.read_line(&mut text.borrow_mut()).await
                    }
                }
            },
            |(script, _), _| script.go_on(),
            |(script, text), read| {
                let text = text.borrow();
                if let Some(n) = read {
                    assert_eq!(n.unwrap(), TEXT.len());
                    assert_eq!(*text, format!("was {TEXT}"));
                } else if whole {
                    assert_eq!(*text, "was ");
                } else {
                    let taken = &TEXT.as_bytes()[..TEXT.len() - script.rest().len()];
                    let kept = std::str::from_utf8(taken).unwrap_or_default();
                    assert_eq!(*text, format!("was {kept}"));
                }
            },
        );
    }
}

#[test]
fn writing_from_a_buffer_that_tells() {
    drop_at_every_point(
        || (dripping(4), shared(Bytes::from("abcd"))),
        |(script, buf)| {
            let (mut script, buf) = (script.clone(), buf.clone());
            async move {
                script.write_all_buf(&mut *buf.borrow_mut()).await.unwrap();
            }
        },
        |(script, _), _| script.go_on(),
        |(script, buf), done| {
            let mut all = script.written();
            assert_eq!(done.is_some(), !buf.borrow().has_remaining());
            all.extend_from_slice(&buf.borrow());
            assert_eq!(all, b"abcd");
        },
    );
}

/// Flushing can be given up and taken up again.
#[test]
fn flushing_a_buffer() {
    drop_at_every_point(
        || {
            let script = dripping(4);
            let mut writer = BufWriter::new(script.clone());
            task(writer.write_all(b"abcd")).ready().unwrap();
            (script, shared(writer))
        },
        |(_, writer)| {
            let writer = writer.clone();
            async move {
                writer.borrow_mut().flush().await.unwrap();
            }
        },
        |(script, _), _| script.go_on(),
        |(script, writer), _| {
            let mut writer = writer.borrow_mut();
            let mut all = script.written();
            all.extend_from_slice(writer.buffer());
            assert_eq!(all, b"abcd");

            let mut again = task(writer.flush());
            while again.poll().is_pending() {
                script.go_on();
            }
            drop(again);
            assert_eq!(script.written(), b"abcd");
            assert_eq!(writer.buffer(), b"");
        },
    );
}

/// What `copy_buf` has not written is still in the reader.
#[test]
fn copying_from_a_buffer() {
    drop_at_every_point(
        || {
            let script = trickle(b"abcd");
            let reader = BufReader::new(script.clone());
            (script, shared(reader), dripping(4))
        },
        |(_, reader, sink)| {
            let (reader, mut sink) = (reader.clone(), sink.clone());
            async move {
                copy_buf(&mut *reader.borrow_mut(), &mut sink)
                    .await
                    .unwrap()
            }
        },
        |(script, _, sink), step| match step % 2 {
            0 => script.go_on(),
            _ => sink.go_on(),
        },
        |(script, reader, sink), copied| {
            let mut all = sink.written();
            if let Some(n) = copied {
                assert_eq!(n, 4);
            }
            all.extend_from_slice(reader.borrow().buffer());
            all.extend(script.rest());
            assert_eq!(all, b"abcd");
        },
    );
}

/// After a seek that was given up another one leads to where it should.
#[test]
fn seeking() {
    drop_at_every_point(
        || {
            let inner = io_support::Choppy::new(Cursor::new(b"0123456789".to_vec()), 3);
            let mut reader = BufReader::with_capacity(4, inner);
            let mut first = task(reader.fill_buf());
            while first.poll().is_pending() {}
            drop(first);
            shared(reader)
        },
        |reader| {
            let reader = reader.clone();
            async move { reader.borrow_mut().seek(SeekFrom::Start(7)).await.unwrap() }
        },
        |_, _| {},
        |reader, at| {
            assert!(matches!(at, None | Some(7)));
            let mut reader = reader.borrow_mut();
            let mut again = task(async { reader.seek(SeekFrom::Start(5)).await });
            let at = loop {
                if let Poll::Ready(at) = again.poll() {
                    break at;
                }
            };
            assert_eq!(at.unwrap(), 5);
            drop(again);
            let mut byte = task(reader.read_u8());
            let byte = loop {
                if let Poll::Ready(byte) = byte.poll() {
                    break byte;
                }
            };
            assert_eq!(byte.unwrap(), b'5');
        },
    );
}

/// The end of a pipe that is waited at can be dropped, and so can who waits.
#[test]
fn whoever_waits_at_a_pipe_is_woken_when_it_closes() {
    let (mut reader, writer) = duplex(1);
    let mut read = task(reader.read_u8());
    read.pending();
    drop(writer);
    assert!(read.is_woken());
    assert!(read.ready().is_err());

    let (reader, mut writer) = duplex(1);
    let mut write = task(writer.write_all(b"ab"));
    write.pending();
    drop(reader);
    assert!(write.is_woken());
    let error = write.ready().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);

    // Nobody is left to be woken.
    let (mut reader, mut writer) = duplex(1);
    task(reader.read_u8()).pending();
    task(writer.write_all(b"abc")).pending();
    assert_eq!(task(reader.read_u8()).ready().unwrap(), b'a');
}
