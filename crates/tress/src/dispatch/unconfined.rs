use crate::context;
use crate::runtime::Shared;
use crate::task::JoinHandle;
use std::cell::Cell;
use std::future::Future;
use std::panic::Location;
use std::sync::Arc;

/// Spawns inside of spawns that begin at once. Each takes a few frames of the spawner's stack.
const MAX_DEPTH: u32 = 32;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

struct Level;

impl Level {
    fn enter() -> Option<Level> {
        let depth = DEPTH.get();
        (depth < MAX_DEPTH).then(|| {
            DEPTH.set(depth + 1);
            Level
        })
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

pub(super) fn spawn<F>(
    shared: &Arc<Shared>,
    future: F,
    at: &'static Location<'static>,
) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match Level::enter() {
        None => shared.spawn(future, at),
        Some(_level) => {
            let _entered = context::Within::enter(shared.clone());
            shared.spawn_and_run(future, at)
        }
    }
}
