//! Child processes: those that a host starts are simulated ones.

use super::signal::{kill, next};
use super::{answer, enter_for};
use crate::kernel::process::{Preparation, ProcessId, Status, Which};
use crate::kernel::{Errno, Here, Object, enter, is_here};
use crate::program::Args;
use crate::raw;
use libc::{c_char, c_int, c_long, c_uint, c_void, mode_t, pid_t};
use libc::{id_t, idtype_t, posix_spawn_file_actions_t, rusage, siginfo_t};
use std::ffi::{CStr, OsStr, OsString};
use std::mem;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// `fork(2)`: fails on a host. A copy of the process would have all hosts.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fork() -> pid_t {
    if is_here() {
        return refuse("`fork`");
    }
    next!(c"fork", fn() -> pid_t,)
}

/// Tells that a call is not simulated, which only a few ways to start a program need.
fn refuse(what: &str) -> c_int {
    eprintln!(
        "tress-sim: {what} is not simulated: a `Command` of a host cannot have `pre_exec`, a user or a group, and one that changes \
         `PATH`, or clears the environment, needs a program with a path, such as \"/bin/git\""
    );
    answer(Err(libc::ENOSYS))
}

/// `execvp(3)`: fails on a host.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(file: *const c_char, arguments: *const *const c_char) -> c_int {
    if is_here() {
        return refuse("`execvp`");
    }
    next!(
        c"execvp",
        fn(*const c_char, *const *const c_char) -> c_int,
        file,
        arguments
    )
}

/// `execve(2)`: fails on a host.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(
    file: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    match is_here() {
        true => refuse("`execve`"),
        false => super::real!(SYS_execve, file, arguments, environment) as c_int,
    }
}

/// `system(3)`: fails on a host.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: *const c_char) -> c_int {
    match is_here() {
        true => refuse("`system`"),
        false => next!(c"system", fn(*const c_char) -> c_int, command),
    }
}

/// The strings of a list that ends with null.
///
/// # Safety
/// It is null, or such a list of C strings.
unsafe fn strings(list: *const *mut c_char) -> Vec<OsString> {
    let mut strings = Vec::new();
    if list.is_null() {
        return strings;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let mut at = list;
        while !(*at).is_null() {
            strings.push(OsString::from_vec(CStr::from_ptr(*at).to_bytes().to_vec()));
            at = at.add(1);
        }
    }
    strings
}

fn variable(text: OsString) -> Option<(OsString, OsString)> {
    let bytes = text.as_bytes();
    // As the standard library has it: a name may begin with the sign.
    let at = bytes.iter().skip(1).position(|byte| *byte == b'=')? + 1;
    let part = |bytes: &[u8]| OsStr::from_bytes(bytes).to_os_string();
    Some((part(&bytes[..at]), part(&bytes[at + 1..])))
}

/// Starts a program of the simulation.
///
/// # Safety
/// As for `posix_spawn`.
unsafe fn spawn(
    pid: *mut pid_t,
    path: *const c_char,
    actions: *const posix_spawn_file_actions_t,
    arguments: *const *mut c_char,
    environment: *const *mut c_char,
) -> c_int {
    let Some(mut kernel) = enter() else {
        // The simulated kernel itself starts nothing.
        return libc::ENOSYS;
    };
    // SAFETY: the caller's promise.
    let (path, arguments, environment) = unsafe {
        (
            CStr::from_ptr(path).to_bytes(),
            strings(arguments),
            strings(environment),
        )
    };
    let variables = environment.into_iter().filter_map(variable).collect();
    let key = (!actions.is_null()).then_some(actions as usize);
    match kernel.spawn(path, key, Args::new(arguments, variables)) {
        Ok(number) => {
            if !pid.is_null() {
                // SAFETY: the caller's promise.
                unsafe { pid.write(number) };
            }
            0
        }
        Err(errno) => {
            let (_, host) = kernel.running();
            let host = kernel.hosts[host.0].name.clone();
            drop(kernel);
            if errno == libc::ENOENT {
                tell_unknown(&host, &String::from_utf8_lossy(path));
            }
            errno
        }
    }
}

/// Tells which program was not found.
fn tell_unknown(host: &str, path: &str) {
    let name = path.rsplit('/').next().unwrap_or(path);
    eprintln!(
        "tress-sim: the host {host} has asked for the program {path:?}, or for a working directory or a file for it, and there is none: \
         `Sim::program({name:?}, …)` adds a program"
    );
}

