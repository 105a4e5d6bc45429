//! The clocks of a simulation.

use super::Sim;
use crate::name::ToIpAddrs;
use std::time::Duration;

impl Sim<'_> {
    /// Returns the virtual time since the start.
    pub fn elapsed(&self) -> Duration {
        self.kernel().now.elapsed()
    }

    /// Returns the virtual time since 1970, by a right clock.
    pub fn since_epoch(&self) -> Duration {
        self.kernel().epoch + self.elapsed()
    }

    /// Sets the wall clock of hosts off by this number of seconds. Monotonic clocks are not affected.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_clock_offset(&mut self, hosts: impl ToIpAddrs, seconds: f64) {
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            let error = (seconds * 1e9) as i128;
            kernel.record_act(host, || format!("clock off by {seconds} s on"));
            let host = &mut kernel.hosts[host.0];
            (host.clock_offset, host.drift_from) = (error, kernel.now);
        }
    }

    /// Lets the wall clock of hosts go wrong by this number of parts in a million, from now on.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_clock_drift(&mut self, hosts: impl ToIpAddrs, parts_per_million: i64) {
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            let now = kernel.now;
            kernel.record_act(host, || format!("clock off by {parts_per_million} ppm on"));
            let host = &mut kernel.hosts[host.0];
            host.clock_offset = host.clock_error(now);
            (host.clock_drift, host.drift_from) = (parts_per_million, now);
        }
    }
}
