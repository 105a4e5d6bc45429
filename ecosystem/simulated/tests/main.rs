//! Programs as they are: a plain `main` that makes its own runtime, of several threads or of one.

use eco_simulated::{Storm, calm, is_stormy, persist};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A server that counts lines, on two threads, with what a program does besides: a thread of its own, blocking work, files.
#[tokio::main(worker_threads = 2)]
async fn server() -> io::Result<()> {
    let starts = tokio::fs::read_to_string("/starts")
        .await
        .unwrap_or_default();
    let starts = starts.parse().unwrap_or(0) + 1u64;
    tokio::fs::write("/new", starts.to_string()).await?;
    tokio::fs::File::open("/new").await?.sync_all().await?;
    tokio::fs::rename("/new", "/starts").await?;
    tokio::fs::File::open("/").await?.sync_all().await?;
    let lines = Arc::new(AtomicU64::new(0));
    let (send, receive) = std::sync::mpsc::channel::<tokio::sync::oneshot::Sender<u64>>();
    let counted = lines.clone();
    std::thread::spawn(move || {
        for reply in receive {
            // Who asked may have gone.
            let _ = reply.send(counted.fetch_add(1, Ordering::Relaxed) + 1);
        }
    });
    let listener = TcpListener::bind("0.0.0.0:7").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        let send = send.clone();
        tokio::spawn(async move {
            let (read, mut write) = stream.split();
            let mut read = BufReader::new(read).lines();
            while let Some(line) = read.next_line().await? {
                let (reply, number) = tokio::sync::oneshot::channel();
                send.send(reply).map_err(io::Error::other)?;
                let number = number.await.map_err(io::Error::other)?;
                let line = tokio::task::spawn_blocking(move || {
                    std::thread::sleep(Duration::from_millis(1));
                    line.to_uppercase()
                });
                let line = line.await?;
                write
                    .write_all(format!("{starts} {number} {line}\n").as_bytes())
                    .await?;
            }
            io::Result::Ok(())
        });
    }
}

/// Lines to the server and back; returns the last numbers.
async fn talk() -> io::Result<(u64, u64)> {
    let mut stream = TcpStream::connect("server:7").await?;
    let (read, mut write) = stream.split();
    let mut read = BufReader::new(read).lines();
    let mut last = (0, 0);
    for number in 0..10 {
        write
            .write_all(format!("line {number}\n").as_bytes())
            .await?;
        let line = read
            .next_line()
            .await?
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let (numbers, said) = line.split_once(" LINE ").expect("a line");
        assert_eq!(said, number.to_string());
        let (starts, count) = numbers.split_once(' ').expect("two numbers");
        let numbers = (
            starts.parse().expect("a number"),
            count.parse().expect("a number"),
        );
        assert!(numbers > last, "{numbers:?} after {last:?}");
        last = numbers;
    }
    Ok(last)
}

#[tokio::main]
async fn many() -> io::Result<()> {
    let tasks = (0..3).map(|_| {
        tokio::spawn(async {
            let mut last = (0, 0);
            while is_stormy() {
                let numbers = persist(Duration::from_secs(15), talk).await;
                assert!(
                    numbers > last,
                    "{numbers:?} after {last:?}: a server has gone back"
                );
                last = numbers;
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await?;
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn one() -> io::Result<()> {
    calm().await;
    // It has been started twice, and has not forgotten that.
    let (starts, _) = persist(Duration::from_secs(15), talk).await;
    assert_eq!(starts, 2);
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn plain_programs_run_as_they_are() {
    let storm = Storm {
        name: "main",
        servers: &["server"],
        clients: &["many", "one"],
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host_main("server", server);
        sim.client_main("many", many);
        sim.client_main("one", one);
    });
}
