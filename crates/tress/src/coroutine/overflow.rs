//! What happens when a coroutine runs into the guard below its stack: a message, then an abort.
//!
//! The handler runs on the thread's alternate signal stack. It knows the running coroutine from a
//! thread-local without a destructor (`fiber::watched`), compares the fault's address with that coroutine's guard, and
//! passes every other fault on to whoever handled it before.

use super::fiber;
use crate::task::Header;
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

/// The guard of a coroutine's stack, and its task.
pub(super) struct Watched {
    pub(super) guard: Range<usize>,
    pub(super) size: usize,
    pub(super) task: *const Header,
}

struct Previous {
    segv: libc::sigaction,
    bus: libc::sigaction,
}

static PREVIOUS: OnceLock<Previous> = OnceLock::new();

/// Installs the handler, once a process, and sees to it that this thread has an alternate stack.
pub(super) fn prepare() {
    PREVIOUS.get_or_init(|| {
        // SAFETY: the structures are plain data; the handler has the signature that SA_SIGINFO asks
        // for, and does only what a signal handler may.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let mut previous = Previous {
                segv: std::mem::zeroed(),
                bus: std::mem::zeroed(),
            };
            libc::sigaction(libc::SIGSEGV, &action, &mut previous.segv);
            libc::sigaction(libc::SIGBUS, &action, &mut previous.bus);
            previous
        }
    });
    thread_local! {
        static PREPARED: Alternate = Alternate::new();
    }
    // A thread at its end has its alternate stack, if it ever needed ours, until the very end.
    let _ = PREPARED.try_with(|_| ());
}

/// An alternate signal stack of our own, for a thread that has none: one not started by Rust.
struct Alternate(Option<(*mut libc::c_void, usize)>);

impl Alternate {
    fn new() -> Alternate {
        let size = libc::SIGSTKSZ.max(32 * 1024);
        // SAFETY: asks for the present one, and sets a fresh mapping where there is none.
        unsafe {
            let mut present: libc::stack_t = std::mem::zeroed();
            let asked = libc::sigaltstack(ptr::null(), &mut present);
            if asked != 0 || present.ss_flags & libc::SS_DISABLE == 0 {
                return Alternate(None);
            }
            let memory = libc::mmap(
                ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                // Without it an overflow ends the process all the same, only without the message.
                return Alternate(None);
            }
            let ours = libc::stack_t {
                ss_sp: memory,
                ss_flags: 0,
                ss_size: size,
            };
            libc::sigaltstack(&ours, ptr::null_mut());
            Alternate(Some((memory, size)))
        }
    }
}

impl Drop for Alternate {
    fn drop(&mut self) {
        if let Some((memory, size)) = self.0.take() {
            // SAFETY: set by us on this thread, and not in use: no handler is running here.
            unsafe {
                let mut none: libc::stack_t = std::mem::zeroed();
                none.ss_flags = libc::SS_DISABLE;
                none.ss_size = size;
                libc::sigaltstack(&none, ptr::null_mut());
                libc::munmap(memory, size);
            }
        }
    }
}

unsafe extern "C" fn handle(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel gives a valid structure.
    let address = unsafe { (*info).si_addr().addr() };
    if let Some(watched) = fiber::watched().filter(|watched| watched.guard.contains(&address)) {
        report(watched);
        // SAFETY: ends the process.
        unsafe { libc::abort() };
    }
    pass_on(signal, info, context);
}

/// Only plain writes: the handler may have interrupted anything.
fn report(watched: &Watched) {
    // SAFETY: the running coroutine's task is alive.
    let task = unsafe { &*watched.task };
    let location = task.location();
    write_all("\ncoroutine ");
    match task.name() {
        Some(name) => {
            write_all("'");
            write_all(name);
            write_all("'");
        }
        None => write_all("without a name"),
    }
    write_all(", spawned at ");
    write_all(location.file());
    write_all(":");
    write_number(location.line() as usize);
    write_all(", has overflowed its stack of ");
    write_number(watched.size / 1024);
    write_all(" KiB; give it a larger one with coroutine::Builder::stack_size\n");
}

fn write_number(number: usize) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    write_bytes(&digits[at..]);
}

fn write_all(text: &str) {
    write_bytes(text.as_bytes());
}

fn write_bytes(bytes: &[u8]) {
    // SAFETY: a buffer of ours. If standard error is closed there is nobody to tell.
    unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
}

/// Not ours: what would have happened without us.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.get().map(|previous| match signal {
        libc::SIGBUS => &previous.bus,
        _ => &previous.segv,
    });
    // SAFETY: the previous action is called as its flags say; or the default is put back, and the
    // instruction faults again when we return.
    unsafe {
        match previous {
            Some(action)
                if action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN =>
            {
                if action.sa_flags & libc::SA_SIGINFO != 0 {
                    type Handler =
                        unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
                    let handler: Handler =
                        std::mem::transmute::<usize, Handler>(action.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    type Handler = unsafe extern "C" fn(libc::c_int);
                    let handler: Handler =
                        std::mem::transmute::<usize, Handler>(action.sa_sigaction);
                    handler(signal);
                }
            }
            _ => {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
    }
}
