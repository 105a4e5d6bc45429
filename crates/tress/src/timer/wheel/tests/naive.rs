//! A wheel against a sorted map that is obviously right.

use super::*;

/// Marsaglia's xorshift64*.
struct Rng(u64);

impl Rng {
    fn new(seed: u64) -> Rng {
        // Zero would stay zero; and seeds next to each other should not begin
        // alike.
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            rng.next();
        }
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Less than `bound`, near enough to evenly.
    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }

    /// A distance with all magnitudes up to `2^bits` equally likely.
    fn magnitude(&mut self, bits: u64) -> u64 {
        let bits = self.below(bits) + 1;
        self.next() >> (64 - bits)
    }
}

/// A wheel next to a sorted map that is obviously right.
struct Sim {
    rng: Rng,
    wheel: Wheel,
    model: BTreeMap<(u64, u64), NonNull<Node>>,
    live: Vec<NonNull<Node>>,
    spare: Vec<NonNull<Node>>,
    seq: u64,
    did: Did,
}

/// What has been tried so far.
#[derive(Default, Debug)]
struct Did {
    operations: u64,
    inserted: u64,
    refused: u64,
    removed: u64,
    popped: u64,
    /// Every occupancy bit ever set.
    occupied: [u64; LEVELS + 1],
}

impl Sim {
    fn new(seed: u64, start: u64) -> Sim {
        Sim {
            rng: Rng::new(seed),
            wheel: Wheel::new(start),
            model: BTreeMap::new(),
            live: Vec::new(),
            spare: Vec::new(),
            seq: 0,
            did: Did::default(),
        }
    }

    /// The start of a slot of a random level that is not far ahead.
    fn boundary(&mut self) -> u64 {
        let k = self.rng.below(6) as u32 + 1;
        let slot = (self.wheel.now() >> (6 * k)) + 1 + self.rng.below(3);
        slot.saturating_mul(power(k))
    }

    fn deadline(&mut self) -> u64 {
        let now = self.wheel.now();
        match self.rng.below(16) {
            0 => now - self.rng.magnitude(40).min(now),
            1..=4 => now.saturating_add(1 + self.rng.below(64)),
            5..=6 => now.saturating_add(self.rng.below(4096)),
            7..=9 => now.saturating_add(self.rng.magnitude(30)),
            10 => now.saturating_add(self.rng.magnitude(36)),
            11 => now.saturating_add(self.rng.magnitude(64)),
            12 => u64::MAX - self.rng.below(3),
            // Right at a boundary, one before, one after.
            13..=14 => (self.boundary() - 1).saturating_add(self.rng.below(3)),
            // One that is taken.
            _ => match self.live.len() as u64 {
                0 => now.saturating_add(1),
                live => deadline(self.live[self.rng.below(live) as usize]),
            },
        }
    }

    fn insert(&mut self) {
        let deadline = self.deadline();
        let node = self.spare.pop().unwrap_or_else(|| timer(0));
        // Half of those in the future take the way through the unsettled list.
        if deadline > self.wheel.now() && self.rng.below(2) == 0 {
            let delay = deadline - self.wheel.now();
            // SAFETY: as in the function `insert`.
            unsafe { self.wheel.insert_unsettled(node, delay) };
            assert!(self.wheel.has_unsettled());
            if self.rng.below(8) == 0 {
                remove(&mut self.wheel, node);
                self.spare.push(node);
                assert!(!self.wheel.has_unsettled());
                return;
            }
            self.wheel.settle(self.wheel.now());
            assert!(!self.wheel.has_unsettled());
            self.inserted(node, deadline);
            return;
        }
        let result = insert(&mut self.wheel, node, deadline);
        if deadline <= self.wheel.now() {
            assert_eq!(result, Err(Due));
            self.did.refused += 1;
            self.spare.push(node);
            return;
        }
        assert_eq!(result, Ok(()));
        self.inserted(node, deadline);
    }

    fn inserted(&mut self, node: NonNull<Node>, deadline: u64) {
        self.seq += 1;
        // SAFETY: `seq` and `at` belong to this test alone. There is no
        // reference to the timer, and none to its node but inside of the
        // wheel's functions.
        unsafe {
            let timer = node.cast::<Timer>().as_ptr();
            (*timer).seq = self.seq;
            (*timer).at = self.live.len();
        }
        self.live.push(node);
        self.model.insert((deadline, self.seq), node);
        self.did.inserted += 1;
    }

    /// Forgets a node that has left the wheel.
    fn gone(&mut self, node: NonNull<Node>) {
        assert!(!is_linked(node));
        assert_eq!(self.model.remove(&(deadline(node), seq(node))), Some(node));
        // SAFETY: as in `insert`.
        let at = unsafe { (*node.cast::<Timer>().as_ptr()).at };
        assert_eq!(self.live.swap_remove(at), node);
        if let Some(moved) = self.live.get(at) {
            // SAFETY: as in `insert`.
            unsafe { (*moved.cast::<Timer>().as_ptr()).at = at };
        }
        self.spare.push(node);
    }

    fn remove(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let victim = match self.rng.below(4) {
            // The next to fire, which is often due already.
            0 => *self.model.values().next().unwrap(),
            _ => self.live[self.rng.below(self.live.len() as u64) as usize],
        };
        remove(&mut self.wheel, victim);
        self.gone(victim);
        self.did.removed += 1;
    }

