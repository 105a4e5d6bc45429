//! What happens when a call is trapped.

use super::{leak, names};
use crate::kernel;
use crate::raw;
use crate::symbols;
use libc::{c_char, c_int, c_long, siginfo_t, ucontext_t};
use std::ffi::{CStr, c_void};
use std::mem;
#[cfg(target_arch = "x86_64")]
use std::ptr;
use std::sync::Once;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicPtr, Ordering};

/// What the signal of a wrong access did before.
#[cfg(target_arch = "x86_64")]
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

/// Installs the handlers, once for the process.
pub(super) fn handle() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // It may wait, and go on on the same stack much later.
        let flags = libc::SA_SIGINFO | libc::SA_NODEFER;
        install(libc::SIGSYS, system_call, flags);
        #[cfg(target_arch = "x86_64")]
        {
            let previous = install(libc::SIGSEGV, access, flags | libc::SA_ONSTACK);
            PREVIOUS.store(Box::into_raw(Box::new(previous)), Ordering::Release);
        }
    });
}

type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

fn install(signal: c_int, handler: Handler, flags: c_int) -> libc::sigaction {
    // SAFETY: zeros are a valid action, with an empty mask; the handler has the form that the flags ask for.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = handler as usize;
        action.sa_flags = flags;
        let mut previous = mem::zeroed();
        let installed = libc::sigaction(signal, &action, &mut previous);
        assert_eq!(
            installed, 0,
            "a handler for signal {signal} can be installed"
        );
        previous
    }
}

/// The registers of a call.
#[cfg(target_arch = "x86_64")]
mod registers {
    use libc::{c_long, ucontext_t};

    pub(super) fn call(context: &ucontext_t) -> (c_long, [c_long; 6]) {
        let of = |register: i32| context.uc_mcontext.gregs[register as usize];
        let number = of(libc::REG_RAX);
        let arguments = [
            libc::REG_RDI,
            libc::REG_RSI,
            libc::REG_RDX,
            libc::REG_R10,
            libc::REG_R8,
            libc::REG_R9,
        ];
        (number, arguments.map(of))
    }

    pub(super) fn set_result(context: &mut ucontext_t, result: c_long) {
        context.uc_mcontext.gregs[libc::REG_RAX as usize] = result;
    }
}

/// The registers of a call.
#[cfg(target_arch = "aarch64")]
mod registers {
    use libc::{c_long, ucontext_t};

    pub(super) fn call(context: &ucontext_t) -> (c_long, [c_long; 6]) {
        let of = |register: usize| context.uc_mcontext.regs[register] as c_long;
        (of(8), [of(0), of(1), of(2), of(3), of(4), of(5)])
    }

    pub(super) fn set_result(context: &mut ucontext_t, result: c_long) {
        context.uc_mcontext.regs[0] = result as u64;
    }
}

/// Carries out a call that was trapped.
extern "C" fn system_call(_: c_int, _: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes the registers of the code that was interrupted, which are this handler's alone.
    let context = unsafe { &mut *context.cast::<ucontext_t>() };
    let (number, arguments) = registers::call(context);
    if !kernel::is_here() {
        // SAFETY: the call is that of the code that was interrupted.
        registers::set_result(context, unsafe { raw::syscall(number, arguments) });
        return;
    }
    // SAFETY: as above.
    if unsafe { is_of_allocator(number, &arguments) } {
        registers::set_result(context, -c_long::from(libc::ENOENT));
        return;
    }
    // SAFETY: as above; the simulated call does the same for the same arguments.
    let result = match unsafe { symbols::simulated(number, arguments) } {
        // SAFETY: the C library returns a pointer to this thread's own.
        Some(-1) => c_long::from(unsafe { -*libc::__errno_location() }),
        Some(result) => {
            kernel::note_past(format_args!("the system call {}", names::of(number)));
            result
        }
        None => leak(&format!(
            "the system call {} was made past the C library",
            names::of(number)
        )),
    };
    registers::set_result(context, result);
}

/// What the C library's allocator opens once in a process: how many processors there are, and whether the system promises
/// more memory than there is. It does without.
const OF_ALLOCATOR: [&CStr; 3] = [
    c"/proc/sys/vm/overcommit_memory",
    c"/sys/devices/system/cpu/online",
    c"/proc/stat",
];

/// Returns whether a call is one that the C library's allocator makes once in a process. The simulated kernel allocates, so
/// it would wait for ever for the lock that the allocator holds; and whichever host comes first would have more to do than in a
/// process in which that has been done.
///
/// # Safety
/// The arguments are those of that system call.
unsafe fn is_of_allocator(number: c_long, arguments: &[c_long; 6]) -> bool {
    number == libc::SYS_openat
        && OF_ALLOCATOR.iter().any(|file| {
            // SAFETY: the caller's promise: the second argument is a string.
            unsafe { libc::strcmp(arguments[1] as *const c_char, file.as_ptr()) == 0 }
        })
}

/// Handles a wrong access: of the time-stamp counter, which is forbidden, or another one.
#[cfg(target_arch = "x86_64")]
extern "C" fn access(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    const RDTSC: [u8; 2] = [0x0f, 0x31];
    const RDTSCP: [u8; 3] = [0x0f, 0x01, 0xf9];
    // SAFETY: as in `system_call`. The instruction that was interrupted can be read; if it is a shorter one, the bytes
    // behind it are code of the same page or it is not that of the counter.
    let (registers, code) = unsafe {
        let context = &mut *context.cast::<ucontext_t>();
        let registers = &mut context.uc_mcontext.gregs;
        let code = registers[libc::REG_RIP as usize] as *const u8;
        ((*info).si_code == libc::SI_KERNEL)
            .then_some((registers, code))
            .unzip()
    };
    if let (Some(registers), Some(code)) = (registers, code) {
        // SAFETY: as above.
        let (two, third) = unsafe { ([*code, *code.add(1)], *code.add(2)) };
        let length = match two {
            RDTSC => 2,
            _ if [two[0], two[1], third] == RDTSCP => 3,
            _ => 0,
        };
        if length > 0 {
            // A host's counter counts nanoseconds of virtual time.
            let now = match kernel::here() {
                Some(mut kernel) => {
                    kernel.charge(kernel::LOOK);
                    kernel.now.0
                }
                None => real_time(),
            };
            kernel::note_past(format_args!("a look at the time-stamp counter"));
            registers[libc::REG_RAX as usize] = (now & 0xffff_ffff) as i64;
            registers[libc::REG_RDX as usize] = (now >> 32) as i64;
            if length == 3 {
                registers[libc::REG_RCX as usize] = 0;
            }
            registers[libc::REG_RIP as usize] += length;
            return;
        }
    }
    // SAFETY: the previous action is that of the program, and is called as the kernel would.
    unsafe {
        let previous = &*PREVIOUS.load(Ordering::Acquire);
        match previous.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                libc::sigaction(signal, previous, ptr::null_mut());
            }
            handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: Handler = mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Nanoseconds, in place of the counter, on threads that are not a host's.
#[cfg(target_arch = "x86_64")]
fn real_time() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let arguments = [
        libc::CLOCK_MONOTONIC.into(),
        ptr::from_mut(&mut time) as c_long,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: it writes to a local value.
    unsafe { raw::syscall(libc::SYS_clock_gettime, arguments) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
