//! Values that misbehave: by panicking, or by calling back.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{RawWaker, RawWakerVTable, Wake, Waker};

/// What an injected panic carries. Its destructor may panic again.
struct Mischief {
    again: bool,
}

impl Drop for Mischief {
    fn drop(&mut self) {
        if self.again && !std::thread::panicking() {
            panic_any(Mischief { again: false });
        }
    }
}

/// Prints no panic that was injected.
pub fn silence() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Mischief>() {
            print(info);
        }
    }));
}

/// Calls `f`; its panic, if it was injected, is nothing to us.
pub fn caught<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(payload) => {
            let injected = is_injected(&*payload);
            // Its destructor may panic, with one that does not.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(payload)));
            assert!(injected, "somebody else has panicked");
            None
        }
    }
}

/// As a task's payload it may be seen, too.
pub fn is_injected(payload: &(dyn Any + Send)) -> bool {
    payload.is::<Mischief>()
}

pub fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// What is called back.
type Reenter = Box<dyn Fn(u64) + Send + Sync>;

/// Decides what happens, and knows which values there are.
pub struct Dice {
    state: AtomicU64,
    /// No more mischief.
    calm: AtomicBool,
    reenter: OnceLock<Reenter>,
    /// For each value made: 1 once it has been dropped.
    dropped: Box<[AtomicU8]>,
    /// Where each was made.
    made: Mutex<Vec<&'static Location<'static>>>,
    pub twice: AtomicUsize,
}

const MOST_VALUES: usize = 1 << 14;

thread_local! {
    /// Calls back that are under way on this thread.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

impl Dice {
    pub fn new(seed: u64) -> Arc<Dice> {
        Arc::new(Dice {
            state: AtomicU64::new(mix(seed)),
            calm: AtomicBool::new(false),
            reenter: OnceLock::new(),
            dropped: (0..MOST_VALUES).map(|_| AtomicU8::new(0)).collect(),
            made: Mutex::default(),
            twice: AtomicUsize::new(0),
        })
    }

    pub fn set_reenter(&self, f: impl Fn(u64) + Send + Sync + 'static) {
        assert!(self.reenter.set(Box::new(f)).is_ok());
    }

    pub fn roll(&self) -> u64 {
        mix(self.state.fetch_add(1, Ordering::Relaxed))
    }

    pub fn below(&self, n: usize) -> usize {
        (self.roll() % n as u64) as usize
    }

    pub fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    /// A place where somebody may panic.
    pub fn trip(&self) {
        let calm = self.calm.load(Ordering::Relaxed);
        // A panic in a destructor that runs because of another one ends the process, by Rust's rules.
        if !calm && !std::thread::panicking() && self.below(10) == 0 {
            let again = self.below(4) == 0;
            panic_any(Mischief { again });
        }
    }

    /// A place where anything may go wrong.
    pub fn mischief(&self) {
        if self.calm.load(Ordering::Relaxed) {
            return;
        }
        self.trip();
        match self.below(5) {
            0 if DEPTH.get() < 2 => {
                struct Leave;
                impl Drop for Leave {
                    fn drop(&mut self) {
                        DEPTH.set(DEPTH.get() - 1);
                    }
                }
                DEPTH.set(DEPTH.get() + 1);
                let _leave = Leave;
                if let Some(reenter) = self.reenter.get() {
                    let roll = self.roll();
                    if std::thread::panicking() {
                        // What it does must not unwind out of a destructor that runs while we unwind.
                        caught(|| reenter(roll));
                    } else {
                        reenter(roll);
                    }
                }
            }
            _ => {}
        }
    }

    /// Where the values were made that are still there.
    pub fn alive(&self) -> Vec<&'static Location<'static>> {
        let made = self.made.lock().unwrap();
        let with_fate = made.iter().zip(&self.dropped);
        let alive = with_fate.filter(|(_, dropped)| dropped.load(Ordering::Acquire) == 0);
        alive.map(|(place, _)| *place).collect()
    }
}

/// A message, an output, a content: counted, and badly behaved.
pub struct Value {
    number: usize,
    dice: Arc<Dice>,
}

impl Value {
    #[track_caller]
    pub fn new(dice: &Arc<Dice>) -> Value {
        let mut made = dice.made.lock().unwrap();
        made.push(Location::caller());
        Value {
            number: made.len() - 1,
            dice: dice.clone(),
        }
    }
}

impl Clone for Value {
    #[track_caller]
    fn clone(&self) -> Value {
        // A panic only: who clones a message out of a channel may have it locked.
        self.dice.trip();
        Value::new(&self.dice)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.dice.mischief();
        write!(f, "Value({})", self.number)
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if self.dice.dropped[self.number].swap(1, Ordering::AcqRel) != 0 {
            self.dice.twice.fetch_add(1, Ordering::Relaxed);
        }
        self.dice.mischief();
    }
}

/// A waker of which each function may misbehave. The counts are always right.
pub fn bad_waker(dice: &Arc<Dice>) -> Waker {
    let raw = RawWaker::new(Arc::into_raw(dice.clone()).cast(), &BAD);
    // SAFETY: the data is a counted reference, which `clone` adds to and `wake` and `drop` give up, before
    // anything can panic; a `Dice` may be used on any thread.
    unsafe { Waker::from_raw(raw) }
}

static BAD: RawWakerVTable = RawWakerVTable::new(
    |data| {
        let dice = data.cast::<Dice>();
        // SAFETY: the waker that is cloned holds a count.
        unsafe { &*dice }.mischief();
        // SAFETY: as above; the new waker owns this one.
        unsafe { Arc::increment_strong_count(dice) };
        RawWaker::new(data, &BAD)
    },
    // SAFETY: the waker's count moves into the `Arc`.
    |data| unsafe { Arc::from_raw(data.cast::<Dice>()) }.mischief(),
    // SAFETY: the waker holds a count for as long as it is borrowed.
    |data| unsafe { &*data.cast::<Dice>() }.mischief(),
    // SAFETY: the waker's count moves into the `Arc`.
    |data| unsafe { Arc::from_raw(data.cast::<Dice>()) }.mischief(),
);

/// A waker that does what it should: it passes the wake-up on to who waits in the end.
#[derive(Default)]
pub struct Good {
    woken: AtomicBool,
    outer: Mutex<Option<Waker>>,
}

impl Good {
    pub fn take(&self) -> bool {
        self.woken.swap(false, Ordering::AcqRel)
    }

    pub fn pass_on_to(&self, waker: &Waker) {
        *self.outer.lock().unwrap() = Some(waker.clone());
    }
}

impl Wake for Good {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        let outer = self.outer.lock().unwrap().take();
        if let Some(outer) = outer {
            outer.wake();
        }
    }
}
