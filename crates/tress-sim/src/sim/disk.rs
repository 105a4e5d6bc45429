//! What the disks of hosts are like.

use super::Sim;
use crate::disk::DiskConfig;
use crate::name::ToIpAddrs;
use std::ops::RangeInclusive;
use std::time::Duration;

impl Sim<'_> {
    fn set_disks(&mut self, hosts: impl ToIpAddrs, set: impl Fn(&mut DiskConfig)) {
        let kernel = self.kernel_mut();
        for host in kernel.hosts_named(&hosts) {
            set(&mut kernel.disks[host.0].config);
        }
    }

    /// Sets how many bytes the files of hosts have room for. Writing more fails with `ENOSPC`. Without this there is no
    /// limit.
    ///
    /// # Panics
    /// There is no such host.
    ///
    /// # Examples
    /// ```
    /// use std::io::ErrorKind;
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// sim.client("host", async {
    ///     let error = tokio::fs::write("/file", [1; 20_000]).await.unwrap_err();
    ///     assert_eq!(error.kind(), ErrorKind::StorageFull);
    ///     Ok(())
    /// });
    /// sim.set_disk_capacity("host", 10_000);
    /// sim.run()?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn set_disk_capacity(&mut self, hosts: impl ToIpAddrs, bytes: u64) {
        self.set_disks(hosts, |disk| disk.capacity = Some(bytes));
    }

    /// Sets the probability that a read, a write or a sync of a file fails with `EIO`. It is between 0 and 1.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_disk_error_rate(&mut self, hosts: impl ToIpAddrs, probability: f64) {
        self.set_disks(hosts, |disk| {
            (disk.read_error, disk.write_error, disk.sync_error) =
                (probability, probability, probability);
        });
    }

    /// Sets how long it takes to read what is not in memory: 50 to 200 microseconds, unless this is called.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_disk_read_latency(
        &mut self,
        hosts: impl ToIpAddrs,
        latency: RangeInclusive<Duration>,
    ) {
        self.set_disks(hosts, |disk| disk.read_latency = latency.clone());
    }

    /// Sets how long a sync takes: 0.5 to 10 milliseconds, unless this is called.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_disk_sync_latency(
        &mut self,
        hosts: impl ToIpAddrs,
        latency: RangeInclusive<Duration>,
    ) {
        self.set_disks(hosts, |disk| disk.sync_latency = latency.clone());
    }

    /// Sets the probability that something that was not synced survives a [crash](Self::crash): a block of a file, its
    /// length, or a name. It is between 0 and 1, and drawn anew for each crash unless this is called.
    ///
    /// # Panics
    /// There is no such host.
    ///
    /// # Examples
    /// ```
    /// use std::fs;
    /// use tress_sim::Builder;
    ///
    /// let mut sim = Builder::new().build();
    /// sim.host("host", || async {
    ///     assert!(!fs::exists("/file")?);
    ///     fs::write("/file", "not synced")?;
    ///     std::future::pending().await
    /// });
    /// sim.set_disk_survival("host", 0.0);
    /// sim.step()?;
    /// sim.bounce("host");
    /// sim.step()?;
    /// # Ok::<(), tress_sim::Error>(())
    /// ```
    pub fn set_disk_survival(&mut self, hosts: impl ToIpAddrs, probability: f64) {
        self.set_disks(hosts, |disk| disk.survival = Some(probability));
    }

    /// Sets the probability that a [crash](Self::crash) leaves one of the blocks that survive it half written, up to a
    /// multiple of 512 bytes. It is between 0 and 1: 0.5, unless this is called.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_disk_tearing(&mut self, hosts: impl ToIpAddrs, probability: f64) {
        self.set_disks(hosts, |disk| disk.tear = probability);
    }

    /// Sets the probability, for each block that is read from the disk and not from memory, that one of its bits has
    /// flipped. It is between 0 and 1.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_disk_bit_rot(&mut self, hosts: impl ToIpAddrs, probability: f64) {
        self.set_disks(hosts, |disk| disk.bit_rot = probability);
    }
}
