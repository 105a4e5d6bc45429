//! Unix sockets, pipes and watched descriptors on both backends.
#![cfg(all(not(loom), unix))]

mod net_support;

use net_support::{Name, on_each_runtime};
use std::io::{ErrorKind, Read, Write};
use tress::io::{AsyncFd, AsyncReadExt, AsyncWriteExt, Interest, Ready};
#[cfg(target_os = "linux")]
use tress::net::UnixSocket;
use tress::net::unix::pipe;
use tress::net::{UnixDatagram, UnixListener, UnixStream};

#[test]
fn a_stream_by_its_path() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let name = Name::new();
            let error = UnixStream::connect(&name.0).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            let listener = UnixListener::bind(&name.0).unwrap();
            assert_eq!(
                UnixListener::bind(&name.0).unwrap_err().kind(),
                ErrorKind::AddrInUse
            );
            let accepting = tress::spawn(async move { listener.accept().await.unwrap() });
            let mut near = UnixStream::connect(&name.0).await.unwrap();
            let (mut far, peer) = accepting.await.unwrap();
            assert!(peer.is_unnamed());
            assert_eq!(near.peer_addr().unwrap().as_pathname(), Some(&*name.0));
            let own = far.peer_cred().unwrap();
            // SAFETY: these read numbers.
            let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
            assert_eq!((own.uid(), own.gid()), (uid, gid));
            let (mut reader, mut writer) = far.split();
            near.write_all(b"there and back").await.unwrap();
            near.shutdown().await.unwrap();
            tress::io::copy(&mut reader, &mut writer).await.unwrap();
            drop(far);
            let mut text = String::new();
            near.read_to_string(&mut text).await.unwrap();
            assert_eq!(text, "there and back");
        });
    });
}

#[test]
#[cfg(target_os = "linux")]
fn abstract_names() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let name = format!("\0{}", Name::new().0.display());
            let listener = UnixListener::bind(&name).unwrap();
            let address = listener.local_addr().unwrap();
            assert_eq!(address.as_abstract_name(), Some(&name.as_bytes()[1..]));
            let _one = UnixStream::connect(&name).await.unwrap();
            let _two = UnixStream::connect_addr(&address).await.unwrap();
            let socket = UnixSocket::new_stream().unwrap();
            let _three = socket.connect(&name).await.unwrap();
            for _ in 0..3 {
                listener.accept().await.unwrap();
            }
        });
    });
}

/// A read of a message with descriptors is short although there is more; the rest must be found.
#[test]
#[cfg(target_os = "linux")]
fn a_short_read_is_not_the_last_one() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut near, far) = UnixStream::pair().unwrap();
            let waiting = tress::spawn(async move {
                let mut buf = [0; 64];
                let mut text = Vec::new();
                while text.len() < 6 {
                    let n = near.read(&mut buf).await.unwrap();
                    assert_ne!(n, 0);
                    text.extend_from_slice(&buf[..n]);
                }
                text
            });
            tress::task::yield_now().await;
            // Two messages, the first with a descriptor, as one burst.
            let socket = far.into_std().unwrap();
            send_with_descriptor(&socket, b"one");
            (&socket).write_all(b"two").unwrap();
            assert_eq!(waiting.await.unwrap(), b"onetwo");
        });
    });
}

#[cfg(target_os = "linux")]
fn send_with_descriptor(socket: &std::os::unix::net::UnixStream, bytes: &[u8]) {
    use std::os::fd::AsRawFd;
    // Room for one descriptor and its header, aligned as the header is.
    let mut control = [0_u64; 4];
    let mut part = libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    // SAFETY: `msghdr` may be zero; its pointers outlive the call; the control buffer has room for
    // the one header with one number that is written into it.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        libc::CMSG_DATA(header)
            .cast::<libc::c_int>()
            .write_unaligned(socket.as_raw_fd());
        let sent = libc::sendmsg(socket.as_raw_fd(), &message, 0);
        assert_eq!(sent, bytes.len() as isize);
    }
}

