//! Operations that are dropped: what they have received is kept, what arrives later they leave alone, and nobody has to
//! come by for them.
#![cfg(target_os = "linux")]

mod harness;

use harness::{Count, backends, driver, park_until};
use std::io::{ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;
use tress_driver::{Choice, Driver, Leftover, Submission, op};

fn ring() -> Option<Arc<Driver>> {
    let has_ring = backends()
        .iter()
        .any(|&(_, choice)| choice == Choice::Uring);
    has_ring.then(|| driver(Choice::Uring))
}

/// A socket, with what dropped reads have received from it.
struct Socket {
    stream: UnixStream,
    leftover: Leftover,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

fn pair() -> (Arc<Socket>, UnixStream) {
    let (near, far) = UnixStream::pair().unwrap();
    near.set_nonblocking(true).unwrap();
    far.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let socket = Socket {
        stream: near,
        leftover: Leftover::new(),
    };
    (Arc::new(socket), far)
}

type Recv = op::Recv<Arc<Socket>, Vec<u8>>;

fn receive(driver: &Arc<Driver>, socket: &Arc<Socket>, room: usize) -> Submission<Recv> {
    let receive = op::Recv::new(socket.clone(), Vec::with_capacity(room), 0);
    driver.submit(receive.keeping(|socket| &socket.leftover))
}

fn abandon(socket: &Socket, receive: Submission<Recv>) {
    socket.leftover.expect(receive.driver().unwrap());
    drop(receive);
}

/// What was kept, or the kind of error.
fn kept(socket: &Socket) -> Option<Result<Vec<u8>, ErrorKind>> {
    let mut room = [MaybeUninit::new(0); 3];
    let read = socket.leftover.read(&mut room)?;
    // SAFETY: all of it has a value.
    let bytes = room.map(|byte| unsafe { byte.assume_init() });
    Some(
        read.map(|n| bytes[..n].to_vec())
            .map_err(|error| error.kind()),
    )
}

#[test]
fn what_a_dropped_receive_has_received_is_there_to_be_read() {
    let Some(driver) = ring() else { return };
    for is_reaped in [false, true] {
        let (socket, mut far) = pair();
        let dropped = receive(&driver, &socket, 16);
        driver.turn().unwrap();
        far.write_all(b"hello").unwrap();
        if is_reaped {
            park_until(&driver, || driver.metrics().in_flight == 0);
        }
        assert!(socket.leftover.is_empty());
        abandon(&socket, dropped);
        let (count, waker) = Count::new();
        let mut cx = Context::from_waker(&waker);
        assert_eq!(socket.leftover.poll(&mut cx), Poll::Ready(true));
        let told = socket.leftover.conclude().unwrap_err().to_string();
        assert!(told.contains("nobody has read"), "{told}");
        // In pieces, as there is room; a look takes nothing.
        assert!(matches!(socket.leftover.peek(&mut []), Some(Ok(0))));
        assert_eq!(kept(&socket), Some(Ok(b"hel".to_vec())));
        assert_eq!(kept(&socket), Some(Ok(b"lo".to_vec())));
        assert_eq!(kept(&socket), None);
        assert!(socket.leftover.is_empty());
        socket.leftover.conclude().unwrap();
        assert_eq!(count.get(), 0);
    }
}

#[test]
fn a_dropped_receive_leaves_alone_what_arrives_later() {
    let Some(driver) = ring() else { return };
    for turns in 0..2 {
        let (socket, mut far) = pair();
        let dropped = receive(&driver, &socket, 16);
        for _ in 0..turns {
            driver.turn().unwrap();
        }
        abandon(&socket, dropped);
        assert!(socket.leftover.is_empty());
        far.write_all(b"later").unwrap();
        // Nobody takes a turn.
        let mut bytes = [0; 16];
        assert_eq!((&socket.stream).read(&mut bytes).unwrap(), 5);
    }
}

/// The error is the next read's: the kernel says it once.
#[test]
fn what_went_wrong_with_a_dropped_receive_is_told_to_the_next() {
    let Some(driver) = ring() else { return };
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let far = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (near, _) = listener.accept().unwrap();
    let near = UnixStream::from(std::os::fd::OwnedFd::from(near));
    let socket = Arc::new(Socket {
        stream: near,
        leftover: Leftover::new(),
    });
    let dropped = receive(&driver, &socket, 16);
    driver.turn().unwrap();
    let far = resetting(far);
    drop(far);
    park_until(&driver, || driver.metrics().in_flight == 0);
    abandon(&socket, dropped);
    assert_eq!(kept(&socket), Some(Err(ErrorKind::ConnectionReset)));
    assert_eq!(kept(&socket), None);
}

/// Closing it resets the connection.
fn resetting(stream: std::net::TcpStream) -> std::net::TcpStream {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: the option and its length are right, and the descriptor is open.
    let set = unsafe {
        libc::setsockopt(
            std::os::fd::AsRawFd::as_raw_fd(&stream),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of_val(&linger) as libc::socklen_t,
        )
    };
    assert_eq!(set, 0);
    stream
}

/// The owner has gone, and another thread drops what it had begun: the socket is closed though nobody takes a turn.
#[test]
fn what_is_dropped_elsewhere_ends_without_the_owner() {
    let Some(driver) = ring() else { return };
    for is_handed_over in [false, true] {
        let (socket, mut far) = pair();
        let begun = receive(&driver, &socket, 16);
        if is_handed_over {
            driver.turn().unwrap();
        }
        driver.depart();
        let other = thread::spawn(move || {
            abandon(&socket, begun);
            drop(socket);
        });
        // The kernel's work for the ring may interrupt a read, which then begins again.
        assert_eq!(far.read_to_end(&mut Vec::new()).unwrap(), 0);
        other.join().unwrap();
        assert_eq!(driver.metrics().in_flight, 0);
    }
}

/// The owner goes with something queued.
#[test]
fn what_is_queued_is_handed_over_by_an_owner_that_departs() {
    let Some(driver) = ring() else { return };
    let (socket, mut far) = pair();
    let send = driver.submit(op::Send::new(socket.clone(), "bytes", 0));
    driver.depart();
    let mut bytes = [0; 5];
    far.read_exact(&mut bytes).unwrap();
    assert_eq!(&bytes, b"bytes");
    assert_eq!(driver.metrics().in_flight, 0);
    drop(send);
}

/// A driver is closed by one thread while another drops what is under way, and takes results along.
#[test]
fn closing_hears_of_what_is_dropped_meanwhile() {
    for round in 0..400 {
        let Some(driver) = ring() else { return };
        let (socket, _far) = pair();
        let begun: Vec<_> = (0..1 + round % 4)
            .map(|_| receive(&driver, &socket, 16))
            .collect();
        driver.turn().unwrap();
        let (say, said) = mpsc::channel();
        let closing = driver.clone();
        let other = thread::spawn(move || {
            say.send(closing.close(Duration::MAX).remaining).unwrap();
        });
        for receive in begun {
            abandon(&socket, receive);
        }
        let remaining = said.recv_timeout(Duration::from_secs(60));
        assert_eq!(remaining, Ok(0), "round {round}");
        other.join().unwrap();
    }
}
