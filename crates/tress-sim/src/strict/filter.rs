//! The filter of system calls.

use crate::raw;
use libc::{c_long, c_ulong, sock_filter, sock_fprog};
use std::io;
use std::mem::offset_of;

/// Calls that allocators, the C library's threads and the end of a process need, and which no result of a program depends
/// on.
const HARMLESS: &[c_long] = &[
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_tgkill,
    libc::SYS_prctl,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
];

/// Calls of the C library that start a real thread, which is always a donor: a program's own `pthread_create` is ours. A
/// call of the C library's waits for it.
const OF_DONORS: &[c_long] = &[libc::SYS_clone, libc::SYS_clone3, libc::SYS_futex];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;

const LOAD: u16 = 0x20;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const TRAP: u32 = libc::SECCOMP_RET_TRAP;

pub(super) fn is_harmless(number: c_long) -> bool {
    HARMLESS.contains(&number)
}

fn statement(code: u16, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

fn jump(code: u16, k: u32, yes: u8, no: u8) -> sock_filter {
    sock_filter {
        code,
        jt: yes,
        jf: no,
        k,
    }
}

// D-SIM-04
/// Installs the filter for the calling thread and those that it starts.
pub(super) fn install() -> io::Result<()> {
    let word = |offset: usize| statement(LOAD, offset as u32);
    let from = offset_of!(libc::seccomp_data, instruction_pointer);
    let door = raw::door();
    let (high, low) = ((door.start >> 32) as u32, door.start as u32);
    let end = door.end as u32;
    debug_assert_eq!(door.end >> 32, door.start >> 32, "one range of addresses");
    let mut program = vec![
        word(offset_of!(libc::seccomp_data, arch)),
        jump(JUMP_EQUAL, ARCHITECTURE, 1, 0),
        statement(RETURN, TRAP),
        // Words are stored low half first. What comes through the door passes.
        word(from + 4),
        jump(JUMP_EQUAL, high, 0, 4),
        word(from),
        jump(JUMP_AT_LEAST, low, 0, 2),
        jump(JUMP_AT_LEAST, end, 1, 0),
        statement(RETURN, ALLOW),
        word(offset_of!(libc::seccomp_data, nr)),
    ];
    for number in HARMLESS.iter().chain(OF_DONORS) {
        program.push(jump(JUMP_EQUAL, *number as u32, 0, 1));
        program.push(statement(RETURN, ALLOW));
    }
    program.push(statement(RETURN, TRAP));
    let program = sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program. The time-stamp counter can be forbidden on x86-64 only.
    unsafe {
        check(libc::prctl(
            libc::PR_SET_NO_NEW_PRIVS,
            1 as c_ulong,
            0,
            0,
            0,
        ))?;
        #[cfg(target_arch = "x86_64")]
        check(libc::prctl(
            libc::PR_SET_TSC,
            libc::PR_TSC_SIGSEGV as c_ulong,
            0,
            0,
            0,
        ))?;
        check(libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER as c_ulong,
            &program,
        ))
    }
}

fn check(result: libc::c_int) -> io::Result<()> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
