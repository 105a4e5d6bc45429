//! Every operation, on the ring; and what happens where there is none.
#![cfg(target_os = "linux")]

mod harness;

use harness::{backends, block_on, driver};
use std::ffi::CString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tress_driver::{Buffer, Choice, Driver, op};

/// A directory of its own for a test, gone at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("tress-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn name(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).unwrap()
}

/// The uring backend, or `None` with a word about it.
fn ring() -> Option<Arc<Driver>> {
    backends()
        .iter()
        .any(|&(_, choice)| choice == Choice::Uring)
        .then(|| driver(Choice::Uring))
}

macro_rules! submit {
    ($driver:expr, $op:expr) => {{
        let op = $op;
        block_on(&$driver, $driver.submit(op))
    }};
}

#[test]
fn files_from_open_to_close() {
    let Some(driver) = ring() else { return };
    let scratch = Scratch::new("files");
    let path = scratch.path("data");
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    let file = submit!(driver, op::OpenAt::new(None, name(&path), flags, 0o600)).unwrap();
    let file = Arc::new(file);

    let (result, text) = submit!(
        driver,
        op::Write::at(file.clone(), b"0123456789".to_vec(), 0)
    );
    assert_eq!((result.unwrap(), &text[..]), (10, &b"0123456789"[..]));
    let (result, _) = submit!(driver, op::Write::at(file.clone(), "abc", 3));
    assert_eq!(result.unwrap(), 3);
    submit!(driver, op::Fsync::all(file.clone())).unwrap();
    submit!(driver, op::Fsync::data(file.clone())).unwrap();

    let (result, read) = submit!(
        driver,
        op::Read::at(file.clone(), Vec::with_capacity(64), 1)
    );
    assert_eq!((result.unwrap(), &read[..]), (9, &b"12abc6789"[..]));
    // Behind the end there is nothing.
    let (result, read) = submit!(driver, op::Read::at(file.clone(), read, 100));
    assert_eq!((result.unwrap(), read.len()), (0, 9));
    // A slice is filled behind what is there.
    let mut line = Vec::with_capacity(64);
    line.extend_from_slice(b"> ");
    let (result, line) = submit!(driver, op::Read::at(file.clone(), line.slice(2..5), 0));
    assert_eq!(result.unwrap(), 3);
    assert_eq!(line.into_inner(), b"> 012");
    // The file's own position moves.
    for expected in [&b"012a"[..], b"bc6789"] {
        let buffer = vec![0_u8; expected.len()].into_boxed_slice();
        let (result, part) = submit!(driver, op::Read::next(file.clone(), buffer));
        assert_eq!((result.unwrap(), &part[..]), (expected.len(), expected));
    }

    let vectors = vec![b"one ".to_vec(), b"two ".to_vec(), b"three".to_vec()];
    let (result, _) = submit!(driver, op::Writev::at(file.clone(), vectors, 0));
    assert_eq!(result.unwrap(), 13);
    let vectors = vec![Vec::with_capacity(5), Vec::with_capacity(64)];
    let (result, vectors) = submit!(driver, op::Readv::at(file.clone(), vectors, 0));
    assert_eq!(result.unwrap(), 13);
    let all: Vec<u8> = vectors.concat();
    assert_eq!(all, b"one two three");

    if driver.supports::<op::Ftruncate<Arc<OwnedFd>>>() {
        submit!(driver, op::Ftruncate::new(file.clone(), 3)).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
    }
    submit!(driver, op::Fallocate::new(file.clone(), 0, 0, 4096)).unwrap();
    let stat = submit!(
        driver,
        op::Statx::new(None, name(&path), 0, libc::STATX_BASIC_STATS)
    )
    .unwrap();
    assert_eq!(stat.stx_size, 4096);
    let number = file.as_raw_fd();
    submit!(driver, op::Close::new(Arc::into_inner(file).unwrap())).unwrap();
    // The number may be another test's descriptor by now.
    let open = std::fs::read_link(format!("/proc/self/fd/{number}"));
    assert_ne!(open.ok().as_ref(), Some(&path));
    assert_eq!(driver.metrics().in_flight, 0);
}

