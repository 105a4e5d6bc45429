use crate::runtime::Builder;
use std::sync::mpsc;

/// Where there is no core to spare, no worker is woken beside one that is awake; if that one then gets stuck, the
/// monitor wakes another.
#[test]
fn what_waits_for_a_stuck_worker_is_run_by_another() {
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let handle = runtime.handle();
    let multi = handle.shared.multi();
    let (stuck, is_stuck) = mpsc::channel();
    let (others_ran, wait_for_others) = mpsc::channel();
    let first = handle.spawn(async move {
        stuck.send(()).unwrap();
        wait_for_others.iter().take(10).count()
    });
    is_stuck.recv().unwrap();
    multi.restraint.tolerate(usize::MAX);
    for _ in 0..10 {
        let others_ran = others_ran.clone();
        drop(handle.spawn(async move { others_ran.send(()).unwrap() }));
    }
    assert_eq!(runtime.block_on(first).unwrap(), 10);
}
