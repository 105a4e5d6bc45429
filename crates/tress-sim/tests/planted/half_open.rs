//! A subscriber that waits for the next event without a time-out. A server that loses power does not say so: the subscriber
//! waits for ever on a connection of which the other end is gone.
//!
//! Mended: after some seconds without an event it connects again.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio::time::{sleep, timeout};
use tress_sim::Sim;

const SECOND: Duration = Duration::from_secs(1);

/// Sends an event to each subscriber five times in a second.
async fn publish() -> tress_sim::Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        spawn_local(async move {
            for event in 0.. {
                stream.write_u32(event).await?;
                sleep(SECOND / 5).await;
            }
            Result::Ok(())
        });
    }
}

async fn next(stream: &mut TcpStream, is_mended: bool) -> Result<u32> {
    match is_mended {
        true => timeout(3 * SECOND, stream.read_u32()).await?,
        false => stream.read_u32().await,
    }
}

/// Counts events of one subscription.
async fn subscribe(had: &mut u32, is_mended: bool) -> Result<()> {
    let mut stream = timeout(3 * SECOND, TcpStream::connect("publisher:80")).await??;
    for expected in 0.. {
        if next(&mut stream, is_mended).await? != expected {
            return Err(Error::from(ErrorKind::InvalidData));
        }
        *had += 1;
        if *had == 30 {
            break;
        }
    }
    Ok(())
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    sim.host("publisher", publish);
    sim.client("subscriber", async move {
        let mut had = 0;
        while let Err(error) = subscribe(&mut had, is_mended).await {
            if error.kind() == ErrorKind::InvalidData {
                Err(error)?;
            }
            sleep(SECOND / 10).await;
        }
        Ok(())
    });
}
