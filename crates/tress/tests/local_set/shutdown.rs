//! Sets that go while others still have wakers and handles of their tasks.

use super::*;

#[test]
fn wakers_and_handles_outlive_the_set() {
    let rt = current();
    for to_pages in [false, true] {
        let local = LocalSet::new();
        if to_pages {
            // Cells come from pages once there were some tasks.
            local.block_on(&rt, async {
                for _ in 0..100 {
                    spawn_local(async {}).await.unwrap();
                }
            });
        }
        let (tell, told) = mpsc::channel();
        let log = Log::default();
        let tasks: Vec<JoinHandle<()>> = (0..5)
            .map(|i| {
                let (tell, here) = (tell.clone(), Here::new(&log, i.to_string()));
                local.spawn_local(async move {
                    let _here = here;
                    tell_waker(tell).await;
                })
            })
            .collect();
        local.block_on(&rt, yield_now());
        drop(local);
        assert_eq!(log.take().len(), 5);
        let wakers: Vec<Waker> = told.try_iter().collect();
        assert_eq!(wakers.len(), 5);
        let elsewhere = thread::spawn(move || {
            for waker in wakers {
                let other = waker.clone();
                waker.wake_by_ref();
                other.wake();
                drop(waker);
            }
            let aborts: Vec<_> = tasks.iter().map(JoinHandle::abort_handle).collect();
            for abort in aborts {
                abort.abort();
                assert!(abort.is_finished());
            }
            tasks
        });
        for task in elsewhere.join().unwrap() {
            assert!(rt.block_on(task).unwrap_err().is_cancelled());
        }
    }
}

/// Dropped while another thread keeps waking the tasks: every future is dropped here, none twice.
#[test]
fn dropping_races_with_remote_wakes() {
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 500 };
    const TASKS: usize = 4;
    let rt = current();
    for _ in 0..ROUNDS {
        let (local, log) = (LocalSet::new(), Log::default());
        let (tell, told) = mpsc::channel();
        for i in 0..TASKS {
            let (tell, here) = (tell.clone(), Here::new(&log, i.to_string()));
            local.spawn_local(async move {
                let _here = here;
                tell_waker(tell).await;
            });
        }
        local.block_on(&rt, yield_now());
        let wakers: Vec<Waker> = told.try_iter().collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let (started, start) = mpsc::channel();
        let thread = thread::spawn(move || {
            started.send(()).unwrap();
            while !stopped.load(Ordering::Acquire) {
                wakers.iter().for_each(Waker::wake_by_ref);
            }
        });
        start.recv().unwrap();
        drop(local);
        stop.store(true, Ordering::Release);
        thread.join().unwrap();
        assert_eq!(log.take().len(), TASKS);
    }
}

#[test]
fn a_set_in_a_thread_local() {
    thread_local! {
        static LOCAL: LocalSet = LocalSet::new();
        static LOG: Log = Log::default();
    }
    let rt = workers(1);
    let handle = rt.handle().clone();
    thread::spawn(move || {
        let log = LOG.with(Log::clone);
        LOCAL.with(|local| {
            let here = Here::new(&log, "by the thread's end");
            handle.block_on(local.run_until(async move {
                spawn_local(async move {
                    let _here = here;
                    pending::<()>().await;
                });
                yield_now().await;
            }));
        });
    })
    .join()
    .unwrap();
}
