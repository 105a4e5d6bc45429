//! The flight recorder: what it keeps, what it says it has lost, and that it may be switched at any time.

#![cfg(all(not(loom), feature = "net"))]

mod perfetto_support;

use perfetto_support::Trace;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tress::runtime::{Builder, Handle, Runtime};
use tress::task;
use tress::trace::LaneKind;

fn recorded(workers: usize) -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .flight_recorder(true)
        .build()
        .unwrap()
}

fn named<F>(name: &str, future: F) -> task::JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    task::Builder::new().name(name).spawn(future).unwrap()
}

fn written(handle: &Handle) -> Trace {
    let mut bytes = Vec::new();
    handle.trace().recorder().write(&mut bytes).unwrap();
    Trace::parse(&bytes)
}

fn slices_of(trace: &Trace, name: &str) -> usize {
    let slices = trace.slices();
    slices.iter().filter(|s| s.begun.name == name).count()
}

/// More than a ring holds, and all of it is there.
#[test]
fn what_was_overwritten_in_the_rings_is_kept() {
    let rt = Builder::new_current_thread()
        .trace_events(1024)
        .trace_every(1)
        .flight_recorder(true)
        .build()
        .unwrap();
    let recorder = rt.handle().trace().recorder();
    rt.block_on(async {
        for round in 0..50 {
            let task = named(&format!("round{round}"), async {
                for _ in 0..99 {
                    task::yield_now().await;
                }
            });
            task.await.unwrap();
            // Reads the rings: the recorder's thread may be late on a busy machine.
            assert_eq!(recorder.lost(), 0);
        }
    });
    let trace = written(rt.handle());
    let arrows = trace.check();
    for round in 0..50 {
        assert_eq!(slices_of(&trace, &format!("round{round}")), 100);
    }
    // Each poll but those after which the task ends follows a yield or a spawn.
    assert!(arrows >= 4900, "{arrows}");
    assert!(recorder.covered() > Duration::ZERO);
    assert!(recorder.bytes() > 0);
}

#[test]
fn what_is_lost_is_counted_and_marked() {
    let rt = Builder::new_current_thread()
        .trace_events(4)
        .trace_every(1)
        .flight_recorder(true)
        .build()
        .unwrap();
    rt.block_on(async {
        let yields = named("yields", async {
            // The recorder's thread cannot be that fast for ever.
            while Handle::current().trace().recorder().lost() == 0 {
                for _ in 0..1000 {
                    task::yield_now().await;
                }
            }
        });
        yields.await.unwrap();
    });
    let lost = rt.handle().trace().recorder().lost();
    let trace = written(rt.handle());
    trace.check();
    let gaps = trace.events.iter().filter(|e| e.name == "lost events");
    let marked: u64 = gaps.map(|e| e.notes["events"]).sum();
    assert!(lost > 0);
    assert_eq!(marked, lost);
}

/// A poll that spawns a thousand tasks is not made slow by it.
#[test]
fn few_of_the_tasks_are_recorded_that_one_poll_makes_ready() {
    let rt = Builder::new_current_thread()
        .trace_every(1)
        .flight_recorder(true)
        .build()
        .unwrap();
    rt.block_on(async {
        let spawner = named("spawner", async {
            let crowd: Vec<_> = (0..1000).map(|_| named("crowd", async {})).collect();
            for task in crowd {
                task.await.unwrap();
            }
        });
        spawner.await.unwrap();
    });
    let trace = written(rt.handle());
    trace.check();
    assert_eq!(slices_of(&trace, "crowd"), 1000);
    let ready = trace.events.iter().filter(|e| e.name == "ready: crowd");
    assert_eq!(ready.count(), 64);
}

#[test]
fn workers_counters_and_names_are_in_the_trace() {
    let rt = recorded(2);
    rt.block_on(async {
        named("first", task::yield_now()).await.unwrap();
        tress::time::sleep(Duration::from_millis(3)).await;
        named("second", tress::time::sleep(Duration::from_millis(2)))
            .await
            .unwrap();
    });
    let handle = rt.handle().clone();
    drop(rt);
    // It has ended with the runtime, and what it had is there.
    assert!(!handle.trace().recorder().is_on());
    assert!(handle.trace().recorder().start().is_err());
    let trace = written(&handle);
    trace.check();
    assert!(slices_of(&trace, "first") >= 1);
    assert!(slices_of(&trace, "second") >= 1);
    assert!(!trace.values("tasks alive").is_empty());
    let mut nothing = Vec::new();
    let last = handle.trace().recorder();
    last.write_last(Duration::ZERO, &mut nothing).unwrap();
    assert!(Trace::parse(&nothing).slices().is_empty());
}

