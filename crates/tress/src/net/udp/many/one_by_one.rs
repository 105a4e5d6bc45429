//! Datagrams one after the other, for systems without a call for several.

use super::{Datagram, ReceivedDatagram};
use crate::io::uninterrupted;
use std::io;

pub(super) fn receive(
    socket: &mio::net::UdpSocket,
    places: &mut [ReceivedDatagram<'_>],
) -> io::Result<usize> {
    as_many_as_work(places.iter_mut(), |place| {
        place.received = Some(uninterrupted(|| socket.recv_from(place.buf))?);
        Ok(())
    })
}

pub(super) fn send(socket: &mio::net::UdpSocket, datagrams: &[Datagram<'_>]) -> io::Result<usize> {
    as_many_as_work(datagrams.iter(), |datagram| {
        uninterrupted(|| match datagram.target {
            Some(target) => socket.send_to(datagram.bytes, target),
            None => socket.send(datagram.bytes),
        })?;
        Ok(())
    })
}

/// Returns how many succeeded before one failed, or the error if that is the first.
fn as_many_as_work<T>(
    all: impl Iterator<Item = T>,
    mut f: impl FnMut(T) -> io::Result<()>,
) -> io::Result<usize> {
    let mut done = 0;
    for one in all {
        match f(one) {
            Ok(()) => done += 1,
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}