/// Defines a function that starts another program.
macro_rules! spawns {
    ($($name:ident, $text:literal;)*) => {
        $(
            /// Starts a program of the simulation, on a host.
            ///
            /// # Safety
            /// As for the function of that name.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name(
                pid: *mut pid_t,
                path: *const c_char,
                actions: *const posix_spawn_file_actions_t,
                attributes: *const c_void,
                arguments: *const *mut c_char,
                environment: *const *mut c_char,
            ) -> c_int {
                if is_here() {
                    // SAFETY: the caller's promise.
                    return unsafe { spawn(pid, path, actions, arguments, environment) };
                }
                type Actions = *const posix_spawn_file_actions_t;
                type List = *const *mut c_char;
                next!(
                    $text,
                    fn(*mut pid_t, *const c_char, Actions, *const c_void, List, List) -> c_int,
                    pid,
                    path,
                    actions,
                    attributes,
                    arguments,
                    environment
                )
            }
        )*
    };
}

spawns! {
    posix_spawn, c"posix_spawn";
    posix_spawnp, c"posix_spawnp";
}

/// `posix_spawn_file_actions_init(3)`. What a host notes there is kept by the simulated kernel.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn_file_actions_init(
    actions: *mut posix_spawn_file_actions_t,
) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(
            c"posix_spawn_file_actions_init",
            fn(*mut posix_spawn_file_actions_t) -> c_int,
            actions
        );
    };
    // SAFETY: the caller's promise: there is room for it. Zeros are valid.
    unsafe { ptr::write_bytes(actions, 0, 1) };
    kernel.begin_preparations(actions as usize);
    0
}

/// `posix_spawn_file_actions_destroy(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn_file_actions_destroy(
    actions: *mut posix_spawn_file_actions_t,
) -> c_int {
    let Some(mut kernel) = enter() else {
        return next!(
            c"posix_spawn_file_actions_destroy",
            fn(*mut posix_spawn_file_actions_t) -> c_int,
            actions
        );
    };
    kernel.end_preparations(actions as usize);
    0
}

/// Notes something for a child to come, and returns the error.
fn prepare(mut kernel: Here, actions: *mut posix_spawn_file_actions_t, next: Preparation) -> c_int {
    kernel.prepare(actions as usize, next).err().unwrap_or(0)
}

/// `posix_spawn_file_actions_adddup2(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn_file_actions_adddup2(
    actions: *mut posix_spawn_file_actions_t,
    from: c_int,
    to: c_int,
) -> c_int {
    match enter() {
        Some(kernel) => prepare(kernel, actions, Preparation::Duplicate(from, to)),
        None => next!(
            c"posix_spawn_file_actions_adddup2",
            fn(*mut posix_spawn_file_actions_t, c_int, c_int) -> c_int,
            actions,
            from,
            to
        ),
    }
}

/// `posix_spawn_file_actions_addclose(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn_file_actions_addclose(
    actions: *mut posix_spawn_file_actions_t,
    fd: c_int,
) -> c_int {
    match enter() {
        Some(kernel) => prepare(kernel, actions, Preparation::Close(fd)),
        None => next!(
            c"posix_spawn_file_actions_addclose",
            fn(*mut posix_spawn_file_actions_t, c_int) -> c_int,
            actions,
            fd
        ),
    }
}

/// `posix_spawn_file_actions_addopen(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn_file_actions_addopen(
    actions: *mut posix_spawn_file_actions_t,
    fd: c_int,
    path: *const c_char,
    flags: c_int,
    mode: mode_t,
) -> c_int {
    let Some(kernel) = enter() else {
        type Actions = *mut posix_spawn_file_actions_t;
        return next!(
            c"posix_spawn_file_actions_addopen",
            fn(Actions, c_int, *const c_char, c_int, mode_t) -> c_int,
            actions,
            fd,
            path,
            flags,
            mode
        );
    };
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes().to_vec();
    let open = Preparation::Open {
        fd,
        path,
        flags,
        mode,
    };
    prepare(kernel, actions, open)
}

/// `posix_spawn_file_actions_addchdir_np(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn_file_actions_addchdir_np(
    actions: *mut posix_spawn_file_actions_t,
    path: *const c_char,
) -> c_int {
    let Some(kernel) = enter() else {
        return next!(
            c"posix_spawn_file_actions_addchdir_np",
            fn(*mut posix_spawn_file_actions_t, *const c_char) -> c_int,
            actions,
            path
        );
    };
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes().to_vec();
    prepare(kernel, actions, Preparation::WorkIn(path))
}

