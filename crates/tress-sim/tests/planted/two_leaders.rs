//! A leader that looks whether its lease holds for long enough, and then writes. A pause or a slow network in between lets the
//! lease end: the write comes after those of the next leader, and undoes them.
//!
//! Mended: the storage refuses whoever has an older lease than one that it knows of.

use crate::lines::{ask, ask_again, serve};
use crate::wall_clock_lease::{Clock, Lease, grant};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::sleep;
use tress_sim::Sim;

/// How long a lease must still hold for something to be done under it.
const MARGIN: Duration = Duration::from_millis(500);

/// What the storage has on its disk.
#[derive(Default)]
struct Storage {
    value: u64,
    newest_lease: u64,
}

impl Storage {
    /// Takes the number of a lease, and a value if it is to be written.
    fn answer(&mut self, question: &str, is_mended: bool) -> String {
        let mut numbers = question
            .split(' ')
            .map(|word| word.parse().expect("a number"));
        let lease = numbers.next().unwrap_or(0);
        if is_mended && lease < self.newest_lease {
            return "refused".to_string();
        }
        self.newest_lease = lease.max(self.newest_lease);
        self.value = numbers.next().unwrap_or(self.value);
        self.value.to_string()
    }
}

/// Adds one under a lease. Returns whether that is known to have been done.
async fn add(lease: &Lease) -> bool {
    let lease = lease.number;
    let Ok(Ok(value)) = ask("storage", &format!("{lease}"))
        .await
        .map(|text| text.parse::<u64>())
    else {
        return false;
    };
    let written = ask("storage", &format!("{lease} {}", value + 1)).await;
    written.is_ok_and(|answer| answer != "refused")
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    let numbers = Rc::new(Cell::new(0));
    sim.host("lock", move || grant(numbers.clone(), true));
    let storage = Rc::new(RefCell::new(Storage::default()));
    sim.host("storage", move || {
        let storage = storage.clone();
        serve(move |question| storage.borrow_mut().answer(question, is_mended))
    });
    let added = Rc::new(Cell::new(0));
    for name in ["a", "b"] {
        let added = added.clone();
        sim.client(name, async move {
            for _ in 0..5 {
                let lease = Lease::new(Clock::new(true)).await;
                // What is not known to have been done may still be done: nothing more under this lease.
                while lease.left() > MARGIN && add(&lease).await {
                    added.set(added.get() + 1);
                    sleep(Duration::from_millis(100)).await;
                }
                sleep(Duration::from_secs(1)).await;
            }
            let lease = Lease::new(Clock::new(true)).await;
            let known = added.get();
            let value = ask_again("storage", &lease.number.to_string()).await;
            match value.parse::<u64>() {
                Ok(value) if value < known => Err(format!("{value} after {known} were added"))?,
                _ => Ok(()),
            }
        });
    }
}
