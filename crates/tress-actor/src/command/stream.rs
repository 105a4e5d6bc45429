//! Commands for TCP and files.
//!
//! | number | command | completes with |
//! |---|---|---|
//! | 30 | [`Listen`] | [`Listener`] |
//! | 31 | [`Accept`] | [`Accepted`] |
//! | 32 | [`Connect`] | [`Stream`] |
//! | 40 | [`Open`] | [`Stream`] |
//! | 41 | [`Seek`] | `u64`: the new position, from the start |
//! | 42 | [`Sync`] | `()` |
//! | 50 | [`Read`] | `Vec<u8>`: the bytes; empty at the end |
//! | 51 | [`Write`] | `()` |
//! | 52 | [`EndWrite`] | `()` |
//! | 53 | [`Close`] | `bool`: whether it was open |
//!
//! Commands that fail complete with an [`io::Error`], which [`CommandError::downcast_ref`] finds.
//!
//! A connection or file is closed when its last [`Stream`] is dropped, or by [`Close`]. When a process ends,
//! its commands are aborted, and what they would have opened is closed.
//!
//! # Examples
//! ```
//! use tress_actor::command::stream::{Connect, Read, Stream};
//! use tress_actor::{Completion, Event, Events, Host, Payload, Process, ProcessContext, ProcessError, StepOutput};
//!
//! /// Connects, and is done with the first bytes that come.
//! struct Fetch;
//!
//! impl Process for Fetch {
//!     fn init(&mut self, _: &ProcessContext, _: &str, _: Payload) -> Result<(), ProcessError> {
//!         Ok(())
//!     }
//!
//!     fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
//!         out.wait_for_yields();
//!         for event in events {
//!             match event {
//!                 Event::Message(message) => match message.payload.downcast() {
//!                     Ok(address) => out.command(Connect(address), 0),
//!                     Err(other) => return Err(format!("{other:?} is no address").into()),
//!                 },
//!                 Event::Completion(Completion { tag: 0, result, .. }) => {
//!                     let stream = result?.downcast::<Stream>().map_err(|_| "no stream")?;
//!                     out.command(Read { stream, most: 1024 }, 1);
//!                 }
//!                 Event::Completion(Completion { result, .. }) => {
//!                     out.done(result?.downcast::<Vec<u8>>().map_err(|_| "no bytes")?);
//!                 }
//!                 _ => {}
//!             }
//!         }
//!         Ok(())
//!     }
//! }
//!
//! #[tress::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//!     let host = Host::builder("main").start().unwrap();
//!     let (pid, exit) = host.process(Fetch).exec().unwrap();
//!     host.send(pid, listener.local_addr()?).unwrap();
//!     std::io::Write::write_all(&mut listener.accept()?.0, b"hello")?;
//!     let bytes = exit.await.into_result().unwrap().downcast::<Vec<u8>>().unwrap();
//!     assert_eq!(bytes, b"hello");
//!     Ok(())
//! }
//! ```

use super::{Answer, Call, Command, CommandError, CommandId, Registry};
use std::fmt;
use std::future::Future;
use std::io::{self, SeekFrom};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tress::fs::{File, OpenOptions};
use tress::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tress::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tress::net::{TcpListener, TcpStream};
use tress::sync::{CancellationToken, Mutex};

super::numbered! {
    Listen = 30,
    Accept = 31,
    Connect = 32,
    Open = 40,
    Seek = 41,
    Sync = 42,
    Read = 50,
    Write = 51,
    EndWrite = 52,
    Close = 53,
}

/// Listens on an address. Port 0 means any free port; [`Listener::local_addr`] tells which.
///
/// # Examples
/// ```
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::Listen;
///
/// fn listen(out: &mut StepOutput) {
///     out.command(Listen(([127, 0, 0, 1], 0).into()), 1);
///     out.wait_for_yields();
/// }
/// # listen(&mut StepOutput::default());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Listen(pub SocketAddr);

/// Waits for the next connection.
///
/// # Examples
/// ```
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::{Accept, Listener};
///
/// fn accept(listener: &Listener, out: &mut StepOutput) {
///     out.command(Accept(listener.clone()), 1);
///     out.wait_for_yields();
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Accept(pub Listener);

/// The value of [`Accept`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Accepted {
    /// The connection.
    pub stream: Stream,
    /// The address of the peer.
    pub peer: SocketAddr,
}

/// Connects to an address.
///
/// # Examples
/// ```
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::Connect;
///
/// fn connect(out: &mut StepOutput) {
///     out.command(Connect(([127, 0, 0, 1], 80).into()), 1);
///     out.wait_for_yields();
/// }
/// # connect(&mut StepOutput::default());
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Connect(pub SocketAddr);