/// What it covers ends when it is switched off, and begins anew when it is switched on.
#[test]
fn a_time_in_which_it_was_off_is_not_covered() {
    let rt = recorded(1);
    let recorder = rt.handle().trace().recorder();
    let run = || rt.block_on(async { named("seen", task::yield_now()).await.unwrap() });
    run();
    recorder.stop();
    let covered = recorder.covered();
    assert!(covered > Duration::ZERO);
    run();
    // The clock's rate is measured anew each time.
    let difference = recorder.covered().abs_diff(covered);
    assert!(difference < Duration::from_micros(100), "{difference:?}");
    let before = std::time::Instant::now();
    recorder.start().unwrap();
    assert!(recorder.covered() <= before.elapsed() + Duration::from_millis(1));
    // What it had is there as long as it is not too old.
    assert!(slices_of(&written(rt.handle()), "seen") >= 1);
}

#[test]
fn it_can_be_switched_at_any_time_by_any_thread() {
    let rt = recorded(2);
    let done = Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = (0..4)
        .map(|number| {
            let (recorder, done) = (rt.handle().trace().recorder(), done.clone());
            std::thread::spawn(move || {
                let mut rounds = 0;
                while !done.load(Ordering::Acquire) || rounds < 200 {
                    match number {
                        0 => recorder.start().unwrap(),
                        1 => recorder.stop(),
                        2 => recorder.write(&mut std::io::sink()).unwrap(),
                        _ => drop((recorder.lost(), recorder.covered(), recorder.bytes())),
                    }
                    rounds += 1;
                }
            })
        })
        .collect();
    rt.block_on(async {
        for _ in 0..2000 {
            tress::spawn(task::yield_now()).await.unwrap();
        }
    });
    done.store(true, Ordering::Release);
    for thread in threads {
        thread.join().unwrap();
    }
    let recorder = rt.handle().trace().recorder();
    recorder.start().unwrap();
    assert!(recorder.is_on());
    // It records again.
    let mut polled = false;
    while !polled {
        rt.block_on(async { named("after", task::yield_now()).await.unwrap() });
        let trace = written(rt.handle());
        trace.check();
        polled = slices_of(&trace, "after") > 0;
    }
}

/// A runtime ends while its record is being written, by a thread that is in the middle of it.
#[test]
fn a_runtime_may_end_while_it_is_written() {
    struct Slow {
        begun: Option<std::sync::mpsc::Sender<()>>,
        ended: std::sync::mpsc::Receiver<()>,
        bytes: Vec<u8>,
    }
    impl std::io::Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if let Some(begun) = self.begun.take() {
                begun.send(()).unwrap();
                self.ended.recv().unwrap();
            }
            self.bytes.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let rt = recorded(2);
    rt.block_on(async { named("seen", task::yield_now()).await.unwrap() });
    let recorder = rt.handle().trace().recorder();
    let (begun, is_begun) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel();
    let writer = std::thread::spawn(move || {
        let mut out = Slow {
            begun: Some(begun),
            ended,
            bytes: Vec::new(),
        };
        recorder.write(&mut out).unwrap();
        out.bytes
    });
    is_begun.recv().unwrap();
    drop(rt);
    end.send(()).unwrap();
    let trace = Trace::parse(&writer.join().unwrap());
    trace.check();
    assert!(slices_of(&trace, "seen") >= 1);
}