#[test]
fn datagrams() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (one, two) = (Name::new(), Name::new());
            let here = UnixDatagram::bind(&one.0).unwrap();
            let there = UnixDatagram::bind(&two.0).unwrap();
            here.send_to(b"hello", &two.0).await.unwrap();
            let mut buf = [0; 16];
            let (n, from) = there.recv_from(&mut buf).await.unwrap();
            assert_eq!(&buf[..n], b"hello");
            assert_eq!(from.as_pathname(), Some(&*one.0));
            // A sender without a name.
            let nobody = UnixDatagram::unbound().unwrap();
            nobody.connect(&two.0).unwrap();
            nobody.send(b"anon").await.unwrap();
            let mut read = tress::io::ReadBuf::new(&mut buf);
            let from = std::future::poll_fn(|cx| there.poll_recv_from(cx, &mut read))
                .await
                .unwrap();
            assert!(from.is_unnamed());
            assert_eq!(read.filled(), b"anon");
            // A full queue makes the sender wait, and loses nothing.
            let sender = tress::spawn(async move {
                for i in 0..500_u32 {
                    nobody.send(&i.to_be_bytes()).await.unwrap();
                }
            });
            for i in 0..500_u32 {
                assert_eq!(there.recv(&mut buf).await.unwrap(), 4);
                assert_eq!(buf[..4], i.to_be_bytes());
            }
            sender.await.unwrap();
        });
    });
}

#[test]
fn pipes() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut sender, mut receiver) = pipe::pipe().unwrap();
            let writer = tress::spawn(async move {
                sender.write_all(&[5; 300_000]).await.unwrap();
            });
            let mut all = Vec::new();
            receiver.read_to_end(&mut all).await.unwrap();
            assert_eq!(all.len(), 300_000);
            writer.await.unwrap();
            let (mut sender, receiver) = pipe::pipe().unwrap();
            assert_eq!(
                receiver.try_read(&mut [0; 1]).unwrap_err().kind(),
                ErrorKind::WouldBlock
            );
            drop(receiver);
            let error = sender.write_all(b"x").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BrokenPipe);
            // Only the right end of a pipe is taken.
            let (sender, receiver) = pipe::pipe().unwrap();
            let (sender, receiver) = (
                sender.into_blocking_fd().unwrap(),
                receiver.into_nonblocking_fd().unwrap(),
            );
            let error = pipe::Receiver::from_owned_fd(sender).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            pipe::Receiver::from_owned_fd(receiver).unwrap();
            let file = std::fs::File::open("/dev/null").unwrap();
            let error = pipe::Receiver::from_file(file).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        });
    });
}

/// A named pipe that one writer has left and another one holds is not at its end any more: whoever reads it
/// waits, and does not hold up the thread.
#[test]
fn a_named_pipe_with_another_writer() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let name = Name::new();
            let path = std::ffi::CString::new(name.0.as_os_str().as_encoded_bytes()).unwrap();
            // SAFETY: a path that ends with a zero.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
            let mut receiver = pipe::OpenOptions::new().open_receiver(&name.0).unwrap();
            let open = || pipe::OpenOptions::new().open_sender(&name.0).unwrap();
            let mut buf = [0; 16];
            let mut sender = open();
            // Waited for, so that it is watched, and its end is an event.
            let first = async {
                tress::task::yield_now().await;
                sender.write_all(b"one").await.unwrap();
                drop(sender);
            };
            let (n, ()) = tress::join!(receiver.read(&mut buf), first);
            assert_eq!(n.unwrap(), 3);
            assert_eq!(receiver.read(&mut buf).await.unwrap(), 0);
            let mut sender = open();
            let second = async {
                tress::task::yield_now().await;
                sender.write_all(b"again").await.unwrap();
            };
            let (n, ()) = tress::join!(receiver.read(&mut buf), second);
            assert_eq!(&buf[..n.unwrap()], b"again");
            drop(sender);
            assert_eq!(receiver.read(&mut buf).await.unwrap(), 0);
        });
    });
}

