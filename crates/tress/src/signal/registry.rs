//! What the process knows about its signals, for all runtimes together.
//!
//! A handler may do next to nothing: it counts the signal and writes a byte to the pipe of each runtime's
//! listener. Every [`Listener`](super::unix::Signal) has a pipe of its own, which its runtime watches,
//! so that no thread waits and a runtime that is gone holds up nobody.
//!
//! The list of pipes a handler goes through is never freed: a handler may be anywhere in it. Listeners that
//! are dropped leave their node, with its pipe, to the next one; there are as many nodes as there ever
//! were listeners at a time.
//!
//! A signal that comes while nobody listens is kept for the next who does, as is one that the last listener was
//! told of and has not taken: who listens, handles and listens again misses none.
//!
//! A handler that somebody else had installed before ours goes on being called, after the listeners were told.
//!
//! # Memory ordering
//! Nodes are published with release and found with acquire. A node's signal and use are one word.

use crate::sys::atomic::Ordering;
use crate::sys::handlers::{self, Handlers, SIGNALS, UNFIT};
use crate::sys::plain::{AtomicBool, AtomicI32, AtomicPtr, Mutex};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// No signal has this number.
const FREE: i32 = 0;

/// The pipes to write to, newest first.
static NODES: AtomicPtr<Node> = AtomicPtr::new(ptr::null_mut());

/// The signals that came while nobody listened for them, by their numbers.
static MISSED: [AtomicBool; SIGNALS] = [const { AtomicBool::new(false) }; SIGNALS];

static HANDLERS: Handlers = Handlers::new();

/// Held while nodes are taken.
static TAKING: Mutex<()> = Mutex::new(());

struct Node {
    /// The signal that is listened for, or `FREE`.
    signal: AtomicI32,
    /// The signal that was listened for last. Changed with `TAKING` held.
    last: AtomicI32,
    /// Full means that the listener has not looked yet: signals coalesce.
    write: OwnedFd,
    read: OwnedFd,
    next: *const Node,
}

// SAFETY: `next` leads to another node that is never freed.
unsafe impl Send for Node {}
// SAFETY: as above; the rest is `Sync`.
unsafe impl Sync for Node {}

impl Node {
    /// Tells the listener. A full pipe says the same as one more byte; nothing else can go wrong with it.
    fn ring(&self) {
        // SAFETY: one byte that is there.
        unsafe { libc::write(self.write.as_raw_fd(), [0_u8].as_ptr().cast(), 1) };
    }
}

/// A place in the list, until dropped.
#[derive(Debug)]
pub(super) struct Place(&'static Node);

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}

impl AsRawFd for Place {
    fn as_raw_fd(&self) -> i32 {
        self.0.read.as_raw_fd()
    }
}

impl Place {
    /// Listens for a signal, whose handler is installed if it is the first time.
    pub(super) fn listen(signal: i32) -> io::Result<Place> {
        check(signal)?;
        let _taking = TAKING.lock();
        let node = Node::take()?;
        // What handlers that had begun before then wrote for listeners who are gone.
        nodes().for_each(Node::keep_for_the_next);
        node.last.store(signal, Ordering::Relaxed);
        node.signal.store(signal, Ordering::Release);
        if let Err(error) = HANDLERS.install(signal, handle) {
            node.signal.store(FREE, Ordering::Release);
            return Err(error);
        }
        if handlers::of(&MISSED, signal).is_some_and(|missed| missed.swap(false, Ordering::AcqRel))
        {
            node.ring();
        }
        Ok(Place(node))
    }

    /// Empties the pipe; `WouldBlock` if there was nothing in it.
    pub(super) fn take_bytes(&self) -> io::Result<()> {
        self.0.take_bytes()
    }
}

impl Node {
    /// A free node, or a new one. Called with the lock held, so nobody else takes the same.
    fn take() -> io::Result<&'static Node> {
        if let Some(node) = nodes().find(|node| node.is_for(FREE)) {
            return Ok(node);
        }
        let (read, write) = pipe()?;
        let node = Box::leak(Box::new(Node {
            signal: AtomicI32::new(FREE),
            last: AtomicI32::new(FREE),
            write,
            read,
            next: NODES.load(Ordering::Acquire),
        }));
        let node: &'static Node = node;
        NODES.store(ptr::from_ref(node).cast_mut(), Ordering::Release);
        Ok(node)
    }

    fn is_for(&self, signal: i32) -> bool {
        self.signal.load(Ordering::Acquire) == signal
    }

    /// If the node is free: keeps what its last listener was told of and has not taken, unless somebody else listens for
    /// the same, who was told too. Called with the lock held.
    fn keep_for_the_next(&self) {
        let signal = self.last.load(Ordering::Relaxed);
        if self.is_for(FREE)
            && self.take_bytes().is_ok()
            && !nodes().any(|node| node.is_for(signal))
        {
            note_missed(signal);
        }
    }

    fn take_bytes(&self) -> io::Result<()> {
        let mut bytes = [0_u8; 64];
        let mut found = false;
        loop {
            // SAFETY: the buffer is there, and the descriptor is the node's own.
            let n = unsafe {
                libc::read(
                    self.read.as_raw_fd(),
                    bytes.as_mut_ptr().cast(),
                    bytes.len(),
                )
            };
            match n {
                1.. => found = true,
                _ => {
                    let error = io::Error::last_os_error();
                    if error.kind() == io::ErrorKind::Interrupted {
                        continue;
                    }
                    return if found { Ok(()) } else { Err(error) };
                }
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _taking = TAKING.lock();
        self.0.signal.store(FREE, Ordering::Release);
        self.0.keep_for_the_next();
    }
}

/// All of them, newest first.
fn nodes() -> impl Iterator<Item = &'static Node> {
    let follow = |node: *const Node| {
        // SAFETY: nodes are never freed.
        unsafe { node.as_ref() }
    };
    let newest = follow(NODES.load(Ordering::Acquire));
    std::iter::successors(newest, move |node| follow(node.next))
}

/// Nobody has heard of a signal; the next listener will.
fn note_missed(signal: i32) {
    if let Some(missed) = handlers::of(&MISSED, signal) {
        missed.store(true, Ordering::Release);
    }
}

fn check(signal: i32) -> io::Result<()> {
    if signal <= 0 || UNFIT.contains(&signal) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("signal {signal} cannot be listened for"),
        ));
    }
    Ok(())
}

/// Only loads, and writes to pipes that do not block.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, state: *mut libc::c_void) {
    let tell = || {
        let mut heard = false;
        for node in nodes().filter(|node| node.is_for(signal)) {
            node.ring();
            heard = true;
        }
        if !heard {
            note_missed(signal);
        }
    };
    // SAFETY: the arguments are the system's.
    unsafe { HANDLERS.handle(signal, info, state, tell) };
}

/// A pipe whose ends do not block and are closed on `exec`: reading, writing. Where the system can, they are
/// so from the beginning: a child that another thread starts meanwhile must not get them.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (write, read) = mio::unix::pipe::new()?;
    Ok((read.into(), write.into()))
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests;
