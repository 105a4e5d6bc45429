//! openraft: three nodes agree on a log, and talk by axum and reqwest.

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use eco_simulated::{Storm, calm, is_stormy, persist};
use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError};
use openraft::network::{RPCOption, RaftNetwork, RaftNetworkFactory};
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse,
    VoteRequest, VoteResponse,
};
use openraft::storage::Adaptor;
use openraft::{Config, Raft, SnapshotPolicy};
use openraft_memstore::{ClientRequest, MemStore, MemStoreStateMachine, TypeConfig};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tress_sim::Result;

const NODES: [&str; 3] = ["node1", "node2", "node3"];

/// What a node sends to another one by.
struct Peer {
    id: u64,
    http: reqwest::Client,
}

type Answer<T, E = openraft::error::Infallible> =
    std::result::Result<T, RPCError<u64, (), RaftError<u64, E>>>;

impl Peer {
    async fn call<Q, T, E>(&self, method: &str, request: Q, option: RPCOption) -> Answer<T, E>
    where
        Q: serde::Serialize,
        T: serde::de::DeserializeOwned,
        E: std::error::Error + serde::de::DeserializeOwned,
    {
        let url = format!("http://{}/{method}", NODES[self.id as usize - 1]);
        let sent = self
            .http
            .post(url)
            .timeout(option.hard_ttl())
            .json(&request)
            .send();
        let reply = async {
            sent.await?
                .json::<std::result::Result<T, RaftError<u64, E>>>()
                .await
        };
        match reply.await {
            Ok(answer) => answer.map_err(|error| RemoteError::new(self.id, error).into()),
            Err(error) => Err(NetworkError::new(&error).into()),
        }
    }
}

impl RaftNetwork<TypeConfig> for Peer {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<TypeConfig>,
        option: RPCOption,
    ) -> Answer<AppendEntriesResponse<u64>> {
        self.call("append", request, option).await
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<TypeConfig>,
        option: RPCOption,
    ) -> Answer<InstallSnapshotResponse<u64>, InstallSnapshotError> {
        self.call("snapshot", request, option).await
    }

    async fn vote(
        &mut self,
        request: VoteRequest<u64>,
        option: RPCOption,
    ) -> Answer<VoteResponse<u64>> {
        self.call("vote", request, option).await
    }
}

struct Peers(reqwest::Client);

impl RaftNetworkFactory<TypeConfig> for Peers {
    type Network = Peer;

    async fn new_client(&mut self, target: u64, (): &()) -> Peer {
        let http = self.0.clone();
        Peer { id: target, http }
    }
}

#[derive(Clone)]
struct Node {
    raft: Raft<TypeConfig>,
    store: Arc<MemStore>,
}

/// A node with a store that outlives it, as a disk does.
async fn node(id: u64, store: Arc<MemStore>) -> Result {
    let config = Config {
        election_timeout_min: 600,
        election_timeout_max: 1200,
        heartbeat_interval: 200,
        snapshot_policy: SnapshotPolicy::LogsSinceLast(20),
        max_in_snapshot_log_to_keep: 5,
        ..Config::default()
    };
    let http = reqwest::Client::builder()
        .connect_timeout(Duration::from_millis(500))
        .build()?;
    let (log, machine) = Adaptor::new(store.clone());
    let raft = Raft::new(id, Arc::new(config.validate()?), Peers(http), log, machine).await?;
    if id == 1 && !raft.is_initialized().await? {
        raft.initialize(BTreeMap::from([(1, ()), (2, ()), (3, ())]))
            .await?;
    }
    let app = Router::new()
        .route(
            "/append",
            post(async |State(node): State<Node>, Json(request)| {
                Json(node.raft.append_entries(request).await)
            }),
        )
        .route(
            "/vote",
            post(async |State(node): State<Node>, Json(request)| {
                Json(node.raft.vote(request).await)
            }),
        )
        .route(
            "/snapshot",
            post(async |State(node): State<Node>, Json(request)| {
                Json(node.raft.install_snapshot(request).await)
            }),
        )
        .route(
            "/write",
            post(async |State(node): State<Node>, Json(request)| {
                Json(node.raft.client_write(request).await)
            }),
        )
        .route(
            "/state",
            get(async |State(node): State<Node>| Json(node.store.get_state_machine().await)),
        )
        .with_state(Node { raft, store });
    let listener = TcpListener::bind("0.0.0.0:80").await?;
    axum::serve(listener, app).await?;
    Ok(())
}

type Written = std::result::Result<
    openraft::raft::ClientWriteResponse<TypeConfig>,
    RaftError<u64, openraft::error::ClientWriteError<u64, ()>>,
>;

/// Writes by any node that leads.
async fn write(http: &reqwest::Client, key: &str) -> std::result::Result<(), String> {
    let mut failures = Vec::new();
    for node in NODES {
        let request = ClientRequest {
            client: key.to_string(),
            serial: 1,
            status: format!("status of {key}"),
        };
        let sent = http
            .post(format!("http://{node}/write"))
            .timeout(Duration::from_secs(2))
            .json(&request)
            .send();
        let written = async { sent.await?.json::<Written>().await };
        match written.await {
            Ok(Ok(response)) => {
                // Nobody else writes to that key, and one attempt after the other is one write.
                assert_eq!(response.data.0, None);
                return Ok(());
            }
            Ok(Err(error)) => failures.push(format!("{node}: {error}")),
            Err(error) => failures.push(format!("{node}: {error:?}")),
        }
    }
    Err(failures.join("; "))
}

#[tress_sim::test(seeds = 20)]
fn what_is_acknowledged_is_on_every_node() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let clients = ["ada", "bob"];
    let storm = Storm {
        name: "openraft",
        servers: &NODES,
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        for (id, name) in (1..).zip(NODES) {
            let store = Arc::new(MemStore::new());
            sim.host(name, move || node(id, store.clone()));
        }
        for client in clients {
            sim.client(client, async move {
                let http = reqwest::Client::builder()
                    .connect_timeout(Duration::from_secs(1))
                    .build()?;
                let mut keys = Vec::new();
                while is_stormy() || keys.len() < 20 {
                    let key = format!("{client} {}", keys.len());
                    persist(Duration::from_secs(7), || write(&http, &key)).await;
                    keys.push(key);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                calm().await;
                for node in NODES {
                    let read = || async {
                        let sent = http.get(format!("http://{node}/state")).send().await?;
                        let state: MemStoreStateMachine = sent.json().await?;
                        reqwest::Result::Ok(state.client_status)
                    };
                    // A follower may be late, but not for long.
                    let all = async {
                        loop {
                            let statuses = persist(Duration::from_secs(5), read).await;
                            let has = |key: &String| {
                                statuses.get(key) == Some(&format!("status of {key}"))
                            };
                            if keys.iter().all(has) {
                                break;
                            }
                            tokio::time::sleep(Duration::from_millis(200)).await;
                        }
                    };
                    let caught_up = tokio::time::timeout(Duration::from_secs(60), all).await;
                    assert!(caught_up.is_ok(), "{node} lacks what was acknowledged");
                }
                Ok(())
            });
        }
    });
}
