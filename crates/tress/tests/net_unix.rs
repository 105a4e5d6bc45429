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

#[test]
fn a_descriptor_is_watched() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
            near.set_nonblocking(true).unwrap();
            let mut near = AsyncFd::new(near).unwrap();
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
            let near = AsyncFd::with_interest(near, Interest::READABLE).unwrap();
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
            let (_file, cause) = AsyncFd::try_new(file).unwrap_err().into_parts();
            assert_eq!(cause.kind(), ErrorKind::PermissionDenied);
        });
    });
}
