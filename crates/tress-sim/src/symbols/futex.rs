//! `futex`: what locks wait by.

use super::{answer, clock, duration};
use crate::kernel::{Errno, Here, enter, enter_owned};
use crate::raw;
use crate::time::Time;
use libc::{c_int, c_long, timespec};
use std::sync::atomic::{AtomicU32, Ordering};

/// `futex(2)`.
///
/// # Safety
/// As for that call.
pub(super) unsafe fn futex([word, operation, value, fourth, second, third]: [c_long; 6]) -> c_long {
    let Some(mut kernel) = enter() else {
        // SAFETY: the caller's promise.
        return unsafe {
            raw::call(
                libc::SYS_futex,
                [word, operation, value, fourth, second, third],
            )
        };
    };
    let operation = operation as c_int;
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let at = word as usize;
    let bits = match command {
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET => third as u32,
        _ => u32::MAX,
    };
    let result = match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            // SAFETY: the caller's promise: the word can be read, and the time, if there is one.
            unsafe {
                if (*(word as *const AtomicU32)).load(Ordering::SeqCst) != value as u32 {
                    Err(libc::EAGAIN)
                } else {
                    deadline(&kernel, operation, fourth as *const timespec)
                        .and_then(|until| kernel.futex_wait(at, value as u32, bits, until))
                        .map(|()| 0)
                }
            }
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let woken = kernel.futex_wake(at, value as usize, bits);
            if woken == 0 {
                // A thread of the process that is not simulated may wait there.
                // SAFETY: the caller's promise.
                unsafe {
                    raw::syscall(
                        libc::SYS_futex,
                        [word, operation.into(), value, 0, 0, third],
                    )
                };
            }
            Ok(woken)
        }
        libc::FUTEX_REQUEUE => {
            let most = fourth as usize;
            Ok(kernel.futex_requeue(at, value as usize, most, second as usize))
        }
        libc::FUTEX_CMP_REQUEUE => {
            let most = fourth as usize;
            // SAFETY: the caller's promise.
            match unsafe { (*(word as *const AtomicU32)).load(Ordering::SeqCst) } == third as u32 {
                true => Ok(kernel.futex_requeue(at, value as usize, most, second as usize)),
                false => Err(libc::EAGAIN),
            }
        }
        _ => Err(libc::ENOSYS),
    };
    answer(result.map(|count| count as c_int)).into()
}

/// Wakes threads of hosts that wait at a word which the thread that owns their simulation has changed.
pub(super) fn wake_hosts([word, operation, value, _, _, bits]: [c_long; 6]) {
    let bits = match operation as c_int & !libc::FUTEX_PRIVATE_FLAG {
        libc::FUTEX_WAKE => u32::MAX,
        libc::FUTEX_WAKE_BITSET => bits as u32,
        _ => return,
    };
    if let Some(mut kernel) = enter_owned() {
        kernel.futex_wake(word as usize, value as usize, bits);
    }
}

/// When a wait ends: relative for a plain one, by a clock for one with bits.
///
/// # Safety
/// The pointer is null or can be read.
unsafe fn deadline(
    kernel: &Here,
    operation: c_int,
    time: *const timespec,
) -> Result<Option<Time>, Errno> {
    if time.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let time = unsafe { duration(time)? };
    let command = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    if command == libc::FUTEX_WAIT {
        return Ok(Some(kernel.now + time));
    }
    let clock = match operation & libc::FUTEX_CLOCK_REALTIME {
        0 => libc::CLOCK_MONOTONIC,
        _ => libc::CLOCK_REALTIME,
    };
    clock::moment(kernel, clock, time).map(Some)
}
