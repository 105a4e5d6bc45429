//! Commands for TCP and files.
#![cfg(feature = "io")]

mod support;

use std::io::{self, SeekFrom};
use std::net::SocketAddr;
use std::path::PathBuf;
use support::{host, once, result_of, run, scripted, value_of};
use tress::fs::OpenOptions;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpStream};
use tress::sync::oneshot;
use tress_actor::command::builtin::TakeBack;
use tress_actor::command::stream::{
    Accept, Accepted, Close, Connect, EndWrite, Listen, Listener, Open, Read, Seek, Stream, Sync,
    Write,
};
use tress_actor::{Command, CommandError, Completion, Event, ExitReason, Host, Payload};

fn anywhere() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}

/// A path that nobody else uses, removed at the end.
struct Temp(PathBuf);

impl Temp {
    fn new(name: &str) -> Temp {
        let name = format!("tress-actor-{}-{name}", std::process::id());
        Temp(std::env::temp_dir().join(name))
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn error_of(host: &Host, command: impl Command) -> io::ErrorKind {
    match result_of(host, once(command)).await {
        Err(error) => error.downcast_ref::<io::Error>().unwrap().kind(),
        Ok(payload) => panic!("it worked: {payload:?}"),
    }
}

fn value<T: Send + 'static>(result: Result<Payload, CommandError>) -> T {
    result.unwrap().downcast().unwrap()
}

#[test]
fn one_process_serves_another_over_tcp() {
    run(2, async {
        let host = host();
        let (tell, address) = oneshot::channel();
        let mut tell = Some(tell);
        let mut stream: Option<Stream> = None;
        // Each tag is the next thing that is done.
        let server = scripted(move |event, out| {
            let Some(event) = event else {
                out.command(Listen(anywhere()), 1);
                return Ok(());
            };
            let Event::Completion(Completion { tag, result, .. }) = event else {
                return Ok(());
            };
            match tag {
                1 => {
                    let listener: Listener = value(result);
                    let address = listener.local_addr().unwrap();
                    tell.take().unwrap().send(address).unwrap();
                    out.command(Accept(listener), 2);
                }
                2 => {
                    let accepted: Accepted = value(result);
                    assert!(accepted.peer.ip().is_loopback());
                    let most = 3;
                    stream = Some(accepted.stream.clone());
                    out.command(
                        Read {
                            stream: accepted.stream,
                            most,
                        },
                        3,
                    );
                }
                3 => {
                    let bytes: Vec<u8> = value(result);
                    let stream = stream.clone().unwrap();
                    if bytes.is_empty() {
                        out.command(EndWrite(stream), 5);
                    } else {
                        assert!(bytes.len() <= 3);
                        out.command(Write { stream, bytes }, 4);
                    }
                }
                4 => {
                    let stream = stream.clone().unwrap();
                    out.command(Read { stream, most: 3 }, 3);
                }
                _ => out.done(()),
            }
            Ok(())
        });
        let (_, served) = host.process(server).exec().unwrap();
        let address = address.await.unwrap();
        let client: Stream = value_of(&host, Connect(address)).await;
        let stream = client.clone();
        let bytes = b"echo, please".to_vec();
        value_of::<()>(&host, Write { stream, bytes }).await;
        value_of::<()>(&host, EndWrite(client.clone())).await;
        let mut echo = Vec::new();
        loop {
            let stream = client.clone();
            let bytes: Vec<u8> = value_of(&host, Read { stream, most: 64 }).await;
            if bytes.is_empty() {
                break;
            }
            echo.extend(bytes);
        }
        assert_eq!(echo, b"echo, please");
        assert!(served.await.into_result().is_ok());
    });
}

#[test]
fn a_file_is_written_sought_read_and_closed() {
    run(2, async {
        let host = host();
        let temp = Temp::new("file");
        let path = temp.0.clone();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let open = Open { path, options };
        let file: Stream = value_of(&host, open.clone()).await;
        assert_eq!(error_of(&host, open).await, io::ErrorKind::AlreadyExists);
        let (stream, bytes) = (file.clone(), b"hello, file".to_vec());
        value_of::<()>(&host, Write { stream, bytes }).await;
        value_of::<()>(&host, Sync(file.clone())).await;
        assert_eq!(std::fs::read(&temp.0).unwrap(), b"hello, file");
        let (stream, to) = (file.clone(), SeekFrom::Start(7));
        assert_eq!(value_of::<u64>(&host, Seek { stream, to }).await, 7);
        let read = |most| Read {
            stream: file.clone(),
            most,
        };
        assert_eq!(value_of::<Vec<u8>>(&host, read(2)).await, b"fi");
        assert_eq!(value_of::<Vec<u8>>(&host, read(9)).await, b"le");
        assert_eq!(value_of::<Vec<u8>>(&host, read(9)).await, b"", "the end");
        assert_eq!(error_of(&host, read(0)).await, io::ErrorKind::InvalidInput);
        let unfit = error_of(&host, EndWrite(file.clone())).await;
        assert_eq!(unfit, io::ErrorKind::Unsupported);

        assert!(value_of::<bool>(&host, Close(file.clone())).await);
        assert!(!value_of::<bool>(&host, Close(file.clone())).await);
        assert_eq!(error_of(&host, read(9)).await, io::ErrorKind::NotConnected);
        assert_eq!(format!("{file:?}"), "Stream(file, closed)");
        let options = OpenOptions::new().read(true).clone();
        let path = temp.0.join("below");
        let nowhere = error_of(&host, Open { path, options }).await;
        assert_eq!(nowhere, io::ErrorKind::NotADirectory);
    });
}

/// A connection: what commands work with, and the other end.
async fn connection(host: &Host) -> (Stream, TcpStream) {
    let listener = TcpListener::bind(anywhere()).await.unwrap();
    let stream = value_of(host, Connect(listener.local_addr().unwrap())).await;
    (stream, listener.accept().await.unwrap().0)
}

#[test]
fn a_process_that_ends_leaves_nothing_open() {
    run(2, async {
        let host = host();
        // It waits for a connection.
        let (tell, listening) = oneshot::channel();
        let mut tell = Some(tell);
        let waits = scripted(move |event, out| {
            match event {
                None => out.command(Listen(anywhere()), 1),
                Some(Event::Completion(Completion { result, .. })) => {
                    let listener: Listener = value(result);
                    let address = listener.local_addr().unwrap();
                    out.command(Accept(listener), 2);
                    tell.take().unwrap().send(address).unwrap();
                }
                Some(_) => {}
            }
            Ok(())
        });
        let (pid, exit) = host.process(waits).exec().unwrap();
        let address = listening.await.unwrap();
        host.terminate(pid).unwrap();
        assert!(matches!(exit.await.reason, ExitReason::Terminated));
        // The command's task is aborted by then, and drops the listener when it is next run.
        while let Ok(stream) = TcpStream::connect(address).await {
            drop(stream);
            tress::task::yield_now().await;
        }

        // It waits for bytes.
        let (stream, mut peer) = connection(&host).await;
        let mut stream = Some(stream);
        let reads = scripted(move |event, out| {
            if event.is_none() {
                let stream = stream.take().unwrap();
                out.command(Read { stream, most: 1 }, 1);
            }
            Ok(())
        });
        let (pid, exit) = host.process(reads).exec().unwrap();
        host.terminate(pid).unwrap();
        exit.await;
        assert_eq!(peer.read(&mut [0]).await.unwrap(), 0, "its end is closed");
    });
}

#[test]
fn a_command_that_is_taken_back_loses_nothing() {
    run(2, async {
        let host = host();
        let (stream, mut peer) = connection(&host).await;
        let mine = stream.clone();
        let reads = scripted(move |event, out| {
            let stream = mine.clone();
            match event {
                None => {
                    out.command(Read { stream, most: 8 }, 1);
                    out.command(TakeBack(1), 2);
                }
                Some(Event::Completion(Completion { tag: 1, result, .. })) => {
                    assert!(matches!(result, Err(CommandError::Abandoned)));
                    out.done(());
                }
                Some(_) => {}
            }
            Ok(())
        });
        let (_, exit) = host.process(reads).exec().unwrap();
        exit.await.into_result().unwrap();
        peer.write_all(b"late").await.unwrap();
        let bytes: Vec<u8> = value_of(&host, Read { stream, most: 8 }).await;
        assert_eq!(bytes, b"late");
    });
}

#[test]
fn closing_ends_what_waits_and_tells_the_other_end() {
    run(2, async {
        let host = host();
        let (stream, mut peer) = connection(&host).await;
        let mine = stream.clone();
        let closes = scripted(move |event, out| {
            let stream = mine.clone();
            match event {
                None => {
                    out.command(
                        Read {
                            stream: stream.clone(),
                            most: 8,
                        },
                        1,
                    );
                    out.command(Close(stream), 2);
                }
                Some(Event::Completion(Completion { tag: 1, result, .. })) => {
                    let error = result.unwrap_err();
                    let error = error.downcast_ref::<io::Error>().unwrap();
                    assert_eq!(error.kind(), io::ErrorKind::NotConnected);
                }
                Some(Event::Completion(Completion { result, .. })) => {
                    assert!(value::<bool>(result));
                    out.done(());
                }
                Some(_) => {}
            }
            Ok(())
        });
        let (_, exit) = host.process(closes).exec().unwrap();
        exit.await.into_result().unwrap();
        assert_eq!(peer.read(&mut [0]).await.unwrap(), 0);
        assert!(stream.is_closed());
        let (stream, to) = (connection(&host).await.0, SeekFrom::Start(0));
        let unfit = error_of(&host, Seek { stream, to }).await;
        assert_eq!(unfit, io::ErrorKind::Unsupported);
        // Nobody listens there any more.
        let listener = TcpListener::bind(anywhere()).await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let refused = error_of(&host, Connect(address)).await;
        assert_eq!(refused, io::ErrorKind::ConnectionRefused);
    });
}
