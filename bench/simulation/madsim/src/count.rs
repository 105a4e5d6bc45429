//! Messages that the network was given, which is all that madsim counts.

use crate::sim::Sim;

pub fn begin() {}

pub fn events(simulation: &Sim<'_>) -> u64 {
    simulation.messages()
}