/// Opens a file.
///
/// # Examples
/// ```
/// use tress::fs::OpenOptions;
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::Open;
///
/// fn open(out: &mut StepOutput) {
///     let mut options = OpenOptions::new();
///     options.read(true);
///     out.command(Open { path: "/etc/hostname".into(), options }, 1);
///     out.wait_for_yields();
/// }
/// # open(&mut StepOutput::default());
/// ```
#[derive(Debug, Clone)]
pub struct Open {
    /// The path of the file.
    pub path: PathBuf,
    /// How to open it.
    pub options: OpenOptions,
}

/// Moves the position of a file. Fails with `Unsupported` for a connection.
///
/// # Examples
/// ```
/// use std::io::SeekFrom;
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::{Seek, Stream};
///
/// fn rewind(stream: &Stream, out: &mut StepOutput) {
///     out.command(Seek { stream: stream.clone(), to: SeekFrom::Start(0) }, 1);
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Seek {
    /// The file.
    pub stream: Stream,
    /// The new position.
    pub to: SeekFrom,
}

/// Waits until what was written to a file is on its disk. Fails with `Unsupported` for a connection.
///
/// # Examples
/// ```
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::{Stream, Sync};
///
/// fn sync(stream: &Stream, out: &mut StepOutput) {
///     out.command(Sync(stream.clone()), 1);
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Sync(pub Stream);

/// Reads some bytes, as soon as there are any. Reads of one stream happen one after the other.
///
/// # Examples
/// ```
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::{Read, Stream};
///
/// fn read(stream: &Stream, out: &mut StepOutput) {
///     out.command(Read { stream: stream.clone(), most: 4096 }, 1);
///     out.wait_for_yields();
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Read {
    /// The connection or file.
    pub stream: Stream,
    /// Maximum number of bytes, at least 1.
    pub most: usize,
}

