//! Readiness of every kind of source, on every backend.
#![cfg(unix)]

mod harness;

use harness::{Count, block_on, on_each_backend, park_until};
use std::future::Future;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use tress_driver::{Direction, Driver, Interest, Ready, Registration};

fn pair() -> (UnixStream, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_nonblocking(true).unwrap();
    (near, far)
}

fn read_some(
    driver: &Arc<Driver>,
    registration: &Registration,
    mut source: impl Read,
) -> io::Result<Vec<u8>> {
    let mut buffer = [0; 64];
    let read = block_on(
        driver,
        registration.async_io(Interest::READABLE, || source.read(&mut buffer)),
    )?;
    Ok(buffer[..read].to_vec())
}

/// No event says that a FIFO has a writer again: a read that would block does.
#[test]
fn a_fifo_whose_writer_went_waits_for_the_next_one() {
    use std::os::unix::ffi::OsStrExt;
    let path = std::env::temp_dir().join(format!("tress-fifo-{}", std::process::id()));
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: a string that ends.
    assert_eq!(0, unsafe { libc::mkfifo(name.as_ptr(), 0o600) });
    let open = |write: bool| {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = std::fs::OpenOptions::new();
        options
            .read(!write)
            .write(write)
            .custom_flags(libc::O_NONBLOCK);
        options.open(&path).unwrap()
    };
    on_each_backend(|driver| {
        let mut reader = open(false);
        let registration = driver.register(&mut reader, Interest::READABLE).unwrap();
        let mut first = open(true);
        first.write_all(b"one").unwrap();
        drop(first);
        assert_eq!(read_some(&driver, &registration, &reader).unwrap(), b"one");
        assert_eq!(read_some(&driver, &registration, &reader).unwrap(), b"");
        // The end is known by now.
        park_until(&driver, || {
            let event = registration.ready_now(Interest::READABLE);
            event.is_some_and(|event| event.ready().is_read_closed())
        });

        let mut second = open(true);
        let (count, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        let mut attempts = 0;
        let mut read = || {
            attempts += 1;
            assert!(attempts < 100, "one poll goes on and on");
            (&reader).read(&mut [0; 8])
        };
        let polled = registration.poll_io(&mut cx, Direction::Read, &mut read);
        assert!(polled.is_pending());
        let mut pending = std::pin::pin!(registration.async_io(Interest::READABLE, &mut read));
        assert!(pending.as_mut().poll(&mut cx).is_pending());
        second.write_all(b"two").unwrap();
        park_until(&driver, || count.get() == 2);
        let polled = pending.as_mut().poll(&mut cx);
        assert!(matches!(polled, Poll::Ready(Ok(3))));
    });
    std::fs::remove_file(&path).unwrap();
}

/// The system reports it as room to write, and an error.
#[test]
#[cfg(target_os = "linux")]
fn a_receive_hears_that_nobody_listens() {
    on_each_backend(|driver| {
        let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = nobody.local_addr().unwrap();
        drop(nobody);
        let mut socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        let both = Interest::READABLE | Interest::WRITABLE;
        let registration = driver.register(&mut socket, both).unwrap();
        let receive = || socket.recv(&mut [0; 8]);
        let mut pending = std::pin::pin!(registration.async_io(Interest::READABLE, receive));
        let (_, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        assert!(pending.as_mut().poll(&mut cx).is_pending());
        socket.send(b"x").unwrap();
        // It would hang here.
        let error = block_on(&driver, pending).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        // It is fetched once, and nothing of it stays.
        for direction in [Direction::Read, Direction::Write] {
            let would_block = || -> io::Result<()> { Err(ErrorKind::WouldBlock.into()) };
            let polled = registration.poll_io(&mut cx, direction, would_block);
            assert!(polled.is_pending());
        }
        assert!(registration.ready_now(both).is_none());
    });
}

#[test]
fn a_pipe_wakes_its_reader_and_its_writer() {
    on_each_backend(|driver| {
        let (mut reader, mut writer) = io::pipe().unwrap();
        for fd in [reader.as_raw_fd(), writer.as_raw_fd()] {
            // SAFETY: plain calls on descriptors that are open.
            assert_eq!(0, unsafe {
                libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK)
            });
        }
        let read = driver.register(&mut reader, Interest::READABLE).unwrap();
        let write = driver.register(&mut writer, Interest::WRITABLE).unwrap();

        // Fill it until it would block; then a read makes room.
        let mut written = 0;
        loop {
            match block_on(&driver, async {
                write.readiness(Interest::WRITABLE).await?;
                write.try_io(Interest::WRITABLE, || writer.write(&[7; 4096]))
            }) {
                Ok(n) => written += n,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    break;
                }
            }
        }
        assert!(written > 0);
        assert!(write.ready_now(Interest::WRITABLE).is_none());
        let mut total = 0;
        while total < written {
            total += read_some(&driver, &read, &reader).unwrap().len();
        }
        block_on(&driver, write.readiness(Interest::WRITABLE)).unwrap();

        drop(write);
        drop(writer);
        park_until(&driver, || {
            read.ready_now(Interest::READABLE)
                .is_some_and(|event| event.ready().is_read_closed())
        });
        assert_eq!(read_some(&driver, &read, &reader).unwrap(), b"");
    });
}

