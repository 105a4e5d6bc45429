//! What either end can ask of its channel.

use super::receiver::Receiver;
use super::sender::Sender;
use std::fmt;

macro_rules! state {
    ($($end:ident)*) => {$(
        impl<T> $end<T> {
            /// Messages in the channel at this moment. In a rendezvous there are none, except what was
            /// handed to a receiver that gave up, and is kept for the next one.
            pub fn len(&self) -> usize {
                self.channel().len()
            }

            /// How many messages the channel holds: 0 for a rendezvous, `None` if it is unbounded.
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

            /// True if there is no message in the channel at this moment.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// True if the channel holds as many messages as it can at this moment. A rendezvous is
            /// always full.
            pub fn is_full(&self) -> bool {
                self.capacity().is_some_and(|capacity| self.len() >= capacity)
            }

            /// True if the channel is closed: by either side, or since all senders or all receivers
            /// are gone. There may still be messages to be received.
            pub fn is_closed(&self) -> bool {
                self.channel().is_closed()
            }

            /// How many senders there are.
            pub fn sender_count(&self) -> usize {
                self.channel().senders.get()
            }

            /// How many receivers there are.
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

state!(Sender Receiver);