/// Writes all bytes. Writes to one stream happen one after the other; one that is [taken
/// back](super::builtin::TakeBack) may have written a part.
///
/// # Examples
/// ```
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::{Stream, Write};
///
/// fn write(stream: &Stream, out: &mut StepOutput) {
///     out.command(Write { stream: stream.clone(), bytes: b"hello".to_vec() }, 1);
///     out.wait_for_yields();
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Write {
    /// The connection or file.
    pub stream: Stream,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// Shuts down the writing side of a connection: the peer sees the end of the stream. It can still be read.
/// Fails with `Unsupported` for a file.
#[derive(Debug, Clone)]
pub struct EndWrite(pub Stream);

/// Closes a stream, even if it has other clones. Commands that wait for it fail with
/// [`NotConnected`](io::ErrorKind::NotConnected).
///
/// # Examples
/// ```
/// use tress_actor::StepOutput;
/// use tress_actor::command::stream::{Close, EndWrite, Stream};
///
/// fn hang_up(stream: Stream, out: &mut StepOutput) {
///     out.command(EndWrite(stream.clone()), 1);
///     out.command(Close(stream), 2);
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Close(pub Stream);

/// A TCP listener; the value of [`Listen`]. Clones share it, and it is closed with the last of them.
#[derive(Debug, Clone)]
pub struct Listener(Arc<TcpListener>);

impl Listener {
    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// Any error of `getsockname(2)`.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// A connection or a file. Clones share it, and it is closed with the last of them, or by [`Close`].
#[derive(Clone)]
pub struct Stream(Arc<Inner>);

struct Inner {
    closed: CancellationToken,
    ends: Ends,
}

/// Each half is `None` once the stream is closed.
enum Ends {
    Connection(Mutex<Option<OwnedReadHalf>>, Mutex<Option<OwnedWriteHalf>>),
    File(Mutex<Option<File>>),
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0.ends {
            Ends::Connection(..) => "connection",
            Ends::File(_) => "file",
        };
        let closed = if self.is_closed() { ", closed" } else { "" };
        write!(f, "Stream({kind}{closed})")
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the stream was closed")
}

fn unfit(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what)
}

impl Stream {
    fn new(ends: Ends) -> Stream {
        Stream(Arc::new(Inner {
            closed: CancellationToken::new(),
            ends,
        }))
    }

    fn connection(stream: TcpStream) -> Stream {
        let (reader, writer) = stream.into_split();
        Stream::new(Ends::Connection(
            Mutex::new(Some(reader)),
            Mutex::new(Some(writer)),
        ))
    }

    /// Returns `true` if the stream was [closed](Close).
    pub fn is_closed(&self) -> bool {
        self.0.closed.is_cancelled()
    }

    /// Does something with the stream, unless it is closed first.
    async fn unless_closed<T>(&self, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
        let done = self.0.closed.run_until_cancelled(work).await;
        done.unwrap_or_else(|| Err(closed()))
    }

    async fn read(&self, most: usize) -> io::Result<Vec<u8>> {
        if most == 0 {
            let why = "a read needs room for at least one byte";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut bytes = vec![0; most];
        let read = self.unless_closed(async {
            match &self.0.ends {
                Ends::Connection(reader, _) => {
                    let mut reader = reader.lock().await;
                    reader.as_mut().ok_or_else(closed)?.read(&mut bytes).await
                }
                Ends::File(file) => {
                    let mut file = file.lock().await;
                    file.as_mut().ok_or_else(closed)?.read(&mut bytes).await
                }
            }
        });
        let read = read.await?;
        bytes.truncate(read);
        Ok(bytes)
    }

    async fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let written = self.unless_closed(async {
            match &self.0.ends {
                Ends::Connection(_, writer) => {
                    let mut writer = writer.lock().await;
                    writer.as_mut().ok_or_else(closed)?.write_all(bytes).await
                }
                Ends::File(file) => {
                    let mut file = file.lock().await;
                    let file = file.as_mut().ok_or_else(closed)?;
                    file.write_all(bytes).await?;
                    // Flushed now, because an error would otherwise be reported to the next write.
                    file.flush().await
                }
            }
        });
        written.await
    }

    async fn end_write(&self) -> io::Result<()> {
        let ended = self.unless_closed(async {
            match &self.0.ends {
                Ends::Connection(_, writer) => {
                    let mut writer = writer.lock().await;
                    writer.as_mut().ok_or_else(closed)?.shutdown().await
                }
                Ends::File(_) => Err(unfit("a file has nobody at its other end: close it")),
            }
        });
        ended.await
    }

    async fn with_file<T>(
        &self,
        work: impl AsyncFnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<T> {
        let Ends::File(file) = &self.0.ends else {
            return Err(unfit(
                "this works with files, and the stream is a connection",
            ));
        };
        let done = self.unless_closed(async {
            let mut file = file.lock().await;
            work(file.as_mut().ok_or_else(closed)?).await
        });
        done.await
    }

    async fn close(&self) -> bool {
        // Commands that hold a lock end and release it.
        self.0.closed.cancel();
        match &self.0.ends {
            Ends::Connection(reader, writer) => {
                writer.lock().await.take();
                reader.lock().await.take().is_some()
            }
            Ends::File(file) => file.lock().await.take().is_some(),
        }
    }
}

/// Answers later, with the result of a future.
fn later<T: Send + 'static>(
    call: Call<'_>,
    work: impl Future<Output = io::Result<T>> + Send + 'static,
) -> Answer {
    call.spawn(async move { work.await.map_err(CommandError::failed) })
}

pub(crate) fn register(registry: &mut Registry) {
    register_openers(registry);
    register_file_commands(registry);
    registry.register(|call: Call<'_>, Read { stream, most }| {
        later(call, async move { stream.read(most).await })
    });
    registry.register(|call: Call<'_>, Write { stream, bytes }| {
        later(call, async move { stream.write(&bytes).await })
    });
    registry.register(|call: Call<'_>, EndWrite(stream)| {
        later(call, async move { stream.end_write().await })
    });
    registry.register(|call: Call<'_>, Close(stream)| {
        later(call, async move { Ok(stream.close().await) })
    });
}

/// Registers the commands that make streams.
fn register_openers(registry: &mut Registry) {
    registry.register(|call: Call<'_>, Listen(address)| {
        later(call, async move {
            let listener = TcpListener::bind(address).await?;
            Ok(Listener(Arc::new(listener)))
        })
    });
    registry.register(|call: Call<'_>, Accept(listener)| {
        later(call, async move {
            let (stream, peer) = listener.0.accept().await?;
            let stream = Stream::connection(stream);
            Ok(Accepted { stream, peer })
        })
    });
    registry.register(|call: Call<'_>, Connect(address)| {
        later(call, async move {
            TcpStream::connect(address).await.map(Stream::connection)
        })
    });
    registry.register(|call: Call<'_>, Open { path, options }| {
        later(call, async move {
            let file = options.open(path).await?;
            Ok(Stream::new(Ends::File(Mutex::new(Some(file)))))
        })
    });
}

/// Registers the commands that only files know.
fn register_file_commands(registry: &mut Registry) {
    registry.register(|call: Call<'_>, Seek { stream, to }| {
        later(call, async move {
            stream
                .with_file(async move |file: &mut File| file.seek(to).await)
                .await
        })
    });
    registry.register(|call: Call<'_>, Sync(stream)| {
        later(call, async move {
            stream
                .with_file(async |file: &mut File| file.sync_all().await)
                .await
        })
    });
}
