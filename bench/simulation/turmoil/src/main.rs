//! The cases on turmoil.

mod count;

use turmoil as sim;
use turmoil::net;

include!("../../case.rs");
