//! Destructors of tasks and of their outputs: in order, at home, inside of the set.

use super::*;

#[test]
fn tasks_are_dropped_in_the_order_of_their_spawning() {
    const TASKS: usize = 80; // some in pages, some not
    let rt = current();
    let (local, log) = (LocalSet::new(), Log::default());
    let gate = Gate::default();
    for i in 0..TASKS {
        let (here, gate) = (Here::new(&log, format!("{i:02}")), gate.clone());
        local.spawn_local(async move {
            let _here = here;
            // Some wait, some are ready again, some have not started.
            if i % 3 == 0 {
                gate.pass().await;
            }
            pending::<()>().await;
        });
        if i == TASKS / 2 {
            local.block_on(&rt, yield_now());
        }
    }
    gate.open();
    drop(local);
    let expected: Vec<_> = (0..TASKS).map(|i| format!("DROP {i:02}")).collect();
    assert_eq!(log.take(), expected);
}

/// Destructors wake other tasks of the set, spawn into it, and use its context.
#[test]
fn dropping_runs_inside_of_the_set() {
    struct Busy {
        gate: Gate,
        log: Log,
    }
    impl Drop for Busy {
        fn drop(&mut self) {
            self.gate.open();
            let here = Here::new(&self.log, "late");
            let refused = spawn_local(async move { drop(here) });
            assert!(refused.is_finished());
            self.log.add("DROP busy");
        }
    }
    each_runtime(|rt| {
        let (local, log) = (LocalSet::new(), Log::default());
        let gate = Gate::default();
        let waits = |name: &str| {
            let (here, gate) = (Here::new(&log, name), gate.clone());
            async move {
                let _here = here;
                gate.pass().await;
                unreachable!("not polled any more");
            }
        };
        local.spawn_local(waits("first"));
        let busy = Busy {
            gate: gate.clone(),
            log: log.clone(),
        };
        local.spawn_local(async move {
            let _busy = busy;
            pending::<()>().await;
        });
        local.spawn_local(waits("woken"));
        local.block_on(&rt, yield_now());
        rt.block_on(async { drop(local) });
        assert_eq!(
            log.take(),
            ["DROP first", "DROP late", "DROP busy", "DROP woken"]
        );
        assert!(catch_unwind(|| spawn_local(async {})).is_err(), "left");
    });
}

#[test]
fn a_destructors_panic_is_the_tasks_error() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let rt = current();
    let local = LocalSet::new();
    let spawn = || {
        let panics = Panics;
        local.spawn_local(async move {
            let _panics = panics;
            pending::<()>().await;
        })
    };
    let (aborted, left) = (spawn(), spawn());
    local.block_on(&rt, yield_now());
    aborted.abort();
    assert!(local.block_on(&rt, aborted).unwrap_err().is_panic());
    drop(local);
    assert!(rt.block_on(left).unwrap_err().is_panic());
}

/// Outputs that are not `Send` are dropped at home, by whoever has the right to them.
#[test]
fn outputs_are_dropped_at_home() {
    let rt = workers(1);
    let (local, log) = (LocalSet::new(), Log::default());
    let output = Here::new(&log, "detached");
    drop(local.spawn_local(async move { output }));
    let output = Here::new(&log, "joined");
    let joined = local.spawn_local(async move { output });
    let output = Here::new(&log, "unclaimed");
    let unclaimed = local.spawn_local(async move { output });
    local.block_on(&rt, async {
        drop(joined.await);
    });
    drop(local);
    assert_eq!(log.take(), ["DROP detached", "DROP joined"]);
    drop(unclaimed);
    assert_eq!(log.take(), ["DROP unclaimed"]);
}
