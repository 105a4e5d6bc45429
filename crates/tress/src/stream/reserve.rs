//! The operations that the senders of both kinds of channels have in common.

use crate::{channel, sync::mpsc};
use std::future::Future;

/// A sender that reserves a slot before it sends: [`mpsc::Sender`] or [`channel::Sender`].
pub trait Reserve<T>: Clone + Send + Sized + 'static {
    /// A slot that is reserved.
    type Permit: Send + 'static;

    /// Reserves a slot if one is free.
    ///
    /// # Errors
    ///
    /// `Some(self)` if the channel is full, and `None` if it is closed.
    fn try_reserve(self) -> Result<Self::Permit, Option<Self>>;
    /// Waits for a slot. Returns `None` if the channel is closed.
    fn reserve(self) -> impl Future<Output = Option<Self::Permit>> + Send + 'static;
    /// Sends a message to the slot.
    ///
    /// # Errors
    ///
    /// Returns the message if the channel is closed.
    fn send(permit: Self::Permit, message: T) -> Result<Self, T>;
    /// Gives the slot back.
    fn release(permit: Self::Permit) -> Self;
    /// Returns whether the channel is closed.
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
