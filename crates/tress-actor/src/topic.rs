//! What messages are about.

use crate::atom::{Atom, AtomError};
use std::fmt;

/// What a message is about.
///
/// A message without a topic goes to the [inbox](Topic::INBOX). Topics that begin with `@` are reserved for the
/// system: except for the inbox, messages cannot be sent to them.
///
/// # Examples
/// ```
/// use tress_actor::Topic;
///
/// let topic = Topic::new("orders")?;
/// assert!(!topic.is_reserved() && Topic::EVENTS.is_reserved());
/// # Ok::<(), tress_actor::AtomError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Topic(Atom);

impl Topic {
    /// `@pid/inbox`: the topic of messages that were given none.
    pub const INBOX: Topic = Topic(Atom::INBOX);

    /// `@pid/events`: the topic of [system events](crate::SystemEvent).
    pub const EVENTS: Topic = Topic(Atom::EVENTS);

    /// `@pid/control`: the topic on which hosts tell each other about links and monitors, as
    /// [`Control`](crate::Control)s. Processes do not see it.
    pub const CONTROL: Topic = Topic(Atom::CONTROL);

    /// Returns the topic of a name. Keep it: this looks the name up in a global table.
    ///
    /// # Errors
    /// As for [`Atom::new`].
    pub fn new(name: &str) -> Result<Topic, AtomError> {
        Atom::new(name).map(Topic)
    }

    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        self.0.as_str()
    }

    /// Returns `true` if the topic is reserved for the system: its name begins with `@`.
    pub fn is_reserved(self) -> bool {
        self.as_str().starts_with('@')
    }

    /// Whether a message may be sent to it.
    pub(crate) fn is_open(self) -> bool {
        self == Topic::INBOX || !self.is_reserved()
    }
}

impl fmt::Display for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
