//! A worker that sleeps in its driver, and others that wake it.

use super::*;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A driver's bell: stays rung until it is heard.
struct Bell(Mutex<bool>, Condvar);

/// Each of two others brings work and then unparks. Whatever the order, the worker does not sleep
/// while there is work that it has not seen: that would hang here.
#[test]
fn model_unpark_against_a_sleep_inside() {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(|| {
        let shared = Arc::new((
            Rest::new(Io::none()),
            Bell(Mutex::new(false), Condvar::new()),
            [AtomicBool::new(false), AtomicBool::new(false)],
        ));
        let others: Vec<_> = (0..2)
            .map(|n| {
                let shared = shared.clone();
                thread::spawn(move || {
                    let (rest, bell, work) = &*shared;
                    work[n].store(true, Ordering::Relaxed);
                    rest.parker.unpark();
                    rest.ring_inside(|| {
                        *bell.0.lock().unwrap() = true;
                        bell.1.notify_one();
                    });
                })
            })
            .collect();
        let (rest, bell, work) = &*shared;
        while !work.iter().all(|work| work.load(Ordering::Relaxed)) {
            rest.park_inside(|| {
                let mut rung = bell.0.lock().unwrap();
                while !*rung {
                    rung = bell.1.wait(rung).unwrap();
                }
                *rung = false;
            });
        }
        for other in others {
            other.join().unwrap();
        }
    });
}
