//! Reads that end before all that there is: at an urgent mark, a packet's end, a line's end.

use super::{once, runtimes, soon};
use std::fs::File;
use std::io::{self, Write};
use std::net;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};
use tress::io::{AsyncRead, AsyncReadExt, Interest};
use tress::net::unix::pipe;
use tress::net::{Pooled, TcpStream};
use tress::process::ChildStdout;

/// What one read brings.
async fn read(from: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    let n = soon(from.read(&mut bytes)).await.unwrap();
    bytes.truncate(n);
    bytes
}

/// Both ends of a connection; what is sent is sent at once.
fn connection() -> (net::TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let near = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    near.set_nodelay(true).unwrap();
    let (far, _) = listener.accept().unwrap();
    (near, far)
}

fn send_urgently(socket: &net::TcpStream, byte: u8) {
    // SAFETY: one byte, which is there.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            (&raw const byte).cast(),
            1,
            libc::MSG_OOB,
        )
    };
    assert_eq!(sent, 1);
}

/// Would block if there is none.
fn receive_urgent(socket: &impl AsRawFd) -> io::Result<u8> {
    let mut byte = 0_u8;
    let place = (&raw mut byte).cast();
    // SAFETY: there is room for one byte.
    match unsafe { libc::recv(socket.as_raw_fd(), place, 1, libc::MSG_OOB) } {
        1 => Ok(byte),
        _ => Err(io::ErrorKind::WouldBlock.into()),
    }
}

/// A read ends before an urgent byte; what comes behind it has come already.
#[test]
fn what_follows_an_urgent_byte_is_read() {
    for runtime in runtimes() {
        runtime.block_on(async {
            for round in 0..20 {
                let (mut near, far) = connection();
                if round % 2 == 1 {
                    socket2::SockRef::from(&far)
                        .set_out_of_band_inline(true)
                        .unwrap();
                }
                let mut far = TcpStream::from_std(far).unwrap();
                assert!(once(far.read_u8()).await.is_none());
                for _ in 0..3 {
                    near.write_all(b"before").unwrap();
                    send_urgently(&near, b'!');
                    near.write_all(b"behind").unwrap();
                    // All of it is there at the next look, which has not been yet.
                    assert_eq!(read(&mut far).await, b"before");
                    let behind: &[u8] = if round % 2 == 1 {
                        b"!behind"
                    } else {
                        b"behind"
                    };
                    assert_eq!(read(&mut far).await, behind);
                }
            }
        });
    }
}

/// The mark stays when the byte itself was taken, also if nobody is told of it any more.
#[test]
fn an_urgent_byte_that_was_taken_hides_nothing() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (mut near, far) = connection();
            let mut far = TcpStream::from_std(far).unwrap();
            assert!(once(far.read_u8()).await.is_none());
            for round in 0..20 {
                near.write_all(b"before").unwrap();
                send_urgently(&near, b'!');
                near.write_all(b"behind").unwrap();
                let taken = soon(far.async_io(Interest::PRIORITY, || receive_urgent(&far))).await;
                assert_eq!(taken.unwrap(), b'!');
                if round % 2 == 1 {
                    let none = far.try_io(Interest::PRIORITY, || receive_urgent(&far));
                    assert_eq!(none.unwrap_err().kind(), io::ErrorKind::WouldBlock);
                }
                assert_eq!(read(&mut far).await, b"before");
                assert_eq!(read(&mut far).await, b"behind");
            }
        });
    }
}

#[test]
fn pooled_reads_go_past_an_urgent_byte() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (mut near, far) = connection();
            let mut far = Pooled::new(TcpStream::from_std(far).unwrap());
            assert!(once(far.read_u8()).await.is_none());
            for _ in 0..20 {
                near.write_all(b"before").unwrap();
                send_urgently(&near, b'!');
                near.write_all(b"behind").unwrap();
                let mut bytes = [0; 12];
                soon(far.read_exact(&mut bytes)).await.unwrap();
                assert_eq!(&bytes, b"beforebehind");
            }
        });
    }
}

fn pipe_with(flags: libc::c_int) -> (OwnedFd, File) {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which are new, and so nobody else's.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), flags | libc::O_CLOEXEC), 0);
        (OwnedFd::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    }
}

/// Three writes, each a read of its own.
async fn reads_packets(mut receiver: impl AsyncRead + Unpin, sender: File) {
    for _ in 0..3 {
        for packet in ["one", "two", "three"] {
            (&sender).write_all(packet.as_bytes()).unwrap();
        }
        for packet in ["one", "two", "three"] {
            assert_eq!(read(&mut receiver).await, packet.as_bytes());
        }
    }
    drop(sender);
    assert_eq!(read(&mut receiver).await, b"");
}

#[test]
fn a_pipe_that_keeps_packets_apart_is_read_to_its_end() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (receiver, sender) = pipe_with(libc::O_DIRECT);
            reads_packets(pipe::Receiver::from_owned_fd(receiver).unwrap(), sender).await;
            let (receiver, sender) = pipe_with(libc::O_DIRECT);
            reads_packets(ChildStdout::from_std(receiver.into()).unwrap(), sender).await;
        });
    }
}

/// Whoever writes may change that at any time.
#[test]
fn a_pipe_may_begin_to_keep_packets_apart() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (receiver, sender) = pipe_with(0);
            let mut receiver = pipe::Receiver::from_owned_fd(receiver).unwrap();
            (&sender).write_all(b"plain").unwrap();
            assert_eq!(read(&mut receiver).await, b"plain");
            // SAFETY: an open descriptor, and no memory.
            let set = unsafe { libc::fcntl(sender.as_raw_fd(), libc::F_SETFL, libc::O_DIRECT) };
            assert_eq!(set, 0);
            reads_packets(receiver, sender).await;
        });
    }
}

/// A terminal gives out one line at a time, and the standard library makes a child's output of anything.
#[test]
fn a_terminal_is_read_line_by_line() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let (mut master, mut slave) = (0, 0);
            // SAFETY: room for two descriptors, which are new; nothing else is asked or told.
            let (master, slave) = unsafe {
                let (to_master, to_slave) = (&raw mut master, &raw mut slave);
                let done = libc::openpty(to_master, to_slave, null_mut(), null(), null());
                assert_eq!(done, 0);
                (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
            };
            let mut lines = ChildStdout::from_std(slave.into()).unwrap();
            assert!(once(lines.read_u8()).await.is_none());
            for _ in 0..3 {
                (&master).write_all(b"one\ntwo\nthree\n").unwrap();
                for line in ["one\n", "two\n", "three\n"] {
                    assert_eq!(read(&mut lines).await, line.as_bytes());
                }
            }
        });
    }
}
