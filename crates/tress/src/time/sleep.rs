use super::Instant;
use crate::runtime::{self, Late, Maker, TimersHandle};
use crate::sight::{self, WaitKind};
use crate::spans::Op;
use crate::task::coop;
use crate::timer::{Armed, Entry};
use pin_project_lite::pin_project;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Waits until `duration` has elapsed.
///
/// The time counts from this call, not from the first poll. The resolution is one millisecond: the
/// future never completes early, and completes late by as much as the runtime takes to get to it. A
/// duration that is too long to be represented waits for about thirty years.
///
/// # Panics
///
/// If called outside of a runtime, or in a runtime that was built without
/// [`enable_time`](crate::runtime::Builder::enable_time). See [`Sleep`] for panics of the future.
///
/// # Cancel safety
///
/// Dropping the future cancels the timer. A new `sleep` starts anew: in a loop around
/// [`select!`](crate::select), create one before the loop, [pin](crate::pin!) it and poll `&mut sleep`.
///
/// # Examples
///
/// ```
/// use tress::time::{sleep, Duration, Instant};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let start = Instant::now();
/// sleep(Duration::from_millis(5)).await;
/// assert!(start.elapsed() >= Duration::from_millis(5));
/// # });
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let deadline = Instant::now().checked_add(duration);
    Sleep::new(deadline.unwrap_or_else(Instant::far_future))
}

/// Waits until `deadline` is reached.
///
/// If `deadline` has passed, the future completes on its first poll. See [`sleep`].
///
/// # Panics
///
/// If called outside of a runtime, or in a runtime that was built without
/// [`enable_time`](crate::runtime::Builder::enable_time). See [`Sleep`] for panics of the future.
///
/// # Cancel safety
///
/// Dropping the future cancels the timer. No other state is lost: another `sleep_until` of the same
/// deadline waits as long.
///
/// # Examples
///
/// ```
/// use tress::time::{sleep_until, Duration, Instant};
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// sleep_until(Instant::now() + Duration::from_millis(5)).await;
/// # });
/// ```
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(deadline)
}

/// The name of a poll, for subscribers.
const POLL: &str = "poll_elapsed";

pin_project! {
    /// The future returned by [`sleep`] and [`sleep_until`].
    ///
    /// It must be pinned to be polled by reference or to be [reset](Sleep::reset).
    ///
    /// # Panics
    ///
    /// Polling it panics outside of a runtime with timers (unless it was created on a thread that had only
    /// [entered](crate::runtime::Handle::enter) one, which it is then bound to), and once the runtime in
    /// which it was first polled has shut down.
    ///
    /// # Cancel safety
    ///
    /// Dropping it cancels the timer.
    ///
    /// # Examples
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
        // Whether it was reset since it was last armed: the new deadline counts even before the next poll.
        reset: bool,
        // The runtime in which it was made.
        maker: Maker,
        // The same, if the thread had entered it without driving it, or is in no runtime when it polls.
        bound: Option<TimersHandle>,
        // What subscribers see of it.
        op: Op,
        #[pin]
        entry: Entry,
    }
}

/// Returns the current time, by the clock of the runtime that the timer belongs to.
fn now(bound: Option<&TimersHandle>) -> Instant {
    bound.map_or_else(Instant::now, |handle| Instant::from_std(handle.now()))
}

impl Sleep {
    #[track_caller]
    pub(crate) fn new(deadline: Instant) -> Sleep {
        Sleep::of(runtime::check_time_is_enabled(), deadline)
    }

    /// Creates one that counts as made in that runtime.
    #[track_caller]
    pub(super) fn of(maker: Maker, deadline: Instant) -> Sleep {
        Sleep {
            deadline,
            reset: false,
            maker,
            bound: runtime::timers_to_keep(),
            op: Op::sleep(),
            entry: Entry::new(),
        }
    }

    /// Returns the instant at which the future completes.
    ///
    /// # Examples
    ///
    /// ```
    /// use tress::time::{sleep_until, Duration, Instant};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let deadline = Instant::now() + Duration::from_secs(60);
    /// assert_eq!(sleep_until(deadline).deadline(), deadline);
    /// # });
    /// ```
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Returns whether the deadline has been reached and the runtime has noticed.
    ///
    /// The runtime does not watch the deadline of a new `Sleep` before its first poll: until then this
    /// returns `false`. It watches the deadline that was set by [`reset`](Sleep::reset) from then on.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::pin::pin;
    /// use tress::time::{sleep, Duration};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sleep = pin!(sleep(Duration::from_millis(1)));
    /// assert!(!sleep.is_elapsed());
    /// sleep.as_mut().await;
    /// assert!(sleep.is_elapsed());
    /// # });
    /// ```
    pub fn is_elapsed(&self) -> bool {
        self.entry.has_fired()
            || self.reset && !self.entry.is_armed() && self.deadline <= now(self.bound.as_ref())
    }

