//! One connection: requests, one after the other.

use crate::events;
use crate::request::{MOST_HEAD, Method, Parsed, Request};
use crate::response::{Response, Status};
use crate::routes::{self, Answer};
use crate::server::Shared;
use std::io;
use std::time::Duration;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::TcpStream;
use tress::time::timeout;

/// Number of bytes that are asked for at a time. An idle connection keeps no buffer.
const STEP: usize = 2048;

/// How long a connection that is closed waits for the client to close it, too.
const LINGER: Duration = Duration::from_secs(1);
/// Maximum number of bytes that are read meanwhile.
const MOST_UNREAD: usize = 256 * 1024;

/// A large answer must have been read within this many idle times.
const LARGE_PATIENCE: u32 = 5;

/// How reading a head has ended.
enum Head {
    Request(Request),
    Refused(Status),
    /// The client has closed the connection, or was idle for too long.
    End,
}

pub(crate) async fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    let mut idle = shared.limits.head;
    loop {
        let request = match next(&mut stream, &mut received, idle, shared.limits.head).await? {
            Head::Request(request) => request,
            Head::Refused(status) => {
                let answer = Response::refusal(status);
                send(&mut stream, &answer, Method::Get, false, shared).await?;
                return close(stream).await;
            }
            Head::End => return Ok(()),
        };
        idle = shared.limits.idle;
        let keep_alive = request.keep_alive;
        let answer = match shared.access.refusal(&request) {
            Some(status) => Answer::Whole(Response::refusal(status)),
            None if request.method == Method::Other => {
                Answer::Whole(Response::refusal(Status::MethodNotAllowed))
            }
            None => routes::answer(&request, shared),
        };
        match answer {
            Answer::Whole(answer) => {
                send(&mut stream, &answer, request.method, keep_alive, shared).await?;
            }
            Answer::Large(make) => {
                let _turn = shared.large.lock().await;
                let answer = make(shared);
                let sent = send(&mut stream, &answer, request.method, keep_alive, shared);
                // One that reads a byte now and then does not keep others from their turn.
                let longest = shared.limits.idle.saturating_mul(LARGE_PATIENCE);
                timeout(longest, sent)
                    .await
                    .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
            }
            Answer::Events => return events::stream(stream, request.method, shared).await,
        }
        if !keep_alive {
            return close(stream).await;
        }
    }
}

/// Closes a connection so that the client gets the answer.
///
/// A socket that is closed with something unread makes the system of the client throw away what it has received.
async fn close(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let rest = async {
        let mut unread = MOST_UNREAD;
        let mut ignored = [0; 512];
        while unread > 0 {
            match stream.read(&mut ignored).await? {
                0 => break,
                read => unread = unread.saturating_sub(read),
            }
        }
        Ok(())
    };
    timeout(LINGER, rest).await.unwrap_or(Ok(()))
}

/// Reads until there is a whole head.
async fn next(
    stream: &mut TcpStream,
    received: &mut Vec<u8>,
    idle: Duration,
    limit: Duration,
) -> io::Result<Head> {
    if received.is_empty() {
        *received = Vec::new();
        match timeout(idle, read(stream, received)).await {
            Ok(Ok(0)) | Err(_) => return Ok(Head::End),
            Ok(read) => read?,
        };
    }
    let rest = async {
        let mut from = 0;
        loop {
            // Looks at the whole only at the beginning and at the end, however small the pieces are.
            if from == 0 || ends(&received[from..]) || received.len() >= MOST_HEAD {
                match Request::parse(received) {
                    Ok(Parsed::Whole(request, length)) => {
                        received.drain(..length);
                        return Ok(Head::Request(request));
                    }
                    Ok(Parsed::Part) => {}
                    Err(status) => return Ok(Head::Refused(status)),
                }
            }
            from = received.len().saturating_sub(3);
            if read(stream, received).await? == 0 {
                return Ok(Head::End);
            }
        }
    };
    match timeout(limit, rest).await {
        Ok(head) => head,
        Err(_) => Ok(Head::Refused(Status::Timeout)),
    }
}

/// Returns whether an empty line may have come.
fn ends(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

async fn read(stream: &mut TcpStream, received: &mut Vec<u8>) -> io::Result<usize> {
    let before = received.len();
    // Waits without a buffer.
    stream.readable().await?;
    received.resize(before + STEP, 0);
    let read = stream.read(&mut received[before..]).await;
    received.truncate(before + *read.as_ref().unwrap_or(&0));
    read
}

async fn send(
    stream: &mut TcpStream,
    answer: &Response,
    method: Method,
    keep_alive: bool,
    shared: &Shared,
) -> io::Result<()> {
    write(
        stream,
        answer.head(keep_alive).as_bytes(),
        shared.limits.idle,
    )
    .await?;
    if method != Method::Head {
        write(stream, answer.body.as_bytes(), shared.limits.idle).await?;
    }
    Ok(())
}

/// Writes everything. It is an error if nothing can be written for a while.
pub(crate) async fn write<W>(stream: &mut W, mut bytes: &[u8], patience: Duration) -> io::Result<()>
where
    W: tress::io::AsyncWrite + Unpin,
{
    while !bytes.is_empty() {
        match timeout(patience, stream.write(bytes)).await {
            Ok(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written?..],
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
    Ok(())
}
