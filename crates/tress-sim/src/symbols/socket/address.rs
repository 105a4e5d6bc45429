//! Addresses as the C library has them.

use crate::kernel::Errno;
use crate::net::{Address, UnixName};
use libc::{sa_family_t, sockaddr, sockaddr_in, sockaddr_in6, sockaddr_un, socklen_t};
use std::mem::{self, offset_of};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::{ptr, slice};

/// Where the path of a Unix socket begins.
const PATH: usize = offset_of!(sockaddr_un, sun_path);

/// Reads an address.
///
/// # Safety
/// That many bytes can be read.
pub(in crate::symbols) unsafe fn read_address(
    address: *const sockaddr,
    size: socklen_t,
) -> Result<Address, Errno> {
    let size = size as usize;
    if address.is_null() || size < size_of::<sa_family_t>() {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's promise: the family is at the start, and `size` says which of the others can be read.
    unsafe {
        match address.cast::<sa_family_t>().read_unaligned().into() {
            libc::AF_INET if size >= size_of::<sockaddr_in>() => {
                let v4 = address.cast::<sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Ok(Address::Internet(SocketAddr::new(
                    ip.into(),
                    u16::from_be(v4.sin_port),
                )))
            }
            // The scope was added later, and may be left out.
            libc::AF_INET6 if size >= size_of::<sockaddr_in6>() - 4 => {
                let mut v6: sockaddr_in6 = mem::zeroed();
                let known = size.min(size_of::<sockaddr_in6>());
                ptr::copy_nonoverlapping(address.cast::<u8>(), (&raw mut v6).cast::<u8>(), known);
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Ok(Address::Internet(SocketAddr::new(
                    ip.into(),
                    u16::from_be(v6.sin6_port),
                )))
            }
            libc::AF_UNIX if size <= size_of::<sockaddr_un>() => {
                let start = address.cast::<u8>().add(PATH.min(size));
                let name = slice::from_raw_parts(start, size.saturating_sub(PATH));
                Ok(Address::Unix(match name {
                    [] => UnixName::Unnamed,
                    [0, rest @ ..] => UnixName::Abstract(rest.to_vec()),
                    path => {
                        let end = path.iter().position(|byte| *byte == 0);
                        UnixName::Path(path[..end.unwrap_or(path.len())].to_vec())
                    }
                }))
            }
            libc::AF_UNSPEC => Ok(Address::Nothing),
            libc::AF_INET | libc::AF_INET6 | libc::AF_UNIX => Err(libc::EINVAL),
            _ => Err(libc::EAFNOSUPPORT),
        }
    }
}

/// Writes as much of a value as there is room for, and its full size.
///
/// # Safety
/// `size` is null or points to the number of bytes that can be written to `to`.
unsafe fn write_bytes(bytes: &[u8], to: *mut sockaddr, size: *mut socklen_t) {
    if size.is_null() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let room = bytes.len().min(size.read() as usize);
        if !to.is_null() {
            ptr::copy_nonoverlapping(bytes.as_ptr(), to.cast(), room);
        }
        size.write(bytes.len() as socklen_t);
    }
}

/// The bytes of a value of the C library.
fn as_bytes<T: Copy>(value: &T) -> &[u8] {
    // SAFETY: called with address structures made of zeros, so that every byte of them is initialised.
    unsafe { slice::from_raw_parts(ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// Returns an address of the fourth version as the C library has it.
pub(in crate::symbols) fn v4(ip: Ipv4Addr, port: u16) -> sockaddr_in {
    // SAFETY: zeros are a value of it.
    let mut address: sockaddr_in = unsafe { mem::zeroed() };
    address.sin_family = libc::AF_INET as sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(ip).to_be();
    address
}

/// Returns an address of the sixth version as the C library has it.
pub(in crate::symbols) fn v6(ip: Ipv6Addr, port: u16) -> sockaddr_in6 {
    // SAFETY: zeros are a value of it.
    let mut address: sockaddr_in6 = unsafe { mem::zeroed() };
    address.sin6_family = libc::AF_INET6 as sa_family_t;
    address.sin6_port = port.to_be();
    address.sin6_addr.s6_addr = ip.octets();
    address
}

/// Writes an address, as much of it as there is room for.
///
/// # Safety
/// `size` is null or points to the number of bytes that can be written to `to`.
pub(in crate::symbols) unsafe fn write_address(
    address: &Address,
    to: *mut sockaddr,
    size: *mut socklen_t,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match address {
            Address::Internet(SocketAddr::V4(address)) => {
                write_bytes(as_bytes(&v4(*address.ip(), address.port())), to, size);
            }
            Address::Internet(SocketAddr::V6(address)) => {
                write_bytes(as_bytes(&v6(*address.ip(), address.port())), to, size);
            }
            Address::Unix(name) => {
                let mut bytes = (libc::AF_UNIX as sa_family_t).to_ne_bytes().to_vec();
                match name {
                    UnixName::Unnamed => {}
                    UnixName::Path(path) => {
                        bytes.extend(path);
                        bytes.push(0);
                    }
                    UnixName::Abstract(name) => {
                        bytes.push(0);
                        bytes.extend(name);
                    }
                }
                write_bytes(&bytes, to, size);
            }
            Address::Nothing => {
                let family = (libc::AF_UNSPEC as sa_family_t).to_ne_bytes();
                write_bytes(&family, to, size);
            }
        }
    }
}
