//! What a host's program may ask of the simulation that it runs in.

use crate::kernel::{self, Here};
use crate::name::{ToIpAddr, ToIpAddrs};
use std::net::IpAddr;
use std::time::Duration;

fn here() -> Here {
    kernel::here().expect("only the program of a simulated host can ask that")
}

/// Returns whether the calling thread is one of a simulated host.
pub fn in_simulation() -> bool {
    kernel::is_here()
}

/// Returns the virtual time since the host of the calling program was started.
///
/// # Panics
/// The calling thread is not one of a simulated host.
pub fn elapsed() -> Duration {
    let kernel = here();
    let (_, host) = kernel.running();
    kernel.now.since(kernel.hosts[host.0].started_at)
}

/// Returns the virtual time since the start of the simulation, or `None` outside of one.
pub fn sim_elapsed() -> Option<Duration> {
    Some(kernel::here()?.now.elapsed())
}

/// Returns the virtual time since 1970 by a right clock, or `None` outside of a simulation.
pub fn since_epoch() -> Option<Duration> {
    let kernel = kernel::here()?;
    Some(kernel.epoch + kernel.now.elapsed())
}

/// Returns the address of a host, which has one before it is added.
///
/// # Panics
/// The calling thread is not one of a simulated host.
pub fn lookup(host: impl ToIpAddr) -> IpAddr {
    host.address(&mut here().names)
}

/// Returns the addresses of hosts.
///
/// # Panics
/// The calling thread is not one of a simulated host.
pub fn lookup_many(hosts: impl ToIpAddrs) -> Vec<IpAddr> {
    hosts.addresses(&mut here().names)
}

/// Returns the name of the host with that address.
///
/// # Panics
/// The calling thread is not one of a simulated host.
pub fn reverse_lookup(address: IpAddr) -> Option<String> {
    here().names.name(address).map(str::to_string)
}

/// Loses everything that two hosts, or all of two sets of hosts, send to each other from now on, and what is on its
/// way.
///
/// # Panics
/// The calling thread is not one of a simulated host, or there is no such host.
pub fn partition(a: impl ToIpAddrs, b: impl ToIpAddrs) {
    here().between_both("partition", a, b, |net, now, from, to| {
        net.cut(now, from, to)
    });
}

/// Loses everything that one host sends to the other from now on, and what is on its way, but not what comes back.
///
/// # Panics
/// As for [`partition`].
pub fn partition_oneway(from: impl ToIpAddrs, to: impl ToIpAddrs) {
    here().between("partition", from, to, |net, now, from, to| {
        net.cut(now, from, to)
    });
}

/// Ends a partition of hosts.
///
/// # Panics
/// As for [`partition`].
pub fn repair(a: impl ToIpAddrs, b: impl ToIpAddrs) {
    here().between_both("repair", a, b, |net, _, from, to| {
        net.repair_oneway(from, to)
    });
}

/// Ends a partition in one direction.
///
/// # Panics
/// As for [`partition`].
pub fn repair_oneway(from: impl ToIpAddrs, to: impl ToIpAddrs) {
    here().between("repair", from, to, |net, _, from, to| {
        net.repair_oneway(from, to)
    });
}

/// Keeps everything that hosts send to each other from now on, and what is on its way, until it is [released](release).
///
/// # Panics
/// As for [`partition`].
pub fn hold(a: impl ToIpAddrs, b: impl ToIpAddrs) {
    here().between_both("hold", a, b, |net, _, from, to| net.hold(from, to));
}

/// Delivers what was kept between hosts, and keeps nothing any more.
///
/// # Panics
/// As for [`partition`].
pub fn release(a: impl ToIpAddrs, b: impl ToIpAddrs) {
    here().between_both("release", a, b, |net, now, from, to| {
        net.release(now, from, to)
    });
}

/// Returns how many TCP connections are established on the host of the calling program.
///
/// # Panics
/// The calling thread is not one of a simulated host.
pub fn established_tcp_stream_count() -> usize {
    let kernel = here();
    let (_, host) = kernel.running();
    kernel.net.established(host)
}

/// Returns how many TCP connections are established on a host.
///
/// # Panics
/// As for [`partition`].
pub fn established_tcp_stream_count_on(host: impl ToIpAddr) -> usize {
    let mut kernel = here();
    let host = kernel.host_named(&host);
    kernel.net.established(host)
}
