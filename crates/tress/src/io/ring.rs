//! Operations of sources of I/O on the ring of a driver.
//!
//! Where there is no ring, or its kernel lacks the operation, each function gives back what it was given,
//! and readiness does the work.

#[cfg(unix)]
mod held;
#[cfg(not(unix))]
#[path = "ring/no_held.rs"]
mod held;
mod reading;
#[cfg(feature = "pooled")]
mod receive;

use held::Lent;
pub(crate) use held::{Descriptor, Held, Loan, Name};
use reading::Reading;
#[cfg(feature = "pooled")]
pub(crate) use receive::{Next, Receive};
pub(crate) use tress_driver::Leftover;
#[cfg(feature = "pooled")]
pub(crate) use tress_driver::PoolBuffer;

use super::owned::Refused;
use super::source::Source;
use std::sync::Arc;
use tress_driver::op::{self, Operation};
use tress_driver::{Buffer, BufferMut, Submission};

impl<T: Descriptor> Source<T> {
    /// Returns the descriptor, for an operation to keep open.
    fn lend(&self) -> Arc<Lent> {
        self.inner.lend()
    }
}

/// Receives from a socket.
#[cfg(feature = "net")]
pub(crate) fn recv<T: Descriptor, B: BufferMut>(
    source: &Source<T>,
    buffer: B,
) -> Result<Reading<op::Recv<Arc<Lent>, B>>, Refused<B>> {
    let submitted = submit(source, buffer, |socket, buffer| {
        op::Recv::new(socket, buffer, 0).keeping(kept_by)
    });
    submitted.map(|submission| Reading::new(source.lend(), submission))
}

/// Sends on a socket.
#[cfg(feature = "net")]
pub(crate) fn send<T: Descriptor, B: Buffer>(
    source: &Source<T>,
    buffer: B,
) -> Result<Submission<op::Send<Arc<Lent>, B>>, Refused<B>> {
    submit(source, buffer, |socket, buffer| {
        op::Send::new(socket, buffer, 0)
    })
}

/// Reads from an object without a position.
#[cfg_attr(not(unix), allow(dead_code, reason = "for pipes of Unix"))]
pub(crate) fn read<T: Descriptor, B: BufferMut>(
    source: &Source<T>,
    buffer: B,
) -> Result<Reading<op::Read<Arc<Lent>, B>>, Refused<B>> {
    let submitted = submit(source, buffer, |fd, buffer| {
        op::Read::next(fd, buffer).keeping(kept_by)
    });
    submitted.map(|submission| Reading::new(source.lend(), submission))
}

/// Returns the place where bytes that a dropped read has received are kept.
fn kept_by(lent: &Arc<Lent>) -> &Leftover {
    lent.leftover()
}

/// Writes to an object without a position.
#[cfg_attr(not(unix), allow(dead_code, reason = "for pipes of Unix"))]
pub(crate) fn write<T: Descriptor, B: Buffer>(
    source: &Source<T>,
    buffer: B,
) -> Result<Submission<op::Write<Arc<Lent>, B>>, Refused<B>> {
    submit(source, buffer, op::Write::next)
}

fn submit<T: Descriptor, B, O: Operation>(
    source: &Source<T>,
    buffer: B,
    make: impl FnOnce(Arc<Lent>, B) -> O,
) -> Result<Submission<O>, Refused<B>> {
    let mut buffer = Some(buffer);
    let submitted = source.runtime().with_driver(|driver| {
        if !driver.supports::<O>() {
            return Ok(None);
        }
        let buffer = buffer.take().expect("taken once");
        Ok(Some(driver.submit(make(source.lend(), buffer))))
    });
    let error = match submitted {
        Ok(Some(submission)) => return Ok(submission),
        Ok(None) => None,
        Err(error) => Some(error),
    };
    let buffer = buffer.expect("taken only for a submission");
    Err(Refused { buffer, error })
}
