//! A program with a few faults, some load, and a console to find the faults with.
//!
//! ```sh
//! cargo run --example faulty -- --address 127.0.0.1:6670
//! cargo run --example faulty -- --tasks 100000
//! cargo run --example faulty -- --clean
//! ```

use std::error::Error;
use std::future::pending;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpStream};
use tress::sync::{Mutex, Notify, mpsc};
use tress::task;
use tress::time::{interval, sleep};
use tress_actor::{Cx, Host};
use tress_console::Console;

struct Options {
    address: String,
    token: Option<String>,
    /// Number of idle tasks.
    tasks: usize,
    /// Whether there are no faults.
    clean: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        address: "127.0.0.1:6670".to_owned(),
        token: None,
        tasks: 200,
        clean: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--address" => options.address = value()?,
            "--token" => options.token = Some(value()?),
            "--tasks" => {
                options.tasks = value()?
                    .parse()
                    .map_err(|error| format!("--tasks: {error}"))?
            }
            "--clean" => options.clean = true,
            _ => return Err(format!("{word} is not an option")),
        }
    }
    Ok(options)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let mut builder = Console::builder().address(&options.address);
    if let Some(token) = options.token {
        builder = builder.token(token);
    }
    let console = builder.start()?;
    println!("http://{}/", console.local_addr());
    io::stdout().flush()?;

    let rt = tress::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(4)
        .max_blocking_threads(2)
        .name("service")
        .sight(true)
        .build()?;
    let batch = tress::runtime::Builder::new_current_thread()
        .enable_all()
        .name("batch")
        .build()?;
    thread::spawn(move || batch.block_on(tick()));
    rt.block_on(async {
        load(options.tasks).await?;
        if !options.clean {
            plant()?;
        }
        // Until the program is killed.
        pending::<io::Result<()>>().await
    })?;
    Ok(())
}

#[track_caller]
fn named<F: Future<Output = ()> + Send + 'static>(name: &str, future: F) -> io::Result<()> {
    drop(task::Builder::new().name(name).spawn(future)?);
    Ok(())
}

async fn tick() {
    let mut ticks = interval(Duration::from_millis(20));
    loop {
        ticks.tick().await;
        task::spawn(task::yield_now());
    }
}

/// Work that has nothing wrong with it.
async fn load(tasks: usize) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    named("echo", async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            task::spawn(async move {
                let mut bytes = [0; 1024];
                while let Ok(n @ 1..) = stream.read(&mut bytes).await {
                    if stream.write_all(&bytes[..n]).await.is_err() {
                        return;
                    }
                }
            });
        }
    })?;
    for _ in 0..8 {
        let mut stream = TcpStream::connect(address).await?;
        named("client", async move {
            let mut bytes = [7; 256];
            let mut ticks = interval(Duration::from_millis(5));
            loop {
                ticks.tick().await;
                let sent = stream.write_all(&bytes).await;
                if sent.is_err() || stream.read_exact(&mut bytes).await.is_err() {
                    return;
                }
            }
        })?;
    }
    named("bursts", async {
        let mut ticks = interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            for _ in 0..50 {
                task::spawn(async {
                    for _ in 0..4 {
                        task::yield_now().await;
                    }
                });
            }
        }
    })?;
    let rest = Arc::new(Notify::new());
    for _ in 0..tasks {
        let rest = rest.clone();
        task::spawn(async move { rest.notified().await });
    }
    Ok(())
}

fn plant() -> Result<(), io::Error> {
    deadlock()?;
    convoy()?;
    full_channel()?;
    blocking_pool();
    named("grinder", async {
        loop {
            sleep(Duration::from_millis(700)).await;
            // Keeps its worker from all other tasks.
            thread::sleep(Duration::from_millis(300));
        }
    })?;
    named("leaky", async {
        loop {
            sleep(Duration::from_millis(10)).await;
            for _ in 0..5 {
                task::spawn(pending::<()>());
            }
        }
    })?;
    mailbox()
}

/// Two tasks that lock two locks in different order.
fn deadlock() -> io::Result<()> {
    let (accounts, ledger) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
    for (name, first, second) in [
        ("transfer", accounts.clone(), ledger.clone()),
        ("audit", ledger, accounts),
    ] {
        named(name, async move {
            let _first = first.lock().await;
            sleep(Duration::from_millis(100)).await;
            let _second = second.lock().await;
        })?;
    }
    Ok(())
}

/// Many tasks that queue for one lock, which is held over an await.
fn convoy() -> io::Result<()> {
    let cache = Arc::new(Mutex::new(()));
    for _ in 0..40 {
        let cache = cache.clone();
        named("lookup", async move {
            loop {
                let held = cache.lock().await;
                sleep(Duration::from_millis(20)).await;
                drop(held);
            }
        })?;
    }
    Ok(())
}

/// A receiver that does not read.
fn full_channel() -> io::Result<()> {
    let (jobs, mut queue) = mpsc::channel(16);
    named(
        "producer",
        async move { while jobs.send(()).await.is_ok() {} },
    )?;
    named("consumer", async move {
        queue.recv().await;
        pending::<()>().await;
        drop(queue);
    })
}

/// Closures that keep all threads of the pool, and more of them.
fn blocking_pool() {
    for _ in 0..6 {
        task::spawn_blocking(|| thread::sleep(Duration::from_secs(3600)));
    }
}

/// A process that gets more messages than it can take.
fn mailbox() -> io::Result<()> {
    let host = Host::builder("orders").start().map_err(io::Error::other)?;
    let slow = |mut cx: Cx<u64>| async move {
        while cx.recv().await.is_some() {
            sleep(Duration::from_secs(1)).await;
        }
    };
    let pid = host
        .future(slow)
        .name("slow")
        .spawn()
        .map_err(io::Error::other)?;
    named("orders", async move {
        let mut ticks = interval(Duration::from_millis(10));
        loop {
            ticks.tick().await;
            if host.send(pid, 1u64).is_err() {
                return;
            }
        }
    })
}
