//! A store of texts in memory, served by axum.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

/// Maximum length of a text.
const LONGEST: usize = 64 * 1024;
/// Maximum number of texts.
const MOST: usize = 100_000;
/// How many ports above a port that is in use are tried, to offer one.
const TRIED: u16 = 100;

type Store = Arc<RwLock<BTreeMap<String, String>>>;

#[derive(Serialize)]
struct Summary {
    texts: usize,
    bytes: usize,
}

/// Binds the port of the service.
///
/// # Errors
/// If the port is in use, the error offers a free one.
pub(super) fn listen(port: u16) -> io::Result<TcpListener> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpListener::bind(at(port)).map_err(|error| {
        let mut above = (1..=TRIED).filter_map(|n| port.checked_add(n));
        let free = above.find(|port| TcpListener::bind(at(*port)).is_ok());
        let offer = free.map_or(String::new(), |free| {
            format!("; {free} is free: --port {free}")
        });
        io::Error::new(
            error.kind(),
            format!("cannot use port {port}: {error}{offer}"),
        )
    })
}

/// Serves until it is told to stop, and then finishes the requests that have begun.
pub(super) async fn serve(listener: TcpListener, stop: CancellationToken) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    axum::serve(listener, router())
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

fn router() -> Router {
    let store = Store::default();
    Router::new()
        .route("/", get(summary))
        .route("/texts/{key}", get(read).put(write).delete(remove))
        .with_state(store)
}

async fn summary(State(store): State<Store>) -> Json<Summary> {
    let store = store.read().await;
    Json(Summary {
        texts: store.len(),
        bytes: store.values().map(String::len).sum(),
    })
}

async fn read(State(store): State<Store>, Path(key): Path<String>) -> Result<String, StatusCode> {
    let store = store.read().await;
    store.get(&key).cloned().ok_or(StatusCode::NOT_FOUND)
}

async fn write(State(store): State<Store>, Path(key): Path<String>, text: String) -> StatusCode {
    if text.len() > LONGEST {
        return StatusCode::PAYLOAD_TOO_LARGE;
    }
    let mut store = store.write().await;
    if store.len() >= MOST && !store.contains_key(&key) {
        return StatusCode::INSUFFICIENT_STORAGE;
    }
    match store.insert(key, text) {
        None => StatusCode::CREATED,
        Some(_) => StatusCode::NO_CONTENT,
    }
}

async fn remove(State(store): State<Store>, Path(key): Path<String>) -> StatusCode {
    match store.write().await.remove(&key) {
        Some(_) => StatusCode::NO_CONTENT,
        None => StatusCode::NOT_FOUND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_and_a_free_one_offered() {
        let taken = listen(0).unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = listen(port).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        let text = error.to_string();
        assert!(text.contains(&format!("cannot use port {port}")), "{text}");
        // Near the end of all ports there may be none.
        if port < u16::MAX - TRIED {
            assert!(text.contains("is free: --port"), "{text}");
        }
    }
}
