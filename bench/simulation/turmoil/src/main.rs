//! The cases on turmoil.

use turmoil as sim;
use turmoil::net;

include!("../../case.rs");
