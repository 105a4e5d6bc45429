//! The network of a simulation: names, links and packets.

use super::Sim;
use crate::link::{Links, Packet};
use crate::name::{ToIpAddr, ToIpAddrs};
use crate::net::Latency;
use std::net::IpAddr;
use std::time::Duration;

impl Sim<'_> {
    /// Returns the address of a host, which has one before it is added.
    pub fn lookup(&self, host: impl ToIpAddr) -> IpAddr {
        host.address(&mut self.kernel_mut().names)
    }

    /// Returns the addresses of hosts.
    pub fn lookup_many(&self, hosts: impl ToIpAddrs) -> Vec<IpAddr> {
        hosts.addresses(&mut self.kernel_mut().names)
    }

    /// Returns the names of two hosts by their addresses, such as those of [`Links::pairs`].
    ///
    /// # Panics
    /// There is no name for one of them.
    ///
    /// # Examples
    /// ```
    /// use tress_sim::Builder;
    ///
    /// let sim = Builder::new().build();
    /// let pair = (sim.lookup("a"), sim.lookup("b"));
    /// assert_eq!(sim.reverse_lookup_pair(pair), ("a".to_string(), "b".to_string()));
    /// ```
    pub fn reverse_lookup_pair(&self, (a, b): (IpAddr, IpAddr)) -> (String, String) {
        let name = |address| {
            let name = self.reverse_lookup(address);
            name.unwrap_or_else(|| panic!("there is no host with the address {address}"))
        };
        (name(a), name(b))
    }

    /// Returns the name of the host with that address.
    pub fn reverse_lookup(&self, address: IpAddr) -> Option<String> {
        self.kernel().names.name(address).map(str::to_string)
    }

    /// Loses everything that two hosts, or all of two sets of hosts, send to each other from now on, and what is on its
    /// way.
    ///
    /// # Panics
    /// There is no such host.
    pub fn partition(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("partition", a, b, |net, now, from, to| {
                net.cut(now, from, to)
            });
    }

    /// Loses everything that one host sends to the other from now on, and what is on its way, but not what comes back.
    ///
    /// # Panics
    /// There is no such host.
    pub fn partition_oneway(&self, from: impl ToIpAddrs, to: impl ToIpAddrs) {
        self.kernel_mut()
            .between("partition", from, to, |net, now, from, to| {
                net.cut(now, from, to)
            });
    }

    /// Ends a partition of hosts.
    ///
    /// # Panics
    /// There is no such host.
    pub fn repair(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("repair", a, b, |net, _, from, to| {
                net.repair_oneway(from, to)
            });
    }

    /// Ends a partition in one direction.
    ///
    /// # Panics
    /// There is no such host.
    pub fn repair_oneway(&self, from: impl ToIpAddrs, to: impl ToIpAddrs) {
        self.kernel_mut()
            .between("repair", from, to, |net, _, from, to| {
                net.repair_oneway(from, to)
            });
    }

    /// Keeps everything that hosts send to each other from now on, and what is on its way, until it is [released](Self::release).
    ///
    /// # Panics
    /// There is no such host.
    pub fn hold(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("hold", a, b, |net, _, from, to| net.hold(from, to));
    }

    /// Delivers what was kept between hosts, and keeps nothing any more.
    ///
    /// # Panics
    /// There is no such host.
    pub fn release(&self, a: impl ToIpAddrs, b: impl ToIpAddrs) {
        self.kernel_mut()
            .between_both("release", a, b, |net, now, from, to| {
                net.release(now, from, to)
            });
    }

    /// Sets how long every packet between hosts takes.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_latency(&self, a: impl ToIpAddrs, b: impl ToIpAddrs, latency: Duration) {
        let latency = Some(Latency::Constant(latency));
        self.kernel_mut()
            .between_both("latency", a, b, |net, _, from, to| {
                net.overrides(from, to).latency = latency;
            });
    }

    /// Sets the longest time that a packet between hosts takes. The shortest is that of
    /// [all links](crate::Builder::min_message_latency), or this if it is shorter.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_max_message_latency(
        &self,
        a: impl ToIpAddrs,
        b: impl ToIpAddrs,
        latency: Duration,
    ) {
        let kernel = self.kernel_mut();
        let latency = Some(kernel.net.config.link.latency.up_to(latency));
        kernel.between_both("latency", a, b, |net, _, from, to| {
            net.overrides(from, to).latency = latency;
        });
    }

    /// Sets the longest time that a packet takes, on links without a setting of their own. The
    /// [shortest](crate::Builder::min_message_latency) stays, or is this if it is shorter.
    pub fn set_max_message_latency(&self, latency: Duration) {
        let link = &mut self.kernel_mut().net.config.link;
        link.latency = link.latency.up_to(latency);
    }

    /// Sets how latencies are spread between the shortest and the longest one, on links without a setting of their own.
    ///
    /// They are the shortest one and an exponential distribution, whose mean is the range divided by `rate`: 5, unless
    /// this is called. The higher it is the fewer packets are late.
    ///
    /// # Panics
    /// The rate is not positive and finite.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress_sim::Builder;
    ///
    /// let sim = Builder::new().max_message_latency(Duration::from_secs(1)).build();
    /// // A packet takes 10 ms on average, and a second at most.
    /// sim.set_message_latency_curve(100.0);
    /// ```
    pub fn set_message_latency_curve(&self, rate: f64) {
        assert!(
            rate > 0.0 && rate.is_finite(),
            "a rate is positive and finite"
        );
        let link = &mut self.kernel_mut().net.config.link;
        let (min, cap) = link.latency.limits();
        let mean = (cap - min).div_f64(rate);
        link.latency = Latency::Exponential { min, mean, cap };
    }

    /// Sets the probability, for each packet, that its link breaks, on links without a setting of their own.
    pub fn set_fail_rate(&mut self, probability: f64) {
        self.kernel_mut().net.config.link.fail_rate = probability;
    }

    /// Sets the probability, for each packet between hosts, that its link breaks.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_fail_rate(&mut self, a: impl ToIpAddrs, b: impl ToIpAddrs, probability: f64) {
        self.kernel_mut()
            .between_both("fail rate", a, b, |net, _, from, to| {
                net.overrides(from, to).fail_rate = Some(probability);
            });
    }

    /// Sets the probability that a packet between hosts is lost.
    ///
    /// # Panics
    /// There is no such host.
    pub fn set_link_loss(&mut self, a: impl ToIpAddrs, b: impl ToIpAddrs, probability: f64) {
        self.kernel_mut()
            .between_both("loss", a, b, |net, _, from, to| {
                net.overrides(from, to).loss = Some(probability);
            });
    }

    /// Returns how many ends of TCP connections are established, on all hosts. A connection has two.
    pub fn established_tcp_stream_count(&self) -> usize {
        self.kernel().net.counters().established
    }

    /// Calls a function with the packets that are on their way.
    pub fn links<R>(&self, f: impl FnOnce(&mut Links<'_>) -> R) -> R {
        f(&mut Links::new(self.kernel_mut()))
    }

    /// Says which addresses a name has for programs that look it up, besides those of hosts, or in place of them.
    pub fn set_name(&mut self, name: &str, addresses: impl IntoIterator<Item = IpAddr>) {
        self.kernel_mut()
            .net
            .add_name(name, addresses.into_iter().collect());
    }

    /// Makes a name unknown to programs that look it up, also if it is that of a host.
    pub fn forget_name(&mut self, name: &str) {
        self.kernel_mut().net.remove_name(name);
    }

    /// Begins, or ends, to note what becomes of each packet.
    pub fn record_packets(&mut self, on: bool) {
        self.kernel_mut().net.set_log(on);
    }

    /// Takes what was noted of packets whose way has ended, in that order.
    pub fn take_packets(&mut self) -> Vec<Packet> {
        let kernel = self.kernel_mut();
        let records = kernel.net.take_log();
        let hosts = &kernel.hosts;
        let packet = |record| Packet::new(record, |host| hosts[host.0].name.clone());
        records.into_iter().map(packet).collect()
    }
}
