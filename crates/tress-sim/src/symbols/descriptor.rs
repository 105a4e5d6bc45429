//! What can be done with any descriptor.

use super::{answer, enter_for, file, length, reach, real, signal, stream, timespec};
use crate::kernel::{self, At, Descriptors, Errno, Here, Object, ObjectId, enter};
use libc::{c_int, c_long, c_ulong, c_void, iovec, nfds_t, off_t, pollfd, size_t, ssize_t};
use std::mem;
use std::slice;
use std::time::Duration;

/// The buffers of a vector.
///
/// # Safety
/// They are valid for reads for `'a`.
pub(super) unsafe fn gather<'a>(vector: *const iovec, count: c_int) -> Vec<&'a [u8]> {
    if count <= 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let vector = unsafe { slice::from_raw_parts(vector, count as usize) };
    let filled = vector.iter().filter(|part| part.iov_len > 0);
    filled
        // SAFETY: the caller's promise.
        .map(|part| unsafe { slice::from_raw_parts(part.iov_base.cast(), part.iov_len) })
        .collect()
}

/// As `gather`, to be written to.
///
/// # Safety
/// They are valid for writes for `'a`, and do not overlap.
pub(super) unsafe fn scatter<'a>(vector: *const iovec, count: c_int) -> Vec<&'a mut [u8]> {
    if count <= 0 {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    let vector = unsafe { slice::from_raw_parts(vector, count as usize) };
    let filled = vector.iter().filter(|part| part.iov_len > 0);
    filled
        // SAFETY: the caller's promise.
        .map(|part| unsafe { slice::from_raw_parts_mut(part.iov_base.cast(), part.iov_len) })
        .collect()
}

/// Calls `f` with each buffer of a vector, up to a length that a call has returned.
///
/// # Safety
/// They are valid for reads up to that length.
unsafe fn each_part(vector: *const iovec, count: c_int, length: ssize_t, f: impl Fn(&[u8])) {
    let mut left = usize::try_from(length).unwrap_or(0);
    for at in 0..usize::try_from(count).unwrap_or(0) {
        if left == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        let part = unsafe { &*vector.add(at) };
        if part.iov_len > 0 {
            // SAFETY: the caller's promise.
            let bytes =
                unsafe { slice::from_raw_parts(part.iov_base.cast(), part.iov_len.min(left)) };
            left -= bytes.len();
            f(bytes);
        }
    }
}

/// What kind of object a descriptor refers to.
enum Kind {
    Event,
    Timer,
    Socket,
    Epoll,
    File,
    Process,
}

impl Here {
    fn kind(&self, fd: c_int) -> Result<(ObjectId, Kind), Errno> {
        let id = self.descriptors.object(fd)?;
        let kind = match self.object_of(id) {
            Object::EventFd(_) => Kind::Event,
            Object::TimerFd(_) => Kind::Timer,
            Object::Socket(_) => Kind::Socket,
            Object::Epoll(_) => Kind::Epoll,
            Object::File(_) => Kind::File,
            Object::Process(_) => Kind::Process,
        };
        Ok((id, kind))
    }

    /// Reads a number from an event or a timer, and waits for it unless the descriptor says not to.
    fn read_number(
        &mut self,
        fd: c_int,
        id: ObjectId,
        buffers: &mut [&mut [u8]],
        mut take: impl FnMut(&mut Here) -> Result<Option<u64>, Errno>,
    ) -> Result<usize, Errno> {
        let Some(buffer) = buffers.first_mut().filter(|buffer| buffer.len() >= 8) else {
            return Err(libc::EINVAL);
        };
        loop {
            if let Some(number) = take(self)? {
                buffer[..8].copy_from_slice(&number.to_ne_bytes());
                return Ok(8);
            }
            if self.is_nonblocking(fd)? {
                return Err(libc::EAGAIN);
            }
            self.wait_at(id);
            self.wait_to_go_on()?;
        }
    }

    /// Waits to be woken.
    fn wait_to_go_on(&mut self) -> Result<(), Errno> {
        let mut waited = false;
        let woken = self.wait_or_signal(None, true, |_| {
            mem::replace(&mut waited, true).then_some(())
        });
        woken.map(|_| ())
    }

    fn read_into(&mut self, fd: c_int, buffers: &mut [&mut [u8]]) -> Result<usize, Errno> {
        match self.kind(fd)? {
            (_, Kind::Socket) => self.receive(fd, buffers),
            (id, Kind::Event) => {
                self.read_number(fd, id, buffers, |kernel| kernel.event_fd_read(fd))
            }
            (id, Kind::Timer) => {
                self.read_number(fd, id, buffers, |kernel| kernel.timer_fd_read(fd))
            }
            (_, Kind::File) => self.read_file(fd, At::POSITION, buffers),
            (_, Kind::Epoll | Kind::Process) => Err(libc::EINVAL),
        }
    }

    fn write_from(&mut self, fd: c_int, buffers: &[&[u8]]) -> Result<usize, Errno> {
        let (id, kind) = self.kind(fd)?;
        match kind {
            Kind::Socket => return self.transmit(fd, buffers),
            Kind::File => return self.write_file(fd, At::POSITION, buffers),
            Kind::Event => {}
            Kind::Timer | Kind::Epoll | Kind::Process => return Err(libc::EINVAL),
        }
        let number = buffers.first().and_then(|buffer| buffer.get(..8));
        let number = number
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(libc::EINVAL)?;
        while !self.event_fd_write(fd, u64::from_ne_bytes(number))? {
            if self.is_nonblocking(fd)? {
                return Err(libc::EAGAIN);
            }
            self.wait_at(id);
            self.wait_to_go_on()?;
        }
        Ok(8)
    }
}

/// `read(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t {
    let fd = stream::meant(fd);
    match enter_for(fd) {
        Some(mut kernel) => {
            let part = iovec {
                iov_base: buffer,
                iov_len: size,
            };
            // SAFETY: the caller's promise.
            length(kernel.read_into(fd, &mut unsafe { scatter(&part, 1) }))
        }
        None => {
            let length = real!(SYS_read, fd, buffer, size) as ssize_t;
            if length > 0 {
                // SAFETY: the system has written that much.
                kernel::note_input(fd, unsafe {
                    slice::from_raw_parts(buffer.cast(), length as usize)
                });
            }
            length
        }
    }
}

