//! A server that ends in good order: on Ctrl-C or SIGTERM it takes no new connections, lets those it has
//! finish, and gives them ten seconds for it.
//!
//! ```text
//! cargo run -p tress --example graceful -- 127.0.0.1:7000
//! nc 127.0.0.1 7000        # type a line, and press Ctrl-C in the server's terminal meanwhile
//! ```
//!
//! Without an address the system chooses a port; the server prints where it listens. It answers each line
//! with its length. Unix.

#[cfg(unix)]
mod server {
    use std::io;
    use tress::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    use tress::net::{TcpListener, TcpStream};
    use tress::shutdown::Shutdown;

    pub async fn serve(listener: TcpListener, shutdown: Shutdown) {
        loop {
            let accepted = tress::select! {
                () = shutdown.wait() => return,
                accepted = listener.accept() => accepted,
            };
            let (stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    eprintln!("cannot accept: {error}");
                    continue;
                }
            };
            // Whoever has a guard is waited for.
            let Some(guard) = shutdown.start_work() else {
                return;
            };
            let shutdown = shutdown.clone();
            tress::spawn(async move {
                if let Err(error) = answer(stream, &shutdown).await {
                    eprintln!("{peer}: {error}");
                }
                drop(guard);
            });
        }
    }

    async fn answer(mut stream: TcpStream, shutdown: &Shutdown) -> io::Result<()> {
        let (reader, mut writer) = stream.split();
        let mut lines = BufReader::new(reader).lines();
        loop {
            // Between two lines is a good moment to end; within one is not.
            let line = tress::select! {
                biased;
                line = lines.next_line() => line?,
                () = shutdown.wait() => {
                    writer.write_all(b"the server ends\n").await?;
                    break;
                }
            };
            let Some(line) = line else { break };
            let answer = format!("{}\n", line.len());
            writer.write_all(answer.as_bytes()).await?;
        }
        writer.shutdown().await
    }
}

#[cfg(unix)]
#[tress::main]
async fn main() -> std::io::Result<()> {
    use std::time::Duration;
    use tress::shutdown::Shutdown;

    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:0".into());
    let listener = tress::net::TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    let shutdown = Shutdown::new();
    let server = tress::spawn(server::serve(listener, shutdown.clone()));
    // In this order: once it is announced, a signal does not end the process by itself any more.
    let announce = async { println!("listening on {address}") };
    let (signalled, ()) = tress::join!(shutdown.trigger_on_signals(), announce);
    signalled?;
    println!("ending");
    server.await?;
    match shutdown.drain_for(Duration::from_secs(10)).await {
        Ok(()) => println!("all done"),
        Err(unfinished) => println!("{unfinished}"),
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    eprintln!("this example needs Unix");
}
