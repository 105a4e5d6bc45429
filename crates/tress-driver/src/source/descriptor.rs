//! Sources on Unix: a source is a descriptor, and its number is enough to deregister it.

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use std::io;
use std::os::fd::{AsRawFd, RawFd};

/// Something that can be [registered](crate::Driver::register) with a driver: any type with a descriptor that
/// the system's selector can watch.
///
/// It is implemented for every [`AsRawFd`] type. Put the descriptor into non-blocking mode before registering
/// it: readiness is edge-triggered and can be out of date, so a blocking call could hang the thread.
///
/// # Examples
/// ```
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, Interest, Registration, Source};
///
/// fn watch(driver: &Arc<Driver>, source: &mut impl Source) -> std::io::Result<Registration> {
///     driver.register(source, Interest::READABLE | Interest::WRITABLE)
/// }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// let (mut near, _far) = UnixStream::pair()?;
/// near.set_nonblocking(true)?;
/// let registration = watch(&driver, &mut near)?;
/// # drop(registration);
/// # std::io::Result::Ok(())
/// ```
pub trait Source: AsRawFd {}

impl<S: AsRawFd + ?Sized> Source for S {}

/// Nothing of a source is left in the kernel once its descriptor is closed.
pub(crate) const LINGERS: bool = false;

#[derive(Debug)]
pub(crate) struct Handle(RawFd);

pub(crate) fn register<S: Source + ?Sized>(
    registry: &Registry,
    source: &mut S,
    token: Token,
    interest: Interest,
) -> io::Result<Handle> {
    let fd = source.as_raw_fd();
    registry.register(&mut SourceFd(&fd), token, interest)?;
    Ok(Handle(fd))
}

impl Handle {
    pub(crate) fn deregister(&self, registry: &Registry) -> io::Result<()> {
        registry.deregister(&mut SourceFd(&self.0))
    }
}
