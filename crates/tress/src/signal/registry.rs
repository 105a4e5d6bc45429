//! The signals of the process, for all of its runtimes.
//!
//! A signal handler may do next to nothing: it writes a byte to a pipe of each listener. Every
//! [`Signal`](super::unix::Signal) has a pipe of its own, which its runtime watches, so that no thread
//! waits, and a runtime that has shut down delays no other.
//!
//! The list of pipes that a handler walks is never freed, because a handler may be anywhere in it. A
//! listener that is dropped leaves its node, with its pipe, to the next one; there are as many nodes as
//! there were ever listeners at the same time.
//!
//! A signal that arrives while there is no listener is kept for the next one, as is one that the last
//! listener was told of and has not received: a program that listens, handles and listens again misses
//! none.
//!
//! A handler that other code had installed before ours continues to be called, after the listeners were
//! told.
//!
//! # Memory ordering
//! Nodes are published with release and found with acquire. A node's signal and use are one word.

use crate::sys::PerProgram;
use crate::sys::atomic::Ordering;
use crate::sys::handlers::{self, Handlers, SIGNALS, UNFIT};
use crate::sys::plain::{AtomicBool, AtomicI32, AtomicPtr, Mutex};
use crate::words;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// No signal has this number.
const FREE: i32 = 0;

/// Each program of a simulation has its own.
static REGISTRY: PerProgram<Registry> = PerProgram::new(Registry::new(), Registry::new);

/// The signals of a program, and those that listen for them.
struct Registry {
    /// The pipes to write to, newest first.
    nodes: AtomicPtr<Node>,
    /// The signals that arrived while there was no listener for them, by number.
    missed: [AtomicBool; SIGNALS],
    handlers: Handlers,
    /// Held while nodes are taken and given back.
    taking: Mutex<()>,
}

struct Node {
    /// The signal that is listened for, or `FREE`.
    signal: AtomicI32,
    /// The signal that was listened for last. Changed with `taking` held.
    last: AtomicI32,
    /// If the pipe is full the listener has not looked yet: signals coalesce.
    write: OwnedFd,
    read: OwnedFd,
    next: *const Node,
}

// SAFETY: `next` leads to another node that is never freed.
unsafe impl Send for Node {}
// SAFETY: as above; the rest is `Sync`.
unsafe impl Sync for Node {}

impl Node {
    /// Tells the listener. A full pipe says the same as one more byte, and no other error is possible.
    fn ring(&self) {
        // SAFETY: the pointer leads to one byte.
        unsafe { libc::write(self.write.as_raw_fd(), [0_u8].as_ptr().cast(), 1) };
    }
}

/// A place in the list, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    node: &'static Node,
    registry: &'static Registry,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}

impl AsRawFd for Place {
    fn as_raw_fd(&self) -> i32 {
        self.node.read.as_raw_fd()
    }
}

impl Place {
    /// Listens for a signal, and installs its handler if this is the first time.
    pub(super) fn listen(signal: i32) -> io::Result<Place> {
        check(signal)?;
        let registry = REGISTRY.get();
        let _taking = registry.taking.lock();
        let node = registry.take()?;
        // Keeps what handlers that were already running wrote for listeners that are gone.
        registry
            .nodes()
            .for_each(|node| registry.keep_for_the_next(node));
        node.last.store(signal, Ordering::Relaxed);
        node.signal.store(signal, Ordering::Release);
        if let Err(error) = registry.handlers.install(signal, handle) {
            node.signal.store(FREE, Ordering::Release);
            return Err(error);
        }
        if handlers::of(&registry.missed, signal)
            .is_some_and(|missed| missed.swap(false, Ordering::AcqRel))
        {
            node.ring();
        }
        Ok(Place { node, registry })
    }

    /// Empties the pipe; `WouldBlock` if there was nothing in it.
    pub(super) fn take_bytes(&self) -> io::Result<()> {
        self.node.take_bytes()
    }
}

impl Registry {
    const fn new() -> Registry {
        Registry {
            nodes: AtomicPtr::new(ptr::null_mut()),
            missed: [const { AtomicBool::new(false) }; SIGNALS],
            handlers: Handlers::new(),
            taking: Mutex::new(()),
        }
    }

    /// Returns a free node or a new one. Called with `taking` held, so that no other thread takes the
    /// same.
    fn take(&self) -> io::Result<&'static Node> {
        if let Some(node) = self.nodes().find(|node| node.is_for(FREE)) {
            return Ok(node);
        }
        let (read, write) = pipe()?;
        let node = Box::leak(Box::new(Node {
            signal: AtomicI32::new(FREE),
            last: AtomicI32::new(FREE),
            write,
            read,
            next: self.nodes.load(Ordering::Acquire),
        }));
        let node: &'static Node = node;
        self.nodes
            .store(ptr::from_ref(node).cast_mut(), Ordering::Release);
        Ok(node)
    }

    /// Iterates over all nodes, newest first.
    fn nodes(&self) -> impl Iterator<Item = &'static Node> + use<> {
        let follow = |node: *const Node| {
            // SAFETY: nodes are never freed.
            unsafe { node.as_ref() }
        };
        let newest = follow(self.nodes.load(Ordering::Acquire));
        std::iter::successors(newest, move |node| follow(node.next))
    }

    /// If the node is free, keeps the signal that its last listener was told of and has not received,
    /// unless another listener for the same signal was told too. Called with `taking` held.
    fn keep_for_the_next(&self, node: &Node) {
        let signal = node.last.load(Ordering::Relaxed);
        if node.is_for(FREE)
            && node.take_bytes().is_ok()
            && !self.nodes().any(|node| node.is_for(signal))
        {
            self.note_missed(signal);
        }
    }

    /// Keeps a signal for the next listener.
    fn note_missed(&self, signal: i32) {
        if let Some(missed) = handlers::of(&self.missed, signal) {
            missed.store(true, Ordering::Release);
        }
    }
}

impl Node {
    fn is_for(&self, signal: i32) -> bool {
        self.signal.load(Ordering::Acquire) == signal
    }

    fn take_bytes(&self) -> io::Result<()> {
        let mut bytes = [0_u8; 64];
        let mut found = false;
        loop {
            // SAFETY: the pointer and the length are those of an array, and the descriptor is the
            // node's own.
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
        let _taking = self.registry.taking.lock();
        self.node.signal.store(FREE, Ordering::Release);
        self.registry.keep_for_the_next(self.node);
    }
}

fn check(signal: i32) -> io::Result<()> {
    if signal <= 0 || UNFIT.contains(&signal) {
        return Err(words::refused_signal(signal));
    }
    Ok(())
}

/// The signal handler: only loads, and writes to pipes that do not block.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, state: *mut libc::c_void) {
    let registry = REGISTRY.get();
    let tell = || {
        let mut heard = false;
        for node in registry.nodes().filter(|node| node.is_for(signal)) {
            node.ring();
            heard = true;
        }
        if !heard {
            registry.note_missed(signal);
        }
    };
    // SAFETY: the arguments are the system's.
    unsafe { registry.handlers.handle(signal, info, state, tell) };
}

/// Creates a pipe, as (read, write), whose ends do not block and are closed on `exec`. Where the system
/// can, the flags are set atomically: a child that another thread spawns meanwhile must not inherit
/// the ends.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (write, read) = mio::unix::pipe::new()?;
    Ok((read.into(), write.into()))
}

#[cfg(all(test, target_os = "linux", not(loom), not(miri)))]
mod tests;
