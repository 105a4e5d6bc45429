use super::Instant;
use super::timers::{Armed, Entry};
use crate::runtime::{self, TimersHandle};
use crate::task::coop;
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Waits until `duration` has passed.
///
/// The time counts from this call, to a millisecond: never less, and more by as long as the runtime
/// takes to get to it.
///
/// ```
/// use tress::time::{sleep, Duration, Instant};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let start = Instant::now();
/// sleep(Duration::from_millis(5)).await;
/// assert!(start.elapsed() >= Duration::from_millis(5));
/// # });
/// ```
///
/// # Panics
/// Outside of a runtime, or in one built without `enable_time`.
///
/// # Cancel safety
/// Dropping it takes the timer out of the wheel. A new `sleep` begins anew; keep one and use
/// `&mut sleep` to go on with it.
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let deadline = Instant::now().checked_add(duration);
    Sleep::new(deadline.unwrap_or_else(Instant::far_future))
}

/// Waits until `deadline`.
///
/// ```
/// use tress::time::{sleep_until, Duration, Instant};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// sleep_until(Instant::now() + Duration::from_millis(5)).await;
/// # });
/// ```
///
/// # Panics
/// As for [`sleep`].
///
/// # Cancel safety
/// Dropping it loses nothing but the wait.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline)
}

pin_project! {
    /// The future of [`sleep`] and [`sleep_until`].
    ///
    /// It has to be pinned to be awaited more than once or [reset](Sleep::reset):
    ///
    /// ```
    /// use tress::time::{sleep, Duration, Instant};
    /// use std::pin::pin;
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sleep = pin!(sleep(Duration::from_millis(1)));
    /// sleep.as_mut().await;
    /// sleep.as_mut().reset(Instant::now() + Duration::from_millis(1));
    /// sleep.await;
    /// # });
    /// ```
    #[must_use = "futures do nothing unless awaited"]
    pub struct Sleep {
        deadline: Instant,
        // Reset since it was armed last: its time counts although nobody has polled it since.
        reset: bool,
        // The runtime it was made in, if this thread does not drive one.
        bound: Option<TimersHandle>,
        #[pin]
        entry: Entry,
    }
}

/// Now, by the clock of the runtime that a timer goes by.
fn now(bound: Option<&TimersHandle>) -> Instant {
    bound.map_or_else(Instant::now, TimersHandle::now)
}

impl Sleep {
    #[track_caller]
    pub(crate) fn new(deadline: Instant) -> Sleep {
        Sleep {
            deadline,
            reset: false,
            bound: runtime::check_time(),
            entry: Entry::new(),
        }
    }

    /// When it ends.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// True once the deadline has passed and the runtime has noticed.
    ///
    /// The time of a new one counts from its first poll: before that it is false. The time of one that
    /// was [reset](Sleep::reset) counts from then.
    pub fn is_elapsed(&self) -> bool {
        self.entry.has_fired()
            || self.reset && !self.entry.is_armed() && self.deadline <= now(self.bound.as_ref())
    }

    /// Sets another deadline.
    ///
    /// Whether it has ended or not, it will end at the new one. One that waits and is reset to a
    /// deadline that has passed ends, and wakes, at once. One that had ended wakes nobody: poll it to be
    /// woken at the new deadline.
    pub fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.project();
        *this.deadline = deadline;
        let entry = this.entry.as_ref();
        if entry.is_armed() {
            *this.reset = !entry.move_to(deadline.into_std());
        } else {
            *this.reset = true;
            entry.disarm();
        }
    }

    /// Sets a deadline that is now, and wakes whoever waits.
    pub(super) fn expire(self: Pin<&mut Self>, now: Instant) {
        let this = self.project();
        *this.deadline = now;
        this.entry.as_ref().expire();
    }

    /// As `poll`, without a look at the budget.
    ///
    /// A deadline that has passed is noticed at once, unless it is a `new` one: made just now, so
    /// that another look at the clock would be wasted.
    fn poll_elapsed(self: Pin<&mut Self>, cx: &mut Context<'_>, new: bool) -> Poll<()> {
        let this = self.project();
        let entry = this.entry.as_ref();
        loop {
            if entry.has_fired() {
                return Poll::Ready(());
            }
            if entry.is_closed() {
                runtime::panic_shut_down();
            }
            if entry.is_armed() {
                if entry.set_waker(cx.waker()) {
                    return Poll::Pending;
                }
                // It fired just now.
                continue;
            }
            // The wheel stands where it was turned to last, and takes what is later than that.
            if !new && *this.deadline <= now(this.bound.as_ref()) {
                entry.mark_fired();
                continue;
            }
            let deadline = this.deadline.into_std();
            let armed = runtime::with_timers(this.bound.as_ref(), |timers| {
                entry.arm(timers, deadline, cx.waker())
            });
            match armed {
                Armed::First | Armed::Waiting => return Poll::Pending,
                Armed::Due => entry.mark_fired(),
                Armed::Closed => runtime::panic_shut_down(),
            }
        }
    }

    /// As `poll`; see `poll_elapsed` for what is `new`.
    pub(super) fn poll_in_budget(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        new: bool,
    ) -> Poll<()> {
        let proceed = ready!(coop::poll_proceed(cx));
        let polled = self.poll_elapsed(cx, new);
        if polled.is_ready() {
            proceed.made_progress();
        }
        polled
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.poll_in_budget(cx, false)
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("deadline", &self.deadline)
            .field("elapsed", &self.is_elapsed())
            .finish_non_exhaustive()
    }
}

const _: () = assert!(size_of::<Sleep>() <= 96 || cfg!(loom));
