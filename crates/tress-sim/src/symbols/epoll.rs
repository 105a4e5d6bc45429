//! `epoll`, `eventfd` and `timerfd`.

use super::{after_millis, answer, clock, duration, enter_for, reach, real, signal, timespec};
use crate::kernel::{Descriptors, Epoll, EventFd, Here, Object, TimerFd, enter};
use libc::{c_int, c_uint, epoll_event, itimerspec, sigset_t};
use std::slice;
use std::time::Duration;

fn open(kernel: &mut Here, object: Object, nonblocking: bool) -> c_int {
    answer(kernel.open(object, nonblocking).map(|(fd, _)| fd))
}

/// `epoll_create(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn epoll_create(size: c_int) -> c_int {
    if size <= 0 {
        return answer(Err(libc::EINVAL));
    }
    epoll_create1(0)
}

/// `epoll_create1(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn epoll_create1(flags: c_int) -> c_int {
    match enter() {
        Some(mut kernel) => open(&mut kernel, Object::Epoll(Epoll::default()), false),
        None => real!(SYS_epoll_create1, flags) as c_int,
    }
}

/// `epoll_ctl(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_ctl(
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let Some(mut kernel) = reach(epoll) else {
        return real!(SYS_epoll_ctl, epoll, operation, fd, event) as c_int;
    };
    let fd = kernel.meant(fd);
    if !Descriptors::is_ours(fd) {
        // A real descriptor, which the simulation does not control.
        return answer(Err(libc::EPERM));
    }
    // SAFETY: the caller's promise; it may be null for a removal.
    let (events, data) =
        unsafe { event.as_ref() }.map_or((0, 0), |event| (event.events, event.u64));
    answer(
        kernel
            .epoll_control(epoll, operation, fd, events, data)
            .map(|()| 0),
    )
}

/// `epoll_wait(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    millis: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { epoll_pwait(epoll, events, most, millis, std::ptr::null()) }
}

/// `epoll_pwait(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn epoll_pwait(
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    millis: c_int,
    signals: *const sigset_t,
) -> c_int {
    let Some(mut kernel) = enter_for(epoll) else {
        let size = size_of::<u64>();
        return real!(SYS_epoll_pwait, epoll, events, most, millis, signals, size) as c_int;
    };
    let Some(most) = usize::try_from(most).ok().filter(|most| *most > 0) else {
        return answer(Err(libc::EINVAL));
    };
    // SAFETY: the caller's promise: there is room for that many.
    let found = unsafe { slice::from_raw_parts_mut(events, most) };
    let until = after_millis(&kernel, millis);
    let wait = |kernel: &mut Here| kernel.epoll_wait(epoll, found, until);
    // SAFETY: the caller's promise.
    let count = unsafe { signal::with_mask(&mut kernel, signals, wait) };
    answer(count.map(|count| count as c_int))
}

/// `eventfd(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn eventfd(count: c_uint, flags: c_int) -> c_int {
    let Some(mut kernel) = enter() else {
        return real!(SYS_eventfd2, count, flags) as c_int;
    };
    let event = EventFd {
        count: count.into(),
        is_semaphore: flags & libc::EFD_SEMAPHORE != 0,
    };
    open(
        &mut kernel,
        Object::EventFd(event),
        flags & libc::EFD_NONBLOCK != 0,
    )
}

/// `timerfd_create(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn timerfd_create(clock: c_int, flags: c_int) -> c_int {
    match enter() {
        Some(mut kernel) => {
            let nonblocking = flags & libc::TFD_NONBLOCK != 0;
            open(
                &mut kernel,
                Object::TimerFd(TimerFd::new(clock)),
                nonblocking,
            )
        }
        None => real!(SYS_timerfd_create, clock, flags) as c_int,
    }
}

/// `timerfd_settime(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_settime(
    fd: c_int,
    flags: c_int,
    new: *const itimerspec,
    old: *mut itimerspec,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_timerfd_settime, fd, flags, new, old) as c_int;
    };
    // SAFETY: the caller's promise.
    let times = unsafe {
        duration(&raw const (*new).it_value)
            .and_then(|value| Ok((value, duration(&raw const (*new).it_interval)?)))
    };
    let result = times.and_then(|(value, every)| {
        let due = match flags & libc::TFD_TIMER_ABSTIME {
            _ if value.is_zero() => None,
            0 => Some(kernel.now + value),
            _ => {
                let clock = kernel.timer_fd_clock(fd)?;
                Some(clock::moment(&kernel, clock, value)?)
            }
        };
        kernel.timer_fd_set(fd, due, every)
    });
    answer(result.map(|past| {
        // SAFETY: the caller's promise.
        unsafe { give(old, past) };
        0
    }))
}

/// `timerfd_gettime(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn timerfd_gettime(fd: c_int, present: *mut itimerspec) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_timerfd_gettime, fd, present) as c_int;
    };
    answer(kernel.timer_fd_get(fd).map(|times| {
        // SAFETY: the caller's promise.
        unsafe { give(present, times) };
        0
    }))
}

/// Writes what is left of a timer, unless the pointer is null.
///
/// # Safety
/// Else it can be written to.
unsafe fn give(to: *mut itimerspec, (left, every): (Duration, Duration)) {
    if !to.is_null() {
        let times = itimerspec {
            it_value: timespec(left),
            it_interval: timespec(every),
        };
        // SAFETY: the caller's promise.
        unsafe { to.write(times) };
    }
}
