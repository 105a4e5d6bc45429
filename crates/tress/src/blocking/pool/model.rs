//! The races of the protocol, in every order (`RUSTFLAGS="--cfg loom"`).
//!
//! A lost job shows as a deadlock of the thread that waits for it, which loom reports. The clock does not exist here:
//! a keep-alive is either zero or for ever, and a spin is one look.

use super::*;
use loom::model::Builder;

const FOR_EVER: Duration = Duration::MAX;

/// A job that counts what became of it, and tells.
struct Probe {
    run: Gauge,
    cancelled: Gauge,
    done: Parker,
    /// The probe to wait for while running.
    partner: Option<StdArc<Probe>>,
    mandatory: bool,
}

impl Probe {
    fn new() -> StdArc<Probe> {
        Probe::with(None, false)
    }

    fn with(partner: Option<StdArc<Probe>>, mandatory: bool) -> StdArc<Probe> {
        StdArc::new(Probe {
            run: Gauge::new(0),
            cancelled: Gauge::new(0),
            done: Parker::new(),
            partner,
            mandatory,
        })
    }

    fn wait(&self) {
        while !self.done.park(None) {}
    }

    fn counts(&self) -> (usize, usize) {
        let (run, cancelled) = (&self.run, &self.cancelled);
        (run.load(Ordering::SeqCst), cancelled.load(Ordering::SeqCst))
    }
}

impl Job for StdArc<Probe> {
    fn run(self) {
        self.run.fetch_add(1, Ordering::SeqCst);
        self.done.unpark();
        if let Some(partner) = &self.partner {
            partner.wait();
        }
    }

    fn cancel(self) {
        self.cancelled.fetch_add(1, Ordering::SeqCst);
        self.done.unpark();
    }

    fn is_mandatory(&self) -> bool {
        self.mandatory
    }
}

type ProbePool = Arc<Pool<StdArc<Probe>>>;

fn pool(max_threads: usize, keep_alive: Duration, spin: bool) -> ProbePool {
    Arc::new(Pool::new(Config {
        max_threads,
        keep_alive,
        spin: if spin { FOR_EVER } else { Duration::ZERO },
        ..Config::default()
    }))
}

/// `preemptions`: how many times a thread may be interrupted where it could have gone on.
fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

fn end(pool: &ProbePool) {
    assert_eq!(pool.shutdown(None).still_running, 0);
    let state = pool.inner.lock();
    assert!(state.queue.is_empty() && state.slots.is_empty() && state.parked.is_empty());
    assert_eq!(state.threads, 0);
}

/// One job after the other: the second is pushed while the thread of the first one is spinning,
/// parking, parked, leaving or gone.
fn one_after_the_other(keep_alive: Duration, spin: bool) {
    let pool = pool(1, keep_alive, spin);
    for _ in 0..2 {
        let probe = Probe::new();
        pool.spawn(probe.clone()).unwrap();
        probe.wait();
        assert_eq!(probe.counts(), (1, 0));
    }
    end(&pool);
}

#[test]
fn push_against_park() {
    check(4, || one_after_the_other(FOR_EVER, false));
}

#[test]
fn push_against_spin() {
    check(4, || one_after_the_other(FOR_EVER, true));
}

#[test]
fn push_against_keep_alive() {
    check(4, || one_after_the_other(Duration::ZERO, false));
    check(4, || one_after_the_other(Duration::ZERO, true));
}

#[test]
fn push_against_shutdown() {
    for mandatory in [false, true] {
        check(4, move || {
            let pool = pool(1, FOR_EVER, false);
            let probe = Probe::with(None, mandatory);
            let pusher = {
                let (pool, probe) = (pool.clone(), probe.clone());
                loom::thread::spawn(move || match pool.spawn(probe.clone()) {
                    Ok(()) => {
                        probe.wait();
                        1
                    }
                    Err(error) => {
                        assert!(matches!(error, SpawnError::ShutDown(_)));
                        0
                    }
                })
            };
            end(&pool);
            let accepted = pusher.join().unwrap();
            let (run, cancelled) = probe.counts();
            assert_eq!(run, accepted);
            // A thread was coming for it: it had nothing to wait for.
            assert_eq!(cancelled, 0);
        });
    }
}

#[test]
fn pushes_against_shutdown() {
    for mandatory in [false, true] {
        check(3, move || {
            let pool = pool(1, FOR_EVER, false);
            let probes = [Probe::new(), Probe::with(None, mandatory)];
            for probe in &probes {
                pool.spawn(probe.clone()).unwrap();
            }
            end(&pool);
            let [first, second] = probes.map(|probe| probe.counts());
            assert_eq!(first, (1, 0));
            // It waited for the first one, or the thread was quick and it did not have to.
            assert!(second == (1, 0) || (second == (0, 1) && !mandatory));
        });
    }
}

