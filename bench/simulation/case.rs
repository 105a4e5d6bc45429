// The cases, for both: `sim` is the simulator under its name there, `net` its sockets.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A server that sends back what it gets.
async fn echo() -> sim::Result {
    let listener = net::TcpListener::bind("0.0.0.0:80").await?;
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut buffer = [0; 64];
            while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                if stream.write_all(&buffer[..length]).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// Sends 16 bytes and waits for them, again and again, with a pause in between.
async fn ask(rounds: u32, pause: Duration) -> sim::Result {
    let mut stream = net::TcpStream::connect("server:80").await?;
    let mut buffer = [0; 16];
    for _ in 0..rounds {
        stream.write_all(&[7; 16]).await?;
        stream.read_exact(&mut buffer).await?;
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    Ok(())
}

/// Sends a datagram to the next host every second.
async fn beat(to: std::net::IpAddr, times: u32) -> sim::Result {
    let socket = net::UdpSocket::bind("0.0.0.0:1").await?;
    let mut interval = tokio::time::interval(Duration::from_secs(1));
    let mut buffer = [0; 64];
    let mut sent = 0;
    loop {
        tokio::select! {
            _ = interval.tick() => {
                if sent == times {
                    return Ok(());
                }
                sent += 1;
                socket.send_to(&[1; 32], (to, 1)).await?;
            }
            received = socket.recv_from(&mut buffer) => {
                received?;
            }
        }
    }
}

fn main() {
    let argument = |at| std::env::args().nth(at).expect("case, number");
    let number: u32 = argument(2).parse().expect("a number");
    let mut builder = sim::Builder::new();
    builder
        .simulation_duration(Duration::from_secs(10_000_000))
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(1));
    let mut simulation = builder.build();
    let messages = match argument(1).as_str() {
        kind @ ("echo" | "idle") => {
            let pause = Duration::from_secs(u64::from(kind == "idle"));
            simulation.host("server", echo);
            for client in ["one", "other"] {
                simulation.client(client, ask(number, pause));
            }
            4 * u64::from(number)
        }
        "beat" => {
            let (hosts, times) = (number, 60);
            for host in 0..hosts {
                let to = simulation.lookup(format!("host{}", (host + 1) % hosts));
                simulation.client(format!("host{host}"), beat(to, times));
            }
            u64::from(hosts) * u64::from(times)
        }
        other => panic!("no case {other}"),
    };
    let start = std::time::Instant::now();
    simulation.run().expect("the run ends well");
    let seconds = start.elapsed().as_secs_f64();
    let simulated = simulation.elapsed().as_secs_f64();
    println!("{messages} {seconds} {simulated}");
}
