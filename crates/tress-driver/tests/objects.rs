//! Readiness of mio's sockets, where descriptors are no sources.
#![cfg(windows)]

mod harness;

use harness::{block_on, driver};
use mio::net::{TcpListener, TcpStream};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;
use tress_driver::{Choice, Driver, Gone, Interest, Pool, Registration, op};

fn register(driver: &Arc<Driver>, stream: &mut TcpStream) -> Registration {
    driver
        .register(stream, Interest::READABLE | Interest::WRITABLE)
        .unwrap()
}

#[test]
fn tcp_accepts_connects_and_echoes() {
    let driver = driver(Choice::Readiness);
    let mut listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let accepting = driver.register(&mut listener, Interest::READABLE).unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let client_io = register(&driver, &mut client);
    let (mut server, _) = block_on(
        &driver,
        accepting.async_io(Interest::READABLE, || listener.accept()),
    )
    .unwrap();
    let server_io = register(&driver, &mut server);
    for round in 0..100_u8 {
        let mut buffer = [0; 4];
        block_on(
            &driver,
            client_io.async_io(Interest::WRITABLE, || client.write(&[round])),
        )
        .unwrap();
        let read = block_on(
            &driver,
            server_io.async_io(Interest::READABLE, || server.read(&mut buffer)),
        )
        .unwrap();
        assert_eq!(buffer[..read], [round]);
    }
    drop(server_io);
    drop(server);
    let ended = block_on(
        &driver,
        client_io.async_io(Interest::READABLE, || client.read(&mut [0; 4])),
    );
    assert_eq!(ended.unwrap(), 0);
    let report = driver.close(Duration::from_secs(1));
    assert_eq!((report.registered, report.remaining), (2, 0));
    let error = block_on(&driver, client_io.readiness(Interest::READABLE)).unwrap_err();
    assert!(Gone::is_in(&error));
}

#[test]
fn there_is_no_ring() {
    let error = Driver::new(tress_driver::Config::new().backend(Choice::Uring)).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}

#[test]
fn operations_are_refused_and_return_their_buffers() {
    let driver = driver(Choice::Readiness);
    assert!(!driver.supports::<op::Send<Arc<TcpStream>, Vec<u8>>>());
    let send = driver.submit(op::Send::new((), b"unsent".to_vec(), 0));
    assert!(!send.is_under_way() && send.driver().is_none());
    let (sent, buffer) = block_on(&driver, send);
    assert_eq!(sent.unwrap_err().kind(), std::io::ErrorKind::Unsupported);
    assert_eq!(buffer, b"unsent");
    let error = Pool::new(&driver, 16, 1024).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
}
