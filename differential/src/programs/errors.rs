//! What errors say, of which kind they are, and how they and other values show themselves for debugging. A seed
//! is the number of a case.

use super::tokio;
use std::fmt::{Debug, Display};
use std::io::{self, SeekFrom};
use std::net::SocketAddr;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWrite, AsyncWriteExt, BufReader, BufWriter,
    Interest, ReadBuf,
};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Mutex, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc, oneshot, watch};
use tokio::time::{error::Error as TimeError, timeout};

type Case = (&'static str, fn() -> String);

pub fn run(seed: u64) -> Vec<String> {
    let Some((name, case)) = CASES.get(seed as usize) else {
        return Vec::new();
    };
    let text = match catch_unwind(case) {
        Ok(text) => text,
        Err(payload) => match payload.downcast::<String>() {
            Ok(text) => format!("panicked: {text}"),
            Err(_) => "panicked".to_string(),
        },
    };
    vec![format!("{name}: {text}")]
}

fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_all().build().expect("a runtime")
}

fn block_on<F: Future>(future: F) -> F::Output {
    runtime().block_on(future)
}

fn says(error: impl Display + Debug) -> String {
    format!("{error} | {error:?}")
}

fn shows(value: impl Debug) -> String {
    format!("{value:?} | {value:#?}")
}

/// As `says`, without numbers: those of tasks are each side's own.
fn says_without_numbers(error: impl Display + Debug) -> String {
    says(error).replace(|c: char| c.is_ascii_digit(), "")
}

fn io_says<T>(result: io::Result<T>) -> String {
    match result {
        Ok(_) => "no error".to_string(),
        Err(error) => format!("{:?} | {}", error.kind(), says(&error)),
    }
}

/// A writer that takes this many bytes, and then nothing, without an error.
struct Full(usize);

