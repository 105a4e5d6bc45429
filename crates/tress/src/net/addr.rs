//! Host names and socket addresses.

use crate::io::offload::{Job, lost, spawn};
use crate::words;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Types that can be converted to one or more socket addresses, possibly by a lookup.
///
/// Addresses, and pairs of an IP address and a port, are taken as they are. A string has the form
/// `host:port`, and a pair `(host, port)` is also possible. Unless the host is an IP address, it is looked
/// up by the system on the [blocking pool](crate::task::spawn_blocking), so no worker waits for the answer.
///
/// This trait is sealed: it cannot be implemented outside this crate. To look up a name, call
/// [`lookup_host`].
///
/// # Examples
/// ```
/// use std::net::Ipv4Addr;
/// use tress::net::UdpSocket;
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// UdpSocket::bind("127.0.0.1:0").await?;
/// UdpSocket::bind(("localhost", 0)).await?;
/// UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub trait ToSocketAddrs: sealed::Resolve {}

mod sealed {
    /// Starts to find the addresses.
    pub trait Resolve {
        #[doc(hidden)]
        fn resolve(&self) -> super::Resolving;
    }
}

/// Addresses, or a lookup that is under way.
#[derive(Debug)]
pub enum Resolving {
    /// Known, or known to be invalid, until polled.
    Known(Option<io::Result<Addresses>>),
    /// A lookup that is under way.
    Asked(Job<io::Result<Addresses>>),
}

/// Addresses to be tried in order.
#[derive(Debug)]
pub enum Addresses {
    /// One address, until it is taken.
    One(Option<SocketAddr>),
    /// Any number of addresses.
    Many(std::vec::IntoIter<SocketAddr>),
}

impl Iterator for Addresses {
    type Item = SocketAddr;

    fn next(&mut self) -> Option<SocketAddr> {
        match self {
            Addresses::One(address) => address.take(),
            Addresses::Many(addresses) => addresses.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Addresses::One(address) => address.iter().size_hint(),
            Addresses::Many(addresses) => addresses.size_hint(),
        }
    }
}

impl Resolving {
    fn one(address: SocketAddr) -> Resolving {
        Resolving::Known(Some(Ok(Addresses::One(Some(address)))))
    }

    /// Starts a lookup on a thread that may block.
    fn ask<H: std::net::ToSocketAddrs + Send + 'static>(host: H) -> Resolving {
        let ask = move || {
            let addresses: Vec<_> = host.to_socket_addrs()?.collect();
            Ok(Addresses::Many(addresses.into_iter()))
        };
        match spawn(ask) {
            Ok(task) => Resolving::Asked(task),
            Err(error) => Resolving::Known(Some(Err(error))),
        }
    }
}

impl Future for Resolving {
    type Output = io::Result<Addresses>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<Addresses>> {
        match &mut *self {
            Resolving::Known(result) => {
                Poll::Ready(result.take().expect("polled after it was ready"))
            }
            Resolving::Asked(task) => Poll::Ready(ready!(Pin::new(task).poll(cx)).map_err(lost)?),
        }
    }
}

/// Returns the addresses that `addr` stands for.
pub(super) async fn resolve(addr: impl ToSocketAddrs) -> io::Result<Addresses> {
    // `addr` is dropped before the wait, so it need not be `Send`.
    let resolving = addr.resolve();
    drop(addr);
    resolving.await
}

/// Calls `f` with one address after the other, until it succeeds with one.
///
/// # Errors
/// The error of the last address, or that there is no address.
pub(super) async fn each<T>(
    addr: impl ToSocketAddrs,
    mut f: impl FnMut(SocketAddr) -> io::Result<T>,
) -> io::Result<T> {
    let mut failed = no_address();
    for address in resolve(addr).await? {
        match f(address) {
            Ok(done) => return Ok(done),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

pub(super) fn no_address() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words::NO_ADDRESS)
}

/// Returns the error for a datagram that is sent to no address.
pub(super) fn no_target() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words::NO_TARGET)
}

/// Looks up a host name, and returns its addresses, each with the port.
///
/// The addresses come in the order of the system, and not all of them need be reachable. The lookup is made
/// by a thread of the blocking pool.
///
/// # Errors
/// Any error of `getaddrinfo(3)`, for example that there is no such name;
/// [`InvalidInput`](io::ErrorKind::InvalidInput) for a string without a port; or that the blocking pool
/// does not accept the lookup.
///
/// # Panics
/// Panics if a lookup is needed and there is no current runtime.
///
/// # Cancel safety
/// This function is cancel safe: nothing is lost if it is dropped. The thread that waits for the answer of
/// the system goes on until it has one.
///
/// # Examples
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// for address in tress::net::lookup_host("localhost:3000").await? {
///     assert_eq!(address.port(), 3000);
/// }
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub async fn lookup_host<T>(host: T) -> io::Result<impl Iterator<Item = SocketAddr>>
where
    T: ToSocketAddrs,
{
    resolve(host).await
}

/// Implements the trait for types that are addresses already.
macro_rules! known {
    ($($type:ty),* $(,)?) => {$(
        impl ToSocketAddrs for $type {}

        impl sealed::Resolve for $type {
            fn resolve(&self) -> Resolving {
                Resolving::one(SocketAddr::from(*self))
            }
        }
    )*};
}

known!(
    SocketAddr,
    SocketAddrV4,
    SocketAddrV6,
    (IpAddr, u16),
    (Ipv4Addr, u16),
    (Ipv6Addr, u16),
);

impl<T: ToSocketAddrs + ?Sized> ToSocketAddrs for &T {}

impl<T: ToSocketAddrs + ?Sized> sealed::Resolve for &T {
    fn resolve(&self) -> Resolving {
        (**self).resolve()
    }
}

impl ToSocketAddrs for &[SocketAddr] {}

impl sealed::Resolve for &[SocketAddr] {
    fn resolve(&self) -> Resolving {
        let addresses = Addresses::Many(Vec::from(*self).into_iter());
        Resolving::Known(Some(Ok(addresses)))
    }
}

impl ToSocketAddrs for str {}

impl sealed::Resolve for str {
    fn resolve(&self) -> Resolving {
        match self.parse() {
            Ok(address) => Resolving::one(address),
            Err(_) => Resolving::ask(self.to_owned()),
        }
    }
}

impl ToSocketAddrs for String {}

impl sealed::Resolve for String {
    fn resolve(&self) -> Resolving {
        self.as_str().resolve()
    }
}

impl ToSocketAddrs for (&str, u16) {}

impl sealed::Resolve for (&str, u16) {
    fn resolve(&self) -> Resolving {
        let (host, port) = *self;
        match host.parse::<IpAddr>() {
            Ok(ip) => Resolving::one(SocketAddr::new(ip, port)),
            Err(_) => Resolving::ask((host.to_owned(), port)),
        }
    }
}

impl ToSocketAddrs for (String, u16) {}

impl sealed::Resolve for (String, u16) {
    fn resolve(&self) -> Resolving {
        (self.0.as_str(), self.1).resolve()
    }
}
