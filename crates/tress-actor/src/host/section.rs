//! A host's section in its runtime's dump and metrics.

use super::{Host, WeakHost};
use std::io::{self, Write};
use std::sync::Arc;
use tress::runtime::Samples;
use tress::trace::{Section, SectionGuard};

struct Processes {
    heading: String,
    host: WeakHost,
}

/// Adds a section for the host, until the guard is dropped.
pub(super) fn add(host: &Host) -> SectionGuard {
    let section = Processes {
        heading: format!("processes of {}@{}", host.node(), host.name()),
        host: host.downgrade(),
    };
    host.inner.runtime.add_section(Arc::new(section))
}

impl Section for Processes {
    fn name(&self) -> &str {
        &self.heading
    }

    fn dump(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.host.upgrade() {
            Some(host) => out.write_all(host.debug_dump().as_bytes()),
            None => Ok(()),
        }
    }

    fn metrics(&self, out: &mut Samples) {
        let Some(host) = self.host.upgrade() else {
            return;
        };
        let metrics = host.metrics();
        let (node, name) = (host.node().to_string(), host.name().to_string());
        let labels = [("node", node.as_str()), ("host", name.as_str())];
        out.gauge(
            "tress_host_processes",
            "Processes that live.",
            &labels,
            metrics.processes as f64,
        );
        out.counter(
            "tress_host_undelivered_total",
            "Messages that were taken in but not received.",
            &labels,
            metrics.undelivered as f64,
        );
    }
}
