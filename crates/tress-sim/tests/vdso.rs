//! Programs that call the kernel's own functions for clocks, without the C library.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    // Sanitizers use the vDSO themselves, and it is left alone.
    not(tress_no_slab)
))]

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::ffi::{CStr, c_int, c_void};
use std::mem;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tress_sim::Builder;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn since(earlier: Timespec, later: Timespec) -> Duration {
    let duration = |time: Timespec| Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
    duration(later) - duration(earlier)
}

/// A host looks at the clocks of rustix, which makes its own system calls and finds the vDSO by itself.
fn look_by_rustix() {
    let mut sim = Builder::new().simulation_duration(2 * DAY).build();
    sim.client_main("host", || {
        let clocks = [ClockId::Monotonic, ClockId::Realtime, ClockId::Boottime];
        let before = clocks.map(clock_gettime);
        std::thread::sleep(DAY);
        let after = clocks.map(clock_gettime);
        for (before, after) in before.into_iter().zip(after) {
            let slept = since(before, after);
            assert!(
                (DAY..DAY + Duration::from_millis(1)).contains(&slept),
                "{slept:?}"
            );
        }
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert_eq!(after[1].tv_sec as u64, wall.as_secs());
    });
    sim.run().unwrap();
}

#[test]
fn a_hosts_program_without_the_c_library_sees_virtual_time() {
    look_by_rustix();
}

#[test]
fn so_it_does_in_strict_mode() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "a_hosts_program_without_the_c_library_sees_virtual_time",
        ])
        .env("TRESS_SIM_STRICT", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
}

/// The same by two processes, for each seed.
#[tress_sim::test(seeds = 3)]
fn seeds() {
    look_by_rustix();
}

#[test]
fn one_seed_gives_one_run() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "seeds"])
        .envs([("TRESS_SIM_CHECK", "1"), ("TRESS_SIM_CORPUS", "off")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

#[test]
fn other_threads_see_real_time() {
    let before = clock_gettime(ClockId::Monotonic);
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(5) {
        std::hint::spin_loop();
    }
    let elapsed = since(before, clock_gettime(ClockId::Monotonic));
    assert!(elapsed >= Duration::from_millis(5), "{elapsed:?}");
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let by_rustix = clock_gettime(ClockId::Realtime).tv_sec as u64;
    assert!(by_rustix.abs_diff(wall.as_secs()) <= 1);
}

/// Finds a function of the vDSO, if the kernel has it.
fn function(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: both are C strings, and nothing is loaded.
    let address = unsafe {
        let handle = libc::dlopen(
            c"linux-vdso.so.1".as_ptr(),
            libc::RTLD_NOW | libc::RTLD_NOLOAD,
        );
        assert!(!handle.is_null(), "there is a vDSO");
        libc::dlsym(handle, name.as_ptr())
    };
    (!address.is_null()).then_some(address)
}

#[cfg(target_arch = "x86_64")]
#[test]
fn all_functions_answer_for_the_host() {
    let mut sim = Builder::new().build();
    sim.client_main("host", || {
        type Time = unsafe extern "C" fn(*mut libc::time_t) -> libc::time_t;
        type OfDay = unsafe extern "C" fn(*mut libc::timeval, *mut c_void) -> c_int;
        type Cpu = unsafe extern "C" fn(*mut u32, *mut u32, *mut c_void) -> libc::c_long;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let wall = wall.as_secs() as libc::time_t;
        // SAFETY: the functions of these names have these types.
        unsafe {
            let time: Time = mem::transmute(function(c"__vdso_time").unwrap());
            assert_eq!(time(std::ptr::null_mut()), wall);
            let of_day: OfDay = mem::transmute(function(c"__vdso_gettimeofday").unwrap());
            let mut value = mem::zeroed();
            assert_eq!(of_day(&mut value, std::ptr::null_mut()), 0);
            assert_eq!(value.tv_sec, wall);
            let cpu: Cpu = mem::transmute(function(c"__vdso_getcpu").unwrap());
            let (mut processor, mut node) = (7, 7);
            assert_eq!(cpu(&mut processor, &mut node, std::ptr::null_mut()), 0);
            assert_eq!((processor, node), (0, 0));
        }
    });
    sim.run().unwrap();
}

#[test]
fn errors_are_those_of_the_kernels_function() {
    #[cfg(target_arch = "x86_64")]
    let name = c"__vdso_clock_gettime";
    #[cfg(target_arch = "aarch64")]
    let name = c"__kernel_clock_gettime";
    type Get = unsafe extern "C" fn(c_int, *mut libc::timespec) -> c_int;
    let unknown = move || {
        // SAFETY: the function of that name has this type; `errno` is this thread's own.
        unsafe {
            let get: Get = mem::transmute(function(name).unwrap());
            *libc::__errno_location() = 0;
            let mut time = mem::zeroed();
            assert_eq!(get(1000, &mut time), -libc::EINVAL);
            assert_eq!(*libc::__errno_location(), 0);
        }
    };
    unknown();
    let mut sim = Builder::new().build();
    sim.client_main("host", unknown);
    sim.run().unwrap();
}

#[test]
fn random_numbers_are_those_of_the_seed() {
    #[cfg(target_arch = "x86_64")]
    let name = c"__vdso_getrandom";
    #[cfg(target_arch = "aarch64")]
    let name = c"__kernel_getrandom";
    let Some(address) = function(name) else {
        return;
    };
    type Get = unsafe extern "C" fn(*mut u8, usize, u32, *mut c_void, usize) -> isize;
    let address = address as usize;
    let draw = move || {
        let drawn = std::rc::Rc::new(std::cell::Cell::new([0u8; 16]));
        let out = drawn.clone();
        let mut sim = Builder::new().rng_seed(5).build();
        sim.client_main("host", move || {
            let mut bytes = [0u8; 16];
            // SAFETY: the function of that name has this type.
            unsafe {
                let get: Get = mem::transmute(address);
                assert_eq!(get(bytes.as_mut_ptr(), 16, 0, std::ptr::null_mut(), 0), 16);
                let asked = get(bytes.as_mut_ptr(), 0, 0, std::ptr::null_mut(), usize::MAX);
                assert_eq!(asked, -(libc::ENOSYS as isize));
            }
            out.set(bytes);
        });
        sim.run().unwrap();
        drawn.get()
    };
    assert_eq!(draw(), draw());
    assert_ne!(draw(), [0; 16]);
}