#[test]
fn a_socket_pair_carries_both_directions_at_once() {
    on_each_backend(|driver| {
        let (mut near, mut far) = pair();
        let both = Interest::READABLE | Interest::WRITABLE;
        let near_io = driver.register(&mut near, both).unwrap();
        let far_io = driver.register(&mut far, both).unwrap();
        for round in 0..100_u8 {
            block_on(
                &driver,
                near_io.async_io(Interest::WRITABLE, || near.write(&[round])),
            )
            .unwrap();
            assert_eq!(read_some(&driver, &far_io, &far).unwrap(), [round]);
            block_on(
                &driver,
                far_io.async_io(Interest::WRITABLE, || far.write(&[round, round])),
            )
            .unwrap();
            assert_eq!(read_some(&driver, &near_io, &near).unwrap(), [round, round]);
        }
    });
}

#[test]
fn half_close_and_hang_up_are_told_apart() {
    on_each_backend(|driver| {
        let (mut near, far) = pair();
        let both = Interest::READABLE | Interest::WRITABLE;
        let io = driver.register(&mut near, both).unwrap();
        far.shutdown(std::net::Shutdown::Write).unwrap();
        let ready = |interest| io.ready_now(interest).map_or(Ready::EMPTY, |e| e.ready());
        park_until(&driver, || ready(Interest::READABLE).is_read_closed());
        assert!(!ready(Interest::WRITABLE).is_write_closed());
        drop(far);
        park_until(&driver, || ready(Interest::WRITABLE).is_write_closed());
    });
}

#[test]
fn tcp_accepts_connects_and_echoes() {
    on_each_backend(|driver| {
        let mut listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let accepting = driver.register(&mut listener, Interest::READABLE).unwrap();
        let client = thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"over the wire").unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut echoed = String::new();
            stream.read_to_string(&mut echoed).unwrap();
            echoed
        });
        let (mut stream, _) = block_on(
            &driver,
            accepting.async_io(Interest::READABLE, || listener.accept()),
        )
        .unwrap();
        stream.set_nonblocking(true).unwrap();
        let io = driver
            .register(&mut stream, Interest::READABLE | Interest::WRITABLE)
            .unwrap();
        loop {
            let bytes = read_some(&driver, &io, &stream).unwrap();
            if bytes.is_empty() {
                break;
            }
            block_on(
                &driver,
                io.async_io(Interest::WRITABLE, || stream.write(&bytes)),
            )
            .unwrap();
        }
        drop(io);
        drop(stream);
        assert_eq!(client.join().unwrap(), "over the wire");
    });
}

