//! What a console answers, as far as it is shown here. Unknown fields are left out, and missing ones are empty.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Process {
    pub(super) pid: u32,
    pub(super) program: String,
    pub(super) uptime_ms: u64,
    pub(super) findings: Vec<Finding>,
    pub(super) runtimes: Vec<Runtime>,
}

#[derive(Debug, Default, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Finding {
    pub(super) kind: String,
    pub(super) severity: String,
    pub(super) text: String,
    pub(super) runtime: u64,
    pub(super) task: Option<u64>,
    pub(super) name: Option<String>,
    pub(super) site: Option<String>,
    pub(super) since_ms: u64,
    pub(super) cycle: bool,
    pub(super) chain: Vec<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Runtime {
    pub(super) id: u64,
    pub(super) name: Option<String>,
    pub(super) flavor: String,
    pub(super) alive: u64,
    pub(super) global_queue: u64,
    pub(super) workers: Vec<Worker>,
    pub(super) blocking: Blocking,
    pub(super) sites: Vec<Site>,
    pub(super) resources: Vec<Resource>,
    pub(super) waiting: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Worker {
    pub(super) index: u64,
    pub(super) state: String,
    pub(super) queue: u64,
    pub(super) polls: u64,
    pub(super) steals: u64,
    pub(super) parks: u64,
    pub(super) slow_polls: u64,
    pub(super) mean_poll_ns: u64,
    pub(super) busy_ms: f64,
    pub(super) io_backend: Option<String>,
    pub(super) timers: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Blocking {
    pub(super) threads: u64,
    pub(super) idle: u64,
    pub(super) queued: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Site {
    pub(super) site: String,
    pub(super) name: Option<String>,
    pub(super) live: u64,
    pub(super) spawned: Option<u64>,
    pub(super) completed: Option<u64>,
    pub(super) poll_p50: Option<u64>,
    pub(super) poll_p99: Option<u64>,
    pub(super) delay_p99: Option<u64>,
    pub(super) longest_idle_ms: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Resource {
    pub(super) kind: String,
    pub(super) site: Option<String>,
    pub(super) holders: Vec<Holder>,
    pub(super) waiters: u64,
    pub(super) longest_ms: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Holder {
    pub(super) task: Option<u64>,
    pub(super) for_ms: u64,
}
