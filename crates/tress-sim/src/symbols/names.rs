//! Names of hosts and of devices.

use super::socket::{read_address, v4, v6};
use super::{answer, real};
use crate::kernel::{Here, WaitsIn, enter, here};
use crate::net::Address;
use crate::raw;
use libc::{
    addrinfo, c_char, c_int, c_uint, c_void, ifaddrs, size_t, sockaddr, sockaddr_in6, socklen_t,
};
use std::ffi::{CStr, CString};
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// A bit of `ai_flags` that the C library does not use: the list was made here.
const OURS: c_int = 1 << 29;

/// An address as the C library has it, of either version.
#[derive(Clone, Copy)]
#[repr(C)]
union Storage {
    v4: libc::sockaddr_in,
    v6: sockaddr_in6,
}

impl Storage {
    fn new(ip: IpAddr, port: u16) -> Storage {
        match ip {
            IpAddr::V4(ip) => Storage { v4: v4(ip, port) },
            IpAddr::V6(ip) => Storage { v6: v6(ip, port) },
        }
    }
}

/// One entry of the list that `getaddrinfo` returns.
#[repr(C)]
struct Found {
    /// At the start, so that a pointer to it is one to the entry.
    info: addrinfo,
    address: Storage,
    name: Option<CString>,
}

/// The services whose ports programs ask for by name.
const SERVICES: [(&str, u16); 6] = [
    ("http", 80),
    ("https", 443),
    ("domain", 53),
    ("ssh", 22),
    ("smtp", 25),
    ("ntp", 123),
];

/// Kinds of sockets and their protocols, in the order in which they are returned.
const KINDS: [(c_int, c_int); 3] = [
    (libc::SOCK_STREAM, libc::IPPROTO_TCP),
    (libc::SOCK_DGRAM, libc::IPPROTO_UDP),
    (libc::SOCK_RAW, 0),
];

fn port(service: Option<&str>) -> Result<u16, c_int> {
    let Some(service) = service else { return Ok(0) };
    let known = SERVICES
        .iter()
        .find(|(name, _)| *name == service)
        .map(|(_, port)| *port);
    service.parse().ok().or(known).ok_or(libc::EAI_SERVICE)
}

/// Waits for as long as a lookup takes.
fn wait_for_lookup(kernel: &mut Here) {
    let until = kernel.now + kernel.net.draw_lookup();
    while kernel.now < until {
        kernel.wait(WaitsIn::NameLookUp, Some(until));
    }
}

fn addresses(kernel: &mut Here, name: Option<&str>, flags: c_int) -> Result<Vec<IpAddr>, c_int> {
    let Some(name) = name else {
        return Ok(match flags & libc::AI_PASSIVE {
            0 => vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            _ => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
        });
    };
    // A zone is not part of the model.
    let bare = name.split_once('%').map_or(name, |(address, _)| address);
    if let Ok(address) = bare.parse() {
        return Ok(vec![address]);
    }
    if flags & libc::AI_NUMERICHOST != 0 {
        return Err(libc::EAI_NONAME);
    }
    wait_for_lookup(kernel);
    kernel
        .net
        .lookup(name)
        .filter(|found| !found.is_empty())
        .ok_or(libc::EAI_NONAME)
}

/// Finds what a program asks for.
fn find(
    kernel: &mut Here,
    name: Option<&str>,
    service: Option<&str>,
    hints: Option<&addrinfo>,
) -> Result<*mut addrinfo, c_int> {
    let (family, kind, protocol, flags) = hints.map_or((libc::AF_UNSPEC, 0, 0, 0), |hints| {
        (
            hints.ai_family,
            hints.ai_socktype,
            hints.ai_protocol,
            hints.ai_flags,
        )
    });
    if name.is_none() && service.is_none() {
        return Err(libc::EAI_NONAME);
    }
    if ![libc::AF_UNSPEC, libc::AF_INET, libc::AF_INET6].contains(&family) {
        return Err(libc::EAI_FAMILY);
    }
    let port = port(service)?;
    let mut list = ptr::null_mut();
    let mut canonical = (flags & libc::AI_CANONNAME != 0).then(|| name.unwrap_or_default());
    let found = addresses(kernel, name, flags)?;
    let mut entries = Vec::new();
    for ip in found {
        let (of_family, size) = match ip {
            IpAddr::V4(_) => (libc::AF_INET, size_of::<libc::sockaddr_in>()),
            IpAddr::V6(_) => (libc::AF_INET6, size_of::<sockaddr_in6>()),
        };
        if family != libc::AF_UNSPEC && family != of_family {
            continue;
        }
        for (of_kind, of_protocol) in KINDS {
            let is_wanted = (kind == 0 || kind == of_kind)
                && (protocol == 0 || of_protocol == 0 || protocol == of_protocol);
            if !is_wanted {
                continue;
            }
            entries.push(Box::new(Found {
                info: addrinfo {
                    ai_flags: flags | OURS,
                    ai_family: of_family,
                    ai_socktype: of_kind,
                    ai_protocol: of_protocol,
                    ai_addrlen: size as socklen_t,
                    ai_addr: ptr::null_mut(),
                    ai_canonname: ptr::null_mut(),
                    ai_next: ptr::null_mut(),
                },
                address: Storage::new(ip, port),
                name: canonical.take().and_then(|name| CString::new(name).ok()),
            }));
        }
    }
    for entry in entries.into_iter().rev() {
        let entry = Box::into_raw(entry);
        // SAFETY: made above, and nobody else has it.
        unsafe {
            (*entry).info.ai_addr = (&raw mut (*entry).address).cast();
            if let Some(name) = &(*entry).name {
                (*entry).info.ai_canonname = name.as_ptr().cast_mut();
            }
            (*entry).info.ai_next = list;
        }
        list = entry.cast();
    }
    if list.is_null() {
        Err(libc::EAI_NONAME)
    } else {
        Ok(list)
    }
}