#[test]
fn shutdown_against_an_idle_thread() {
    for (keep_alive, spin) in [(FOR_EVER, false), (FOR_EVER, true), (Duration::ZERO, false)] {
        check(3, move || {
            let pool = pool(1, keep_alive, spin);
            let probe = Probe::new();
            pool.spawn(probe.clone()).unwrap();
            probe.wait();
            // Another shutdown at the same time: both must see the end.
            let other = {
                let pool = pool.clone();
                loom::thread::spawn(move || assert_eq!(pool.shutdown(None).still_running, 0))
            };
            end(&pool);
            other.join().unwrap();
        });
    }
}

#[test]
fn jobs_that_wait_for_each_other() {
    for (keep_alive, spin) in [(FOR_EVER, false), (FOR_EVER, true), (Duration::ZERO, false)] {
        check(2, move || {
            let pool = pool(2, keep_alive, spin);
            // The first job ends once the second has begun.
            let second = Probe::new();
            let first = Probe::with(Some(second.clone()), false);
            pool.spawn(first.clone()).unwrap();
            pool.spawn(second.clone()).unwrap();
            first.wait();
            // Its token for us went to the first job; only the end is left to see.
            while second.counts() != (1, 0) {
                loom::thread::yield_now();
            }
            end(&pool);
            assert_eq!(first.counts(), (1, 0));
        });
    }
}

#[test]
fn two_pushers_against_a_parking_thread() {
    check(3, || {
        let pool = pool(1, FOR_EVER, false);
        let probes = [Probe::new(), Probe::new()];
        let pusher = {
            let (pool, probe) = (pool.clone(), probes[1].clone());
            loom::thread::spawn(move || {
                pool.spawn(probe.clone()).unwrap();
                probe.wait();
            })
        };
        pool.spawn(probes[0].clone()).unwrap();
        probes[0].wait();
        pusher.join().unwrap();
        end(&pool);
        assert!(probes.iter().all(|probe| probe.counts() == (1, 0)));
    });
}

#[test]
fn pushes_against_a_first_start_that_fails() {
    check(4, || {
        let pool = pool(1, FOR_EVER, false);
        let mut failures = 1;
        pool.inject_start_fault(move || {
            let fail = failures > 0;
            failures -= i32::from(fail);
            fail.then(|| io::Error::from(io::ErrorKind::WouldBlock))
        });
        let push = |pool: &ProbePool| {
            let probe = Probe::new();
            match pool.spawn(probe.clone()) {
                Ok(()) => probe.wait(),
                Err(error) => assert!(matches!(error, SpawnError::NoThread(..))),
            }
            let (run, cancelled) = probe.counts();
            assert_eq!(cancelled, 0);
            run
        };
        let other = {
            let pool = pool.clone();
            loom::thread::spawn(move || push(&pool))
        };
        let run = push(&pool) + other.join().unwrap();
        // One of them got the failure, and the other one's job has run.
        assert_eq!(run, 1);
        assert_eq!(pool.metrics().start_failures, 1);
        end(&pool);
    });
}

/// Shuts down the pool that it runs on, if it has it.
struct Closer {
    pool: Option<Arc<Pool<Closer>>>,
    probe: StdArc<Probe>,
}

impl Job for Closer {
    fn run(self) {
        if let Some(pool) = self.pool {
            assert_eq!(pool.shutdown(None).still_running, 0);
        }
        self.probe.run();
    }

    fn cancel(self) {
        self.probe.cancel();
    }
}

#[test]
fn shutdown_inside_jobs() {
    for second_closes in [false, true] {
        check(4, move || {
            let pool = Arc::new(Pool::new(Config {
                max_threads: 2,
                keep_alive: FOR_EVER,
                spin: Duration::ZERO,
                ..Config::default()
            }));
            let probes = [true, second_closes].map(|closes| {
                let probe = Probe::new();
                let job = Closer {
                    pool: closes.then(|| pool.clone()),
                    probe: probe.clone(),
                };
                (pool.spawn(job).is_ok(), probe)
            });
            for (accepted, probe) in &probes {
                if *accepted {
                    probe.wait();
                }
                let (run, cancelled) = probe.counts();
                assert_eq!(run + cancelled, usize::from(*accepted));
            }
            assert_eq!(pool.shutdown(None).still_running, 0);
        });
    }
}
