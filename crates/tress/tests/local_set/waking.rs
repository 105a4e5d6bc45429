//! Wake-ups and aborts, from here and from elsewhere: none is lost, none is for nothing.

use super::*;

#[test]
fn a_sleeping_task_is_woken_while_the_guard_is_alive() {
    each_runtime(|rt| {
        let local = LocalSet::new();
        let _guard = local.enter();
        let done = Rc::new(Cell::new(false));
        local.block_on(&rt, async {
            let inner = done.clone();
            let task = spawn_local(async move {
                sleep(Duration::ZERO).await;
                inner.set(true);
            });
            task.await.unwrap();
        });
        assert!(done.get());
    });
}

#[test]
fn aborts_from_here_and_from_elsewhere() {
    each_runtime(|rt| {
        for elsewhere in [false, true] {
            for started in [false, true] {
                let (local, log) = (LocalSet::new(), Log::default());
                let here = Here::new(&log, "aborted");
                let task = local.spawn_local(async move {
                    let _here = here;
                    pending::<()>().await;
                });
                if started {
                    local.block_on(&rt, yield_now());
                }
                let abort = task.abort_handle();
                match elsewhere {
                    false => abort.abort(),
                    true => thread::spawn(move || abort.abort()).join().unwrap(),
                }
                assert!(!task.is_finished(), "only the set drops it");
                let error = local.block_on(&rt, task).unwrap_err();
                assert!(error.is_cancelled());
                assert_eq!(log.take(), ["DROP aborted"]);
            }
        }
    });
}

/// An abort wakes a set whose driver sleeps.
#[test]
fn a_remote_abort_ends_the_sets_wait() {
    each_runtime(|rt| {
        let (local, log) = (LocalSet::new(), Log::default());
        let (tell, told) = mpsc::channel();
        let here = Here::new(&log, "aborted");
        let task = local.spawn_local(async move {
            let _here = here;
            tell_waker(tell).await;
        });
        let aborts = thread::spawn(move || {
            told.recv().unwrap();
            task.abort();
        });
        rt.block_on(local);
        aborts.join().unwrap();
        assert_eq!(log.take(), ["DROP aborted"]);
    });
}

#[test]
fn remote_wakes_are_not_lost() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };
    each_runtime(|rt| {
        let (tell, told) = mpsc::channel::<Waker>();
        let wakes = thread::spawn(move || told.into_iter().for_each(Waker::wake));
        let (local, home) = (LocalSet::new(), thread::current().id());
        local.block_on(&rt, async move {
            // One waits for the other thread in every round, and nothing else wakes anybody.
            let task = spawn_local(async move {
                for _ in 0..ROUNDS {
                    let mut asked = false;
                    poll_fn(|cx| {
                        assert_eq!(thread::current().id(), home);
                        if std::mem::replace(&mut asked, true) {
                            return Poll::Ready(());
                        }
                        tell.send(cx.waker().clone()).unwrap();
                        Poll::Pending
                    })
                    .await;
                }
            });
            task.await.unwrap();
        });
        wakes.join().unwrap();
    });
}

/// Many tasks, woken by several threads that also drop and keep wakers.
#[test]
fn wakes_from_several_threads_at_once() {
    const TASKS: usize = if cfg!(miri) { 4 } else { 100 };
    const ROUNDS: usize = if cfg!(miri) { 3 } else { 50 };
    let rt = workers(2);
    let local = LocalSet::new();
    let (tell, told) = mpsc::channel::<Waker>();
    let told = Arc::new(Mutex::new(told));
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let told = told.clone();
            thread::spawn(move || {
                let mut kept = Vec::new();
                loop {
                    let waker = told.lock().unwrap().recv();
                    let Ok(waker) = waker else { return kept };
                    waker.wake_by_ref();
                    kept.push(waker);
                }
            })
        })
        .collect();
    for _ in 0..TASKS {
        let tell = tell.clone();
        local.spawn_local(async move {
            let rc = Rc::new(());
            for _ in 0..ROUNDS {
                let mut polls = 0;
                poll_fn(|cx| {
                    polls += 1;
                    if polls > 1 {
                        return Poll::Ready(());
                    }
                    tell.send(cx.waker().clone()).unwrap();
                    Poll::Pending
                })
                .await;
            }
            drop(rc);
        });
    }
    drop(tell);
    rt.block_on(local);
    for thread in threads {
        for waker in thread.join().unwrap() {
            waker.wake(); // long after
        }
    }
}

/// What a waker is told, poll by poll.
#[test]
fn a_driver_is_woken_when_there_is_work_and_only_then() {
    let rt = current();
    let _entered = rt.enter();
    let local = LocalSet::new();
    let (wakes, waker) = Wakes::new();
    let mut cx = Context::from_waker(&waker);
    let mut driver = pin!(local.run_until(pending::<()>()));
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert_eq!(wakes.take(), 0, "nothing to do");

    let task = local.spawn_local(ready(1));
    assert_eq!(wakes.take(), 1, "spawned from outside");
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert!(task.is_finished());
    assert_eq!(wakes.take(), 0);

    for _ in 0..200 {
        local.spawn_local(async {});
    }
    assert_eq!(wakes.take(), 1, "once is enough");
    for _ in 0..3 {
        assert!(driver.as_mut().poll(&mut cx).is_pending());
        assert_eq!(wakes.take(), 1, "61 in a poll, the rest later");
    }
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert_eq!(wakes.take(), 0, "200 are done");

    let gate = Gate::default();
    let passes = gate.clone();
    let task = local.spawn_local(async move { passes.pass().await });
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    wakes.take();
    gate.open();
    assert_eq!(wakes.take(), 1, "woken on its own thread");
    assert!(driver.as_mut().poll(&mut cx).is_pending());
    assert!(task.is_finished());
    assert_eq!(wakes.take(), 0);
}

/// `spawn_local` from the same task, between the polls of the driver.
#[test]
fn spawning_wakes_the_set() {
    each_runtime(|rt| {
        let local = LocalSet::new();
        rt.block_on(async {
            let mut driver = pin!(local.run_until(pending::<()>()));
            let mut task = None;
            poll_fn(|cx| {
                assert!(driver.as_mut().poll(cx).is_pending());
                let task = task.get_or_insert_with(|| local.spawn_local(ready(())));
                Pin::new(task).poll(cx)
            })
            .await
            .unwrap();
        });
    });
}
