//! What the senders of the two kinds of channels have in common.

use crate::{channel, sync::mpsc};
use std::future::Future;

/// A sender that reserves a place before it sends. There are [`mpsc::Sender`] and [`channel::Sender`].
pub trait Reserve<T>: Clone + Send + Sized + 'static {
    /// A place that is reserved.
    type Permit: Send + 'static;

    /// Reserves a place if one is free. The sender comes back if not, unless the channel is closed.
    fn try_reserve(self) -> Result<Self::Permit, Option<Self>>;
    /// Waits for a place; `None` if the channel is closed.
    fn reserve(self) -> impl Future<Output = Option<Self::Permit>> + Send + 'static;
    /// Sends the message, which comes back if nobody will receive it.
    fn send(permit: Self::Permit, message: T) -> Result<Self, T>;
    /// Gives the place back.
    fn release(permit: Self::Permit) -> Self;
    /// Is the channel closed?
    fn is_closed(&self) -> bool;
}

impl<T: Send + 'static> Reserve<T> for mpsc::Sender<T> {
    type Permit = mpsc::OwnedPermit<T>;

    fn try_reserve(self) -> Result<Self::Permit, Option<Self>> {
        use mpsc::error::TrySendError;
        self.try_reserve_owned().map_err(|error| match error {
            TrySendError::Full(sender) => Some(sender),
            TrySendError::Closed(_) => None,
        })
    }

    async fn reserve(self) -> Option<Self::Permit> {
        self.reserve_owned().await.ok()
    }

    fn send(permit: Self::Permit, message: T) -> Result<Self, T> {
        Ok(permit.send(message))
    }

    fn release(permit: Self::Permit) -> Self {
        permit.release()
    }

    fn is_closed(&self) -> bool {
        mpsc::Sender::is_closed(self)
    }
}

impl<T: Send + 'static> Reserve<T> for channel::Sender<T> {
    type Permit = channel::OwnedPermit<T>;

    fn try_reserve(self) -> Result<Self::Permit, Option<Self>> {
        use channel::error::TrySendError;
        self.try_reserve_owned().map_err(|error| match error {
            TrySendError::Full(sender) => Some(sender),
            TrySendError::Closed(_) => None,
        })
    }

    async fn reserve(self) -> Option<Self::Permit> {
        self.reserve_owned().await.ok()
    }

    fn send(permit: Self::Permit, message: T) -> Result<Self, T> {
        permit.send(message).map_err(|error| error.into_inner())
    }

    fn release(permit: Self::Permit) -> Self {
        permit.release()
    }

    fn is_closed(&self) -> bool {
        channel::Sender::is_closed(self)
    }
}
