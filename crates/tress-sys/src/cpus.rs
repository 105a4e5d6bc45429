/// Returns how many threads the system lets this process run at a time: 1 if that cannot be known.
///
/// Limits of affinity and of control groups are taken into account.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}
