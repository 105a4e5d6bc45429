use super::super::multi::current_worker;
use super::*;
use crate::runtime::{Builder, Handle};

/// A worker that holds back wakes another one only now and then, however long its queue is.
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
        // The first time at once, and every time where there are cores.
        for _ in 0..3 {
            let before = parks();
            core.call_for_help(multi, Instant::now());
            wait_until_parked(before);
        }
        let hold_back = |hold| {
            core.pressure.hold_back(hold, &core.adapt, &multi.restraint);
        };
        hold_back(true);
        let mut last = Instant::now() + Duration::from_secs(1);
        let before = parks();
        core.call_for_help(multi, last);
        wait_until_parked(before);
        let mut call_after = |wait: Duration| {
            let before = parks();
            core.call_for_help(multi, last + wait - Duration::from_nanos(1));
            assert!(multi.idle.is_parked(other) && parks() == before);
            last += wait;
            core.call_for_help(multi, last);
            wait_until_parked(before);
        };
        // More and more seldom.
        for ms in [10, 20, 40, 80, 80] {
            call_after(Duration::from_millis(ms));
        }
        hold_back(false);
        hold_back(true);
        call_after(Duration::from_millis(5));
        hold_back(false);
    });
    runtime.block_on(test).unwrap();
}