/// Reads a string that may be missing.
///
/// # Safety
/// The pointer is null or points to a string that is valid for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Result<Option<&'a str>, c_int> {
    if text.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(Some).map_err(|_| libc::EAI_NONAME)
}

/// `getaddrinfo(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getaddrinfo(
    name: *const c_char,
    service: *const c_char,
    hints: *const addrinfo,
    list: *mut *mut addrinfo,
) -> c_int {
    type Function = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        *const addrinfo,
        *mut *mut addrinfo,
    ) -> c_int;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the caller's promise; the function of that name has this type.
    unsafe {
        let Some(mut kernel) = enter() else {
            let next: Function = mem::transmute(raw::next(&NEXT, c"getaddrinfo"));
            return next(name, service, hints, list);
        };
        let texts = text(name).and_then(|name| Ok((name, text(service)?)));
        let found =
            texts.and_then(|(name, service)| find(&mut kernel, name, service, hints.as_ref()));
        match found {
            Ok(found) => {
                list.write(found);
                0
            }
            Err(error) => error,
        }
    }
}

/// `freeaddrinfo(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freeaddrinfo(list: *mut addrinfo) {
    type Function = unsafe extern "C" fn(*mut addrinfo);
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the caller's promise: it is a list that `getaddrinfo` has returned, ours if it says so.
    unsafe {
        let is_ours = list
            .as_ref()
            .is_some_and(|first| first.ai_flags & OURS != 0);
        if !is_ours {
            if !list.is_null() {
                let next: Function = mem::transmute(raw::next(&NEXT, c"freeaddrinfo"));
                next(list);
            }
            return;
        }
        let mut entry: *mut Found = list.cast();
        while !entry.is_null() {
            let next = (*entry).info.ai_next;
            drop(Box::from_raw(entry));
            entry = next.cast();
        }
    }
}

/// Writes a string and its end. Returns whether there was room.
///
/// # Safety
/// `size` bytes can be written.
unsafe fn give(text: &str, to: *mut c_char, size: usize) -> bool {
    if text.len() >= size {
        return false;
    }
    // SAFETY: the caller's promise, and there is room.
    unsafe {
        ptr::copy_nonoverlapping(text.as_ptr().cast(), to, text.len());
        to.add(text.len()).write(0);
    }
    true
}

/// `getnameinfo(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getnameinfo(
    address: *const sockaddr,
    size: socklen_t,
    host: *mut c_char,
    host_size: socklen_t,
    service: *mut c_char,
    service_size: socklen_t,
    flags: c_int,
) -> c_int {
    type Function = unsafe extern "C" fn(
        *const sockaddr,
        socklen_t,
        *mut c_char,
        socklen_t,
        *mut c_char,
        socklen_t,
        c_int,
    ) -> c_int;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the caller's promise; the function of that name has this type.
    unsafe {
        let Some(mut kernel) = enter() else {
            let next: Function = mem::transmute(raw::next(&NEXT, c"getnameinfo"));
            return next(address, size, host, host_size, service, service_size, flags);
        };
        let Ok(Address::Internet(address)) = read_address(address, size) else {
            return libc::EAI_FAMILY;
        };
        if !host.is_null() && host_size > 0 {
            let mut name = None;
            if flags & libc::NI_NUMERICHOST == 0 {
                wait_for_lookup(&mut kernel);
                let (_, from) = kernel.running();
                name = kernel
                    .net
                    .name_of(from, address.ip().to_canonical())
                    .map(str::to_owned);
            }
            if name.is_none() && flags & libc::NI_NAMEREQD != 0 {
                return libc::EAI_NONAME;
            }
            let name = name.unwrap_or_else(|| address.ip().to_string());
            if !give(&name, host, host_size as usize) {
                return libc::EAI_OVERFLOW;
            }
        }
        if !service.is_null() && service_size > 0 {
            let known = SERVICES.iter().find(|(_, port)| *port == address.port());
            let name = match known.filter(|_| flags & libc::NI_NUMERICSERV == 0) {
                Some((name, _)) => (*name).to_owned(),
                None => address.port().to_string(),
            };
            if !give(&name, service, service_size as usize) {
                return libc::EAI_OVERFLOW;
            }
        }
        0
    }
}

