//! However bytes are cut into pieces on their way, they arrive, all of them and in order.

mod io_support;

use bytes::{Buf, Bytes};
use io_support::{Choppy, Random, block_on, random_bytes, run_all};
use std::io::{Cursor, IoSlice, SeekFrom};
use tress::io::compat::Compat;
use tress::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWrite,
    AsyncWriteExt, BufReader, BufStream, BufWriter, copy, copy_bidirectional_with_sizes, copy_buf,
    duplex, join, simplex, split,
};

const ROUNDS: u64 = if cfg!(miri) { 3 } else { 300 };
const LARGEST: usize = if cfg!(miri) { 60 } else { 2000 };

fn data(random: &mut Random) -> Vec<u8> {
    let len = [0, 1, 31, 32, 33, LARGEST][random.below(6)];
    let len = len + random.below(LARGEST / 20);
    random_bytes(random, len)
}

fn capacity(random: &mut Random) -> usize {
    [1, 2, 3, 16, 100, 8192][random.below(6)]
}

/// Reads everything, in one of the ways there are.
async fn read_all(reader: &mut (impl AsyncRead + Unpin), random: &mut Random) -> Vec<u8> {
    let mut all = Vec::with_capacity([0, 40, 2100][random.below(3)]);
    match random.below(5) {
        0 => {
            reader.read_to_end(&mut all).await.unwrap();
        }
        1 => loop {
            let mut buf = vec![0; 1 + random.below(50)];
            match reader.read(&mut buf).await {
                Ok(0) => break,
                Ok(n) => all.extend_from_slice(&buf[..n]),
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::Interrupted),
            }
        },
        2 => loop {
            match reader.read_buf(&mut all).await {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::Interrupted),
            }
        },
        3 => {
            assert_eq!(copy(reader, &mut all).await.unwrap(), all.len() as u64);
        }
        _ => loop {
            let limit = random.below(300) as u64;
            let n = (&mut *reader)
                .take(limit)
                .read_to_end(&mut all)
                .await
                .unwrap();
            if limit > 0 && n == 0 {
                break;
            }
            assert!(n as u64 <= limit);
        },
    }
    all
}

/// Reads everything, in one of the ways that need a buffer.
async fn read_all_buffered(
    reader: &mut (impl AsyncBufRead + Unpin),
    random: &mut Random,
) -> Vec<u8> {
    let mut all = Vec::new();
    let byte = random.below(256) as u8;
    match random.below(3) {
        0 => while reader.read_until(byte, &mut all).await.unwrap() != 0 {},
        1 => {
            assert_eq!(copy_buf(reader, &mut all).await.unwrap(), all.len() as u64);
        }
        _ => {
            let mut last = None;
            let mut segments = AsyncBufReadExt::split(reader, b'\n');
            while let Some(segment) = segments.next_segment().await.unwrap() {
                if last.replace(()).is_some() {
                    all.push(b'\n');
                }
                all.extend_from_slice(&segment);
            }
            // Whether the last one ended in a newline it does not tell.
        }
    }
    all
}

/// Writes everything and flushes it, in one of the ways there are.
async fn write_everything(
    writer: &mut (impl AsyncWrite + Unpin),
    bytes: &[u8],
    random: &mut Random,
) {
    match random.below(4) {
        0 => {
            for piece in bytes.chunks(1 + random.below(60)) {
                writer.write_all(piece).await.unwrap();
            }
        }
        1 => {
            let mut rest = bytes;
            while !rest.is_empty() {
                let cuts = [random.below(40), random.below(40), random.below(40)];
                let mut pieces = Vec::new();
                let mut left = rest;
                for cut in cuts {
                    let (piece, others) = left.split_at(cut.min(left.len()));
                    pieces.push(IoSlice::new(piece));
                    left = others;
                }
                match writer.write_vectored(&pieces).await {
                    Ok(n) => rest = &rest[n..],
                    Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::Interrupted),
                }
            }
        }
        2 => {
            let (first, second) = bytes.split_at(random.below(bytes.len() + 1));
            let mut chained = Bytes::copy_from_slice(first).chain(Bytes::copy_from_slice(second));
            writer.write_all_buf(&mut chained).await.unwrap();
        }
        _ => {
            let mut reader = Choppy::new(bytes, random.below(1000) as u64);
            copy(&mut reader, writer).await.unwrap();
        }
    }
    writer.flush().await.unwrap();
}

