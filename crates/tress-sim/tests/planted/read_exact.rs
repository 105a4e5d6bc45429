//! A `select!` with `read_exact`: when the other arm is first, the bytes that were read of an incomplete message are lost, and the
//! next message is made of the end of one and the start of another.
//!
//! Mended: bytes are read into a buffer that outlives the `select!`.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_local;
use tokio::time::{interval, sleep, timeout};
use tress_sim::Sim;

const SECOND: Duration = Duration::from_secs(1);

/// Sends messages: a number in four bytes, and four more that follow from it.
async fn publish() -> tress_sim::Result {
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        spawn_local(async move {
            for number in 0..u32::MAX {
                stream.write_u32(number).await?;
                stream.write_u32(!number).await?;
                sleep(SECOND / 5).await;
            }
            Result::Ok(())
        });
    }
}

/// The bytes of the next message, of which that many are there.
#[derive(Default)]
struct Message {
    bytes: [u8; 8],
    filled: usize,
}

impl Message {
    async fn read(&mut self, stream: &mut TcpStream, is_mended: bool) -> Result<u64> {
        if !is_mended {
            stream.read_exact(&mut self.bytes).await?;
        }
        while is_mended && self.filled < 8 {
            match stream.read(&mut self.bytes[self.filled..]).await? {
                0 => return Err(Error::from(ErrorKind::UnexpectedEof)),
                read => self.filled += read,
            }
        }
        self.filled = 0;
        Ok(u64::from_be_bytes(self.bytes))
    }
}

async fn subscribe(had: &mut u32, is_mended: bool) -> Result<()> {
    let mut stream = timeout(2 * SECOND, TcpStream::connect("publisher:80")).await??;
    let mut ticks = interval(SECOND);
    let (mut message, mut silent) = (Message::default(), 0);
    while *had < 40 {
        tokio::select! {
            number = message.read(&mut stream, is_mended) => {
                let number = number?;
                if (number >> 32) as u32 != !(number as u32) {
                    let text = format!("{number:x} is no message");
                    return Err(Error::new(ErrorKind::InvalidData, text));
                }
                (*had, silent) = (*had + 1, 0);
            }
            _ = ticks.tick() => silent += 1,
        }
        if silent == 4 {
            return Err(Error::from(ErrorKind::TimedOut));
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
