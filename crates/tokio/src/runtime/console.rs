//! `TRESS_CONSOLE`: a console without a line of code.

use std::io::{self, ErrorKind};
use std::sync::{Mutex, PoisonError};
use tress_console::Console;

enum State {
    /// No runtime was built yet.
    New,
    /// It serves until the process ends.
    On { _console: Console },
    /// None is wanted, or it cannot be had.
    Off,
}

static STATE: Mutex<State> = Mutex::new(State::New);

/// Starts the console that the environment asks for, once in a process. Returns whether there is one.
///
/// A variable that makes no sense is an error. A port that is in use is not, but reported: a child process inherits the
/// variable, and should run all the same.
pub(super) fn is_on() -> io::Result<bool> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*state, State::New) {
        *state = match tress_console::from_environment() {
            Ok(None) => State::Off,
            Ok(Some(console)) => {
                eprintln!("tress: the console is at http://{}/", console.local_addr());
                State::On { _console: console }
            }
            Err(error) if error.kind() == ErrorKind::InvalidInput => return Err(error),
            Err(error) => {
                eprintln!("tress: {error}");
                State::Off
            }
        };
    }
    Ok(matches!(*state, State::On { .. }))
}
