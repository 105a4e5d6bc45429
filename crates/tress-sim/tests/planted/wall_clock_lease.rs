//! A lease that is measured by wall clocks. One that is set forward ends it early for one host, and another one has it too.
//!
//! Mended: each host measures by its monotonic clock, from before it asks; the one that grants it from when it grants it.

use crate::lines::{ask, serve};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};
use tokio::time::sleep;
use tress_sim::{Result, Sim};

const LEASE: Duration = Duration::from_secs(2);

/// A clock of a host.
#[derive(Clone, Copy)]
pub enum Clock {
    Wall,
    Monotonic(Instant),
}

impl Clock {
    pub fn new(is_monotonic: bool) -> Clock {
        match is_monotonic {
            true => Clock::Monotonic(Instant::now()),
            false => Clock::Wall,
        }
    }

    fn now(self) -> Duration {
        match self {
            Clock::Wall => SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
            Clock::Monotonic(start) => start.elapsed(),
        }
    }
}

/// Grants leases, each with a number that is greater than those before. Numbers are kept on the disk.
pub async fn grant(numbers: Rc<Cell<u64>>, is_monotonic: bool) -> Result {
    let clock = Clock::new(is_monotonic);
    // There may be a lease from before a crash.
    let free = Rc::new(Cell::new(clock.now() + LEASE));
    serve(move |_| {
        let now = clock.now();
        if now < free.get() {
            return "taken".to_string();
        }
        free.set(now + LEASE);
        numbers.set(numbers.get() + 1);
        numbers.get().to_string()
    })
    .await
}

/// A lease that a host has until that time.
pub struct Lease {
    pub number: u64,
    clock: Clock,
    until: Duration,
}

impl Lease {
    /// Asks until it is granted.
    pub async fn new(clock: Clock) -> Lease {
        loop {
            let until = clock.now() + LEASE;
            if let Ok(Ok(number)) = ask("lock", "lease").await.map(|text| text.parse()) {
                return Lease {
                    number,
                    clock,
                    until,
                };
            }
            sleep(LEASE / 10).await;
        }
    }

    /// How long it still holds.
    pub fn left(&self) -> Duration {
        self.until.saturating_sub(self.clock.now())
    }
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    let numbers = Rc::new(Cell::new(0));
    sim.host("lock", move || grant(numbers.clone(), is_mended));
    // The number of the newest lease under which something was done.
    let newest = Rc::new(Cell::new(0));
    for name in ["a", "b"] {
        let newest = newest.clone();
        sim.client(name, async move {
            for _ in 0..4 {
                let lease = Lease::new(Clock::new(is_mended)).await;
                while !lease.left().is_zero() {
                    let (number, newest) = (lease.number, newest.replace(lease.number));
                    if number < newest {
                        Err(format!("{name} has lease {number} after {newest}"))?;
                    }
                    sleep(LEASE / 10).await;
                }
                sleep(LEASE / 2).await;
            }
            Ok(())
        });
    }
}
