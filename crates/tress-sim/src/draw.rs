//! Random choices. Each kind of choice has a stream of its own, so that a change of one kind leaves the others as they are.

use std::time::Duration;

/// A sequence of choices that a seed and a name determine: SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Stream(u64);

impl Stream {
    pub(crate) fn new(seed: u64, name: &str) -> Stream {
        // FNV-1a of the name.
        let hash =
            |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        let name = name.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
        let mut stream = Stream(seed ^ name);
        // Seeds that differ in one bit have streams that differ from the first number on.
        stream.0 = stream.number();
        stream
    }

    #[inline]
    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Draws a number in `0..n`, which is not empty.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.number()) * n as u128) >> 64) as usize
    }

    /// Draws a number in `0.0..1.0`.
    #[inline]
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws whether something of that probability happens.
    #[inline]
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        // Without a draw what is certain does not move the stream.
        probability > 0.0 && (probability >= 1.0 || self.fraction() < probability)
    }

    /// Draws a duration of at least `least` and at most `most`.
    pub(crate) fn between(&mut self, least: Duration, most: Duration) -> Duration {
        least + most.saturating_sub(least).mul_f64(self.fraction())
    }

    pub(crate) fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.number().to_le_bytes();
            chunk.copy_from_slice(&number[..chunk.len()]);
        }
    }
}
