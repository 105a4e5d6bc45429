//! What makes two runs of a seed differ is found, and named. Tests that differ are ignored, and run by others with
//! `TRESS_SIM_CHECK=1`.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

mod child;

use child::{CHECK, assert_fails, assert_passes, run};
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::sleep;
use tress_sim::{Builder, Result, Sim};

/// A simulation of a program that sleeps, then does what is given.
fn sim<'a>(then: impl FnOnce(u64) -> Result + 'a) -> Sim<'a> {
    let mut sim = Builder::new().build();
    let seed = sim.seed();
    sim.client("client", async move {
        sleep(Duration::from_millis(10)).await;
        then(seed)
    });
    sim
}

/// Makes a system call that the simulation does not see.
#[cfg(target_arch = "x86_64")]
fn raw_syscall(number: libc::c_long, first: i64, second: i64) -> i64 {
    let result;
    // SAFETY: the calls that are made here write at most to the memory that they are given.
    unsafe {
        std::arch::asm!(
            "syscall", inlateout("rax") number => result, in("rdi") first, in("rsi") second,
            lateout("rcx") _, lateout("r11") _, options(nostack),
        );
    }
    result
}

#[cfg(target_arch = "aarch64")]
fn raw_syscall(number: libc::c_long, first: i64, second: i64) -> i64 {
    let result;
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("svc #0", in("x8") number, inlateout("x0") first => result, in("x1") second, options(nostack));
    }
    result
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn prints_the_real_time() -> Result {
    sim(|_| {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let address = std::ptr::from_mut(&mut time) as i64;
        raw_syscall(
            libc::SYS_clock_gettime,
            libc::CLOCK_MONOTONIC.into(),
            address,
        );
        println!("before");
        println!("it is {} {}", time.tv_sec, time.tv_nsec);
        Ok(())
    })
    .run()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn prints_the_real_process() -> Result {
    sim(|_| {
        println!("it is {}", raw_syscall(libc::SYS_getpid, 0, 0));
        Ok(())
    })
    .run()
}

static FED: AtomicU32 = AtomicU32::new(0);

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn prints_what_the_system_says() -> Result {
    let status = fs::read_to_string("/proc/self/stat")?;
    FED.fetch_add(
        status.split(' ').next().unwrap().parse()?,
        Ordering::Relaxed,
    );
    sim(|_| {
        println!("it is {FED:?}");
        Ok(())
    })
    .run()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn reads_what_the_system_says() -> Result {
    let mut file = fs::File::open("/proc/self/stat")?;
    sim(|_| {
        let mut status = String::new();
        file.read_to_string(&mut status)?;
        Ok(())
    })
    .run()
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn sleeps_by_the_real_process() -> Result {
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(1_000_000))
        .build();
    sim.client("client", async {
        for _ in 0..10 {
            sleep(Duration::from_millis(10)).await;
        }
        let process = raw_syscall(libc::SYS_getpid, 0, 0);
        sleep(Duration::from_millis(process as u64)).await;
        Ok(())
    });
    sim.run()
}

#[test]
fn what_differs_is_found_and_shown() {
    let read = "client: reads from outside, by descriptor ";
    let write = "client: writes to descriptor 1: \"it is";
    for (name, with) in [
        (
            "prints_the_real_time",
            [write, "differ::prints_the_real_time::", "tests/differ.rs:"],
        ),
        (
            "prints_the_real_process",
            [
                write,
                "differ::prints_the_real_process::",
                "tests/differ.rs:",
            ],
        ),
        (
            "prints_what_the_system_says",
            [
                write,
                "differ::prints_what_the_system_says::",
                "tests/differ.rs:",
            ],
        ),
        (
            "reads_what_the_system_says",
            [
                read,
                "differ::reads_what_the_system_says::",
                "tests/differ.rs:",
            ],
        ),
        // A timer is due at another time, long after it was set.
        (
            "sleeps_by_the_real_process",
            ["client: Go(", "other steps", "client: makes a system call"],
        ),
    ] {
        let always = [
            &format!("differ::{name}: two runs of seed "),
            "The first step that differs is",
            "In the first run:",
            "In the second run:",
            "TRESS_SIM_CHECK=1 TRESS_SIM_SEED=",
        ];
        assert_fails(&run(name, &[CHECK]), &[&always[..], &with[..]].concat());
        // Without the check nothing is wrong.
        assert_passes(&run(name, &[]));
    }
    let output = run("prints_the_real_time", &[CHECK]);
    assert_fails(&output, &["other bytes on stdout: line 2 is \"it is "]);
}

/// What every report of a difference has.
fn shown(name: &str) -> Vec<String> {
    let first = format!("differ::{name}: two runs of seed ");
    let others = [
        "The first step that differs is",
        "In the first run:",
        "In the second run:",
        "client: ",
        "tests/differ.rs:",
    ];
    let mut shown = vec![first, format!("differ::{name}::")];
    shown.extend(others.map(str::to_string));
    shown
}

#[track_caller]
fn assert_differs(name: &str, output: &std::process::Output, with: &[&str]) -> String {
    let shown = shown(name);
    let all = shown.iter().map(String::as_str).chain(with.iter().copied());
    assert_fails(output, &all.collect::<Vec<_>>())
}

#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn looks_at_a_real_thread() -> Result {
    let (count, ends) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicBool::new(false)),
    );
    let (counted, end) = (count.clone(), ends.clone());
    let racer = std::thread::Builder::new()
        .name("racer".to_string())
        .spawn(move || {
            while !end.load(Ordering::Relaxed) {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        })?;
    let result = sim(|_| {
        while count.load(Ordering::Relaxed) < 100_000 {
            std::hint::spin_loop();
        }
        println!("it has counted to {count:?}");
        Ok(())
    })
    .run();
    ends.store(true, Ordering::Relaxed);
    racer.join().expect("it does not panic");
    result
}

