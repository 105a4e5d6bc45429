//! Connections that send requests one after the other, and check the answers.

use hdrhistogram::Histogram;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use tress::net::TcpStream;
use tress_hyper::TressIo;

/// The longest time that is told apart: a minute, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;
/// How long a connection waits before it is made anew.
const PAUSE: Duration = Duration::from_millis(100);
/// Number of keys that the requests use.
const KEYS: u64 = 1000;

/// The load, on a runtime and a thread of its own.
pub(super) struct Load {
    counts: Arc<Counts>,
    stop: CancellationToken,
    thread: JoinHandle<()>,
    begun: Instant,
}

pub(super) struct Counts {
    requests: AtomicU64,
    errors: AtomicU64,
    /// How long requests took, in nanoseconds.
    times: Mutex<Histogram<u64>>,
}

/// What the load has seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Summary {
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
    pub(super) took: Duration,
}

impl Load {
    pub(super) fn start(address: SocketAddr, connections: u16) -> io::Result<Load> {
        let times = Histogram::new_with_max(LONGEST, 3).map_err(io::Error::other)?;
        let counts = Arc::new(Counts {
            requests: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            times: Mutex::new(times),
        });
        let stop = CancellationToken::new();
        let rt = crate::runtime()?;
        let thread = {
            let (counts, stop) = (counts.clone(), stop.clone());
            let body = move || {
                rt.block_on(async {
                    for number in 0..connections {
                        let user = use_service(address, u64::from(number), counts.clone());
                        tress::spawn(stop.clone().run_until_cancelled_owned(user));
                    }
                    stop.cancelled().await;
                });
            };
            thread::Builder::new().name("load".into()).spawn(body)?
        };
        Ok(Load {
            counts,
            stop,
            thread,
            begun: Instant::now(),
        })
    }

    pub(super) fn summary(&self) -> Summary {
        let times = self.counts.times.lock().expect("nothing panics under it");
        let quantile = |q| Duration::from_nanos(times.value_at_quantile(q));
        Summary {
            requests: self.counts.requests.load(Ordering::Relaxed),
            errors: self.counts.errors.load(Ordering::Relaxed),
            p50: quantile(0.5),
            p99: quantile(0.99),
            took: self.begun.elapsed(),
        }
    }

    /// Stops all connections.
    pub(super) fn stop(self) -> Summary {
        let summary = self.summary();
        self.stop.cancel();
        if let Err(panic) = self.thread.join() {
            std::panic::resume_unwind(panic);
        }
        summary
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = self.requests as f64 / self.took.as_secs_f64().max(0.001);
        write!(
            f,
            "{} requests in {:.1} s: {rate:.0} a second, p50 {:.1?}, p99 {:.1?}, {} errors",
            self.requests,
            self.took.as_secs_f64(),
            self.p50,
            self.p99,
            self.errors
        )
    }
}

/// Sends requests over one connection after the other.
async fn use_service(address: SocketAddr, number: u64, counts: Arc<Counts>) {
    loop {
        if let Err(_lost) = use_connection(address, number, &counts).await {
            // It is counted. The service may be busy, or gone.
            counts.errors.fetch_add(1, Ordering::Relaxed);
            tress::time::sleep(PAUSE).await;
        }
    }
}

type Lost = Box<dyn std::error::Error + Send + Sync>;

async fn use_connection(address: SocketAddr, number: u64, counts: &Counts) -> Result<(), Lost> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TressIo::new(stream)).await?;
    // It ends with its sender.
    tress::spawn(connection);
    for n in 0.. {
        let key = (number * 7919 + n) % KEYS;
        let begun = Instant::now();
        match n % 4 {
            0 => {
                request(&mut sender, Method::PUT, key, format!("text {key}")).await?;
            }
            _ => {
                let text = request(&mut sender, Method::GET, key, String::new()).await?;
                if !text.is_empty() && text != format!("text {key}").as_bytes() {
                    return Err("another text than was written".into());
                }
            }
        }
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(LONGEST);
        counts.requests.fetch_add(1, Ordering::Relaxed);
        let mut times = counts.times.lock().expect("nothing panics under it");
        times.saturating_record(took);
    }
    Ok(())
}

/// Sends a request, and returns the body of the answer; nothing if there is no such text.
async fn request(
    sender: &mut SendRequest<Full<Bytes>>,
    method: Method,
    key: u64,
    body: String,
) -> Result<Bytes, Lost> {
    let request = Request::builder()
        .method(method)
        .uri(format!("/texts/{key}"))
        .header("host", "localhost")
        .header("content-type", "text/plain")
        .body(Full::new(Bytes::from(body)))?;
    let answer = sender.send_request(request).await?;
    let is_text = answer.status().is_success();
    let body = answer.into_body().collect().await?.to_bytes();
    Ok(if is_text { body } else { Bytes::new() })
}