/// More buffers than the system looks at: that it took no more of them does not mean that there was no room.
#[test]
fn more_buffers_than_one_call_takes() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (mut near, mut far) = UnixStream::pair().unwrap();
            let (mut sender, mut receiver) = pipe::pipe().unwrap();
            // Known to the driver: both were waited for.
            near.writable().await.unwrap();
            sender.writable().await.unwrap();
            let piece = [b'x'; 10];
            let pieces = vec![std::io::IoSlice::new(&piece); 2000];
            for _ in 0..2 {
                assert_eq!(near.write_vectored(&pieces).await.unwrap(), 10_240);
                assert_eq!(sender.write_vectored(&pieces).await.unwrap(), 10_240);
            }
            let mut all = vec![0; 20_480];
            far.read_exact(&mut all).await.unwrap();
            receiver.read_exact(&mut all).await.unwrap();
        });
    });
}

#[test]
#[cfg(target_os = "linux")]
fn datagrams_by_abstract_names() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let name = format!("\0{}", Name::new().0.display());
            let there = UnixDatagram::bind(&name).unwrap();
            let here = UnixDatagram::unbound().unwrap();
            let mut buf = [0; 16];
            assert_eq!(here.send_to(b"one", &name).await.unwrap(), 3);
            assert_eq!(here.try_send_to(b"two", &name).unwrap(), 3);
            here.connect(&name).unwrap();
            assert_eq!(here.send(b"three").await.unwrap(), 5);
            for want in [&b"one"[..], b"two", b"three"] {
                let n = there.recv(&mut buf).await.unwrap();
                assert_eq!(&buf[..n], want);
            }
            let error = here.send_to(b"no", "in\0side").await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
        });
    });
}

/// A descriptor that always has something does not keep its thread from the others.
#[test]
fn a_watched_descriptor_gives_way() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let zeros = std::os::unix::net::UnixStream::pair().unwrap();
            zeros.1.set_nonblocking(true).unwrap();
            (&zeros.0).write_all(&[0; 1]).unwrap();
            // SAFETY: it owns its descriptor.
            let mut fd = unsafe { AsyncFd::register(zeros.1) }.unwrap();
            let other = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let flag = other.clone();
            let order = std::sync::atomic::Ordering::SeqCst;
            tress::spawn(async move { flag.store(true, order) });
            for _ in 0..100_000 {
                fd.async_io(Interest::READABLE, |_| Ok(())).await.unwrap();
                fd.async_io_mut(Interest::READABLE, |_| Ok(()))
                    .await
                    .unwrap();
            }
            assert!(other.load(order));
        });
    });
}

#[test]
fn a_descriptor_is_watched() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
            near.set_nonblocking(true).unwrap();
            // SAFETY: it owns its descriptor.
            let mut near = unsafe { AsyncFd::register(near) }.unwrap();
            far.write_all(b"a").unwrap();
            let mut guard = near.readable().await.unwrap();
            let mut buf = [0; 8];
            let n = guard.try_io(|fd| fd.get_ref().read(&mut buf)).unwrap();
            assert_eq!(n.unwrap(), 1);
            assert!(guard.try_io(|fd| fd.get_ref().read(&mut buf)).is_err());
            assert_eq!(guard.ready(), Ready::EMPTY);
            // A part of the readiness can be cleared.
            let both = Interest::READABLE | Interest::WRITABLE;
            let mut guard = near.ready(both).await.unwrap();
            guard.clear_ready_matching(Ready::WRITABLE);
            assert!(!guard.ready().is_writable());
            far.write_all(b"b").unwrap();
            let n = near
                .async_io_mut(Interest::READABLE, |fd| fd.read(&mut buf))
                .await
                .unwrap();
            assert_eq!((n, buf[0]), (1, b'b'));
            let near = near.into_inner();
            drop(far);
            // Taken out, it can be watched again.
            // SAFETY: it owns its descriptor.
            let near =
                unsafe { AsyncFd::register_with_interest(near, Interest::READABLE) }.unwrap();
            let n = near
                .async_io(Interest::READABLE, |mut fd| fd.read(&mut buf))
                .await;
            assert_eq!(n.unwrap(), 0);
        });
    });
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_cannot_be_watched_and_comes_back() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let file = std::fs::File::open("/proc/self/exe").unwrap();
            // SAFETY: it owns its descriptor.
            let (_file, cause) = unsafe { AsyncFd::register(file) }.unwrap_err().into_parts();
            assert_eq!(cause.kind(), ErrorKind::PermissionDenied);
        });
    });
}