/// It is written without a lock: an output may panic, or use the recorder.
#[test]
fn an_output_may_do_anything() {
    struct Nosy(tress::trace::FlightRecorder, usize);
    impl std::io::Write for Nosy {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.stop();
            self.0.start()?;
            assert!(self.0.bytes() <= 16 << 20);
            self.1 += 1;
            assert!(self.1 < 5, "on purpose");
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let rt = recorded(1);
    let recorder = rt.handle().trace().recorder();
    rt.block_on(async { named("seen", task::yield_now()).await.unwrap() });
    let mut nosy = Nosy(recorder.clone(), 0);
    let writes = std::panic::AssertUnwindSafe(|| recorder.write(&mut nosy));
    assert!(std::panic::catch_unwind(writes).is_err());
    assert!(recorder.is_on());
    assert!(slices_of(&written(rt.handle()), "seen") >= 1);
}

#[test]
fn lanes_go_on_where_the_last_ended() {
    let rt = recorded(1);
    let trace = rt.handle().trace();
    let mut from = Duration::ZERO;
    for round in 0..3 {
        let name = format!("round{round}");
        rt.block_on(async { named(&name, task::yield_now()).await.unwrap() });
        let lanes = trace.lanes(from);
        assert_eq!(lanes.from, from);
        assert_eq!(lanes.workers.len(), 1);
        let lane = &lanes.workers[0];
        assert!(lane.len() <= 500);
        let drawn: Vec<_> = lane.iter().filter(|l| l.kind != LaneKind::OffCpu).collect();
        assert!(drawn.iter().all(|l| l.start + l.length >= from));
        assert!(drawn.is_sorted_by_key(|l| l.start));
        let polls = drawn.iter().filter(|l| l.kind == LaneKind::Poll);
        assert!(polls.clone().any(|l| l.label == name), "{lane:?}");
        // Those of the round before are over.
        let before = round > 0
            && polls
                .clone()
                .any(|l| l.label == format!("round{}", round - 1));
        assert!(!before, "{lane:?}");
        from = lanes.to;
    }
    let none = Runtime::new()
        .unwrap()
        .handle()
        .trace()
        .lanes(Duration::MAX);
    assert!(none.workers.iter().all(Vec::is_empty));
}

/// There are at most 500, the newest, of however many.
#[test]
fn lanes_are_bounded() {
    let rt = Builder::new_current_thread()
        .trace_every(1)
        .flight_recorder(true)
        .build()
        .unwrap();
    rt.block_on(async {
        let yields = named("many", async {
            for _ in 0..5000 {
                task::yield_now().await;
            }
        });
        yields.await.unwrap();
        named("last", async {}).await.unwrap();
    });
    let lanes = rt.handle().trace().lanes(Duration::ZERO);
    assert!(lanes.workers[0].len() <= 500);
    let mut polls = lanes.workers[0].iter().filter(|l| l.kind == LaneKind::Poll);
    assert!(polls.any(|l| l.label == "last"));
}

struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Directory {
        let name = format!("tress-flight-{}-{name}", std::process::id());
        Directory(std::env::temp_dir().join(name))
    }

    /// Waits until there is a file, and reads it.
    fn wait(&self, reason: &str) -> Trace {
        loop {
            let files = std::fs::read_dir(&self.0).into_iter().flatten();
            let paths = files.map(|file| file.unwrap().path());
            let ending = format!("-{reason}.pftrace");
            let found = paths
                .into_iter()
                .find(|p| p.to_str().unwrap().ends_with(&ending));
            if let Some(path) = found {
                return Trace::parse(&std::fs::read(path).unwrap());
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_panic_of_a_task_writes_a_file() {
    let directory = Directory::new("panic");
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .record_on_panic(directory.0.join("made/on/the/way"))
        .build()
        .unwrap();
    let inner = Directory(directory.0.join("made/on/the/way"));
    assert!(rt.handle().trace().recorder().is_on());
    rt.block_on(async {
        named("calm", task::yield_now()).await.unwrap();
        let panics = named("panics", async { panic!("on purpose") });
        assert!(panics.await.is_err());
    });
    let trace = inner.wait("panic");
    trace.check();
    assert!(slices_of(&trace, "calm") >= 1);
}

#[test]
fn a_slow_poll_writes_a_file() {
    let directory = Directory::new("slow");
    let rt = Builder::new_multi_thread()
        .worker_threads(1)
        .slow_poll_threshold(Duration::from_millis(5))
        .on_slow_poll(|_| ())
        .record_on_slow_poll(&directory.0)
        .build()
        .unwrap();
    let path = directory.0.clone();
    let trace = rt.block_on(async move {
        named("calm", task::yield_now()).await.unwrap();
        // Blocks its worker until the file is there.
        let slow = named("slow", async move {
            let directory = Directory(path);
            let trace = directory.wait("slow-poll");
            std::mem::forget(directory);
            trace
        });
        slow.await.unwrap()
    });
    trace.check();
    assert!(slices_of(&trace, "calm") >= 1);
    let monitor = trace.thread("monitor");
    let slow = trace.events.iter().find(|e| e.track == monitor).unwrap();
    assert_eq!(slow.name, "slow poll: slow");
}
