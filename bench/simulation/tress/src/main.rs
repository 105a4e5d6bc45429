//! The cases on tress-sim.

use tokio::net;
use tress_sim as sim;

/// Events are taken from those to come: packets that arrive, threads that go on, timers.
mod count {
    pub fn begin() {}

    pub fn events(simulation: &tress_sim::Sim<'_>) -> u64 {
        simulation.events()
    }
}

include!("../../case.rs");
