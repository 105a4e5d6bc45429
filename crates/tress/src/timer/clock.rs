//! The time of a runtime: the machine's, or one that stands still until it is moved.

use crate::sys::atomic::Ordering;
use crate::sys::plain::{AtomicBool, AtomicUsize};
use crate::sys::{Mutex, clock};
use std::time::{Duration, Instant};

/// True once any clock of the process has been paused: until then nobody has to ask.
static EVER_PAUSED: AtomicBool = AtomicBool::new(false);

/// Could a runtime's time differ from the machine's?
#[inline]
pub(crate) fn may_differ() -> bool {
    EVER_PAUSED.load(Ordering::Relaxed)
}

#[derive(Debug)]
pub(crate) struct Clock {
    /// Only a runtime with one thread can be paused: others would race with the moves.
    can_pause: bool,
    /// Idle waits do not move a paused clock while this is above zero: something outside of the
    /// runtime's sight, such as a blocking closure, is under way. Counted also before a pause.
    busy: AtomicUsize,
    virtual_time: Mutex<Option<Virtual>>,
}

/// A clock that was paused at least once: it shows `base`, plus the time since `running`.
#[derive(Debug)]
struct Virtual {
    base: Instant,
    running_since: Option<Instant>,
}

impl Virtual {
    fn now(&self) -> Instant {
        self.base + self.running_since.map_or(Duration::ZERO, clock::elapsed)
    }
}

impl Clock {
    pub(crate) fn new(can_pause: bool) -> Clock {
        Clock {
            can_pause,
            busy: AtomicUsize::new(0),
            virtual_time: Mutex::new(None),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        if !may_differ() {
            return clock::now();
        }
        match &*self.virtual_time.lock() {
            None => clock::now(),
            Some(v) => v.now(),
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        may_differ()
            && self
                .virtual_time
                .lock()
                .as_ref()
                .is_some_and(|v| v.running_since.is_none())
    }

    #[track_caller]
    pub(crate) fn pause(&self) {
        self.pause_at(clock::now());
    }

    /// As `pause`, at a moment that has just been.
    #[track_caller]
    pub(crate) fn pause_at(&self, now: Instant) {
        assert!(
            self.can_pause,
            "time can only be paused on a current-thread runtime: with several workers the \
             moment of the pause would be different for each of them"
        );
        EVER_PAUSED.store(true, Ordering::Relaxed);
        let mut time = self.virtual_time.lock();
        let paused = match &*time {
            Some(v) if v.running_since.is_none() => None,
            Some(v) => Some(v.now()),
            None => Some(now),
        };
        let Some(base) = paused else {
            drop(time);
            panic!("time is already paused");
        };
        *time = Some(Virtual {
            base,
            running_since: None,
        });
    }

    #[track_caller]
    pub(crate) fn resume(&self) {
        let mut time = self.virtual_time.lock();
        match &mut *time {
            Some(v) if v.running_since.is_none() => v.running_since = Some(clock::now()),
            _ => {
                drop(time);
                panic!("time is not paused");
            }
        }
    }

    #[track_caller]
    pub(crate) fn advance(&self, by: Duration) {
        let mut time = self.virtual_time.lock();
        match &mut *time {
            Some(v) if v.running_since.is_none() => {
                let Some(moved) = v.base.checked_add(by) else {
                    drop(time);
                    panic!("the clock cannot be moved on by {by:?}: it does not go that far");
                };
                v.base = moved;
            }
            _ => {
                drop(time);
                panic!("time is not paused: call time::pause() before time::advance()");
            }
        }
    }

    /// Moves a paused clock on, since the runtime has nothing to do for as long as `until` says. Returns true if it
    /// did. `came` says whether something has come to do after all.
    pub(crate) fn jump(
        &self,
        until: impl FnOnce(Instant) -> Option<Duration>,
        came: impl FnOnce() -> bool,
    ) -> bool {
        let mut time = self.virtual_time.lock();
        match &mut *time {
            Some(v) if v.running_since.is_none() => {
                // In this order: what a closure has let go on before it left is seen by `came`.
                if self.busy.load(Ordering::Acquire) != 0 || came() {
                    return false;
                }
                let moved = until(v.base).and_then(|by| v.base.checked_add(by));
                if let Some(moved) = moved {
                    v.base = moved;
                }
                moved.is_some()
            }
            _ => false,
        }
    }

    /// Something outside of the runtime's sight begins: no jumps until `leave_busy`. False if this clock
    /// never jumps.
    pub(crate) fn enter_busy(&self) -> bool {
        if self.can_pause {
            self.busy.fetch_add(1, Ordering::Relaxed);
        }
        self.can_pause
    }

    pub(crate) fn leave_busy(&self) {
        self.busy.fetch_sub(1, Ordering::Release);
    }
}
