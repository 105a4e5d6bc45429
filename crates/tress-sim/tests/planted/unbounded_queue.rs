//! A relay with a queue that nothing bounds: while the host behind it is slow or cannot be reached, the queue grows.
//!
//! Mended: the queue is bounded, and a sender waits for room in it.

use crate::lines::{ask_again, serve};
use std::cell::Cell;
use std::io::Result;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tress_sim::Sim;

const LIMIT: usize = 16;

/// Takes messages, and hands them on one by one.
async fn relay(length: Rc<Cell<usize>>, is_mended: bool) -> tress_sim::Result {
    let capacity = match is_mended {
        true => LIMIT,
        false => Semaphore::MAX_PERMITS,
    };
    let (sender, mut receiver) = mpsc::channel::<u32>(capacity);
    length.set(0);
    spawn_local(async move {
        while let Some(message) = receiver.recv().await {
            ask_again("sink", &message.to_string()).await;
        }
    });
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        let (sender, length) = (sender.clone(), length.clone());
        spawn_local(async move {
            while let Ok(message) = stream.read_u32().await {
                if sender.send(message).await.is_err() {
                    break;
                }
                length.set(sender.max_capacity() - sender.capacity());
            }
        });
    }
}

/// Sends ten messages in a second, from that one on.
async fn send(next: &mut u32) -> Result<()> {
    let limit = Duration::from_secs(2);
    let mut stream = timeout(limit, TcpStream::connect("relay:80")).await??;
    while *next < 60 {
        timeout(limit, stream.write_u32(*next)).await??;
        *next += 1;
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    let length = Rc::new(Cell::new(0));
    let seen = length.clone();
    sim.invariant("the queue is short", move || match seen.get() {
        0..=LIMIT => Ok(()),
        length => Err(format!("it has {length} messages").into()),
    });
    sim.host("sink", || serve(|_| "had".to_string()));
    sim.host("relay", move || relay(length.clone(), is_mended));
    sim.client("source", async {
        let mut next = 0;
        while send(&mut next).await.is_err() {
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    });
}