#[test]
fn names_are_made_moved_and_removed() {
    let Some(driver) = ring() else { return };
    if !driver.supports::<op::MkDirAt>() {
        return eprintln!("this kernel's io_uring makes no names: it is older than 5.15");
    }
    let scratch = Scratch::new("names");
    let directory = scratch.path("directory");
    submit!(driver, op::MkDirAt::new(None, name(&directory), 0o700)).unwrap();
    let error = submit!(driver, op::MkDirAt::new(None, name(&directory), 0o700)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);

    // Relative to a directory.
    let inside = Arc::new(OwnedFd::from(File::open(&directory).unwrap()));
    let here = |text: &str| (Some(inside.clone()), CString::new(text).unwrap());
    let (at, file) = here("file");
    let flags = libc::O_WRONLY | libc::O_CREAT;
    drop(submit!(driver, op::OpenAt::new(at, file, flags, 0o600)).unwrap());
    submit!(driver, op::RenameAt::new(here("file"), here("moved"), 0)).unwrap();
    submit!(driver, op::LinkAt::new(here("moved"), here("linked"), 0)).unwrap();
    let target = CString::new("moved").unwrap();
    submit!(driver, op::SymlinkAt::new(target, here("symbolic"))).unwrap();
    let mut names: Vec<_> = std::fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["linked", "moved", "symbolic"]);
    for text in names {
        let (at, file) = here(&text);
        submit!(driver, op::UnlinkAt::new(at, file, 0)).unwrap();
    }
    submit!(
        driver,
        op::UnlinkAt::new(None, name(&directory), libc::AT_REMOVEDIR)
    )
    .unwrap();
    assert!(!directory.exists());
}

#[test]
fn tcp_by_operations_only() {
    let Some(driver) = ring() else { return };
    let listener = Arc::new(TcpListener::bind("127.0.0.1:0").unwrap());
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    // SAFETY: returns a new descriptor or -1.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    assert!(socket >= 0);
    // SAFETY: just made, and nobody else's.
    let socket = unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(socket) };
    let accepting = driver.submit(op::Accept::new(listener.clone()));
    let connecting = driver.submit(op::Connect::new(socket, address));
    let (connected, socket) = block_on(&driver, connecting);
    connected.unwrap();
    let (accepted, peer) = block_on(&driver, accepting).unwrap();
    let near = Arc::new(TcpStream::from(socket));
    let far = Arc::new(TcpStream::from(accepted));
    assert_eq!(peer.as_inet(), Some(near.local_addr().unwrap()));

    // A receive that waits, and one that does not have to.
    let waiting = driver.submit(op::Recv::new(far.clone(), Vec::with_capacity(16), 0));
    driver.turn().unwrap();
    let (sent, _) = submit!(driver, op::Send::new(near.clone(), "hello", 0));
    assert_eq!(sent.unwrap(), 5);
    let (received, buffer) = block_on(&driver, waiting);
    assert_eq!((received.unwrap(), &buffer[..]), (5, &b"hello"[..]));
    submit!(
        driver,
        op::Shutdown::new(near.clone(), std::net::Shutdown::Write)
    )
    .unwrap();
    let (received, _) = submit!(driver, op::Recv::new(far.clone(), buffer, 0));
    assert_eq!(received.unwrap(), 0);
}

#[test]
fn messages_carry_addresses() {
    let Some(driver) = ring() else { return };
    let one = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let two = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let to = two.local_addr().unwrap();
    let (sent, _) = submit!(
        driver,
        op::SendMsg::new(one.clone(), b"datagram".to_vec(), Some(to.into()), 0)
    );
    assert_eq!(sent.unwrap(), 8);
    let (received, buffer) = submit!(
        driver,
        op::RecvMsg::new(two.clone(), Vec::with_capacity(4), libc::MSG_TRUNC)
    );
    let (length, from) = received.unwrap();
    // The rest of a datagram that did not fit is gone; its length is not.
    assert_eq!((length, &buffer[..]), (8, &b"data"[..]));
    assert_eq!(from.as_inet(), Some(one.local_addr().unwrap()));
}

/// TCP counts the bytes and throws them away. The buffer shows nothing of what its memory was used for before.
#[test]
fn bytes_that_are_thrown_away_leave_no_old_memory_in_the_buffer() {
    let Some(driver) = ring() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let far = Arc::new(listener.accept().unwrap().0);
    let used = || {
        let mut buffer = vec![b'S'; 64];
        buffer.truncate(2);
        buffer
    };
    near.write_all(&[b'x'; 32]).unwrap();
    let receive = op::Recv::new(far.clone(), used(), libc::MSG_TRUNC);
    let (read, buffer) = block_on(&driver, driver.submit(receive));
    let read = read.unwrap();
    assert_eq!(&buffer[..2], b"SS", "what was filled stays");
    assert!(buffer.len() == read.max(2) && buffer[2..].iter().all(|&byte| byte == 0));

    near.write_all(&[b'x'; 32]).unwrap();
    let receive = op::RecvMsg::new(far, used().slice(2..), libc::MSG_TRUNC);
    let (read, buffer) = block_on(&driver, driver.submit(receive));
    assert_eq!(buffer.bytes().len(), read.unwrap().0);
    assert!(buffer.bytes().iter().all(|&byte| byte == 0));
}

