//! What the network is like, unless a link says otherwise.

use crate::choices::{Kind, Made};
use crate::draw::Stream;
use std::ops::RangeInclusive;
use std::time::Duration;

/// How long packets travel.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Latency {
    /// Always that long.
    Constant(Duration),
    /// Any duration of a range, with the same probability.
    Uniform {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// Mostly short, at times much longer: an exponential distribution.
    Exponential {
        /// The shortest.
        min: Duration,
        /// What is added to the shortest, on average.
        mean: Duration,
        /// The longest.
        cap: Duration,
    },
    /// One of two durations, which vary by up to a tenth.
    Bimodal {
        /// The usual one.
        fast: Duration,
        /// The other one.
        slow: Duration,
        /// The probability of the other one, between 0 and 1.
        slow_probability: f64,
    },
    /// Drawn from a range once for each link, when it is first used.
    PerLink {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
}

impl Latency {
    /// Draws a duration. `fixed` is what a link keeps, and what it was drawn from.
    #[inline]
    pub(super) fn draw(
        self,
        stream: &mut Stream,
        made: &Made,
        fixed: &mut Option<(Latency, Duration)>,
    ) -> Duration {
        let drawn = match self {
            Latency::Constant(latency) => return latency,
            Latency::PerLink { .. } if fixed.is_some_and(|(from, _)| from == self) => {
                return fixed.expect("looked at above").1;
            }
            Latency::Uniform { min, max } | Latency::PerLink { min, max } => {
                stream.between(min, max)
            }
            Latency::Exponential { min, mean, cap } => {
                let fraction = stream.fraction();
                if min >= cap {
                    return cap;
                }
                let factor = -(1.0 - fraction).ln();
                (min + mean.mul_f64(factor)).min(cap)
            }
            Latency::Bimodal {
                fast,
                slow,
                slow_probability,
            } => {
                let latency = if stream.happens(slow_probability) {
                    slow
                } else {
                    fast
                };
                stream.between(latency, latency + latency / 10)
            }
        };
        let latency = match made.is_usual(Kind::Latency) {
            true => self.usual(),
            false => drawn,
        };
        if let Latency::PerLink { .. } = self {
            *fixed = Some((self, latency));
        }
        latency
    }

    /// Returns the duration that stands for those that are not drawn.
    fn usual(self) -> Duration {
        match self {
            Latency::Constant(latency) => latency,
            Latency::Uniform { min, max } | Latency::PerLink { min, max } => {
                min + max.saturating_sub(min) / 2
            }
            Latency::Exponential { min, mean, cap } => min.saturating_add(mean).min(cap),
            Latency::Bimodal { fast, .. } => fast,
        }
    }
}

/// What a directed link is like.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkConfig {
    pub(crate) latency: Latency,
    /// Probability that a packet is lost.
    pub(crate) loss: f64,
    /// Probability that a packet arrives twice.
    pub(crate) duplication: f64,
    /// Probability that a packet is overtaken by others.
    pub(crate) reordering: f64,
    /// Probability, for each packet, that the link fails before it.
    pub(crate) fail_rate: f64,
    /// Probability, for each packet that a failed link loses, that it works again from then on.
    pub(crate) repair_rate: f64,
    /// Bytes per second, without limit if none.
    pub(crate) bandwidth: Option<u64>,
    /// Bytes that may wait for a link of limited bandwidth. What does not fit is lost.
    pub(crate) queue: usize,
    /// Size of the largest packet in bytes, with its headers.
    pub(crate) mtu: usize,
}

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            latency: Latency::Exponential {
                min: Duration::ZERO,
                mean: Duration::from_millis(20),
                cap: Duration::from_millis(100),
            },
            loss: 0.0,
            duplication: 0.0,
            reordering: 0.0,
            fail_rate: 0.0,
            repair_rate: 1.0,
            bandwidth: None,
            queue: 256 * 1024,
            mtu: 1500,
        }
    }
}

