//! Futures that are polled by a thread in `block_on`, and are no tasks: they get numbers while sight is on.

use super::parts::Table;
use super::waits::{self, staged, watch};
use super::{Site, WaitKind, switch::is_on};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

static ROOTS: Table<Site> = Table::new();

/// Returns where `block_on` was called for the future of that number, if it is one of `block_on`.
pub(crate) fn root(number: u64) -> Option<Site> {
    ROOTS.get(number)
}

/// Returns the numbers of all futures of `block_on`, and where it was called.
pub(crate) fn roots() -> Vec<(u64, Site)> {
    ROOTS.all().0
}

pub(super) fn forget_all() {
    ROOTS.clear();
}

pin_project! {
    /// A future of `block_on`, which takes part as a task does.
    pub(crate) struct Root<F, N> {
        #[pin]
        future: F,
        number: Number,
        next: N,
        site: Site,
    }
}

/// The number of a root: 0 until it has one.
struct Number(u64);

impl Drop for Number {
    fn drop(&mut self) {
        if self.0 != 0 {
            waits::forget(self.0);
            waits::gives_up(WaitKind::Join, self.0);
            ROOTS.change_or_remove(self.0, |_| true);
        }
    }
}

/// Makes a future of `block_on` take part. `next` gives the number, which no task has; it is called at most once.
#[inline]
pub(crate) fn as_root<F: Future, N: Fn() -> u64>(future: F, next: N, site: Site) -> Root<F, N> {
    Root {
        future,
        number: Number(0),
        next,
        site,
    }
}

impl<F: Future, N: Fn() -> u64> Future for Root<F, N> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        match is_on() {
            true => self.poll_watched(cx),
            false => self.project().future.poll(cx),
        }
    }
}

impl<F: Future, N: Fn() -> u64> Root<F, N> {
    #[cold]
    #[inline(never)]
    fn poll_watched(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        if this.number.0 == 0 {
            this.number.0 = (this.next)();
        }
        let site = *this.site;
        // At each poll: what was there is gone when sight was off in between.
        ROOTS.change(this.number.0, || is_on().then_some(site), |_| ());
        let number = this.number.0;
        // There may be a task on this thread, in which `block_on` was called: it waits for the end of this future.
        waits::watch_blocking(|| {
            let polled = watch(number, || staged(this.future.poll(cx)));
            if polled.is_pending() {
                waits::waits_longer(WaitKind::Join, number, Some(site));
            }
            polled
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sight::{Switch, waits, waits_of};
    use std::future::poll_fn;
    use std::panic::Location;
    use std::pin::pin;
    use std::task::Waker;

    #[test]
    fn a_root_takes_part_while_sight_is_on() {
        const NUMBER: u64 = (1 << 60) + (1 << 20);
        let here = Location::caller();
        let never = poll_fn(|_| {
            waits(WaitKind::Timer, 1, None);
            Poll::<()>::Pending
        });
        let mut cx = Context::from_waker(Waker::noop());
        {
            let mut future = pin!(as_root(never, || NUMBER, here));
            let _on = Switch::on();
            assert!(future.as_mut().poll(&mut cx).is_pending());
            assert_eq!(root(NUMBER), Some(here));
            assert_eq!(waits_of(NUMBER).expect("waits").iter().count(), 1);
        }
        let _on = Switch::on();
        assert!(root(NUMBER).is_none() && waits_of(NUMBER).is_none());
    }
}
