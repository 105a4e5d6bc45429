//! The service of docs/guide/simulation.md, with its fault and without.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::post;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::time::Duration;
use tokio::net::TcpListener;
use tress_sim::{Builder, Fault, Faults, Result};

/// How the service replaces its file.
type Replace = fn(&str) -> std::io::Result<()>;

/// Without syncs: after a loss of power the old file may be there.
fn replace(text: &str) -> std::io::Result<()> {
    fs::write("/var/count.new", text)?;
    fs::rename("/var/count.new", "/var/count")
}

/// With a sync of the file before it gets its name, and of the name.
fn replace_durably(text: &str) -> std::io::Result<()> {
    let mut file = File::create("/var/count.new")?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename("/var/count.new", "/var/count")?;
    File::open("/var")?.sync_all()
}

/// Counts in a file, and answers over HTTP.
async fn serve(replace: Replace) -> Result {
    let add = move || async move {
        let failed = |_| StatusCode::INTERNAL_SERVER_ERROR;
        let count: u64 = match tokio::fs::read_to_string("/var/count").await {
            Ok(text) => text.parse().map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(failed(error)),
        };
        let count = count + 1;
        let replaced = tokio::task::spawn_blocking(move || replace(&count.to_string()));
        replaced.await.map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?.map_err(failed)?;
        Ok::<_, StatusCode>(count.to_string())
    };
    let listener = TcpListener::bind("0.0.0.0:8080").await?;
    axum::serve(listener, Router::new().route("/add", post(add))).await?;
    Ok(())
}

/// Counts to 20, and fails if the service forgets what it has acknowledged.
async fn count() -> Result {
    let http = reqwest::Client::builder().timeout(Duration::from_secs(1)).build()?;
    let mut acknowledged = 0;
    while acknowledged < 20 {
        // A time-out says nothing: the request may have been carried out.
        if let Ok(answer) = http.post("http://service:8080/add").send().await {
            if let Ok(Ok(count)) = answer.text().await.map(|text| text.parse::<u64>()) {
                if count <= acknowledged {
                    Err(format!("{count} after {acknowledged}"))?;
                }
                acknowledged = count;
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

fn run(builder: &mut Builder, replace: Replace) -> Result {
    // Once for the process; a second one is refused, which does not matter.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut sim = builder
        .faults(Faults::of([Fault::Crash, Fault::Partition]))
        .simulation_duration(Duration::from_secs(3600))
        .build();
    sim.host("service", move || serve(replace));
    sim.client("client", count());
    sim.run()
}

#[test]
fn the_fault_is_found() {
    let run = |seed| run(Builder::new().rng_seed(seed), replace);
    let found = (0..200).find_map(|seed| Some((seed, run(seed).err()?)));
    let (seed, error) = found.expect("200 seeds find it");
    let again = run(seed).unwrap_err();
    println!("seed {seed}: {error}");
    assert_eq!(error.to_string(), again.to_string());
}

#[tress_sim::test(seeds = 200)]
fn the_correction_holds() -> Result {
    run(&mut Builder::new(), replace_durably)
}