/// What the network and the sockets of all hosts are like.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    /// Every link, unless it has a setting of its own.
    pub(crate) link: LinkConfig,
    /// Latency from a host to itself.
    pub(crate) loopback: Duration,
    /// How long a lookup of a name takes.
    pub(crate) lookup: Latency,
    /// Ports that are chosen when a program does not.
    pub(crate) ephemeral_ports: RangeInclusive<u16>,
    /// Bytes that a TCP socket keeps until they are acknowledged.
    pub(crate) tcp_send_buffer: usize,
    /// Bytes that a TCP socket keeps until they are read: the window.
    pub(crate) tcp_receive_buffer: usize,
    /// Datagrams that a UDP socket keeps until they are read.
    pub(crate) udp_capacity: usize,
    /// How long the end of a connection that was closed first here is remembered.
    pub(crate) time_wait: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            link: LinkConfig::default(),
            loopback: Duration::from_micros(20),
            lookup: Latency::Constant(Duration::from_micros(500)),
            ephemeral_ports: 49152..=65535,
            tcp_send_buffer: 64 * 1024,
            tcp_receive_buffer: 64 * 1024,
            udp_capacity: 64,
            time_wait: Duration::from_secs(60),
        }
    }
}

/// What of a link is set for it alone.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Overrides {
    pub(crate) latency: Option<Latency>,
    pub(crate) loss: Option<f64>,
    pub(crate) duplication: Option<f64>,
    pub(crate) reordering: Option<f64>,
    pub(crate) fail_rate: Option<f64>,
    pub(crate) repair_rate: Option<f64>,
    pub(crate) bandwidth: Option<Option<u64>>,
    pub(crate) queue: Option<usize>,
    pub(crate) mtu: Option<usize>,
}

impl Overrides {
    /// Returns the settings of a link, of those of all.
    pub(super) fn over(&self, all: &LinkConfig) -> LinkConfig {
        LinkConfig {
            latency: self.latency.unwrap_or(all.latency),
            loss: self.loss.unwrap_or(all.loss),
            duplication: self.duplication.unwrap_or(all.duplication),
            reordering: self.reordering.unwrap_or(all.reordering),
            fail_rate: self.fail_rate.unwrap_or(all.fail_rate),
            repair_rate: self.repair_rate.unwrap_or(all.repair_rate),
            bandwidth: self.bandwidth.unwrap_or(all.bandwidth),
            queue: self.queue.unwrap_or(all.queue),
            mtu: self.mtu.unwrap_or(all.mtu),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn draws(latency: Latency) -> Vec<Duration> {
        let mut stream = Stream::new(7, "test");
        let (made, mut fixed) = (Made::new(), None);
        (0..2000)
            .map(|_| latency.draw(&mut stream, &made, &mut fixed))
            .collect()
    }

    #[test]
    fn latencies_are_within_their_limits() {
        assert!(
            draws(Latency::Constant(MS))
                .iter()
                .all(|latency| *latency == MS)
        );
        let uniform = draws(Latency::Uniform {
            min: MS,
            max: 9 * MS,
        });
        assert!(
            uniform
                .iter()
                .all(|latency| (MS..=9 * MS).contains(latency))
        );
        let exponential = draws(LinkConfig::default().latency);
        assert!(exponential.iter().all(|latency| *latency <= 100 * MS));
        let mean = exponential.iter().sum::<Duration>() / 2000;
        assert!((15 * MS..25 * MS).contains(&mean), "{mean:?}");
        let fixed = draws(Latency::PerLink {
            min: MS,
            max: 9 * MS,
        });
        assert!(fixed.iter().all(|latency| *latency == fixed[0]));
        let bimodal = Latency::Bimodal {
            fast: MS,
            slow: 100 * MS,
            slow_probability: 0.1,
        };
        let slow = draws(bimodal)
            .iter()
            .filter(|latency| **latency >= 100 * MS)
            .count();
        assert!((120..280).contains(&slow), "{slow}");
    }
}
