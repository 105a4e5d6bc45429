/// The seed of a runtime's random decisions; see [`Builder::rng_seed`](super::Builder::rng_seed).
#[derive(Clone, Debug)]
pub struct RngSeed(pub(super) u64);

/// The constants of the hash FNV-1a, by Fowler, Noll and Vo.
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl RngSeed {
    /// Creates a seed of random decisions from any number of bytes.
    ///
    /// The result depends on nothing but the bytes: neither on the compiler nor on the platform.
    ///
    /// # Examples
    /// ```
    /// let seed = tokio::runtime::RngSeed::from_bytes(b"any bytes");
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> RngSeed {
        let add = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        RngSeed(bytes.iter().fold(BASIS, add))
    }
}
