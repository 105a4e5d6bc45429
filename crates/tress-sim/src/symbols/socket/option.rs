//! `setsockopt` and `getsockopt`.

use super::super::{answer, real};
use super::done;
use crate::kernel::{Errno, Here};
use crate::net::Value;
use crate::symbols::enter_for;
use libc::{c_int, c_void, ip_mreq, ipv6_mreq, linger, socklen_t, timeval, ucred};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;
use std::{ptr, slice};

/// Reads a value.
///
/// # Safety
/// `size` bytes can be read, and any bytes are a value of the type.
unsafe fn read<T: Copy>(value: *const c_void, size: socklen_t) -> Result<T, Errno> {
    if value.is_null() || (size as usize) < size_of::<T>() {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { value.cast::<T>().read_unaligned() })
}

/// Reads a number of one or four bytes.
///
/// # Safety
/// `size` bytes can be read.
unsafe fn read_number(value: *const c_void, size: socklen_t) -> Result<c_int, Errno> {
    // SAFETY: the caller's promise.
    unsafe {
        match size {
            1..4 => read::<u8>(value, size).map(c_int::from),
            _ => read(value, size),
        }
    }
}

fn read_time(time: timeval) -> Result<Option<Duration>, Errno> {
    let micros = u32::try_from(time.tv_usec).map_err(|_| libc::EDOM)?;
    if micros >= 1_000_000 {
        return Err(libc::EDOM);
    }
    // A negative time means not to wait at all.
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let time = Duration::new(seconds, micros * 1000);
    Ok((!time.is_zero()).then_some(time))
}

/// Sets an option.
///
/// # Safety
/// `size` bytes of the value can be read.
unsafe fn set(
    kernel: &mut Here,
    fd: c_int,
    (level, name): (c_int, c_int),
    value: *const c_void,
    size: socklen_t,
) -> Result<(), Errno> {
    // SAFETY: the caller's promise; any bytes are values of these types.
    unsafe {
        match (level, name) {
            (libc::SOL_SOCKET, libc::SO_LINGER) => {
                let linger: linger = read(value, size)?;
                let set = (linger.l_onoff != 0).then_some(linger.l_linger);
                kernel.with_socket(fd, |net, id, _| {
                    net.options_mut(id)?.linger = set;
                    Ok(())
                })
            }
            (libc::SOL_SOCKET, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO) => {
                let time = read_time(read(value, size)?)?;
                kernel.with_socket(fd, |net, id, _| {
                    let options = net.options_mut(id)?;
                    match name {
                        libc::SO_RCVTIMEO => options.receive_timeout = time,
                        _ => options.send_timeout = time,
                    }
                    Ok(())
                })
            }
            // There is one device, and one way to control congestion.
            (libc::SOL_SOCKET, libc::SO_BINDTODEVICE)
            | (libc::IPPROTO_TCP, libc::TCP_CONGESTION)
            | (libc::IPPROTO_IP, libc::IP_MULTICAST_IF) => kernel.with_socket(fd, |_, _, _| Ok(())),
            (libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP | libc::IP_DROP_MEMBERSHIP) => {
                let request: ip_mreq = read(value, size)?;
                let ip = |address: libc::in_addr| Ipv4Addr::from(u32::from_be(address.s_addr));
                let interface = ip(request.imr_interface);
                let (_, host) = kernel.running();
                if !kernel.net.is_interface(host, interface) {
                    return Err(libc::ENODEV);
                }
                let joins = name == libc::IP_ADD_MEMBERSHIP;
                membership(kernel, fd, ip(request.imr_multiaddr).into(), joins)
            }
            (libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP | libc::IPV6_DROP_MEMBERSHIP) => {
                let request: ipv6_mreq = read(value, size)?;
                let group = Ipv6Addr::from(request.ipv6mr_multiaddr.s6_addr);
                let joins = name == libc::IPV6_ADD_MEMBERSHIP;
                membership(kernel, fd, group.into(), joins)
            }
            _ => {
                let number = read_number(value, size)?;
                kernel.with_socket(fd, |net, id, now| {
                    net.set_option(now, id, level, name, number)
                })
            }
        }
    }
}

fn membership(kernel: &mut Here, fd: c_int, group: IpAddr, joins: bool) -> Result<(), Errno> {
    kernel.with_socket(fd, |net, id, _| match joins {
        true => net.join(id, group),
        false => net.leave(id, group),
    })
}

/// `setsockopt(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    size: socklen_t,
) -> c_int {
    match enter_for(fd) {
        // SAFETY: the caller's promise.
        Some(mut kernel) => done(unsafe { set(&mut kernel, fd, (level, name), value, size) }),
        None => real!(SYS_setsockopt, fd, level, name, value, size) as c_int,
    }
}

/// Writes as much of a value as there is room for, and how much that was.
///
/// # Safety
/// `size` points to the number of bytes that can be written to `to`. All bytes of the value are initialised.
unsafe fn write<T: Copy>(from: T, to: *mut c_void, size: *mut socklen_t) {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = slice::from_raw_parts(ptr::from_ref(&from).cast::<u8>(), size_of::<T>());
        write_bytes(bytes, to, size);
    }
}

/// As `write`.
///
/// # Safety
/// As there.
unsafe fn write_bytes(bytes: &[u8], to: *mut c_void, size: *mut socklen_t) {
    // SAFETY: the caller's promise.
    unsafe {
        let room = bytes.len().min(size.read() as usize);
        ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), room);
        size.write(room as socklen_t);
    }
}

/// `getsockopt(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    size: *mut socklen_t,
) -> c_int {
    let Some(mut kernel) = enter_for(fd) else {
        return real!(SYS_getsockopt, fd, level, name, value, size) as c_int;
    };
    let found = kernel.with_socket(fd, |net, id, _| net.option(id, level, name));
    answer(found.map(|found| {
        // SAFETY: the caller's promise; these structures have no padding.
        unsafe {
            match found {
                Value::Number(number) => write(number, value, size),
                Value::Duration(time) => {
                    let time = time.unwrap_or_default();
                    let time = timeval {
                        tv_sec: time.as_secs() as _,
                        tv_usec: time.subsec_micros().into(),
                    };
                    write(time, value, size);
                }
                Value::Linger(set) => {
                    let linger = linger {
                        l_onoff: set.is_some().into(),
                        l_linger: set.unwrap_or(0),
                    };
                    write(linger, value, size);
                }
                Value::Credentials([process, user, group]) => {
                    let credentials = ucred {
                        pid: process as libc::pid_t,
                        uid: user,
                        gid: group,
                    };
                    write(credentials, value, size);
                }
                Value::Bytes(bytes) => write_bytes(&bytes, value, size),
            }
        }
        0
    }))
}
