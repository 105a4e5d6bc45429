//! Recording what happens.

use super::Sim;
use crate::picture::Recording;

impl Sim<'_> {
    /// Begins to record what happens: packets, what hosts print, faults, crashes, failures. Hosts that are there already are part of it.
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
        kernel.recorder.begin(kernel.seed);
        kernel.record_hosts();
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
}