#[test]
fn reads_lose_nothing() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let data = data(&mut random);
        let source = || Choppy::new(&data[..], seed).interrupted();
        block_on(async {
            let seen = read_all(&mut source(), &mut random).await;
            assert_eq!(seen, data, "seed {seed}, directly");

            let mut reader = BufReader::with_capacity(capacity(&mut random), source());
            let seen = read_all(&mut reader, &mut random).await;
            assert_eq!(seen, data, "seed {seed}, with a buffer");

            let (first, second) = data.split_at(random.below(data.len() + 1));
            let mut chained = Choppy::new(first, seed).chain(Choppy::new(second, seed + 1));
            let seen = read_all(&mut chained, &mut random).await;
            assert_eq!(seen, data, "seed {seed}, one after the other");
        });
    }
}

#[test]
fn buffered_reads_lose_nothing() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let mut data = data(&mut random);
        // See `read_all_buffered`.
        while data.last() == Some(&b'\n') {
            data.pop();
        }
        block_on(async {
            let source = Choppy::new(&data[..], seed).interrupted();
            let mut reader = BufReader::with_capacity(capacity(&mut random), source);
            let seen = read_all_buffered(&mut reader, &mut random).await;
            assert_eq!(seen, data, "seed {seed}");

            let (first, second) = data.split_at(random.below(data.len() + 1));
            let (first, second) = (BufReader::with_capacity(3, first), second);
            let mut reader = first.chain(second).take(u64::MAX);
            let seen = read_all_buffered(&mut reader, &mut random).await;
            assert_eq!(seen, data, "seed {seed}, chained");
        });
    }
}

#[test]
fn lines_are_those_of_the_standard_library() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let text: String = (0..random.below(300))
            .map(|_| ['a', 'ß', '\r', '\n', '\n', '𝄞'][random.below(6)])
            .collect();
        block_on(async {
            let source = Choppy::new(text.as_bytes(), seed).interrupted();
            let mut reader = BufReader::with_capacity(capacity(&mut random), source);
            let mut lines = (&mut reader).lines();
            for expected in text.lines() {
                assert_eq!(lines.next_line().await.unwrap().as_deref(), Some(expected));
            }
            assert_eq!(lines.next_line().await.unwrap(), None);

            let source = Choppy::new(text.as_bytes(), seed).interrupted();
            let mut reader = BufReader::with_capacity(capacity(&mut random), source);
            let mut all = String::new();
            while reader.read_line(&mut all).await.unwrap() != 0 {
                assert!(text.starts_with(&all));
            }
            assert_eq!(all, text);
        });
    }
}

#[test]
fn writes_lose_nothing() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let data = data(&mut random);
        block_on(async {
            let mut sink = Choppy::new(Vec::new(), seed).interrupted();
            write_everything(&mut sink, &data, &mut random).await;
            assert_eq!(sink.inner, data, "seed {seed}, directly");

            let capacity = [0, capacity(&mut random)][random.below(2)];
            let sink = Choppy::new(Vec::new(), seed).interrupted();
            let mut writer = BufWriter::with_capacity(capacity, sink);
            write_everything(&mut writer, &data, &mut random).await;
            assert_eq!(writer.buffer(), b"");
            assert_eq!(
                writer.into_inner().inner,
                data,
                "seed {seed}, capacity {capacity}"
            );
        });
    }
}

#[test]
fn adapters_lose_nothing() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let data = data(&mut random);
        block_on(async {
            // Ours, made theirs, made ours again.
            let mut reader = Compat::new(Compat::new(Choppy::new(&data[..], seed)));
            assert_eq!(read_all(&mut reader, &mut random).await, data);
            let mut writer = Compat::new(Compat::new(Choppy::new(Vec::new(), seed)));
            write_everything(&mut writer, &data, &mut random).await;
            assert_eq!(writer.into_inner().into_inner().inner, data);

            let mut cursor = Compat::new(Compat::new(Choppy::new(Cursor::new(&data[..]), seed)));
            let at = random.below(data.len() + 1);
            let position = cursor.seek(SeekFrom::Start(at as u64)).await.unwrap();
            assert_eq!(position, at as u64);
            assert_eq!(read_all(&mut cursor, &mut random).await, &data[at..]);
        });
    }
}

