//! What is recorded of a simulation.

use super::Sim;
use crate::kernel::HostId;
use crate::picture::Recording;
use crate::runner::panic_text;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Sim<'_> {
    /// Begins to record what happens: packets, what hosts print, faults, crashes, failures. Hosts that are there already are part of it.
    /// Does nothing if the simulation is recorded already, as by the [runner](crate::runner#pictures).
    ///
    /// What a test prints within the test harness is recorded if the harness does not keep it: with `--nocapture`.
    ///
    /// # Examples
    /// ```
    /// use std::fs::File;
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// sim.record();
    /// sim.client("client", async { Err("no".into()) });
    /// if sim.run().is_err() {
    ///     let recording = sim.recording();
    ///     # let folder = std::env::temp_dir().join(format!("tress-sim-record-{}", std::process::id()));
    ///     # std::fs::create_dir_all(&folder)?;
    ///     recording.write_html(File::create(folder.join("run.html"))?)?;
    ///     recording.write_perfetto(File::create(folder.join("run.pftrace"))?)?;
    ///     # std::fs::remove_dir_all(&folder)?;
    /// }
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn record(&mut self) {
        let kernel = self.kernel_mut();
        if kernel.recorder.begin(kernel.seed) {
            kernel.record_hosts();
        }
    }

    /// Returns what was recorded so far, with the packets that are on their way. It stays, and recording goes on.
    ///
    /// # Panics
    /// Nothing is recorded: [`record`](Self::record) was not called.
    pub fn recording(&self) -> Recording {
        let kernel = self.kernel();
        let recording = kernel.recorder.recording();
        let recording = recording.expect("`Sim::record` was called before");
        recording.with_packets(kernel.now, kernel.net.in_flight().into_iter())
    }

    /// Records an error that the simulation, or a host of it, ends with.
    pub(super) fn failed(&self, host: Option<HostId>, error: crate::Error) -> crate::Error {
        let kernel = self.kernel();
        if kernel.recorder.is_on() {
            // Code of a user, which may panic.
            let text = catch_unwind(AssertUnwindSafe(|| error.to_string()));
            let text = text.unwrap_or_else(|_| "an error that cannot be shown".to_string());
            kernel
                .recorder
                .failure(kernel.now, host, &format!("failed: {text}"));
        }
        error
    }

    /// Records the panic of a host's program.
    pub(super) fn panicked(&self, host: HostId, panic: &(dyn Any + Send)) {
        let kernel = self.kernel();
        if kernel.recorder.is_on() {
            let text = format!("panicked: {}", panic_text(panic));
            kernel.recorder.failure(kernel.now, Some(host), &text);
        }
    }

    /// Records the packets that have not arrived, and nothing any more.
    pub(super) fn end_recording(&self) {
        let kernel = self.kernel();
        if kernel.recorder.is_on() {
            for (_, packet) in kernel.net.in_flight() {
                kernel.recorder.under_way(kernel.now, packet);
            }
            kernel.recorder.end();
        }
    }
}
