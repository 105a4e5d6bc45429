//! What both ends can ask of their channel.

use super::receiver::Receiver;
use super::sender::Sender;
use std::fmt;

macro_rules! queries {
    ($($end:ident)*) => {$(
        impl<T> $end<T> {
            /// Returns the number of messages in the channel. In a rendezvous there are none, except
            /// those that were handed to a receiver which gave up, and are kept for the next one.
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
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns `true` if the channel holds as many messages as it can. A rendezvous is always full.
            pub fn is_full(&self) -> bool {
                self.capacity().is_some_and(|capacity| self.len() >= capacity)
            }

            /// Returns `true` if the channel is closed: by either side, or because all senders or all
            /// receivers were dropped. There may still be messages to receive.
            pub fn is_closed(&self) -> bool {
                self.channel().is_closed()
            }

            /// Returns the number of senders.
            pub fn sender_count(&self) -> usize {
                self.channel().senders.get()
            }

            /// Returns the number of receivers.
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
