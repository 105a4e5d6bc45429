use std::fmt;

/// What a task waits for, or what is held.
///
/// # Examples
/// ```
/// use tress::trace::WaitKind;
///
/// assert_eq!(WaitKind::Mutex.to_string(), "Mutex");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WaitKind {
    /// A lock of [`sync::Mutex`](crate::sync::Mutex).
    Mutex,
    /// A read lock of [`sync::RwLock`](crate::sync::RwLock).
    RwLockRead,
    /// A write lock of [`sync::RwLock`](crate::sync::RwLock).
    RwLockWrite,
    /// Permits of [`sync::Semaphore`](crate::sync::Semaphore).
    Semaphore,
    /// The value of [`sync::OnceCell`](crate::sync::OnceCell) or [`sync::SetOnce`](crate::sync::SetOnce).
    OnceCell,
    /// The other tasks at [`sync::Barrier`](crate::sync::Barrier).
    Barrier,
    /// A notification of [`sync::Notify`](crate::sync::Notify).
    Notify,
    /// A value from [`sync::oneshot`](crate::sync::oneshot).
    OneshotReceive,
    /// The receiver of [`sync::oneshot`](crate::sync::oneshot) being closed.
    OneshotClosed,
    /// Room in a bounded channel.
    ChannelSend,
    /// A message from a channel.
    ChannelReceive,
    /// A channel being closed by its receivers.
    ChannelClosed,
    /// A message from [`sync::broadcast`](crate::sync::broadcast).
    BroadcastReceive,
    /// A change of [`sync::watch`](crate::sync::watch).
    WatchChange,
    /// The receivers of [`sync::watch`](crate::sync::watch) being dropped.
    WatchClosed,
    /// A cancellation.
    Cancellation,
    /// The end of another task.
    Join,
    /// A moment in time.
    Timer,
    /// Bytes, or a connection, from a socket or pipe.
    Read,
    /// Room in a socket or pipe.
    Write,
    /// An operation that the kernel carries out, such as one on a file.
    Operation,
    /// A closure on the blocking pool.
    Blocking,
    /// A turn on a dispatcher.
    Dispatcher,
    /// A coroutine that suspended itself.
    Coroutine,
    /// A message in the mailbox of a process.
    Mailbox,
    /// A signal of the system.
    Signal,
    /// The end of a child process.
    Child,
}

impl WaitKind {
    /// Returns the kind in words, such as `a message from a channel`.
    ///
    /// # Examples
    /// ```
    /// use tress::trace::WaitKind;
    ///
    /// assert_eq!(WaitKind::ChannelReceive.describe(), "a message from a channel");
    /// ```
    pub const fn describe(self) -> &'static str {
        match self {
            WaitKind::Mutex => "a Mutex",
            WaitKind::RwLockRead => "a read lock of an RwLock",
            WaitKind::RwLockWrite => "the write lock of an RwLock",
            WaitKind::Semaphore => "permits of a Semaphore",
            WaitKind::OnceCell => "the value of a OnceCell",
            WaitKind::Barrier => "a Barrier",
            WaitKind::Notify => "a Notify",
            WaitKind::OneshotReceive => "a value from a oneshot channel",
            WaitKind::OneshotClosed => "a oneshot channel to be closed",
            WaitKind::ChannelSend => "room in a channel",
            WaitKind::ChannelReceive => "a message from a channel",
            WaitKind::ChannelClosed => "a channel to be closed",
            WaitKind::BroadcastReceive => "a message from a broadcast channel",
            WaitKind::WatchChange => "a change of a watch channel",
            WaitKind::WatchClosed => "a watch channel to be closed",
            WaitKind::Cancellation => "a cancellation",
            WaitKind::Join => "the end of a task",
            WaitKind::Timer => "a timer",
            WaitKind::Read => "input",
            WaitKind::Write => "room for output",
            WaitKind::Operation => "an operation of the kernel",
            WaitKind::Blocking => "a blocking closure",
            WaitKind::Dispatcher => "a turn on a dispatcher",
            WaitKind::Coroutine => "a wake-up of a coroutine",
            WaitKind::Mailbox => "a message in a mailbox",
            WaitKind::Signal => "a signal",
            WaitKind::Child => "the end of a child process",
        }
    }

    /// Returns whether a task holds what others of this kind wait for.
    #[cfg_attr(loom, allow(dead_code, reason = "nobody asks in a model"))]
    pub(crate) const fn has_holder(self) -> bool {
        matches!(
            self,
            WaitKind::Mutex
                | WaitKind::RwLockRead
                | WaitKind::RwLockWrite
                | WaitKind::Semaphore
                | WaitKind::OnceCell
        )
    }
}

impl fmt::Display for WaitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