/// `gethostname(2)`.
///
/// # Safety
/// As for that call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gethostname(to: *mut c_char, size: size_t) -> c_int {
    if let Some(kernel) = here() {
        let (_, host) = kernel.running();
        // SAFETY: the caller's promise.
        let is_given = unsafe { give(&kernel.hosts[host.0].name, to, size) };
        return answer(if is_given {
            Ok(0)
        } else {
            Err(libc::ENAMETOOLONG)
        });
    }
    // SAFETY: zeros are a value of it.
    let mut names: libc::utsname = unsafe { mem::zeroed() };
    if real!(SYS_uname, &raw mut names) < 0 {
        return -1;
    }
    // SAFETY: the kernel has written a string, and the caller's promise.
    let is_all = unsafe {
        let name = CStr::from_ptr(names.nodename.as_ptr()).to_bytes_with_nul();
        let written = name.len().min(size);
        ptr::copy_nonoverlapping(name.as_ptr().cast(), to, written);
        written == name.len()
    };
    answer(if is_all {
        Ok(0)
    } else {
        Err(libc::ENAMETOOLONG)
    })
}

/// The devices of every host, whose indices begin with one.
const DEVICES: [&CStr; 2] = [c"lo", c"eth0"];

/// `if_nametoindex(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn if_nametoindex(name: *const c_char) -> c_uint {
    type Function = unsafe extern "C" fn(*const c_char) -> c_uint;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the caller's promise; the function of that name has this type.
    unsafe {
        if here().is_none() {
            let next: Function = mem::transmute(raw::next(&NEXT, c"if_nametoindex"));
            return next(name);
        }
        let name = CStr::from_ptr(name);
        match DEVICES.iter().position(|device| *device == name) {
            Some(index) => index as c_uint + 1,
            None => {
                raw::set_errno(libc::ENODEV);
                0
            }
        }
    }
}

/// One entry of the list that `getifaddrs` returns.
#[repr(C)]
struct Interface {
    /// At the start, so that a pointer to it is one to the entry.
    info: ifaddrs,
    address: Storage,
    mask: Storage,
}

/// What `ifa_data` of our entries points to.
static MARK: u8 = 0;

/// `getifaddrs(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getifaddrs(list: *mut *mut ifaddrs) -> c_int {
    type Function = unsafe extern "C" fn(*mut *mut ifaddrs) -> c_int;
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the caller's promise; the function of that name has this type.
    unsafe {
        let Some(kernel) = enter() else {
            let next: Function = mem::transmute(raw::next(&NEXT, c"getifaddrs"));
            return next(list);
        };
        let (_, host) = kernel.running();
        let own = kernel.net.address_of(host);
        let mask = |bits: u32| match own {
            IpAddr::V4(_) => IpAddr::from((u32::MAX << (32 - bits)).to_be_bytes()),
            IpAddr::V6(_) => IpAddr::from((u128::MAX << (128 - bits)).to_be_bytes()),
        };
        let loopback: (IpAddr, IpAddr) = match own {
            IpAddr::V4(_) => (Ipv4Addr::LOCALHOST.into(), mask(8)),
            IpAddr::V6(_) => (Ipv6Addr::LOCALHOST.into(), mask(127)),
        };
        let subnet = mask(if own.is_ipv4() { 16 } else { 64 });
        let is_up = (libc::IFF_UP | libc::IFF_RUNNING) as c_uint;
        let of_loopback = is_up | libc::IFF_LOOPBACK as c_uint;
        let of_device = is_up | (libc::IFF_BROADCAST | libc::IFF_MULTICAST) as c_uint;
        let mut next = ptr::null_mut();
        let devices = [
            (1, own, subnet, of_device),
            (0, loopback.0, loopback.1, of_loopback),
        ];
        for (device, ip, mask, flags) in devices {
            let entry = Box::into_raw(Box::new(Interface {
                info: mem::zeroed(),
                address: Storage::new(ip, 0),
                mask: Storage::new(mask, 0),
            }));
            let info = &mut (*entry).info;
            info.ifa_next = next;
            info.ifa_name = DEVICES[device].as_ptr().cast_mut();
            info.ifa_flags = flags;
            info.ifa_addr = (&raw mut (*entry).address).cast();
            info.ifa_netmask = (&raw mut (*entry).mask).cast();
            info.ifa_data = (&raw const MARK).cast_mut().cast();
            next = entry.cast();
        }
        list.write(next);
        0
    }
}

/// `freeifaddrs(3)`.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freeifaddrs(list: *mut ifaddrs) {
    type Function = unsafe extern "C" fn(*mut ifaddrs);
    static NEXT: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    // SAFETY: the caller's promise: it is a list that `getifaddrs` has returned, ours if it says so.
    unsafe {
        let ours = (&raw const MARK).cast_mut().cast::<c_void>();
        if list.as_ref().is_none_or(|first| first.ifa_data != ours) {
            if !list.is_null() {
                let next: Function = mem::transmute(raw::next(&NEXT, c"freeifaddrs"));
                next(list);
            }
            return;
        }
        let mut entry: *mut Interface = list.cast();
        while !entry.is_null() {
            let next = (*entry).info.ifa_next;
            drop(Box::from_raw(entry));
            entry = next.cast();
        }
    }
}
