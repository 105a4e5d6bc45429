use crate::atom::{Atom, AtomError};
use std::fmt;

/// What a message is about.
///
/// A message that was given none goes to the [inbox](Topic::INBOX). Topics that begin with `@` are
/// the system's; messages cannot be sent to them, but for the inbox.
///
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
    /// `@pid/inbox`: where messages go that were given no topic.
    pub const INBOX: Topic = Topic(Atom::INBOX);

    /// `@pid/events`: where the system's [events](crate::SystemEvent) come from.
    pub const EVENTS: Topic = Topic(Atom::EVENTS);

    /// `@pid/control`: what hosts tell each other about links and monitors, as
    /// [`Control`](crate::Control)s. Processes do not see it.
    pub const CONTROL: Topic = Topic(Atom::CONTROL);

    /// The topic of a name. Keep it: this looks the name up.
    ///
    /// # Errors
    /// As [`Atom::new`].
    pub fn new(name: &str) -> Result<Topic, AtomError> {
        Atom::new(name).map(Topic)
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        self.0.as_str()
    }

    /// Is it one of the system's?
    pub fn is_reserved(self) -> bool {
        self.as_str().starts_with('@')
    }

    /// May a message be sent to it?
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