/// `readv(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(fd: c_int, vector: *const iovec, count: c_int) -> ssize_t {
    let fd = stream::meant(fd);
    match enter_for(fd) {
        // SAFETY: the caller's promise.
        Some(mut kernel) => length(kernel.read_into(fd, &mut unsafe { scatter(vector, count) })),
        None => {
            let length = real!(SYS_readv, fd, vector, count) as ssize_t;
            // SAFETY: the caller's promise; the system has written that much.
            unsafe { each_part(vector, count, length, |bytes| kernel::note_input(fd, bytes)) };
            length
        }
    }
}

/// `write(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t {
    let fd = stream::meant(fd);
    match reach(fd) {
        Some(mut kernel) => {
            let part = iovec {
                iov_base: buffer.cast_mut(),
                iov_len: size,
            };
            // SAFETY: the caller's promise.
            length(kernel.write_from(fd, &unsafe { gather(&part, 1) }))
        }
        None => {
            let length = real!(SYS_write, fd, buffer, size) as ssize_t;
            if length > 0 && fd <= 2 {
                // SAFETY: the system has read that much.
                kernel::note_output(fd, unsafe {
                    slice::from_raw_parts(buffer.cast(), length as usize)
                });
            }
            length
        }
    }
}

/// `writev(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, vector: *const iovec, count: c_int) -> ssize_t {
    let fd = stream::meant(fd);
    match enter_for(fd) {
        // SAFETY: the caller's promise.
        Some(mut kernel) => length(kernel.write_from(fd, &unsafe { gather(vector, count) })),
        None => {
            let length = real!(SYS_writev, fd, vector, count) as ssize_t;
            if fd <= 2 {
                // SAFETY: the caller's promise; the system has read that much.
                unsafe {
                    each_part(vector, count, length, |bytes| {
                        kernel::note_output(fd, bytes)
                    })
                };
            }
            length
        }
    }
}

/// `close(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    let number = fd;
    let fd = stream::meant(number);
    stream::close(number);
    match reach(fd) {
        Some(mut kernel) => answer(kernel.close(fd).map(|()| 0)),
        // Something of a host that is gone, or was taken out of it: the host's end closes it.
        None if Descriptors::is_ours(fd) => 0,
        None => real!(SYS_close, fd) as c_int,
    }
}

/// `dup(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup(fd: c_int) -> c_int {
    let fd = stream::meant(fd);
    match enter_for(fd) {
        Some(mut kernel) => answer(kernel.duplicate(fd)),
        None => real!(SYS_dup, fd) as c_int,
    }
}

/// `fcntl(2)`. Its third argument is passed alike whether it is named or not.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    let fd = stream::meant(fd);
    let Some(mut kernel) = enter_for(fd) else {
        // The standard library asks for these flags before it closes something.
        let is_of_a_host = Descriptors::is_ours(fd) && command == libc::F_GETFD;
        return match is_of_a_host {
            true => libc::FD_CLOEXEC,
            false => real!(SYS_fcntl, fd, command, argument) as c_int,
        };
    };
    answer(match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => kernel.duplicate(fd),
        libc::F_GETFD => kernel.descriptors.object(fd).map(|_| libc::FD_CLOEXEC),
        libc::F_SETFD => kernel.descriptors.object(fd).map(|_| 0),
        libc::F_GETFL if kernel.is_file(fd) => kernel.file_flags(fd),
        libc::F_GETFL => kernel
            .is_nonblocking(fd)
            .map(|nonblocking| match nonblocking {
                true => libc::O_RDWR | libc::O_NONBLOCK,
                false => libc::O_RDWR,
            }),
        libc::F_SETFL => {
            let nonblocking = argument as c_int & libc::O_NONBLOCK != 0;
            if kernel.is_file(fd) {
                if let Err(errno) = kernel.set_file_flags(fd, argument as c_int) {
                    return answer(Err(errno));
                }
            }
            kernel.set_nonblocking(fd, nonblocking).map(|()| 0)
        }
        libc::F_GETLK
        | libc::F_SETLK
        | libc::F_SETLKW
        | libc::F_OFD_GETLK
        | libc::F_OFD_SETLK
        | libc::F_OFD_SETLKW => {
            // SAFETY: the caller's promise: the argument is a pointer to a lock.
            unsafe { file::lock_range(&mut kernel, fd, command, argument) }
        }
        _ => Err(libc::EINVAL),
    })
}

