//! What a console answers, as far as it is shown here. Unknown fields are left out, and missing ones are empty.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) program: String,
    pub(crate) uptime_ms: u64,
    pub(crate) findings: Vec<Finding>,
    pub(crate) runtimes: Vec<Runtime>,
}

#[derive(Debug, Default, Clone, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Finding {
    pub(crate) kind: String,
    pub(crate) severity: String,
    pub(crate) text: String,
    pub(crate) runtime: u64,
    pub(crate) task: Option<u64>,
    pub(crate) name: Option<String>,
    pub(crate) site: Option<String>,
    pub(crate) since_ms: u64,
    pub(crate) cycle: bool,
    pub(crate) chain: Vec<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Runtime {
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    pub(crate) flavor: String,
    pub(crate) alive: u64,
    pub(crate) global_queue: u64,
    pub(crate) workers: Vec<Worker>,
    pub(crate) blocking: Blocking,
    pub(crate) sites: Vec<Site>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) waiting: BTreeMap<String, u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Worker {
    pub(crate) index: u64,
    pub(crate) state: String,
    pub(crate) queue: u64,
    pub(crate) polls: u64,
    pub(crate) steals: u64,
    pub(crate) parks: u64,
    pub(crate) slow_polls: u64,
    pub(crate) mean_poll_ns: u64,
    pub(crate) busy_ms: f64,
    pub(crate) io_backend: Option<String>,
    pub(crate) timers: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Blocking {
    pub(crate) threads: u64,
    pub(crate) idle: u64,
    pub(crate) queued: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Site {
    pub(crate) site: String,
    pub(crate) name: Option<String>,
    pub(crate) live: u64,
    pub(crate) spawned: Option<u64>,
    pub(crate) completed: Option<u64>,
    pub(crate) poll_p50: Option<u64>,
    pub(crate) poll_p99: Option<u64>,
    pub(crate) delay_p99: Option<u64>,
    pub(crate) oldest_ms: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Resource {
    pub(crate) kind: String,
    pub(crate) site: Option<String>,
    pub(crate) holders: Vec<Holder>,
    pub(crate) waiters: u64,
    pub(crate) longest_ms: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Holder {
    pub(crate) task: Option<u64>,
    pub(crate) for_ms: u64,
}

/// Some of the tasks of a program.
#[cfg(feature = "tokio-console")]
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Tasks {
    pub(crate) total: u64,
    pub(crate) tasks: Vec<Task>,
}

#[cfg(feature = "tokio-console")]
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Task {
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    pub(crate) site: String,
    pub(crate) state: String,
    pub(crate) idle_ms: Option<u64>,
    pub(crate) age_ms: Option<u64>,
    pub(crate) polls: Option<u64>,
    pub(crate) busy_ns: Option<u64>,
    /// Nothing is left that could wake it.
    #[serde(skip)]
    pub(crate) is_lost: bool,
}

/// One task: how long the polls of its site took, and waited, in nanoseconds, and how many there were.
#[cfg(feature = "tokio-console")]
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Detail {
    pub(crate) poll_histogram: Vec<(u64, u64)>,
    pub(crate) delay_histogram: Vec<(u64, u64)>,
}
