//! The cases on tress-sim.

use tokio::net;
use tress_sim as sim;

include!("../../case.rs");
