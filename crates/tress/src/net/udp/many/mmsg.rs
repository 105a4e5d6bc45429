//! `recvmmsg` and `sendmmsg`.

use super::super::receive::internet;
use super::{BATCH, Datagram, ReceivedDatagram};
use crate::io::uninterrupted;
use socket2::{SockAddr, SockAddrStorage};
use std::io;
use std::os::fd::AsRawFd;

/// Returns the header that describes one datagram to the call, and that the call fills in.
fn header(
    part: &mut libc::iovec,
    name: *mut libc::c_void,
    name_len: libc::socklen_t,
) -> libc::mmsghdr {
    // SAFETY: a header of zeros is one without an address, parts or control data.
    let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
    header.msg_hdr.msg_name = name;
    header.msg_hdr.msg_namelen = name_len;
    header.msg_hdr.msg_iov = part;
    header.msg_hdr.msg_iovlen = 1;
    header
}

fn part(bytes: *mut u8, len: usize) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.cast(),
        iov_len: len,
    }
}

pub(super) fn receive(
    socket: &mio::net::UdpSocket,
    places: &mut [ReceivedDatagram<'_>],
) -> io::Result<usize> {
    debug_assert!(places.len() <= BATCH);
    let mut senders: Vec<SockAddrStorage> = Vec::with_capacity(places.len());
    senders.resize_with(places.len(), SockAddrStorage::zeroed);
    let mut parts: Vec<_> = places
        .iter_mut()
        .map(|place| part(place.buf.as_mut_ptr(), place.buf.len()))
        .collect();
    let mut headers: Vec<_> = parts
        .iter_mut()
        .zip(&mut senders)
        .map(|(part, sender)| {
            let name_len = sender.size_of();
            header(part, (&raw mut *sender).cast(), name_len)
        })
        .collect();
    let n = count(|| {
        // SAFETY: each header points to a buffer and to room for an address, of the lengths it states,
        // which outlive the call and are not used by anything else meanwhile.
        unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as _,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        }
    })?;
    for ((place, sender), header) in places.iter_mut().zip(senders).zip(&headers).take(n) {
        // SAFETY: the kernel has written an address of this length, or none and a zero.
        let from = unsafe { SockAddr::new(sender, header.msg_hdr.msg_namelen) };
        place.received = Some((header.msg_len as usize, internet(from)?));
    }
    Ok(n)
}

pub(super) fn send(socket: &mio::net::UdpSocket, datagrams: &[Datagram<'_>]) -> io::Result<usize> {
    debug_assert!(datagrams.len() <= BATCH);
    let targets: Vec<Option<SockAddr>> = datagrams
        .iter()
        .map(|datagram| datagram.target.map(SockAddr::from))
        .collect();
    let mut parts: Vec<_> = datagrams
        .iter()
        .map(|datagram| part(datagram.bytes.as_ptr().cast_mut(), datagram.bytes.len()))
        .collect();
    let mut headers: Vec<_> = parts
        .iter_mut()
        .zip(&targets)
        .map(|(part, target)| match target {
            Some(target) => header(part, target.as_ptr().cast_mut().cast(), target.len()),
            None => header(part, std::ptr::null_mut(), 0),
        })
        .collect();
    count(|| {
        // SAFETY: each header points to bytes and perhaps to an address, of the lengths it states, which
        // outlive the call and which the kernel only reads.
        unsafe {
            libc::sendmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as _,
                (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _,
            )
        }
    })
}

fn count(mut call: impl FnMut() -> libc::c_int) -> io::Result<usize> {
    uninterrupted(|| usize::try_from(call()).map_err(|_| io::Error::last_os_error()))
}
