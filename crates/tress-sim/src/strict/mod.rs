//! The detector: what reaches the real system from a host is found, not hoped away.
//!
//! With `TRESS_SIM_STRICT=1` the thread that runs a simulation gets a filter of system calls. It lets those pass that come
//! through this crate, and a short list that allocators and the C library's threads need. Everything else traps: on a
//! host's thread the simulated kernel carries it out, if it has that call, and otherwise the run ends with the name of the
//! call, the host, the time and a backtrace. Reading the processor's time-stamp counter traps as well, and gives virtual
//! time.

mod filter;
mod names;
mod trap;

use crate::kernel;
use crate::runner::page::{self, page};
use libc::c_long;
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The environment variable that switches the detector on.
const STRICT: &str = "TRESS_SIM_STRICT";

/// The status of a process that was ended by the detector.
pub(crate) const STATUS: i32 = 97;

static IS_STRICT: AtomicBool = AtomicBool::new(false);

thread_local! {
    static HAS_FILTER: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the environment asks for the detector.
pub(crate) fn is_asked_for() -> bool {
    std::env::var_os(STRICT).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Switches the detector on for the calling thread, if the environment or the process that has started this run says so.
pub(crate) fn begin() {
    let is_wanted = is_asked_for() || page().has(page::STRICT);
    if !is_wanted || HAS_FILTER.replace(true) {
        return;
    }
    IS_STRICT.store(true, Ordering::Relaxed);
    trap::handle();
    if let Err(error) = filter::install() {
        panic!("{STRICT} is set, but system calls cannot be filtered here: {error}");
    }
}

/// Notes that a call of a host's thread is about to reach the real system. Ends the process if that is not allowed.
pub(crate) fn passes(number: c_long, how: &str) {
    if IS_STRICT.load(Ordering::Relaxed) && !filter::is_harmless(number) {
        let name = names::of(number);
        leak(&format!(
            "the system call {name}, {how}, reached the real system"
        ));
    }
}

/// Ends the process, with what has left the simulation and where.
fn leak(what: &str) -> ! {
    let place = kernel::here().map_or_else(String::new, |kernel| {
        let (_, host) = kernel.running();
        let name = kernel.hosts[host.0].name.as_str();
        format!(" on the host {name} at {:?}", kernel.now)
    });
    // What follows is the real system's.
    let _outside = kernel::outside();
    let backtrace = Backtrace::force_capture();
    eprintln!("tress-sim: {what}{place}\n{backtrace}");
    // SAFETY: it ends the process, without running what hosts would still do.
    unsafe { libc::_exit(STATUS) }
}