/// `fcntl64`, by which newer programs call `fcntl`.
///
/// # Safety
/// As for `fcntl(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { fcntl(fd, command, argument) }
}

/// `ioctl(2)`. Its third argument is passed alike whether it is named or not.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_int) -> c_int {
    let fd = stream::meant(fd);
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_ioctl, fd, request, argument) as c_int;
    };
    // SAFETY: the caller's promise: both requests are given a pointer to a number.
    answer(unsafe {
        match request {
            libc::FIONBIO => kernel.set_nonblocking(fd, argument.read() != 0).map(|()| 0),
            libc::FIONREAD => kernel.unread(fd).map(|unread| {
                argument.write(unread as c_int);
                0
            }),
            _ => Err(libc::ENOTTY),
        }
    })
}

/// `poll(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn poll(fds: *mut pollfd, count: nfds_t, millis: c_int) -> c_int {
    let time = u64::try_from(millis).map(|millis| timespec(Duration::from_millis(millis)));
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the caller's promise.
    unsafe { ppoll(fds, count, time, std::ptr::null()) }
}

/// `ppoll(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    time: *const libc::timespec,
    signals: *const libc::sigset_t,
) -> c_int {
    let mut none = [];
    let list = match count {
        0 => &mut none[..],
        // SAFETY: the caller's promise.
        _ => unsafe { slice::from_raw_parts_mut(fds, count as usize) },
    };
    // At the start of a program the standard library looks whether its streams are open.
    let is_ours = |one: &pollfd| Descriptors::is_ours(stream::meant(one.fd));
    let concerns = list.iter().all(|one| one.fd < 0) || list.iter().any(is_ours);
    let kernel = if concerns { enter() } else { None };
    let Some(mut kernel) = kernel else {
        // The kernel writes what is left to the time that it is given.
        // SAFETY: the caller's promise.
        let mut left = unsafe { time.as_ref() }.copied();
        let left = left
            .as_mut()
            .map_or(std::ptr::null_mut(), std::ptr::from_mut);
        let size = size_of::<u64>();
        return real!(SYS_ppoll, fds, count, left, signals, size) as c_int;
    };
    let until = match time.is_null() {
        true => Ok(None),
        // SAFETY: the caller's promise.
        false => unsafe { super::duration(time) }.map(|time| Some(kernel.now + time)),
    };
    let mut poll = |kernel: &mut Here, until| kernel.poll(list, until).map(|count| count as c_int);
    answer(until.and_then(|until| {
        // SAFETY: the caller's promise.
        unsafe { signal::with_mask(&mut kernel, signals, |kernel| poll(kernel, until)) }
    }))
}

/// `lseek(2)`: of what is simulated, files have a position.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lseek64(fd: c_int, offset: off_t, whence: c_int) -> off_t {
    match enter_for(fd) {
        Some(mut kernel) if kernel.is_file(fd) => {
            let position = kernel.seek_file(fd, offset, whence);
            length(position.map(|position| position as usize)) as off_t
        }
        Some(_) => answer(Err(libc::ESPIPE)).into(),
        None => real!(SYS_lseek, fd, offset, whence),
    }
}

file::also!(lseek = lseek64, (fd: c_int, offset: off_t, whence: c_int) -> off_t);

/// What a call that moves bytes from one descriptor to another returns, if one of them is simulated: callers can do
/// without it.
fn refuse(one: c_long, other: c_long) -> Option<ssize_t> {
    let is_ours = |fd: c_long| Descriptors::is_ours(fd as c_int);
    (is_ours(one) || is_ours(other)).then(|| length(Err(libc::EINVAL)))
}

/// `sendfile(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile64(
    to: c_long,
    from: c_long,
    offset: c_long,
    count: c_long,
) -> ssize_t {
    refuse(to, from).unwrap_or_else(|| real!(SYS_sendfile, to, from, offset, count) as ssize_t)
}

/// `splice(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn splice(
    from: c_long,
    from_offset: c_long,
    to: c_long,
    to_offset: c_long,
    count: c_long,
    flags: c_long,
) -> ssize_t {
    let real = || real!(SYS_splice, from, from_offset, to, to_offset, count, flags) as ssize_t;
    refuse(from, to).unwrap_or_else(real)
}

/// `copy_file_range(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn copy_file_range(
    from: c_long,
    from_offset: c_long,
    to: c_long,
    to_offset: c_long,
    count: c_long,
    flags: c_long,
) -> ssize_t {
    let real = || {
        real!(
            SYS_copy_file_range,
            from,
            from_offset,
            to,
            to_offset,
            count,
            flags
        ) as ssize_t
    };
    refuse(from, to).unwrap_or_else(real)
}