#[test]
fn udp_datagrams_arrive_one_by_one() {
    on_each_backend(|driver| {
        let mut receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_nonblocking(true).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let io = driver.register(&mut receiver, Interest::READABLE).unwrap();
        let address = receiver.local_addr().unwrap();
        for n in 0..10_u8 {
            sender.send_to(&[n; 3], address).unwrap();
        }
        let mut buffer = [0; 16];
        for n in 0..10_u8 {
            let read = block_on(
                &driver,
                io.async_io(Interest::READABLE, || receiver.recv(&mut buffer)),
            )
            .unwrap();
            assert_eq!(&buffer[..read], [n; 3]);
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn an_eventfd_is_a_source_and_readiness_is_edge_triggered() {
    on_each_backend(|driver| {
        // SAFETY: returns a new descriptor or -1.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        assert!(fd >= 0);
        // SAFETY: just made, and nobody else's.
        let mut event = unsafe { <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(fd) };
        let io = driver.register(&mut event, Interest::READABLE).unwrap();
        event.write_all(&1_u64.to_ne_bytes()).unwrap();
        let seen = block_on(&driver, io.readiness(Interest::READABLE)).unwrap();
        // Cleared although it is not used up: the kernel does not repeat itself.
        io.clear(seen);
        driver.turn().unwrap();
        assert!(io.ready_now(Interest::READABLE).is_none());
        // The next write is the next edge.
        event.write_all(&1_u64.to_ne_bytes()).unwrap();
        block_on(&driver, io.readiness(Interest::READABLE)).unwrap();
        let mut counter = [0; 8];
        io.try_io(Interest::READABLE, || event.read(&mut counter))
            .unwrap();
        assert_eq!(u64::from_ne_bytes(counter), 2);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn out_of_band_data_is_priority() {
    on_each_backend(|driver| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        receiver.set_nonblocking(true).unwrap();
        let io = driver.register(&mut receiver, Interest::PRIORITY).unwrap();
        let byte = b"!";
        // SAFETY: one byte is readable there.
        let sent =
            unsafe { libc::send(sender.as_raw_fd(), byte.as_ptr().cast(), 1, libc::MSG_OOB) };
        assert_eq!(sent, 1);
        let seen = block_on(&driver, io.readiness(Interest::PRIORITY)).unwrap();
        assert!(seen.ready().is_priority());
    });
}

#[test]
fn a_reset_is_an_error() {
    on_each_backend(|driver| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let io = driver
            .register(&mut stream, Interest::READABLE | Interest::ERROR)
            .unwrap();
        let linger = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        // SAFETY: the option's value is readable, of the length given.
        let set = unsafe {
            libc::setsockopt(
                peer.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                (&raw const linger).cast(),
                size_of::<libc::linger>() as libc::socklen_t,
            )
        };
        assert_eq!(set, 0);
        drop(peer);
        let seen = block_on(&driver, io.readiness(Interest::ERROR)).unwrap();
        assert!(seen.ready().is_error());
        let error = read_some(&driver, &io, &stream).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn files_and_doubles_are_refused() {
    on_each_backend(|driver| {
        let path = std::env::temp_dir().join(format!("tress-driver-{}", std::process::id()));
        let mut file = std::fs::File::create(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        if cfg!(target_os = "linux") {
            let error = driver.register(&mut file, Interest::READABLE).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            let (mut near, _far) = pair();
            let _io = driver.register(&mut near, Interest::READABLE).unwrap();
            let error = driver.register(&mut near, Interest::READABLE).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
            assert_eq!(driver.metrics().registered, 1);
        }
        assert_eq!(driver.metrics().registered, 0);
    });
}

#[test]
fn try_io_does_not_call_unless_ready() {
    on_each_backend(|driver| {
        let (mut near, _far) = pair();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        let error = io
            .try_io(Interest::READABLE, || -> io::Result<()> {
                panic!("must not be called")
            })
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        // What is assumed is tried, and found out.
        io.assume_ready(Ready::READABLE);
        let error = io
            .try_io(Interest::READABLE, || (&near).read(&mut [0; 4]))
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        assert!(io.ready_now(Interest::READABLE).is_none());
    });
}

#[test]
fn poll_io_waits_until_the_call_does_not_block() {
    on_each_backend(|driver| {
        let (mut near, mut far) = pair();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        let (count, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        let mut buffer = [0; 4];
        let mut poll = || io.poll_io(&mut cx, Direction::Read, || (&near).read(&mut buffer));
        assert!(poll().is_pending());
        far.write_all(b"x").unwrap();
        park_until(&driver, || count.get() == 1);
        assert!(matches!(poll(), Poll::Ready(Ok(1))));
        assert!(poll().is_pending());
    });
}

#[test]
fn a_dropped_wait_takes_nothing_from_the_next() {
    on_each_backend(|driver| {
        let (mut near, mut far) = pair();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        for woken_first in [false, true, false] {
            let (_, waker) = Count::new();
            let mut waiting = Box::pin(io.readiness(Interest::READABLE));
            let mut cx = Context::from_waker(&waker);
            assert!(waiting.as_mut().poll(&mut cx).is_pending());
            far.write_all(b"x").unwrap();
            // Dropped before and after it was woken.
            if woken_first {
                driver.park(None).unwrap();
            }
            drop(waiting);
            assert_eq!(read_some(&driver, &io, &near).unwrap(), b"x");
            let _ = io.try_io(Interest::READABLE, || (&near).read(&mut [0]));
        }
    });
}

#[test]
fn many_tasks_wait_for_one_source() {
    on_each_backend(|driver| {
        let (mut near, mut far) = pair();
        let io = driver.register(&mut near, Interest::READABLE).unwrap();
        let (count, waker) = Count::new();
        let mut waits: Vec<_> = (0..50)
            .map(|_| Box::pin(io.readiness(Interest::READABLE)))
            .collect();
        let mut cx = Context::from_waker(&waker);
        for wait in &mut waits {
            assert!(wait.as_mut().poll(&mut cx).is_pending());
        }
        far.write_all(b"x").unwrap();
        park_until(&driver, || count.get() == 50);
        for wait in &mut waits {
            assert!(matches!(wait.as_mut().poll(&mut cx), Poll::Ready(Ok(_))));
        }
    });
}