#[test]
fn poll_waits_for_readiness_once() {
    let Some(driver) = ring() else { return };
    let (near, mut far) = UnixStream::pair().unwrap();
    let waiting = driver.submit(op::Poll::new(near, libc::POLLIN as u32));
    driver.turn().unwrap();
    far.write_all(b"x").unwrap();
    let (events, _near) = block_on(&driver, waiting);
    assert_eq!(events.unwrap() & libc::POLLIN as u32, libc::POLLIN as u32);
}

#[test]
fn a_child_is_waited_for() {
    let Some(driver) = ring() else { return };
    if !driver.supports::<op::WaitId>() {
        eprintln!("this kernel has no waitid operation");
        return;
    }
    let mut child = std::process::Command::new("sh")
        .args(["-c", "exit 7"])
        .spawn()
        .unwrap();
    let state = submit!(
        driver,
        op::WaitId::new(libc::P_PID, child.id(), libc::WEXITED | libc::WNOWAIT)
    )
    .unwrap();
    assert_eq!(state.pid, child.id() as i32);
    assert_eq!((state.code, state.status), (libc::CLD_EXITED, 7));
    assert_eq!(child.wait().unwrap().code(), Some(7));
}

/// As `open` does: the kernel's own attempt at once would not.
#[test]
fn opening_a_fifo_waits_for_its_other_end() {
    let Some(driver) = ring() else { return };
    let scratch = Scratch::new("fifo");
    let path = scratch.path("fifo");
    // SAFETY: the name ends.
    assert_eq!(unsafe { libc::mkfifo(name(&path).as_ptr(), 0o600) }, 0);
    let (writer, reader) = (libc::O_WRONLY, libc::O_RDONLY);
    let writing = driver.submit(op::OpenAt::new(None, name(&path), writer, 0));
    let reading = driver.submit(op::OpenAt::new(None, name(&path), reader, 0));
    let mut writing = File::from(block_on(&driver, writing).unwrap());
    let mut reading = File::from(block_on(&driver, reading).unwrap());
    writing.write_all(b"through").unwrap();
    drop(writing);
    let mut text = String::new();
    reading.read_to_string(&mut text).unwrap();
    assert_eq!(text, "through");
}

#[test]
fn bytes_are_spliced_from_a_file_to_a_socket() {
    let Some(driver) = ring() else { return };
    let scratch = Scratch::new("splice");
    let path = scratch.path("data");
    std::fs::write(&path, b"spliced").unwrap();
    let file = File::open(&path).unwrap();
    let (reader, writer) = io::pipe().unwrap();
    let (near, mut far) = UnixStream::pair().unwrap();
    let (moved, _, writer) = submit!(driver, op::Splice::new(file, Some(0), writer, None, 100));
    assert_eq!(moved.unwrap(), 7);
    let (moved, _, _) = submit!(driver, op::Splice::new(reader, None, near, None, 100));
    assert_eq!(moved.unwrap(), 7);
    drop(writer);
    let mut text = String::new();
    far.read_to_string(&mut text).unwrap();
    assert_eq!(text, "spliced");
}

#[test]
fn errors_are_those_of_the_system_call() {
    let Some(driver) = ring() else { return };
    let missing = CString::new("/does/not/exist").unwrap();
    let error = submit!(driver, op::OpenAt::new(None, missing, 0, 0)).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::ENOENT));
    let file = File::open("/dev/null").unwrap();
    let (result, buffer) = submit!(driver, op::Write::at(file, b"x".to_vec(), 0));
    assert_eq!(result.unwrap_err().raw_os_error(), Some(libc::EBADF));
    assert_eq!(buffer, b"x");
    let (near, far) = UnixStream::pair().unwrap();
    drop(far);
    let (result, _) = submit!(driver, op::Send::new(near, b"x".to_vec(), 0));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

#[test]
fn without_a_ring_everything_is_given_back() {
    let driver = driver(Choice::Readiness);
    let file = File::open("/dev/null").unwrap();
    assert!(!driver.supports::<op::Read<File, Vec<u8>>>());
    let (result, buffer) = submit!(driver, op::Read::at(file, vec![1, 2, 3], 0));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(buffer, [1, 2, 3]);
    // A close that cannot be submitted closes all the same.
    let (near, mut far) = UnixStream::pair().unwrap();
    let error = submit!(driver, op::Close::new(near.into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(far.read(&mut [0]).unwrap(), 0);
}

#[test]
fn descriptors_can_be_borrowed_for_ever_or_shared() {
    let Some(driver) = ring() else { return };
    fn takes(_: impl AsFd + Send + 'static) {}
    takes(Arc::new(File::open("/dev/null").unwrap()));
    let zero = File::open("/dev/zero").unwrap();
    let (result, buffer) = submit!(driver, op::Read::next(zero, Vec::with_capacity(8)));
    assert_eq!((result.unwrap(), &buffer[..]), (8, &[0; 8][..]));
}
