//! An axum service with reqwest clients, on several hosts.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use eco_simulated::{Storm, is_stormy, persist};
use std::collections::BTreeMap;
use std::io::SeekFrom;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tress_sim::{Builder, Result};

type Store = Arc<Mutex<BTreeMap<String, u64>>>;

/// A service that counts, as it would be written for Tokio.
async fn service() -> Result {
    async fn add(State(store): State<Store>, Path(name): Path<String>) -> Json<u64> {
        let mut store = store.lock().unwrap();
        let count = store.entry(name).or_default();
        *count += 1;
        Json(*count)
    }
    async fn read(State(store): State<Store>, Path(name): Path<String>) -> Json<u64> {
        Json(store.lock().unwrap().get(&name).copied().unwrap_or(0))
    }
    let app = Router::new()
        .route("/{name}", post(add))
        .route("/{name}", get(read))
        .with_state(Store::default());
    let listener = TcpListener::bind("0.0.0.0:8080").await?;
    axum::serve(listener, app).await?;
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn a_service_answers_its_clients() -> Result {
    // Once for the process; a second one is refused, which does not matter.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(600))
        .build();
    sim.host("service", service);
    for client in ["ada", "bob", "eve"] {
        sim.client(client, async move {
            let http = reqwest::Client::builder()
                .timeout(Duration::from_secs(10))
                .build()?;
            let url = format!("http://service:8080/{client}");
            for expected in 1..=20u64 {
                let count: u64 = http.post(&url).send().await?.json().await?;
                assert_eq!(count, expected);
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            assert_eq!(http.get(&url).send().await?.json::<u64>().await?, 20);
            Ok(())
        });
    }
    sim.run()
}

/// Counts that survive a loss of power: each is in a journal, synced, before it is told to anybody. A request has a key, and
/// is counted once however often it comes.
struct Ledger {
    journal: File,
    /// The count that a request has got, by name and key.
    counted: BTreeMap<(String, u64), u64>,
    counts: BTreeMap<String, u64>,
}

type Shared = Arc<tokio::sync::Mutex<Ledger>>;

impl Ledger {
    const JOURNAL: &str = "/journal";

    /// Reads the journal as far as it is whole, and goes on from there.
    async fn open() -> std::io::Result<Ledger> {
        let mut open = OpenOptions::new();
        let mut journal = open
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(Self::JOURNAL)
            .await?;
        // The entry of the journal in its directory is to survive, too.
        File::open("/").await?.sync_all().await?;
        let mut bytes = Vec::new();
        journal.read_to_end(&mut bytes).await?;
        let mut ledger = Ledger {
            journal,
            counted: BTreeMap::new(),
            counts: BTreeMap::new(),
        };
        let mut whole = 0;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some((name, key)) = parse(line) else {
                break;
            };
            ledger.count(name, key);
            whole += line.len() as u64;
        }
        ledger.journal.set_len(whole).await?;
        ledger.journal.sync_all().await?;
        ledger.journal.seek(SeekFrom::Start(whole)).await?;
        Ok(ledger)
    }

    fn count(&mut self, name: String, key: u64) -> u64 {
        let count = self.counts.entry(name.clone()).or_default();
        *count += 1;
        self.counted.insert((name, key), *count);
        *count
    }

    async fn add(&mut self, name: String, key: u64) -> std::io::Result<u64> {
        if let Some(count) = self.counted.get(&(name.clone(), key)) {
            return Ok(*count);
        }
        self.journal.write_all(&line(&name, key)).await?;
        self.journal.flush().await?;
        self.journal.sync_data().await?;
        Ok(self.count(name, key))
    }
}

/// A line of the journal, with a check of its bytes.
fn line(name: &str, key: u64) -> Vec<u8> {
    let text = format!("{name} {key}");
    format!("{text} {}\n", check(&text)).into_bytes()
}

fn check(text: &str) -> u32 {
    text.bytes().fold(7, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    })
}

fn parse(line: &[u8]) -> Option<(String, u64)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (text, sum) = line.rsplit_once(' ')?;
    let (name, key) = text.split_once(' ')?;
    (sum.parse() == Ok(check(text))).then_some((name.to_string(), key.parse().ok()?))
}

async fn ledger() -> Result {
    async fn add(
        State(ledger): State<Shared>,
        Path((name, key)): Path<(String, u64)>,
    ) -> std::result::Result<Json<u64>, StatusCode> {
        // Goes on if the client does not wait for it: a line of the journal is written whole.
        let added = tokio::spawn(async move { ledger.lock().await.add(name, key).await });
        match added.await {
            Ok(Ok(count)) => Ok(Json(count)),
            _ => Err(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
    async fn read(State(ledger): State<Shared>, Path(name): Path<String>) -> Json<u64> {
        Json(ledger.lock().await.counts.get(&name).copied().unwrap_or(0))
    }
    let app = Router::new()
        .route("/{name}/{key}", post(add))
        .route("/{name}", get(read))
        .with_state(Arc::new(tokio::sync::Mutex::new(Ledger::open().await?)));
    let listener = TcpListener::bind("0.0.0.0:8080").await?;
    axum::serve(listener, app).await?;
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn what_is_acknowledged_is_counted_once() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let clients = ["ada", "bob", "eve"];
    let storm = Storm {
        name: "axum",
        servers: &["service"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        sim.host("service", ledger);
        for client in clients {
            sim.client(client, async move {
                let http = reqwest::Client::builder()
                    .connect_timeout(Duration::from_secs(2))
                    .build()?;
                let limit = Duration::from_secs(3);
                let url = format!("http://service:8080/{client}");
                let mut acknowledged = 0u64;
                while is_stormy() || acknowledged < 20 {
                    // The key stays for all attempts.
                    let count = persist(limit, || async {
                        let sent = http.post(format!("{url}/{acknowledged}")).send().await?;
                        sent.error_for_status()?.json::<u64>().await
                    });
                    assert_eq!(count.await, acknowledged + 1);
                    acknowledged += 1;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                let read = || async { http.get(&url).send().await?.json::<u64>().await };
                assert_eq!(persist(limit, read).await, acknowledged);
                Ok(())
            });
        }
    });
}
