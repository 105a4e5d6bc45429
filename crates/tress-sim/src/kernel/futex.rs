//! `futex`: what locks of the standard library, of `parking_lot` and of tress wait by.

use super::{Errno, Here, Kernel, ThreadId, WaitsIn};
use crate::raw;
use crate::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

/// Those that wait, by the address of the word.
#[derive(Debug, Default)]
pub(super) struct Futexes(BTreeMap<usize, VecDeque<Waiter>>);

#[derive(Debug)]
struct Waiter {
    thread: ThreadId,
    bits: u32,
    /// What the word was when it began to wait.
    expected: u32,
}

// D-SIM-03
/// Times that a simulation in which nothing can happen looks for what other threads of the process have done.
const LOOKS: u32 = 500;
/// Time between two of these looks.
const PAUSE: Duration = Duration::from_micros(100);

impl Kernel {
    /// Wakes at most that many threads that wait at the word with one of these bits.
    pub(crate) fn futex_wake(&mut self, word: usize, most: usize, bits: u32) -> usize {
        let Some(queue) = self.futexes.0.get_mut(&word) else {
            return 0;
        };
        let mut woken = Vec::new();
        queue.retain(|waiter| {
            let is_woken = woken.len() < most && waiter.bits & bits != 0;
            if is_woken {
                woken.push(waiter.thread);
            }
            !is_woken
        });
        if queue.is_empty() {
            self.futexes.0.remove(&word);
        }
        let count = woken.len();
        self.wake_at_word(&mut woken);
        count
    }

    /// Moves those that wait at one word to another one, after at most `wake` of them were woken.
    pub(crate) fn futex_requeue(
        &mut self,
        from: usize,
        wake: usize,
        most: usize,
        to: usize,
    ) -> usize {
        let woken = self.futex_wake(from, wake, u32::MAX);
        let Some(mut queue) = self.futexes.0.remove(&from) else {
            return woken;
        };
        let rest = queue.split_off(most.min(queue.len()));
        let moved = queue.len();
        self.futexes.0.entry(to).or_default().append(&mut queue);
        if !rest.is_empty() {
            self.futexes.0.insert(from, rest);
        }
        woken + moved
    }

    /// Wakes those whose word has changed since they began to wait, and returns whether there was one.
    ///
    /// A thread of the process that is not simulated may have changed it: some locks, as those of the standard output,
    /// are shared by all.
    pub(crate) fn look_at_futexes(&mut self) -> bool {
        let mut changed = Vec::new();
        self.futexes.0.retain(|word, queue| {
            // SAFETY: a thread waits there, and holds what the word is in.
            let value = unsafe { (*(*word as *const AtomicU32)).load(Ordering::SeqCst) };
            queue.retain(|waiter| {
                if waiter.expected != value {
                    changed.push(waiter.thread);
                }
                waiter.expected == value
            });
            !queue.is_empty()
        });
        let found = !changed.is_empty();
        self.wake_at_word(&mut changed);
        found
    }

    fn wake_at_word(&mut self, threads: &mut Vec<ThreadId>) {
        for thread in threads.iter() {
            self.threads.is_woken_at_word(*thread);
        }
        self.wake_all(threads);
    }

    /// As `look_at_futexes`, for a while, when nothing else can happen.
    pub(crate) fn wait_for_others(&mut self) -> bool {
        (0..LOOKS).any(|look| {
            if self.futexes.0.is_empty() {
                return false;
            }
            if look > 0 {
                raw::sleep(PAUSE);
            }
            self.look_at_futexes()
        })
    }

    /// Removes a thread from those that wait, at that word unless it was moved.
    fn futex_leave(&mut self, thread: ThreadId, word: usize) {
        let is_it = |waiter: &Waiter| waiter.thread == thread;
        let waits_at =
            |(word, queue): (&usize, &VecDeque<Waiter>)| queue.iter().any(is_it).then_some(*word);
        let here = self
            .futexes
            .0
            .get(&word)
            .and_then(|queue| waits_at((&word, queue)));
        let Some(word) = here.or_else(|| self.futexes.0.iter().find_map(waits_at)) else {
            return;
        };
        if let Some(queue) = self.futexes.0.get_mut(&word) {
            queue.retain(|waiter| !is_it(waiter));
            if queue.is_empty() {
                self.futexes.0.remove(&word);
            }
        }
    }
}

impl Here {
    /// Waits at a word to be woken, until that time. The caller has seen that it has the expected value.
    pub(crate) fn futex_wait(
        &mut self,
        word: usize,
        expected: u32,
        bits: u32,
        until: Option<Time>,
    ) -> Result<(), Errno> {
        let may_be_shared = std::thread::panicking() || (is_a_lock(expected) && others_run());
        if may_be_shared && waits_for_others(word, expected) {
            return Ok(());
        }
        let (thread, _) = self.running();
        let waiter = Waiter {
            thread,
            bits,
            expected,
        };
        self.futexes.0.entry(word).or_default().push_back(waiter);
        self.threads.take_woken_at_word(thread);
        let has_time = self.wait(WaitsIn::Futex, until);
        let is_interrupted = self.is_interrupted(false);
        if self.threads.take_woken_at_word(thread) {
            return Ok(());
        }
        // It still stands in line, where a later call would find it in vain.
        self.futex_leave(thread, word);
        match (has_time, is_interrupted) {
            (false, _) => Err(libc::ETIMEDOUT),
            (true, true) => Err(libc::EINTR),
            (true, false) => Ok(()),
        }
    }
}

/// Number of simulations that there are in this process.
static SIMULATIONS: AtomicUsize = AtomicUsize::new(0);

/// Notes that a simulation begins.
pub(crate) fn begin() {
    SIMULATIONS.fetch_add(1, Ordering::Relaxed);
}

/// Notes that a simulation ends.
pub(crate) fn end() {
    SIMULATIONS.fetch_sub(1, Ordering::Relaxed);
}

fn others_run() -> bool {
    SIMULATIONS.load(Ordering::Relaxed) > 1
}

/// Returns whether the standard library's mutexes and cells that are set once wait with that value.
fn is_a_lock(expected: u32) -> bool {
    const CONTENDED: u32 = 2;
    const RUNNING_AND_QUEUED: u32 = 5;
    matches!(expected, CONTENDED | RUNNING_AND_QUEUED)
}

/// Waits for a while until the word is changed by a thread of the process that is not simulated. Returns whether it was.
///
/// A thread that panics prints where, under locks that all threads of the process share. It is not switched away from
/// meanwhile, so that no thread of the same simulation has them.
fn waits_for_others(word: usize, expected: u32) -> bool {
    (0..LOOKS).any(|_| {
        raw::sleep(PAUSE);
        // SAFETY: the caller of the wait holds what the word is in.
        let value = unsafe { (*(word as *const AtomicU32)).load(Ordering::SeqCst) };
        value != expected
    })
}