/// `wait4(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait4(
    process: pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> pid_t {
    let Some(mut kernel) = enter() else {
        return super::real!(SYS_wait4, process, status, options, usage) as pid_t;
    };
    let at_once = options & libc::WNOHANG != 0;
    let which = match process {
        // There are no groups: all children are of the caller's.
        -1 | 0 => Ok(Which::Any),
        number => numbered(&kernel, number),
    };
    let ended = which.and_then(|which| kernel.wait_for_child(which, at_once, false));
    answer(ended.map(|ended| {
        let Some((number, ended)) = ended else {
            return 0;
        };
        // SAFETY: the caller's promise; zeros are valid.
        unsafe {
            if !status.is_null() {
                status.write(ended.word());
            }
            if !usage.is_null() {
                ptr::write_bytes(usage, 0, 1);
            }
        }
        number
    }))
}

/// Returns the child of that number; of a group, the first.
fn numbered(kernel: &Here, number: pid_t) -> Result<Which, Errno> {
    let (_, host) = kernel.running();
    let number = number.checked_abs().ok_or(libc::ECHILD)?;
    let found = kernel.processes.find(host, number);
    found.map(Which::One).ok_or(libc::ECHILD)
}

/// `waitpid(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitpid(process: pid_t, status: *mut c_int, options: c_int) -> pid_t {
    // SAFETY: the caller's promise.
    unsafe { wait4(process, status, options, ptr::null_mut()) }
}

/// `wait(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wait(status: *mut c_int) -> pid_t {
    // SAFETY: the caller's promise.
    unsafe { waitpid(-1, status, 0) }
}

/// Returns the process of a descriptor.
fn process_of(kernel: &Here, fd: c_int) -> Result<ProcessId, Errno> {
    match kernel.object_of(kernel.descriptors.object(fd)?) {
        Object::Process(process) => Ok(*process),
        _ => Err(libc::EBADF),
    }
}

/// `waitid(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn waitid(
    kind: idtype_t,
    id: id_t,
    info: *mut siginfo_t,
    options: c_int,
) -> c_int {
    let Some(mut kernel) = enter() else {
        return super::real!(SYS_waitid, kind, id, info, options, 0) as c_int;
    };
    let which = match kind {
        libc::P_ALL => Ok(Which::Any),
        libc::P_PID | libc::P_PGID => numbered(&kernel, id as pid_t),
        libc::P_PIDFD => process_of(&kernel, id as c_int).map(Which::One),
        _ => Err(libc::EINVAL),
    };
    let (at_once, only_looks) = (options & libc::WNOHANG != 0, options & libc::WNOWAIT != 0);
    let which = match options & libc::WEXITED {
        0 => Err(libc::EINVAL),
        _ => which,
    };
    let ended = which.and_then(|which| kernel.wait_for_child(which, at_once, only_looks));
    answer(ended.map(|ended| {
        if !info.is_null() {
            // SAFETY: the caller's promise.
            unsafe { tell(info, ended) };
        }
        0
    }))
}

/// Writes how a child has ended, or zeros.
///
/// # Safety
/// The pointer can be written to.
unsafe fn tell(info: *mut siginfo_t, ended: Option<(pid_t, Status)>) {
    /// What follows the first three numbers, and the room that makes pointers aligned.
    #[repr(C)]
    struct OfChild {
        number: pid_t,
        user: c_uint,
        status: c_int,
    }
    // SAFETY: the caller's promise; zeros are valid, and the system has these fields there.
    unsafe {
        info.write(mem::zeroed());
        if let Some((number, status)) = ended {
            (*info).si_signo = libc::SIGCHLD;
            (*info).si_code = match status {
                Status::Exited(_) => libc::CLD_EXITED,
                Status::Signalled(_) => libc::CLD_KILLED,
            };
            let of_child = OfChild {
                number,
                user: 0,
                status: status.number(),
            };
            info.byte_add(16).cast::<OfChild>().write(of_child);
        }
    }
}

/// `pidfd_open(2)`.
pub(super) fn pidfd_open(number: c_long) -> c_int {
    let Some(mut kernel) = enter() else {
        return answer(Err(libc::ENOSYS));
    };
    let (_, host) = kernel.running();
    let found = kernel.processes.find(host, number as pid_t);
    answer(found.ok_or(libc::ESRCH).and_then(|process| {
        let (fd, object) = kernel.open(Object::Process(process), false)?;
        kernel.watch_process(process, object);
        Ok(fd)
    }))
}

/// `pidfd_send_signal(2)`.
pub(super) fn pidfd_send_signal(fd: c_long, signal: c_long) -> c_int {
    let found = match enter_for(fd as c_int) {
        Some(kernel) => {
            process_of(&kernel, fd as c_int).map(|process| kernel.processes.number(process))
        }
        None => Err(libc::EBADF),
    };
    match found {
        // It has ended, and was waited for.
        Ok(0) => answer(Err(libc::ESRCH)),
        // SAFETY: numbers.
        Ok(number) => unsafe { kill(number, signal as c_int) },
        Err(errno) => answer(Err(errno)),
    }
}
