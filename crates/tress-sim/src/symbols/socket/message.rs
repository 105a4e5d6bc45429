//! `sendmsg`, `recvmsg` and those for several messages: what is told besides the bytes.

use super::super::{length, real};
use super::address::{read_address, write_address};
use super::{bytes, bytes_mut, refuse_flags};
use crate::kernel::{Errno, Here};
use crate::net::{About, Domain, Manner, Received};
use crate::symbols::enter_for;
use libc::{
    c_int, c_uint, cmsghdr, in_addr, in_pktinfo, in6_addr, in6_pktinfo, mmsghdr, msghdr, sockaddr,
    socklen_t, ssize_t,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{mem, ptr, slice};

/// The index of the only device but the loopback.
const DEVICE: c_int = 2;

/// The bytes of a piece of information.
///
/// # Safety
/// It was returned by the macros of the C library, for a message that is valid for `'a`.
unsafe fn content<'a>(header: *const cmsghdr) -> &'a [u8] {
    // SAFETY: the caller's promise: so many bytes follow the header.
    unsafe {
        let start = libc::CMSG_DATA(header);
        let head = start.offset_from(header.cast::<u8>()) as usize;
        slice::from_raw_parts(start, (*header).cmsg_len.saturating_sub(head))
    }
}

fn number(bytes: &[u8]) -> Result<c_int, Errno> {
    match bytes {
        [byte] => Ok((*byte).into()),
        bytes => {
            let bytes = bytes.get(..4).and_then(|bytes| bytes.try_into().ok());
            bytes.map(c_int::from_ne_bytes).ok_or(libc::EINVAL)
        }
    }
}

/// Reads what a program tells with a message that it sends.
///
/// # Safety
/// The message is valid.
unsafe fn read_about(message: &msghdr) -> Result<About, Errno> {
    let mut about = About::default();
    if message.msg_control.is_null() {
        return Ok(about);
    }
    // SAFETY: the caller's promise; the macros keep within the buffer.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(of) = header.as_ref() {
            let content = content(header);
            match (of.cmsg_level, of.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    about.service = Some(number(content)? as u8);
                }
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                    about.hops = Some(number(content)? as u8);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    if content.len() < size_of::<in_pktinfo>() {
                        return Err(libc::EINVAL);
                    }
                    let info = content.as_ptr().cast::<in_pktinfo>().read_unaligned();
                    let source = Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr));
                    about.destination = Some(source.into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    if content.len() < size_of::<in6_pktinfo>() {
                        return Err(libc::EINVAL);
                    }
                    let info = content.as_ptr().cast::<in6_pktinfo>().read_unaligned();
                    let source = Ipv6Addr::from(info.ipi6_addr.s6_addr);
                    about.destination = Some(source.to_canonical());
                }
                // Descriptors and credentials cannot be passed on.
                _ => return Err(libc::EINVAL),
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    Ok(about)
}

/// Pieces of information that are written one after the other.
struct Pieces {
    start: *mut u8,
    room: usize,
    used: usize,
    /// Not all had room.
    is_truncated: bool,
}

impl Pieces {
    /// Adds a piece, if there is room.
    ///
    /// # Safety
    /// `room` bytes can be written from `start`. All bytes of the value are initialised.
    unsafe fn add<T: Copy>(&mut self, level: c_int, name: c_int, value: T) {
        let size = size_of::<T>() as c_uint;
        // SAFETY: it computes.
        let (space, length) = unsafe { (libc::CMSG_SPACE(size), libc::CMSG_LEN(size)) };
        if self.start.is_null() || self.room - self.used < space as usize {
            self.is_truncated = true;
            return;
        }
        // SAFETY: the caller's promise, and there is room.
        unsafe {
            let header: *mut cmsghdr = self.start.add(self.used).cast();
            ptr::write_bytes(header.cast::<u8>(), 0, space as usize);
            let mut head: cmsghdr = mem::zeroed();
            head.cmsg_len = length as _;
            head.cmsg_level = level;
            head.cmsg_type = name;
            header.write_unaligned(head);
            let content = header.cast::<u8>().add(length as usize - size_of::<T>());
            content.cast::<T>().write_unaligned(value);
        }
        self.used += space as usize;
    }
}