    /// Changes the deadline, whether the current one has been reached or not.
    ///
    /// The future then completes at the new deadline. A task that is waiting is woken at the new deadline,
    /// or immediately if that has passed. If the future had completed, no task is waiting: poll it again to
    /// be woken at the new deadline.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::pin::pin;
    /// use tress::time::{sleep, Duration, Instant};
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut sleep = pin!(sleep(Duration::from_secs(3600)));
    /// sleep.as_mut().reset(Instant::now() + Duration::from_millis(1));
    /// sleep.await;
    /// # });
    /// ```
    pub fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        let this = self.as_mut().project();
        let bound = this.bound.as_ref();
        this.op
            .reset(|| deadline.saturating_duration_since(now(bound)));
        self.rearm(deadline);
    }

    /// As `reset`, of which subscribers hear nothing.
    pub(super) fn rearm(self: Pin<&mut Self>, deadline: Instant) {
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

    /// Sets the deadline to `now`, and wakes the task that is waiting.
    pub(super) fn expire(self: Pin<&mut Self>, now: Instant) {
        let this = self.project();
        *this.deadline = now;
        this.entry.as_ref().expire();
    }

    /// Polls without regard to the budget.
    ///
    /// A deadline that has passed completes immediately, unless it is `new`: set just now, so that
    /// reading the clock again would be wasted.
    fn poll_elapsed(self: Pin<&Self>, cx: &mut Context<'_>, new: bool) -> Poll<()> {
        let this = self.project_ref();
        let entry = this.entry;
        loop {
            if !entry.is_unarmed() {
                if entry.has_fired() {
                    return Poll::Ready(());
                }
                if entry.is_closed() {
                    runtime::panic_shut_down();
                }
                if entry.set_waker(cx.waker()) {
                    let timer = sight::address(&*entry);
                    sight::waits_longer(WaitKind::Timer, timer, None);
                    return Poll::Pending;
                }
                // It fired in between.
                continue;
            }
            this.op.armed(|| {
                let now = now(this.bound.as_ref());
                this.deadline.saturating_duration_since(now)
            });
            // The wheel stands where it was last turned to, and accepts deadlines after that.
            if !new {
                let now = now(this.bound.as_ref());
                if *this.deadline <= now {
                    match runtime::how_late(this.bound.as_ref(), now - *this.deadline) {
                        Late::Ready => {
                            entry.mark_fired();
                            continue;
                        }
                        Late::GivesWay => {
                            entry.mark_fired();
                            if coop::give_way(cx) {
                                return Poll::Pending;
                            }
                            continue;
                        }
                        Late::Waits => {}
                    }
                }
            }
            let deadline = this.deadline.into_std();
            let armed = runtime::with_timers(this.bound.as_ref(), |timers| {
                entry.arm(timers, deadline, cx.waker())
            });
            match armed {
                Armed::First | Armed::Waiting => {
                    sight::waits(WaitKind::Timer, sight::address(&*entry), None);
                    return Poll::Pending;
                }
                Armed::Due => entry.mark_fired(),
                Armed::Closed => runtime::panic_shut_down(),
            }
        }
    }

    /// Polls within the budget. `poll_elapsed` explains `new`.
    pub(super) fn poll_in_budget(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        new: bool,
    ) -> Poll<()> {
        if self.bound.is_none() && self.entry.is_unarmed() {
            if let Some(timers) = runtime::timers_of_maker(self.maker) {
                *self.as_mut().project().bound = Some(timers);
            }
        }
        let this = self.as_ref().get_ref();
        let _entered = this.op.enter();
        let proceed = coop::poll_proceed(cx);
        this.op.tell_poll(POLL, proceed.is_ready());
        let proceed = ready!(proceed);
        let polled = self.as_ref().poll_elapsed(cx, new);
        if polled.is_ready() {
            proceed.made_progress();
        }
        this.op.tell_poll(POLL, polled.is_ready());
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

const _: () = assert!(size_of::<Sleep>() <= 96 || cfg!(any(loom, feature = "tracing")));