    /// Pops at `now` until there is nothing left, or `limit` nodes.
    fn pop(&mut self, now: u64, limit: u64) {
        let target = now.max(self.wheel.now());
        for _ in 0..limit {
            let expected = self
                .model
                .first_key_value()
                .map(|(&key, &node)| (key, node));
            let popped = self.wheel.pop_due(now);
            match expected {
                Some(((deadline, _), node)) if deadline <= target => {
                    assert_eq!(popped, Some(node));
                    assert_eq!(self.wheel.now(), deadline);
                    self.gone(node);
                    self.did.popped += 1;
                    self.check();
                }
                _ => {
                    assert_eq!(popped, None);
                    assert_eq!(self.wheel.now(), target);
                    self.check();
                    break;
                }
            }
        }
    }

    fn advance(&mut self) {
        let now = self.wheel.now();
        let to = match self.rng.below(32) {
            0 => now - self.rng.magnitude(40).min(now),
            1..=3 => now,
            4..=12 => now.saturating_add(1),
            13..=18 => now.saturating_add(self.rng.below(100)),
            19..=22 => now.saturating_add(self.rng.magnitude(16)),
            23 => now.saturating_add(self.rng.magnitude(30)),
            24 if self.rng.below(16) == 0 => now.saturating_add(self.rng.magnitude(40)),
            25..=26 => (self.boundary() - 1).saturating_add(self.rng.below(3)),
            // Not to the stops at the end of time too soon.
            27..=29 => self
                .wheel
                .next_tick()
                .unwrap_or(0)
                .min(now.saturating_add(power(6))),
            _ => now.saturating_add(self.rng.below(10)),
        };
        let limit = match self.rng.below(2) {
            0 => u64::MAX,
            _ => self.rng.below(5),
        };
        self.pop(to, limit);
    }

    /// What can be checked at any time and cheaply.
    fn check(&self) {
        assert_eq!(self.wheel.len(), self.model.len());
        assert_eq!(self.wheel.is_empty(), self.model.is_empty());
        let earliest = self
            .model
            .first_key_value()
            .map(|(&(deadline, _), _)| deadline);
        match (self.wheel.next_tick(), earliest) {
            (None, None) => {}
            (Some(tick), Some(earliest)) => {
                assert!(tick <= earliest);
                if earliest <= self.wheel.now() {
                    assert_eq!(tick, self.wheel.now());
                } else {
                    assert!(tick > self.wheel.now());
                }
            }
            (tick, earliest) => panic!("next tick {tick:?}, but earliest deadline {earliest:?}"),
        }
    }

    fn run(&mut self, operations: u64) {
        // Some runs keep the wheel nearly empty, others let it fill up.
        let removals = 12 + self.rng.below(16);
        let mut at_the_end = 0;
        for operation in 0..operations {
            match self.rng.below(64) {
                0..32 => self.insert(),
                n if n < 32 + removals => self.remove(),
                _ => self.advance(),
            }
            self.check();
            if operation % 256 == 0 {
                check(&self.wheel);
            }
            self.did.operations += 1;
            for (did, now) in self.did.occupied.iter_mut().zip(self.wheel.occupied) {
                *did |= now;
            }
            // Where time ends, there is not much left to try.
            at_the_end += u64::from(self.wheel.now() == u64::MAX);
            if at_the_end > 50 {
                break;
            }
        }
        check(&self.wheel);
        if self.rng.below(2) == 0 {
            self.pop(u64::MAX, u64::MAX);
        } else {
            while let Some(node) = self.wheel.pop_any() {
                self.gone(node);
                self.check();
            }
        }
        assert!(self.model.is_empty());
        assert!(self.live.is_empty());
        check(&self.wheel);
        self.spare.drain(..).for_each(free);
    }
}

/// Says how to repeat a failure.
struct Blame(String);

impl Drop for Blame {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

#[test]
fn agrees_with_a_sorted_map() {
    let seed: u64 = std::env::var("TRESS_SEED")
        .map(|seed| seed.parse().expect("TRESS_SEED is a decimal number"))
        .unwrap_or(0x7e55);
    let (goal, at_most) = if cfg!(miri) {
        (1200, 200)
    } else {
        (2_000_000, 10_000)
    };
    let _blame = Blame(format!("repeat with TRESS_SEED={seed}"));
    let mut did = Did::default();
    for run in 0_u64.. {
        if did.operations >= goal {
            break;
        }
        let _blame = Blame(format!("in run {run}, after {did:?}"));
        let start = match run % 7 {
            0 => 0,
            1 => 63,
            2 => power(5) - 1000,
            3 => 17 * power(5) + 12_345,
            4 => u64::MAX / 2,
            // Runs into the end of time.
            5 => u64::MAX - power(5),
            _ => u64::MAX - 100_000,
        };
        let mut sim = Sim::new(seed ^ (run << 32), start);
        sim.run(at_most);
        did.operations += sim.did.operations;
        did.inserted += sim.did.inserted;
        did.refused += sim.did.refused;
        did.removed += sim.did.removed;
        did.popped += sim.did.popped;
        for (all, one) in did.occupied.iter_mut().zip(sim.did.occupied) {
            *all |= one;
        }
    }
    println!("{did:?}");
    // A test that no longer tries anything agrees with everything.
    assert!(did.inserted > goal / 3 && did.refused > goal / 100);
    assert!(did.removed > goal / 10 && did.popped > goal / 20);
    if !cfg!(miri) {
        // Digits above 0 are greater than the clock's: only level 0 has a use for slot 0.
        let above = u64::MAX - 1;
        assert_eq!(did.occupied, [u64::MAX, above, above, above, above, 1]);
    }
}
