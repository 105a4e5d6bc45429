//! What both ends can ask of their channel.

use super::receiver::Receiver;
use super::sender::Sender;
use std::fmt;

macro_rules! queries {
    ($($end:ident)*) => {$(
        impl<T> $end<T> {
            /// Returns the number of messages in the channel.
            ///
            /// In a rendezvous there are none, except those that were handed to a receiver which gave up, and are
            /// kept for the next one.
            ///
            /// # Examples
            ///
            /// ```
            /// let (tx, rx) = tress::channel::bounded(4);
            /// tx.try_send(1).unwrap();
            /// assert_eq!((tx.len(), rx.len()), (1, 1));
            /// ```
            pub fn len(&self) -> usize {
                self.channel().len()
            }

            /// Returns the maximum number of messages in the channel: 0 for a rendezvous, `None` if it is
            /// unbounded.
            ///
            /// # Examples
            ///
            /// ```
            /// use tress::channel;
            ///
            /// assert_eq!(channel::bounded::<()>(7).0.capacity(), Some(7));
            /// assert_eq!(channel::bounded::<()>(0).0.capacity(), Some(0));
            /// assert_eq!(channel::unbounded::<()>().0.capacity(), None);
            /// ```
            pub fn capacity(&self) -> Option<usize> {
                self.channel().capacity()
            }

            /// Returns `true` if there is no message in the channel.
            ///
            /// # Examples
            ///
            /// ```
            /// let (tx, rx) = tress::channel::bounded(4);
            /// assert!(tx.is_empty());
            /// tx.try_send(1).unwrap();
            /// assert!(!rx.is_empty());
            /// ```
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns `true` if the channel holds the maximum number of messages.
            ///
            /// A rendezvous is always full.
            ///
            /// # Examples
            ///
            /// ```
            /// let (tx, rx) = tress::channel::bounded(1);
            /// assert!(!tx.is_full());
            /// tx.try_send(1).unwrap();
            /// assert!(rx.is_full());
            /// ```
            pub fn is_full(&self) -> bool {
                self.capacity().is_some_and(|capacity| self.len() >= capacity)
            }

            /// Returns `true` if the channel is closed: by either side, or because all senders or all receivers were
            /// dropped.
            ///
            /// There may still be messages to receive.
            ///
            /// # Examples
            ///
            /// ```
            /// let (tx, rx) = tress::channel::bounded::<u32>(1);
            /// assert!(!tx.is_closed());
            /// drop(tx);
            /// assert!(rx.is_closed());
            /// ```
            pub fn is_closed(&self) -> bool {
                self.channel().is_closed()
            }

            /// Returns the number of senders.
            ///
            /// # Examples
            ///
            /// ```
            /// let (tx, rx) = tress::channel::bounded::<u32>(1);
            /// let other = tx.clone();
            /// assert_eq!(rx.sender_count(), 2);
            /// drop(other);
            /// assert_eq!(tx.sender_count(), 1);
            /// ```
            pub fn sender_count(&self) -> usize {
                self.channel().senders.get()
            }

            /// Returns the number of receivers.
            ///
            /// # Examples
            ///
            /// ```
            /// let (tx, rx) = tress::channel::bounded::<u32>(1);
            /// let other = rx.clone();
            /// assert_eq!(tx.receiver_count(), 2);
            /// drop(other);
            /// assert_eq!(rx.receiver_count(), 1);
            /// ```
            pub fn receiver_count(&self) -> usize {
                self.channel().receivers.get()
            }
        }

        impl<T> fmt::Debug for $end<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($end))
                    .field("len", &self.len())
                    .field("capacity", &self.capacity())
                    .field("is_closed", &self.is_closed())
                    .finish_non_exhaustive()
            }
        }
    )*};
}

queries!(Sender Receiver);