/// Both directions at once, by tasks that are polled in turns when they are woken and only then.
#[test]
fn pipes_lose_nothing_and_wake_everybody() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let limit = [1, 2, 3, 64, usize::MAX][random.below(5)];
        let (there, back) = (data(&mut random), data(&mut random));
        let (one, other) = duplex(limit);
        let end = |stream, send: Vec<u8>, expect: Vec<u8>, seed: u64| -> [_; 2] {
            let (mut reader, mut writer) = split(stream);
            [
                Box::pin(async move {
                    write_everything(&mut writer, &send, &mut Random::new(seed)).await;
                    writer.shutdown().await.unwrap();
                }) as std::pin::Pin<Box<dyn Future<Output = ()>>>,
                Box::pin(async move {
                    let seen = read_all(&mut reader, &mut Random::new(seed + 1)).await;
                    assert_eq!(seen, expect, "seed {seed}, limit {limit}");
                }),
            ]
        };
        let [a, b] = end(one, there.clone(), back.clone(), seed);
        let [c, d] = end(other, back, there, seed + 2);
        run_all(vec![a, b, c, d]);
    }
}

#[test]
fn a_simplex_pipe_loses_nothing() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let data = data(&mut random);
        let (mut reader, mut writer) = simplex(1 + random.below(40));
        let expected = data.clone();
        run_all(vec![
            Box::pin(async move {
                write_everything(&mut writer, &data, &mut Random::new(seed)).await;
                writer.shutdown().await.unwrap();
            }),
            Box::pin(async move {
                let seen = read_all(&mut reader, &mut Random::new(seed)).await;
                assert_eq!(seen, expected, "seed {seed}");
            }),
        ]);
    }
}

#[test]
fn connected_streams_lose_nothing() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let (there, back) = (data(&mut random), data(&mut random));
        let sizes = (capacity(&mut random), capacity(&mut random));
        block_on(async {
            let mut a = join(
                Choppy::new(&there[..], seed).interrupted(),
                Choppy::new(Vec::new(), seed + 1).interrupted(),
            );
            let mut b = join(
                Choppy::new(&back[..], seed + 2).interrupted(),
                BufWriter::with_capacity(5, Choppy::new(Vec::new(), seed + 3)),
            );
            let copied = copy_bidirectional_with_sizes(&mut a, &mut b, sizes.0, sizes.1).await;
            assert_eq!(copied.unwrap(), (there.len() as u64, back.len() as u64));
            assert_eq!(a.writer().inner, back);
            assert_eq!(b.writer().get_ref().inner, there);
        });
    }
}

/// A buffered stream is at the same place, and has the same bytes, as one without a buffer.
#[test]
fn buffers_and_seeks_agree_with_the_standard_library() {
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let bytes = random_bytes(&mut random, 100);
        let mut model = Cursor::new(bytes.clone());
        let inner = Choppy::new(Cursor::new(bytes), seed);
        let (reading, writing) = (capacity(&mut random), capacity(&mut random));
        let mut stream = BufStream::with_capacity(reading, writing, inner);
        block_on(async {
            for _ in 0..40 {
                let position = match random.below(3) {
                    0 => SeekFrom::Start(random.below(120) as u64),
                    1 => SeekFrom::Current(random.below(60) as i64 - 30),
                    _ => SeekFrom::End(random.below(120) as i64 - 110),
                };
                let (expected, seen) = (
                    std::io::Seek::seek(&mut model, position),
                    stream.seek(position).await,
                );
                assert_eq!(expected.is_ok(), seen.is_ok(), "seed {seed}: {position:?}");
                let (Ok(expected), Ok(seen)) = (expected, seen) else {
                    continue;
                };
                assert_eq!(expected, seen, "seed {seed}: {position:?}");
                // Between reading and writing there is a seek: that is what gives a place to both.
                if random.below(2) == 0 {
                    for _ in 0..random.below(3) {
                        let mut expected = vec![0; random.below(30)];
                        let n = std::io::Read::read(&mut model, &mut expected).unwrap();
                        expected.truncate(n);
                        let mut seen = vec![0; n];
                        stream.read_exact(&mut seen).await.unwrap();
                        assert_eq!(expected, seen, "seed {seed}");
                    }
                } else {
                    for _ in 0..random.below(3) {
                        let len = 1 + random.below(30);
                        let bytes = random_bytes(&mut random, len);
                        std::io::Write::write_all(&mut model, &bytes).unwrap();
                        stream.write_all(&bytes).await.unwrap();
                    }
                }
            }
            stream.flush().await.unwrap();
            assert_eq!(stream.into_inner().inner.into_inner(), model.into_inner());
        });
    }
}
