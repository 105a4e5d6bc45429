//! Clocks and sleeps.

use super::{answer, duration, real, timespec};
use crate::kernel::{self, Errno, Here, LOOK, here};
use crate::time::Time;
use libc::{c_int, c_void, clockid_t, time_t};
use std::time::Duration;

/// What monotonic clocks show at the start: programs subtract from the present.
const UPTIME: Duration = Duration::from_secs(100_000);

/// Enters the kernel to look at a clock.
#[inline]
fn look() -> Option<Here> {
    let mut kernel = here()?;
    kernel.begin_call(LOOK, "looks at a clock");
    kernel.yield_if_ahead();
    Some(kernel)
}

/// What a clock shows.
#[inline]
fn read(kernel: &Here, clock: clockid_t) -> Result<Duration, Errno> {
    let now = kernel.now.elapsed();
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => {
            let (_, host) = kernel.running();
            let error = kernel.hosts[host.0].clock_error(kernel.now);
            let right = (kernel.epoch + now).as_nanos() as i128;
            let shown = u128::try_from(right + error).unwrap_or(0);
            Ok(Duration::from_nanos(
                u64::try_from(shown).unwrap_or(u64::MAX),
            ))
        }
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_BOOTTIME => Ok(UPTIME + now),
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Ok(now),
        _ => Err(libc::EINVAL),
    }
}

/// The moment at which a clock shows that.
pub(super) fn moment(kernel: &Here, clock: clockid_t, shows: Duration) -> Result<Time, Errno> {
    let shown = read(kernel, clock)?;
    Ok(kernel.now + shows.saturating_sub(shown))
}

/// `clock_gettime(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut libc::timespec) -> c_int {
    let Some(kernel) = look() else {
        return real!(SYS_clock_gettime, clock, time) as c_int;
    };
    // SAFETY: the caller's promise.
    answer(read(&kernel, clock).map(|shown| unsafe {
        time.write(timespec(shown));
        0
    }))
}

/// `gettimeofday(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut c_void) -> c_int {
    let Some(kernel) = look() else {
        return real!(SYS_gettimeofday, time, zone) as c_int;
    };
    answer(read(&kernel, libc::CLOCK_REALTIME).map(|shown| {
        let value = libc::timeval {
            tv_sec: shown.as_secs() as _,
            tv_usec: shown.subsec_micros().into(),
        };
        if !time.is_null() {
            // SAFETY: the caller's promise.
            unsafe { time.write(value) };
        }
        0
    }))
}

/// `time(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(seconds: *mut time_t) -> time_t {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it writes to a local value.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &mut now) };
    if !seconds.is_null() {
        // SAFETY: the caller's promise.
        unsafe { seconds.write(now.tv_sec) };
    }
    now.tv_sec
}

/// Waits until that time. If a signal is handled before, writes how long is left, unless the pointer is null.
///
/// # Safety
/// Else it can be written to.
unsafe fn sleep(kernel: &mut Here, until: Time, left: *mut libc::timespec) -> Result<(), Errno> {
    let slept = kernel.sleep_or_signal(until);
    if slept.is_err() && !left.is_null() {
        // SAFETY: the caller's promise.
        unsafe { left.write(timespec(until.since(kernel.now))) };
    }
    slept
}

/// `nanosleep(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nanosleep(
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    let Some(mut kernel) = kernel::enter() else {
        return real!(SYS_nanosleep, time, left) as c_int;
    };
    // SAFETY: the caller's promise.
    answer(unsafe { duration(time) }.and_then(|time| {
        let until = kernel.now + time;
        // SAFETY: the caller's promise.
        unsafe { sleep(&mut kernel, until, left) }.map(|()| 0)
    }))
}

/// `clock_nanosleep(2)`, which returns its error.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    let Some(mut kernel) = kernel::enter() else {
        let result = real!(SYS_clock_nanosleep, clock, flags, time, left);
        return if result < 0 {
            // SAFETY: the C library returns a pointer to this thread's own.
            unsafe { *libc::__errno_location() }
        } else {
            0
        };
    };
    // SAFETY: the caller's promise.
    let until = unsafe { duration(time) }.and_then(|time| match flags & libc::TIMER_ABSTIME {
        0 => Ok(kernel.now + time),
        _ => moment(&kernel, clock, time),
    });
    match until {
        Ok(until) => {
            let left = match flags & libc::TIMER_ABSTIME {
                0 => left,
                _ => std::ptr::null_mut(),
            };
            // SAFETY: the caller's promise.
            unsafe { sleep(&mut kernel, until, left) }
                .err()
                .unwrap_or(0)
        }
        Err(errno) => errno,
    }
}