/// Writes what is told with a message that was received. Returns whether all had room.
///
/// # Safety
/// The message is valid.
unsafe fn write_about(message: &mut msghdr, about: About, domain: Domain) -> bool {
    let mut pieces = Pieces {
        start: message.msg_control.cast(),
        room: message.msg_controllen,
        used: 0,
        is_truncated: false,
    };
    let is_v6 = domain == Domain::V6;
    // SAFETY: the caller's promise; none of these values has padding.
    unsafe {
        match about.destination {
            Some(IpAddr::V4(to)) => {
                let address = in_addr {
                    s_addr: u32::from(to).to_be(),
                };
                let info = in_pktinfo {
                    ipi_ifindex: if to.is_loopback() { 1 } else { DEVICE },
                    ipi_spec_dst: address,
                    ipi_addr: address,
                };
                pieces.add(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
            }
            Some(IpAddr::V6(to)) => {
                let info = in6_pktinfo {
                    ipi6_addr: in6_addr {
                        s6_addr: to.octets(),
                    },
                    ipi6_ifindex: if to.is_loopback() {
                        1
                    } else {
                        DEVICE as c_uint
                    },
                };
                pieces.add(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
            }
            None => {}
        }
        match about.service {
            Some(service) if is_v6 => {
                pieces.add(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, c_int::from(service));
            }
            Some(service) => pieces.add(libc::IPPROTO_IP, libc::IP_TOS, service),
            None => {}
        }
        match about.hops {
            Some(hops) if is_v6 => {
                pieces.add(libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, c_int::from(hops));
            }
            Some(hops) => pieces.add(libc::IPPROTO_IP, libc::IP_TTL, c_int::from(hops)),
            None => {}
        }
    }
    message.msg_controllen = pieces.used as _;
    !pieces.is_truncated
}

/// Sends a message.
///
/// # Safety
/// It is valid.
unsafe fn send(
    kernel: &mut Here,
    fd: c_int,
    message: &msghdr,
    manner: Manner,
) -> Result<usize, Errno> {
    kernel.with_socket(fd, |_, _, _| Ok(()))?;
    // SAFETY: the caller's promise.
    let (to, about, parts) = unsafe {
        let to = match message.msg_name.is_null() {
            true => None,
            false => Some(read_address(message.msg_name.cast(), message.msg_namelen)?),
        };
        let count = message.msg_iovlen;
        let vector = match count {
            0 => &[],
            _ => slice::from_raw_parts(message.msg_iov, count),
        };
        let parts: Vec<_> = vector
            .iter()
            .map(|part| bytes(part.iov_base, part.iov_len))
            .collect();
        (to, read_about(message)?, parts)
    };
    kernel.send_message(fd, &parts, to.as_ref(), about, manner)
}

/// Receives a message.
///
/// # Safety
/// It is valid.
unsafe fn receive(
    kernel: &mut Here,
    fd: c_int,
    message: &mut msghdr,
    flags: c_int,
) -> Result<usize, Errno> {
    kernel.with_socket(fd, |_, _, _| refuse_flags(flags))?;
    // SAFETY: the caller's promise.
    let mut parts: Vec<_> = unsafe {
        let count = message.msg_iovlen;
        let vector = match count {
            0 => &[],
            _ => slice::from_raw_parts(message.msg_iov, count),
        };
        vector
            .iter()
            .map(|part| bytes_mut(part.iov_base, part.iov_len))
            .collect()
    };
    let Received {
        copied,
        length,
        from,
        about,
    } = kernel.receive_message(fd, &mut parts, Manner::of(flags))?;
    let domain = kernel.with_socket(fd, |net, id, _| net.domain(id))?;
    message.msg_flags = 0;
    if copied < length {
        message.msg_flags |= libc::MSG_TRUNC;
    }
    // SAFETY: the caller's promise.
    unsafe {
        match &from {
            Some(from) if !message.msg_name.is_null() => {
                let mut size: socklen_t = message.msg_namelen;
                write_address(from, message.msg_name.cast::<sockaddr>(), &mut size);
                message.msg_namelen = size;
            }
            _ => message.msg_namelen = 0,
        }
        if !write_about(message, about, domain) {
            message.msg_flags |= libc::MSG_CTRUNC;
        }
    }
    Ok(if flags & libc::MSG_TRUNC != 0 {
        length
    } else {
        copied
    })
}

/// `sendmsg(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    match enter_for(fd) {
        // SAFETY: the caller's promise.
        Some(mut kernel) => unsafe { length(send(&mut kernel, fd, &*message, Manner::of(flags))) },
        None => real!(SYS_sendmsg, fd, message, flags) as ssize_t,
    }
}

/// `recvmsg(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    match enter_for(fd) {
        // SAFETY: the caller's promise.
        Some(mut kernel) => unsafe { length(receive(&mut kernel, fd, &mut *message, flags)) },
        None => real!(SYS_recvmsg, fd, message, flags) as ssize_t,
    }
}

/// Handles messages one by one. An error is told if it is the first one's.
fn each(
    messages: &mut [mmsghdr],
    mut handle: impl FnMut(&mut mmsghdr, usize) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    for (at, message) in messages.iter_mut().enumerate() {
        match handle(message, at) {
            Ok(length) => message.msg_len = length as c_uint,
            Err(errno) if at == 0 => return Err(errno),
            Err(_) => return Ok(at),
        }
    }
    Ok(messages.len())
}

/// The messages of a call.
///
/// # Safety
/// They are valid for `'a`.
unsafe fn all<'a>(messages: *mut mmsghdr, count: c_uint) -> &'a mut [mmsghdr] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts_mut(messages, count as usize) }
}

/// `sendmmsg(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_sendmmsg, fd, messages, count, flags) as c_int;
    };
    // SAFETY: the caller's promise.
    let messages = unsafe { all(messages, count) };
    length(each(messages, |message, _| {
        // SAFETY: the caller's promise.
        unsafe { send(&mut kernel, fd, &message.msg_hdr, Manner::of(flags)) }
    })) as c_int
}

/// `recvmmsg(2)`. Its time-out is heeded between messages only, as in Linux.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    time: *mut libc::timespec,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_recvmmsg, fd, messages, count, flags, time) as c_int;
    };
    // SAFETY: the caller's promise.
    let limit = match unsafe { time.as_ref() } {
        None => None,
        // SAFETY: as above.
        Some(time) => match unsafe { super::super::duration(time) } {
            Ok(time) => Some(kernel.now + time),
            Err(errno) => return super::super::answer(Err(errno)),
        },
    };
    // SAFETY: the caller's promise.
    let messages = unsafe { all(messages, count) };
    length(each(messages, |message, at| {
        if at > 0 && limit.is_some_and(|limit| limit <= kernel.now) {
            return Err(libc::EAGAIN);
        }
        let wants_one = flags & libc::MSG_WAITFORONE != 0;
        let mut flags = flags & !libc::MSG_WAITFORONE;
        if at > 0 && wants_one {
            flags |= libc::MSG_DONTWAIT;
        }
        // SAFETY: the caller's promise.
        unsafe { receive(&mut kernel, fd, &mut message.msg_hdr, flags) }
    })) as c_int
}
