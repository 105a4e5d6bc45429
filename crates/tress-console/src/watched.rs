//! Which runtimes consoles look at, and what was switched on for that.
//!
//! It is the process's: the second console that looks at a runtime finds switched on what the first one has switched
//! on, and the last one that looks away switches it off.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tress::runtime::{Handle, Id};

/// By its number: a handle would keep the runtime.
#[derive(Debug)]
struct Watched {
    runtime: Id,
    consoles: usize,
    started_sight: bool,
    started_recorder: bool,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

fn lock() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtimes that one console has looked at.
#[derive(Debug, Default)]
pub(crate) struct Seen(Mutex<Vec<Id>>);

impl Seen {
    /// Switches sight and recording on in those runtimes that were not there before.
    ///
    /// Once only: what the program switches off later stays off. A runtime that refuses, since it has shut down or no
    /// thread can be had, is asked again the next time.
    pub(crate) fn look_at(&self, runtimes: &[Handle]) {
        let is_there = |id: Id| runtimes.iter().any(|runtime| runtime.id() == id);
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|id| is_there(*id));
        for runtime in runtimes {
            if !seen.contains(&runtime.id()) && watch(runtime).is_ok() {
                seen.push(runtime.id());
            }
        }
    }

    /// Switches off what no other console needs.
    ///
    /// Asks for the runtimes under the lock: one that another console has begun to look at meanwhile is not gone.
    pub(crate) fn look_away(&self, runtimes: impl FnOnce() -> Vec<Handle>) {
        let seen = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut watched = lock();
        let runtimes = runtimes();
        // Those that are gone have nothing to be switched off.
        watched.retain(|one| runtimes.iter().any(|runtime| runtime.id() == one.runtime));
        for runtime in runtimes
            .iter()
            .filter(|runtime| seen.contains(&runtime.id()))
        {
            let Some(at) = watched.iter().position(|one| one.runtime == runtime.id()) else {
                continue;
            };
            watched[at].consoles -= 1;
            if watched[at].consoles == 0 {
                let one = watched.swap_remove(at);
                if one.started_sight {
                    runtime.sight().stop();
                }
                if one.started_recorder {
                    runtime.trace().recorder().stop();
                }
            }
        }
    }
}

fn watch(runtime: &Handle) -> io::Result<()> {
    let mut watched = lock();
    if let Some(one) = watched.iter_mut().find(|one| one.runtime == runtime.id()) {
        one.consoles += 1;
        return Ok(());
    }
    let (sight, recorder) = (runtime.sight(), runtime.trace().recorder());
    let (started_sight, started_recorder) = (!sight.is_on(), !recorder.is_on());
    sight.start()?;
    if let Err(error) = recorder.start() {
        if started_sight {
            sight.stop();
        }
        return Err(error);
    }
    watched.push(Watched {
        runtime: runtime.id(),
        consoles: 1,
        started_sight,
        started_recorder,
    });
    Ok(())
}
