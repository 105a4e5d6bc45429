use super::super::multi::current_worker;
use super::help::HELP_EVERY;
use super::*;
use crate::runtime::{Builder, Handle};

/// A worker that holds back wakes another one now and then only, however long its queue is.
#[test]
fn help_is_called_for_seldom_where_there_is_no_core_for_it() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let test = runtime.spawn(async {
        let handle = Handle::current();
        let shared = Arc::as_ptr(&handle.shared);
        let core = current_worker(shared).unwrap().core().unwrap();
        let multi = handle.shared.multi();
        let other = 1 - core.index();
        let parks = || multi.remotes[other].stats.parked.get();
        let wait_until_parked = |before: u64| {
            while parks() == before || !multi.idle.is_parked(other) {
                std::thread::yield_now();
            }
        };
        // For the first time at any time, and each time where there are cores.
        for _ in 0..3 {
            let before = parks();
            core.call_for_help(multi, Instant::now());
            wait_until_parked(before);
        }
        core.holds_back.set(true);
        let later = core.last_help.get() + HELP_EVERY;
        let before = parks();
        core.call_for_help(multi, later);
        wait_until_parked(before);
        let before = parks();
        core.call_for_help(multi, later + HELP_EVERY - Duration::from_nanos(1));
        assert!(multi.idle.is_parked(other) && parks() == before);
        core.call_for_help(multi, later + HELP_EVERY);
        wait_until_parked(before);
        core.holds_back.set(false);
    });
    runtime.block_on(test).unwrap();
}