#[test]
fn a_real_thread_is_found_and_named() {
    let name = "looks_at_a_real_thread";
    let with = [
        "client: writes to descriptor 1: \"it has counted to ",
        "threads that are no part of the simulation, and run when they like: racer\n",
        "With TRESS_SIM_STRICT=1 they differ as well",
    ];
    assert_differs(name, &run(name, &[CHECK]), &with);
    assert_passes(&run(name, &[]));
}

/// Threads of hosts are not mistaken for others.
#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn differs_with_threads_of_its_own() -> Result {
    sim(|_| {
        let thread = std::thread::spawn(|| raw_syscall(libc::SYS_getpid, 0, 0));
        println!("it is {}", thread.join().expect("it does not panic"));
        Ok(())
    })
    .run()
}

#[test]
fn threads_of_hosts_are_none_beside_the_simulation() {
    let name = "differs_with_threads_of_its_own";
    let with = [
        "With TRESS_SIM_STRICT=1 both are the same",
        "the system call `getpid`, on client at ",
    ];
    let text = assert_differs(name, &run(name, &[CHECK]), &with);
    assert!(!text.contains("no part of the simulation"), "{text}");
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use super::*;

    #[tress_sim::test(seeds = 3)]
    #[ignore = "run by others"]
    fn reads_the_time_stamp_counter() -> Result {
        sim(|_| {
            // SAFETY: every processor of this kind has it.
            let ticks = unsafe { std::arch::x86_64::_rdtsc() };
            println!("it ticks {ticks}");
            Ok(())
        })
        .run()
    }

    #[test]
    fn the_time_stamp_counter_is_found_and_named() {
        let name = "counter::reads_the_time_stamp_counter";
        let with = [
            "client: writes to descriptor 1: \"it ticks ",
            "With TRESS_SIM_STRICT=1 both are the same",
            "a look at the time-stamp counter, on client at ",
        ];
        assert_differs(name, &run(name, &[CHECK]), &with);
        // Nothing is wrong without the check, and with the detector the counter is that of virtual time.
        assert_passes(&run(name, &[]));
        let strict = [("TRESS_SIM_STRICT", "1"), CHECK];
        assert_passes(&run(name, &strict));
    }
}

/// Goes through values in an order that depends on their addresses, as hash tables by address do.
#[tress_sim::test(seeds = 3)]
#[ignore = "run by others"]
fn hashes_by_address() -> Result {
    sim(|_| {
        let values: Vec<_> = (0..50).map(Box::new).collect();
        let mut order: Vec<_> = values.iter().collect();
        order.sort_by_key(|value| {
            let address = std::ptr::from_ref(&***value) as u64;
            let mixed = (address ^ address >> 13).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (mixed ^ mixed >> 31).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        });
        println!("by address: {order:?}");
        Ok(())
    })
    .run()
}

/// Forbids what makes addresses the same in each process, as some containers do.
fn forbid_fixed_addresses() -> io::Result<()> {
    let statement = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let is_equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    // The number of the call is the first word of what a filter sees, and the first argument starts with the fifth. What asks
    // for the present value is allowed.
    let mut filter = [
        statement(load, 0, 0, 0),
        statement(is_equal, libc::SYS_personality as u32, 0, 2),
        statement(load, 16, 0, 0),
        statement(is_equal, u32::MAX, 0, 1),
        statement(libc::BPF_RET, libc::SECCOMP_RET_ALLOW, 0, 0),
        statement(
            libc::BPF_RET,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
            0,
            0,
        ),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the filter lives until the call has returned, and has that length.
    let results = unsafe {
        [
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0),
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program),
        ]
    };
    match results {
        [0, 0] => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[test]
fn a_hash_by_address_is_found_and_named() {
    let name = "hashes_by_address";
    // Where addresses can be the same in each process, they are.
    assert_passes(&run(name, &[CHECK]));
    for jobs in ["1", "2", "3"] {
        let mut command = child::command(name);
        command.envs([CHECK, ("TRESS_SIM_JOBS", jobs)]);
        // SAFETY: between fork and exec it makes only system calls.
        unsafe { command.pre_exec(forbid_fixed_addresses) };
        let with = [
            "client: writes to descriptor 1: \"by address: ",
            "The system does not let processes have the same addresses",
            "With TRESS_SIM_STRICT=1 they differ as well",
        ];
        assert_differs(name, &command.output().unwrap(), &with);
    }
}
