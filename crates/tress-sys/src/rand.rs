use crate::Mutex;
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

/// xorshift64+: one per worker or thread, for victims and `select!`.
#[derive(Debug)]
pub struct FastRand {
    a: Cell<u32>,
    b: Cell<u32>,
}

impl FastRand {
    /// Starts from a seed.
    #[inline]
    pub const fn new(seed: u64) -> Self {
        let a = (seed >> 32) as u32;
        let b = seed as u32;
        // An all-zero state would stay zero for ever.
        FastRand {
            a: Cell::new(a),
            b: Cell::new(if b == 0 { 0x9E37_79B9 } else { b }),
        }
    }

    /// Replaces the state, returning a seed that restores the old one.
    #[inline]
    pub fn replace(&self, seed: u64) -> u64 {
        let old = (u64::from(self.a.get()) << 32) | u64::from(self.b.get());
        let fresh = FastRand::new(seed);
        self.a.set(fresh.a.get());
        self.b.set(fresh.b.get());
        old
    }

    /// Draws a number.
    #[inline]
    pub fn next_u32(&self) -> u32 {
        let mut s1 = self.a.get();
        let s0 = self.b.get();
        s1 ^= s1 << 17;
        s1 = s1 ^ s0 ^ (s1 >> 7) ^ (s0 >> 16);
        self.a.set(s0);
        self.b.set(s1);
        s0.wrapping_add(s1)
    }

    /// Draws a number in `0..n`, by multiplication instead of a division.
    #[inline]
    pub fn below(&self, n: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(n)) >> 32) as u32
    }
}

/// Hands out seeds derived from one root seed, so that a runtime built with a
/// fixed seed gives every worker the same one in every run.
#[derive(Debug)]
pub struct SeedGenerator(Mutex<u64>);

impl SeedGenerator {
    /// Starts from the root.
    pub fn new(root: u64) -> Self {
        SeedGenerator(Mutex::new(root))
    }

    /// Returns the next seed.
    pub fn next_seed(&self) -> u64 {
        let mut state = self.0.lock();
        // SplitMix64: a full-period sequence from any start, zero included.
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Draws a seed that differs from run to run.
    pub fn entropy() -> u64 {
        // `RandomState` is keyed from the operating system's randomness.
        RandomState::new().build_hasher().finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn below_stays_below_and_reaches_every_value() {
        let rng = FastRand::new(0);
        let mut seen = [false; 7];
        for _ in 0..1_000 {
            seen[rng.below(7) as usize] = true;
        }
        assert_eq!(seen, [true; 7]);
    }

    #[test]
    fn same_root_same_seeds() {
        let (a, b) = (SeedGenerator::new(9), SeedGenerator::new(9));
        for _ in 0..10 {
            assert_eq!(a.next_seed(), b.next_seed());
        }
    }

    #[test]
    fn replace_returns_what_restores() {
        let rng = FastRand::new(42);
        let old = rng.replace(7);
        let (x, _) = (rng.next_u32(), rng.next_u32());
        rng.replace(old);
        let fresh = FastRand::new(42);
        assert_eq!(rng.next_u32(), fresh.next_u32());
        rng.replace(7);
        assert_eq!(rng.next_u32(), x);
    }
}
