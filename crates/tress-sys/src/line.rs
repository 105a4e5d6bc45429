use std::collections::VecDeque;

/// Takes the next of the tasks that are in line: the first.
///
/// In a simulation, with the feature `sim`, that decides, told the id of each.
#[cfg(not(feature = "sim"))]
#[inline(always)]
pub fn take_next<T>(line: &mut VecDeque<T>, _: impl Fn(&T) -> u64) -> Option<T> {
    line.pop_front()
}

/// Takes the next of the tasks that are in line: the first, unless a simulation decides, which is told the id of each.
#[cfg(feature = "sim")]
#[inline(always)]
pub fn take_next<T>(line: &mut VecDeque<T>, id: impl Fn(&T) -> u64) -> Option<T> {
    // D-SIM-06
    if !crate::sim::is_decided() {
        return line.pop_front();
    }
    take_chosen(line, id)
}

/// Has the simulation choose.
#[cfg(feature = "sim")]
#[inline(never)]
fn take_chosen<T>(line: &mut VecDeque<T>, id: impl Fn(&T) -> u64) -> Option<T> {
    if line.is_empty() {
        return None;
    }
    let chosen = crate::sim::choose(line.len(), &|at| line.get(at).map(&id));
    line.remove(chosen)
}