impl AsyncWrite for Full {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Poll::Ready(Ok(taken))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

const NOWHERE: &[SocketAddr] = &[];
const NOT_TEXT: &[u8] = b"abc\xff\n";

/// A file with these bytes, until it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: &[u8]) -> Scratch {
        let side = module_path!().replace("::", "-");
        let name = format!("tress-differential-{}-{side}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).expect("a file");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn tcp_pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
    (near.expect("a stream"), far.expect("a stream").0)
}

/// A stream whose runtime is gone.
fn orphan() -> TcpStream {
    block_on(async { tcp_pair().await.0 })
}

/// Ends whose other end is gone.
fn sender() -> mpsc::Sender<u8> {
    mpsc::channel(1).0
}

fn receiver() -> mpsc::Receiver<u8> {
    mpsc::channel(1).1
}

fn broadcast_sender() -> broadcast::Sender<u8> {
    broadcast::channel(1).0
}

fn broadcast_receiver() -> broadcast::Receiver<u8> {
    broadcast::channel(1).1
}

fn oneshot_receiver() -> oneshot::Receiver<u8> {
    oneshot::channel().1
}

fn watch_sender() -> watch::Sender<u8> {
    watch::channel(1).0
}

fn watch_receiver() -> watch::Receiver<u8> {
    watch::channel(1).1
}

tokio::task_local! {
    static LOCAL: u8;
}

const CASES: &[Case] = &[
    // Reading.
    ("read_exact", || {
        block_on(async { io_says((&b"ab"[..]).read_exact(&mut [0; 3]).await) })
    }),
    ("read_u8", || {
        block_on(async { io_says((&b""[..]).read_u8().await) })
    }),
    ("read_i8", || {
        block_on(async { io_says((&b""[..]).read_i8().await) })
    }),
    ("read_u16", || {
        block_on(async { io_says((&b"a"[..]).read_u16().await) })
    }),
    ("read_u128_le", || {
        block_on(async { io_says((&b"abc"[..]).read_u128_le().await) })
    }),
    ("read_f64", || {
        block_on(async { io_says((&b"abc"[..]).read_f64().await) })
    }),
    ("read_line", || {
        block_on(async { io_says(BufReader::new(NOT_TEXT).read_line(&mut String::new()).await) })
    }),
    ("read_to_string", || {
        block_on(async { io_says((&NOT_TEXT[..]).read_to_string(&mut String::new()).await) })
    }),
    ("lines", || {
        block_on(async { io_says(BufReader::new(NOT_TEXT).lines().next_line().await) })
    }),
    // Writing.
    ("write_all", || {
        block_on(async { io_says(Full(2).write_all(b"abc").await) })
    }),
    ("write_all_buf", || {
        block_on(async { io_says(Full(2).write_all_buf(&mut &b"abc"[..]).await) })
    }),
    ("write_u8", || {
        block_on(async { io_says(Full(0).write_u8(1).await) })
    }),
    ("write_u32", || {
        block_on(async { io_says(Full(2).write_u32(1).await) })
    }),
    ("write_f32_le", || {
        block_on(async { io_says(Full(2).write_f32_le(1.0).await) })
    }),
    ("BufWriter::flush", || {
        block_on(async {
            let mut writer = BufWriter::new(Full(2));
            writer.write_all(b"abc").await.expect("room in the buffer");
            io_says(writer.flush().await)
        })
    }),
    ("BufWriter::shutdown", || {
        block_on(async {
            let mut writer = BufWriter::new(Full(2));
            writer.write_all(b"abc").await.expect("room in the buffer");
            io_says(writer.shutdown().await)
        })
    }),
    ("copy", || {
        block_on(async { io_says(tokio::io::copy(&mut &b"abc"[..], &mut Full(2)).await) })
    }),
    ("copy_buf", || {
        block_on(async { io_says(tokio::io::copy_buf(&mut &b"abc"[..], &mut Full(2)).await) })
    }),
    ("copy_bidirectional", || {
        block_on(async {
            let (mut near, far) = tokio::io::duplex(8);
            drop(far);
            let mut full = tokio::io::join(&b"abc"[..], Full(0));
            io_says(tokio::io::copy_bidirectional(&mut full, &mut near).await)
        })
    }),
    ("write to a closed duplex", || {
        block_on(async {
            let (mut near, far) = tokio::io::duplex(8);
            drop(far);
            io_says(near.write_all(b"abc").await)
        })
    }),
    ("write to a duplex that was shut down", || {
        block_on(async {
            let (mut near, _far) = tokio::io::duplex(8);
            near.shutdown().await.expect("a shutdown");
            io_says(near.write_all(b"abc").await)
        })
    }),
    // Locks and cells.
    ("AcquireError", || {
        block_on(async {
            let semaphore = Semaphore::new(1);
            semaphore.close();
            says(semaphore.acquire().await.expect_err("closed"))
        })
    }),
    ("TryAcquireError::Closed", || {
        let semaphore = Semaphore::new(1);
        semaphore.close();
        says(semaphore.try_acquire().expect_err("closed"))
    }),
    ("TryAcquireError::NoPermits", || {
        says(Semaphore::new(0).try_acquire().expect_err("empty"))
    }),
    ("Mutex::try_lock", || {
        let mutex = Mutex::new(1);
        let _guard = mutex.try_lock();
        says(mutex.try_lock().expect_err("locked"))
    }),
    ("RwLock::try_write", || {
        let lock = RwLock::new(1);
        let _guard = lock.try_read();
        says(lock.try_write().expect_err("locked"))
    }),
    ("OnceCell::set", || {
        says(OnceCell::new_with(Some(1)).set(2).expect_err("set"))
    }),
    ("OnceCell::set meanwhile", || {
        block_on(async {
            let cell = OnceCell::new();
            let text = cell.get_or_init(async || says(cell.set(String::new()).expect_err("busy")));
            text.await.clone()
        })
    }),
    ("SetOnce::set", || {
        says(SetOnce::new_with(Some(1)).set(2).expect_err("set"))
    }),
    // Channels.
    ("mpsc::SendError", || {
        block_on(async { says(sender().send(1).await.expect_err("closed")) })
    }),
    ("mpsc::unbounded SendError", || {
        let tx = mpsc::unbounded_channel().0;
        says(tx.send(1).expect_err("closed"))
    }),
    ("TrySendError::Full", || {
        let (tx, _rx) = mpsc::channel(1);
        tx.try_send(1).expect("room");
        says(tx.try_send(1).expect_err("full"))
    }),
    ("TrySendError::Closed", || {
        says(sender().try_send(1).expect_err("closed"))
    }),
    ("SendTimeoutError::Timeout", || {
        block_on(async {
            let (tx, _rx) = mpsc::channel(1);
            tx.try_send(1).expect("room");
            says(tx.send_timeout(1, Duration::ZERO).await.expect_err("full"))
        })
    }),
    ("SendTimeoutError::Closed", || {
        block_on(async {
            let tx = sender();
            says(
                tx.send_timeout(1, Duration::ZERO)
                    .await
                    .expect_err("closed"),
            )
        })
    }),
    ("mpsc::TryRecvError::Empty", || {
        let (_tx, mut rx) = mpsc::channel::<u8>(1);
        says(rx.try_recv().expect_err("empty"))
    }),
    ("mpsc::TryRecvError::Disconnected", || {
        says(receiver().try_recv().expect_err("closed"))
    }),
    ("broadcast::SendError", || {
        // Ours shows itself without the message, which need not be `Debug`.
        broadcast_sender().send(1).expect_err("closed").to_string()
    }),
    ("broadcast::RecvError::Closed", || {
        block_on(async { says(broadcast_receiver().recv().await.expect_err("closed")) })
    }),
    ("broadcast::RecvError::Lagged", || {
        block_on(async {
            let (tx, mut rx) = broadcast::channel(1);
            let _ = (tx.send(1), tx.send(2), tx.send(3));
            says(rx.recv().await.expect_err("lagged"))
        })
    }),
    ("broadcast::TryRecvError::Empty", || {
        let (_tx, mut rx) = broadcast::channel::<u8>(1);
        says(rx.try_recv().expect_err("empty"))
    }),
    ("broadcast::TryRecvError::Closed", || {
        says(broadcast_receiver().try_recv().expect_err("closed"))
    }),
    ("broadcast::TryRecvError::Lagged", || {
        let (tx, mut rx) = broadcast::channel(1);
        let _ = (tx.send(1), tx.send(2));
        says(rx.try_recv().expect_err("lagged"))
    }),
    ("oneshot::RecvError", || {
        block_on(async { says(oneshot_receiver().await.expect_err("closed")) })
    }),
    ("oneshot::TryRecvError::Empty", || {
        let (_tx, mut rx) = oneshot::channel::<u8>();
        says(rx.try_recv().expect_err("empty"))
    }),
    ("oneshot::TryRecvError::Closed", || {
        says(oneshot_receiver().try_recv().expect_err("closed"))
    }),
    ("watch::SendError", || {
        says(watch_sender().send(1).expect_err("closed"))
    }),
    ("watch::RecvError", || {
        block_on(async { says(watch_receiver().changed().await.expect_err("closed")) })
    }),
    // Tasks and runtimes.
    ("JoinError, cancelled", || {
        block_on(async {
            let task = tokio::spawn(std::future::pending::<()>());
            task.abort();
            says_without_numbers(task.await.expect_err("aborted"))
        })
    }),
    ("JoinError, panicked with a literal", || {
        block_on(async {
            let task = tokio::spawn(async { panic!("now \"and\" then") });
            says_without_numbers(task.await.expect_err("a panic"))
        })
    }),
    ("JoinError, panicked with a string", || {
        block_on(async {
            let task = tokio::spawn(async { panic!("now {}", 'a') });
            says_without_numbers(task.await.expect_err("a panic"))
        })
    }),
    ("JoinError, panicked with something else", || {
        block_on(async {
            let task = tokio::spawn(async { std::panic::panic_any(5u8) });
            says_without_numbers(task.await.expect_err("a panic"))
        })
    }),
    ("JoinError, cancelled, as io::Error", || {
        block_on(async {
            let task = tokio::spawn(std::future::pending::<()>());
            task.abort();
            io_says(task.await.map_err(io::Error::from))
        })
    }),
    ("JoinError, panicked, as io::Error", || {
        block_on(async {
            let task = tokio::spawn(async { panic!("now") });
            io_says(task.await.map_err(io::Error::from))
        })
    }),
    ("task_local", || {
        says(LOCAL.try_with(|value| *value).expect_err("not set"))
    }),
    ("TryCurrentError", || {
        says(Handle::try_current().expect_err("no runtime"))
    }),
    ("RuntimeFlavor", || {
        block_on(async { shows(Handle::current().runtime_flavor()) })
    }),
    // Time.
    ("Elapsed", || {
        block_on(async {
            let never = timeout(Duration::ZERO, std::future::pending::<()>());
            says(never.await.expect_err("elapsed"))
        })
    }),
    ("Elapsed as io::Error", || {
        block_on(async {
            let never = timeout(Duration::ZERO, std::future::pending::<()>());
            io_says(never.await.map_err(io::Error::from))
        })
    }),
    ("time::Error::shutdown", || says(TimeError::shutdown())),
    (
        "time::Error::at_capacity",
        || says(TimeError::at_capacity()),
    ),
    ("time::Error::invalid", || says(TimeError::invalid())),
    // Sockets.
    ("TcpListener::bind to nothing", || {
        block_on(async { io_says(TcpListener::bind(NOWHERE).await) })
    }),
    ("TcpStream::connect to nothing", || {
        block_on(async { io_says(TcpStream::connect(NOWHERE).await) })
    }),
    ("UdpSocket::bind to nothing", || {
        block_on(async { io_says(UdpSocket::bind(NOWHERE).await) })
    }),
    ("UdpSocket::connect to nothing", || {
        block_on(async {
            let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
            io_says(socket.connect(NOWHERE).await)
        })
    }),
    ("UdpSocket::send_to nothing", || {
        block_on(async {
            let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
            io_says(socket.send_to(b"abc", NOWHERE).await)
        })
    }),
    ("TcpListener::bind without a port", || {
        block_on(async { io_says(TcpListener::bind("127.0.0.1").await) })
    }),
    ("tcp::ReuniteError", || {
        block_on(async {
            let (one, other) = tcp_pair().await;
            let (reader, _) = one.into_split();
            let (_, writer) = other.into_split();
            let error = reader.reunite(writer).expect_err("different streams");
            format!("{error}")
        })
    }),
    ("TcpStream::try_read", || {
        block_on(async { io_says(tcp_pair().await.0.try_read(&mut [0; 8])) })
    }),
    ("UdpSocket::try_recv", || {
        block_on(async {
            let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
            io_says(socket.try_recv_from(&mut [0; 8]))
        })
    }),
    ("readable after the runtime's end", || {
        let stream = orphan();
        block_on(async { io_says(stream.readable().await) })
    }),
    ("bind after the runtime's end", || {
        let rt = runtime();
        let handle = rt.handle().clone();
        drop(rt);
        let _entered = handle.enter();
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("a mode");
        io_says(UdpSocket::from_std(socket))
    }),
    ("Interest", || {
        shows([
            Interest::READABLE,
            Interest::WRITABLE,
            Interest::READABLE | Interest::WRITABLE,
            Interest::ERROR,
        ])
    }),
    ("fs::read_to_string", || {
        let file = Scratch::new("text", NOT_TEXT);
        block_on(async { io_says(tokio::fs::read_to_string(&file.0).await) })
    }),
    ("fs::read", || {
        block_on(async { io_says(tokio::fs::read("/there/is/no/such/file").await) })
    }),
    ("seek before the beginning", || {
        let file = Scratch::new("seek", b"abc");
        block_on(async {
            let mut file = tokio::fs::File::open(&file.0).await.expect("a file");
            io_says(file.seek(SeekFrom::Current(-1)).await)
        })
    }),
    ("fs after the runtime's end", || {
        let rt = runtime();
        let handle = rt.handle().clone();
        drop(rt);
        let _entered = handle.enter();
        let mut exists = Box::pin(tokio::fs::create_dir("/there/is/no/such/folder"));
        let mut cx = Context::from_waker(Waker::noop());
        match exists.as_mut().poll(&mut cx) {
            Poll::Ready(result) => {
                let error = result.expect_err("there is no runtime");
                format!("{:?} | {error}", error.kind())
            }
            Poll::Pending => "pending".to_string(),
        }
    }),
    // How values show themselves.
    ("Mutex", || shows(Mutex::new(1))),
    ("Mutex, locked", || {
        let mutex = Mutex::new(1);
        let guard = mutex.try_lock();
        shows((&mutex, &guard))
    }),
    ("RwLock", || shows(RwLock::new(1))),
    ("RwLock, locked", || {
        let lock = RwLock::new(1);
        let guard = lock.try_write();
        shows((&lock, &guard))
    }),
    ("OnceCell", || {
        shows((OnceCell::<u8>::new(), OnceCell::new_with(Some(1))))
    }),
    ("SetOnce", || {
        shows((SetOnce::<u8>::new(), SetOnce::new_with(Some(1))))
    }),
    ("ReadBuf", || shows(ReadBuf::new(&mut [0; 8]))),
    ("FileTimes", || shows(tokio::fs::FileTimes::new())),
    ("MissedTickBehavior", || {
        shows(tokio::time::MissedTickBehavior::default())
    }),
    #[cfg(unix)]
    ("unix::ReuniteError", || {
        block_on(async {
            let (one, other) = tokio::net::UnixStream::pair().expect("a pair");
            let (reader, _) = one.into_split();
            let (_, writer) = other.into_split();
            format!("{}", reader.reunite(writer).expect_err("different streams"))
        })
    }),
    #[cfg(unix)]
    ("pipe::Receiver::from_file, no pipe", || {
        let file = Scratch::new("receiver", b"");
        block_on(async {
            let file = std::fs::File::open(&file.0).expect("a file");
            io_says(tokio::net::unix::pipe::Receiver::from_file(file))
        })
    }),
    #[cfg(unix)]
    ("pipe::Sender::from_file, no pipe", || {
        let file = Scratch::new("sender", b"");
        block_on(async {
            let file = std::fs::File::open(&file.0).expect("a file");
            io_says(tokio::net::unix::pipe::Sender::from_file(file))
        })
    }),
    #[cfg(unix)]
    ("pipe::Sender::from_owned_fd, of a reader", || {
        block_on(async {
            let (_writer, reader) = tokio::net::unix::pipe::pipe().expect("a pipe");
            let reader = reader.into_blocking_fd().expect("a descriptor");
            io_says(tokio::net::unix::pipe::Sender::from_owned_fd(reader))
        })
    }),
    #[cfg(unix)]
    ("pipe::Receiver::from_owned_fd, of a writer", || {
        block_on(async {
            let (writer, _reader) = tokio::net::unix::pipe::pipe().expect("a pipe");
            let writer = writer.into_blocking_fd().expect("a descriptor");
            io_says(tokio::net::unix::pipe::Receiver::from_owned_fd(writer))
        })
    }),
    #[cfg(unix)]
    ("UnixSocket, of the wrong kind", || {
        block_on(async {
            let datagram = || tokio::net::UnixSocket::new_datagram().expect("a socket");
            let stream = tokio::net::UnixSocket::new_stream().expect("a socket");
            [
                io_says(datagram().listen(1)),
                io_says(datagram().connect("/there/is/no/such/socket").await),
                io_says(stream.datagram()),
            ]
            .join("; ")
        })
    }),
    #[cfg(unix)]
    ("signals that are refused", || {
        use tokio::signal::unix::{SignalKind, signal};
        block_on(async {
            [-1, 0, 4, 8, 9, 11, 19].map(|kind| io_says(signal(SignalKind::from_raw(kind))))
        })
        .join("; ")
    }),
    #[cfg(unix)]
    ("SignalKind", || {
        shows(tokio::signal::unix::SignalKind::hangup())
    }),
    #[cfg(unix)]
    ("AsyncFdRegisterError", || {
        let file = Scratch::new("watched", b"");
        block_on(async {
            let file = std::fs::File::open(&file.0).expect("a file");
            #[allow(deprecated)]
            let error = tokio::io::unix::AsyncFd::try_new(file).expect_err("a file on a disk");
            let source = std::error::Error::source(&error).map(says);
            format!(
                "{} | {source:?} | {}",
                says(&error),
                io_says::<()>(Err(error.into()))
            )
        })
    }),
    #[cfg(unix)]
    ("TryIoError", || {
        block_on(async {
            let (near, _far) = std::os::unix::net::UnixStream::pair().expect("a pair");
            near.set_nonblocking(true).expect("a mode");
            #[allow(deprecated)]
            let near = tokio::io::unix::AsyncFd::new(near).expect("it can be watched");
            let mut guard = near.writable().await.expect("a guard");
            let error = guard.try_io(|_| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
            format!("{:?}", error.expect_err("it would block"))
        })
    }),
];
