// The cases, for all: `sim` is the simulator under its name there, `net` its sockets, `count` what it counts itself.

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
                if send(&mut stream, &buffer[..length]).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// Sends all bytes. One of the simulators keeps them until it is told to send them.
async fn send(stream: &mut net::TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// Sends 16 bytes and waits for them, again and again, with a pause in between.
async fn ask(rounds: u32, pause: Duration) -> sim::Result {
    let mut stream = net::TcpStream::connect("server:80").await?;
    let mut buffer = [0; 16];
    for _ in 0..rounds {
        send(&mut stream, &[7; 16]).await?;
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

fn simulation(seed: u64) -> sim::Sim<'static> {
    let latency = Duration::from_millis(1);
    sim::Builder::new()
        .rng_seed(seed)
        .simulation_duration(Duration::from_secs(10_000_000))
        .min_message_latency(latency)
        .max_message_latency(latency)
        .build()
}

/// What a case has done.
#[derive(Default)]
struct Done {
    messages: u64,
    events: u64,
    simulated: Duration,
}

impl Done {
    fn run(&mut self, mut simulation: sim::Sim<'static>, messages: u64) {
        simulation.run().expect("the run ends well");
        self.messages += messages;
        self.events += count::events(&simulation);
        self.simulated += simulation.elapsed();
    }
}

/// Three hosts: two send to the third.
fn three(seed: u64, rounds: u32, pause: Duration) -> sim::Sim<'static> {
    let mut simulation = simulation(seed);
    simulation.host("server", echo);
    for client in ["one", "other"] {
        simulation.client(client, ask(rounds, pause));
    }
    simulation
}

/// Hosts in a ring, each of which sends to the next.
fn ring(hosts: u32, times: u32) -> sim::Sim<'static> {
    let mut simulation = simulation(0);
    for host in 0..hosts {
        let to = simulation.lookup(format!("host{}", (host + 1) % hosts));
        simulation.client(format!("host{host}"), beat(to, times));
    }
    simulation
}

/// Rounds of one of many small simulations.
const ROUNDS: u32 = 10;

fn main() {
    let argument = |at| std::env::args().nth(at).expect("case, number");
    let number: u32 = argument(2).parse().expect("a number");
    let times = u64::from(number);
    count::begin();
    let mut done = Done::default();
    let start = std::time::Instant::now();
    match argument(1).as_str() {
        "echo" => done.run(three(0, number, Duration::ZERO), 4 * times),
        "idle" => done.run(three(0, number, Duration::from_secs(1)), 4 * times),
        "beat20" => done.run(ring(20, number), 20 * times),
        "beat200" => done.run(ring(200, number), 200 * times),
        "seeds" => {
            for seed in 0..times {
                done.run(three(seed, ROUNDS, Duration::ZERO), 4 * u64::from(ROUNDS));
            }
        }
        other => panic!("no case {other}"),
    }
    let seconds = start.elapsed().as_secs_f64();
    let simulated = done.simulated.as_secs_f64();
    println!("{} {seconds} {simulated} {}", done.messages, done.events);
}
