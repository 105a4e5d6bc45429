use super::sites::SiteStats;
use crate::runtime::{Builder, Runtime};
use crate::task;
use std::future::pending;
use std::panic::Location;

fn recorded(every: u32) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .trace_every(every)
        .flight_recorder(true)
        .build()
        .unwrap()
}

fn at(rt: &Runtime, line: u32) -> SiteStats {
    let stats = rt.handle().shared.site_stats();
    let here = |s: &SiteStats| {
        s.site
            .is_some_and(|at| at.line() == line && at.file() == file!())
    };
    stats.into_iter().find(here).unwrap_or_default()
}

#[track_caller]
fn line() -> u32 {
    Location::caller().line()
}

#[test]
fn spawns_of_workers_and_others_are_exact() {
    let rt = recorded(1);
    let outside = line() + 2;
    for _ in 0..100 {
        rt.block_on(rt.spawn(task::yield_now())).unwrap();
    }
    rt.block_on(rt.spawn(async {
        for _ in 0..1000 {
            crate::spawn(async {}).await.unwrap();
        }
    }))
    .unwrap();
    let inside = line() - 4;
    let stats = at(&rt, outside);
    assert_eq!((stats.spawned, stats.completed, stats.live), (100, 100, 0));
    assert_eq!(stats.polls, 200);
    assert!(stats.poll[3].p50.is_some());
    assert!(stats.poll[3].max >= stats.poll[3].p50);
    let stats = at(&rt, inside);
    assert_eq!((stats.spawned, stats.completed), (1000, 1000));
    // A worker has spawned them in polls that were recorded: their waits are known.
    assert!(stats.delay[3].p99.is_some());
}

#[test]
fn tasks_that_live_are_counted_and_get_older() {
    let rt = recorded(1);
    let here = line() + 1;
    let tasks: Vec<_> = (0..50).map(|_| rt.spawn(pending::<()>())).collect();
    let stats = at(&rt, here);
    assert_eq!((stats.spawned, stats.completed, stats.live), (50, 0, 50));
    let oldest = stats.oldest.unwrap();
    assert!(at(&rt, here).oldest.unwrap() > oldest);
    for task in tasks {
        task.abort();
        assert!(rt.block_on(task).is_err());
    }
    // A task leaves the list of those that live just after its handle is told.
    while at(&rt, here).live > 0 {}
    let stats = at(&rt, here);
    assert_eq!((stats.spawned, stats.completed), (50, 50));
    assert_eq!(stats.oldest, None);
}

#[test]
fn names_and_batches_and_blocking_closures_are_counted() {
    let rt = recorded(1);
    let batch = line() + 2;
    let futures = (0..130).map(|_| async {});
    rt.block_on(async { drop(task::spawn_batch(futures).await) });
    assert_eq!(at(&rt, batch).spawned, 130);
    let blocking = line() + 1;
    rt.block_on(rt.spawn_blocking(|| ())).unwrap();
    assert_eq!(at(&rt, blocking).spawned, 1);
    rt.block_on(async {
        let named = || task::Builder::new().name("worker bee").spawn(async {});
        for _ in 0..7 {
            named().unwrap().await.unwrap();
        }
    });
    let stats = rt.handle().shared.site_stats();
    let bee = |s: &&SiteStats| s.name.as_deref() == Some("worker bee");
    let stats = stats.iter().find(bee).unwrap();
    assert_eq!((stats.spawned, stats.completed, stats.live), (7, 7, 0));
}

#[test]
fn tasks_from_before_the_start_are_not_forgotten() {
    let rt = Runtime::new().unwrap();
    let here = line() + 1;
    let tasks: Vec<_> = (0..20).map(|_| rt.spawn(pending::<()>())).collect();
    assert!(rt.handle().shared.site_stats().is_empty());
    rt.handle().shared.start_flight().unwrap();
    let stats = at(&rt, here);
    assert_eq!((stats.spawned, stats.completed, stats.live), (20, 0, 20));
    drop(tasks);
}

/// A sampled poll counts for those that it stands for.
#[test]
fn polls_are_scaled() {
    let rt = recorded(10);
    rt.block_on(async {
        let yields = async {
            for _ in 0..999 {
                task::yield_now().await;
            }
        };
        let task = task::Builder::new().name("yields").spawn(yields);
        task.unwrap().await.unwrap();
    });
    let stats = rt.handle().shared.site_stats();
    let polls = stats.iter().find(|s| s.name.as_deref() == Some("yields"));
    let polls = polls.unwrap().polls;
    assert!((900..=1100).contains(&polls), "{polls}");
}
