//! The one allocation that both ends of a oneshot channel point to.

use super::spare;
use super::state::{Side, Snapshot, State};
use crate::sight::{self, Site};
use crate::sys::UnsafeCell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

/// The shared cell. The state word says what each field holds, and to which side it belongs.
pub(super) struct Cell<T> {
    pub(super) state: State,
    value: UnsafeCell<MaybeUninit<T>>,
    pub(super) rx_waker: WakerSlot,
    pub(super) tx_waker: WakerSlot,
    /// Where the channel was created.
    site: Site,
}

impl<T> Cell<T> {
    #[inline]
    #[track_caller]
    pub(super) fn allocate() -> NonNull<Cell<T>> {
        let cell = spare::allocate::<Cell<T>>();
        // SAFETY: fresh memory for a cell. Field by field, so that what is not initialised is not
        // copied.
        unsafe {
            let place = cell.as_ptr();
            (&raw mut (*place).state).write(State::new());
            (&raw mut (*place).value).write(UnsafeCell::new(MaybeUninit::uninit()));
            (&raw mut (*place).rx_waker).write(WakerSlot::new());
            (&raw mut (*place).tx_waker).write(WakerSlot::new());
            (&raw mut (*place).site).write(Location::caller());
        }
        cell
    }

    /// # Safety
    /// Both sides have left, or the caller is the only one that has not and will not touch the
    /// cell again. The value and the wakers have been taken out.
    #[inline]
    pub(super) unsafe fn free(this: NonNull<Cell<T>>) {
        // SAFETY: made by `allocate`, and by the caller's promise freed once, by its only user. What
        // is left in it needs no drop, except loom's own parts.
        unsafe {
            this.drop_in_place();
            spare::free(this);
        }
    }

    /// # Safety
    /// The caller is the sender and has not announced a value yet.
    #[inline]
    pub(super) unsafe fn put(&self, value: T) {
        // SAFETY: the value's place is the sender's until `VALUE` is set.
        self.value.with_mut(|place| unsafe {
            (*place).write(value);
        });
    }

    /// # Safety
    /// The place is filled and the caller's: the sender's before `VALUE` is set, the receiver's
    /// after that. It counts as empty from now on.
    #[inline]
    pub(super) unsafe fn take(&self) -> T {
        // SAFETY: by the caller's promise it is initialised and will not be read again.
        self.value
            .with(|place| unsafe { (*place).assume_init_read() })
    }
}

impl<T> Cell<T> {
    /// Returns the state once it ends the wait of `side`; leaves a copy of the waker in its slot until then.
    ///
    /// # Safety
    /// The caller is that side.
    #[inline(always)]
    pub(super) unsafe fn poll(&self, side: Side, waker: &Waker) -> Poll<Snapshot> {
        let slot = match side {
            Side::Sender => &self.tx_waker,
            Side::Receiver => &self.rx_waker,
        };
        let mut state = self.state.load();
        let begins = !state.has_waker(side);
        loop {
            if state.ends_wait_of(side) {
                return Poll::Ready(state);
            }
            if state.has_waker(side) {
                // SAFETY: the bit says that this side filled it.
                if unsafe { slot.will_wake(waker) } {
                    self.waits(side, begins);
                    return Poll::Pending;
                }
                match self.state.unset_waker(side, state) {
                    Ok(unset) => {
                        // SAFETY: unset, so it is this side's again.
                        drop(unsafe { slot.take() });
                        state = unset;
                    }
                    Err(actual) => {
                        state = actual;
                        continue;
                    }
                }
            }
            // SAFETY: the bit is clear and the wait goes on, so the slot is this side's, and empty.
            unsafe { slot.fill(waker.clone()) };
            match self.state.set_waker(side, state) {
                Ok(()) => {
                    self.waits(side, begins);
                    return Poll::Pending;
                }
                Err(actual) => {
                    // SAFETY: the bit was not set, so the slot is still this side's, and was just filled.
                    drop(unsafe { slot.take() });
                    state = actual;
                }
            }
        }
    }
}

impl<T> Cell<T> {
    /// Notes that the running task waits, as `side`.
    #[inline(always)]
    fn waits(&self, side: Side, begins: bool) {
        sight::waits_if(begins, side.kind(), sight::address(self), Some(self.site));
    }

    /// Notes that the wait of `side`, if the poll that is under way has noted one, is given up.
    #[inline(always)]
    pub(super) fn gives_up(&self, side: Side) {
        sight::gives_up(side.kind(), sight::address(self));
    }
}

/// Room for a waker that is handed from one side to the other by bits of the state word.
pub(super) struct WakerSlot(UnsafeCell<MaybeUninit<Waker>>);

impl WakerSlot {
    fn new() -> WakerSlot {
        WakerSlot(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// # Safety
    /// The slot is empty and the caller's.
    pub(super) unsafe fn fill(&self, waker: Waker) {
        // SAFETY: by the caller's promise no other thread looks.
        self.0.with_mut(|slot| unsafe {
            (*slot).write(waker);
        });
    }

    /// # Safety
    /// The slot is filled and the caller's; it counts as empty from now on.
    pub(super) unsafe fn take(&self) -> Waker {
        // SAFETY: by the caller's promise. Only read, so that the owner may still compare.
        self.0.with(|slot| unsafe { (*slot).assume_init_read() })
    }

    /// # Safety
    /// The caller filled the slot and has not taken the waker back. The other side may have.
    pub(super) unsafe fn will_wake(&self, waker: &Waker) -> bool {
        // SAFETY: the slot was filled, and taking only reads it: the two pointers that are compared
        // here are intact, and neither is followed.
        self.0
            .with(|slot| unsafe { (*slot).assume_init_ref().will_wake(waker) })
    }
}
