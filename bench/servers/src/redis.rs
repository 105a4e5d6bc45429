//! A server of the Redis protocol for `bench/servers/run`: PING, ECHO, GET, SET, DEL and INCR, with pipelining.
//!
//! `redis WORKERS` prints its address and serves until it is killed. A request is an array of bulk strings (RESP2); all
//! requests of one read are answered by one write.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

mod start;

/// Maximum number of arguments of a request, and of bytes of one of them.
const MAX_ARGUMENTS: usize = 1024;
const MAX_BYTES: usize = 1 << 20;
const SHARDS: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    start::run(async |listener| {
        let store = Arc::new(Store::default());
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let store = store.clone();
            tokio::spawn(async move {
                if let Err(error) = serve(stream, &store).await {
                    eprintln!("a connection: {error}");
                }
            });
        }
    })
}

async fn serve(mut stream: TcpStream, store: &Store) -> std::io::Result<()> {
    let mut input = Vec::with_capacity(16 << 10);
    let mut output = Vec::with_capacity(16 << 10);
    while stream.read_buf(&mut input).await? > 0 {
        let mut used = 0;
        loop {
            match parse(&input[used..]) {
                Ok(Some((request, length))) => {
                    used += length;
                    store.answer(&request, &mut output);
                }
                Ok(None) => break,
                Err(wrong) => {
                    output
                        .extend_from_slice(format!("-ERR Protocol error: {wrong}\r\n").as_bytes());
                    return stream.write_all(&output).await;
                }
            }
        }
        input.drain(..used);
        stream.write_all(&output).await?;
        output.clear();
    }
    Ok(())
}

/// The command and its arguments.
type Request<'a> = Vec<&'a [u8]>;

/// Returns the first request and the number of its bytes, or `None` if it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(Request<'_>, usize)>, &'static str> {
    let Some((count, mut at)) = header(bytes, b'*', MAX_ARGUMENTS)? else {
        return Ok(None);
    };
    let mut request = Vec::with_capacity(count);
    for _ in 0..count {
        let Some((length, header)) = header(&bytes[at..], b'$', MAX_BYTES)? else {
            return Ok(None);
        };
        at += header;
        let Some(argument) = bytes.get(at..at + length + 2) else {
            return Ok(None);
        };
        let Some(argument) = argument.strip_suffix(b"\r\n") else {
            return Err("a bulk string without its end");
        };
        request.push(argument);
        at += length + 2;
    }
    Ok(Some((request, at)))
}

/// Reads a line such as `$12` and returns its number and the number of its bytes.
fn header(bytes: &[u8], kind: u8, limit: usize) -> Result<Option<(usize, usize)>, &'static str> {
    let Some(first) = bytes.first() else {
        return Ok(None);
    };
    if *first != kind {
        return Err("another type was expected");
    }
    let mut number = 0usize;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            b'0'..=b'9' => number = number * 10 + usize::from(byte - b'0'),
            b'\r' => {
                return match bytes.get(at + 1) {
                    Some(b'\n') if at > 1 => Ok(Some((number, at + 2))),
                    None => Ok(None),
                    Some(_) => Err("a line without its end"),
                };
            }
            _ => return Err("no number"),
        }
        if number > limit {
            return Err("too large");
        }
    }
    Ok(None)
}

/// Keys and values, behind one lock for each of a number of parts.
struct Store(Vec<Mutex<HashMap<Vec<u8>, Vec<u8>>>>);

impl Default for Store {
    fn default() -> Store {
        Store((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Store {
    fn shard(&self, key: &[u8]) -> MutexGuard<'_, HashMap<Vec<u8>, Vec<u8>>> {
        let hash = key.iter().fold(0usize, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(usize::from(*byte))
        });
        // Nothing panics while a lock is held.
        self.0[hash % SHARDS].lock().expect("no panic")
    }

    fn answer(&self, request: &[&[u8]], out: &mut Vec<u8>) {
        let Some((command, arguments)) = request.split_first() else {
            return;
        };
        match (command.to_ascii_uppercase().as_slice(), arguments) {
            (b"PING", []) => out.extend_from_slice(b"+PONG\r\n"),
            (b"PING" | b"ECHO", [said]) => bulk(out, Some(said)),
            (b"GET", [key]) => bulk(out, self.shard(key).get(*key).map(Vec::as_slice)),
            (b"SET", [key, value]) => {
                self.shard(key).insert(key.to_vec(), value.to_vec());
                out.extend_from_slice(b"+OK\r\n");
            }
            (b"DEL", keys) => {
                let gone = keys
                    .iter()
                    .filter(|key| self.shard(key).remove(**key).is_some())
                    .count();
                out.extend_from_slice(format!(":{gone}\r\n").as_bytes());
            }
            (b"INCR", [key]) => {
                let mut shard = self.shard(key);
                let old = shard.get(*key).map_or(Some(0), |value| {
                    std::str::from_utf8(value).ok()?.parse::<i64>().ok()
                });
                match old.and_then(|old| old.checked_add(1)) {
                    Some(new) => {
                        shard.insert(key.to_vec(), new.to_string().into_bytes());
                        out.extend_from_slice(format!(":{new}\r\n").as_bytes());
                    }
                    None => {
                        out.extend_from_slice(b"-ERR value is not an integer or out of range\r\n")
                    }
                }
            }
            _ => out.extend_from_slice(b"-ERR unknown command\r\n"),
        }
    }
}

fn bulk(out: &mut Vec<u8>, value: Option<&[u8]>) {
    match value {
        Some(value) => {
            out.extend_from_slice(format!("${}\r\n", value.len()).as_bytes());
            out.extend_from_slice(value);
            out.extend_from_slice(b"\r\n");
        }
        None => out.extend_from_slice(b"$-1\r\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(store: &Store, mut bytes: &[u8]) -> String {
        let mut out = Vec::new();
        while let Some((request, length)) = parse(bytes).unwrap() {
            store.answer(&request, &mut out);
            bytes = &bytes[length..];
        }
        assert!(bytes.is_empty());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn pipelined_requests_are_answered_in_order() {
        let store = Store::default();
        let asked = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\n41\r\n*2\r\n$4\r\nincr\r\n$1\r\nk\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n";
        assert_eq!(
            answer(&store, asked),
            "+OK\r\n:42\r\n$2\r\n42\r\n+PONG\r\n:1\r\n$-1\r\n"
        );
    }

    #[test]
    fn a_request_is_not_answered_before_its_last_byte() {
        let whole = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n";
        for length in 0..whole.len() {
            assert_eq!(parse(&whole[..length]).unwrap(), None);
        }
        assert_eq!(parse(whole).unwrap().unwrap().1, whole.len());
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for wrong in [
            "PING\r\n",
            "*1\r\n:4\r\n",
            "*1\r\n$1\r\nab\r\n",
            "*99999\r\n",
            "*\r\n",
            "*1\rx",
        ] {
            assert!(parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
        let store = Store::default();
        let asked = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nx\r\n*2\r\n$4\r\nINCR\r\n$1\r\nk\r\n*1\r\n$4\r\nQUIT\r\n";
        let said =
            "+OK\r\n-ERR value is not an integer or out of range\r\n-ERR unknown command\r\n";
        assert_eq!(answer(&store, asked), said);
    }
}
