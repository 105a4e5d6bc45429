//! The tree of tokens.
//!
//! All nodes of a tree share one lock, which guards the links between them: children, siblings,
//! parent. Looking at a node's latch, and waiting for it, does not touch that lock.
//!
//! # Lifetime of nodes
//! A node lives as long as there is a [`NodeRef`] of it; the links do not count. When the count has
//! reached zero, the node is *leaving*: it takes the lock, hands its children to its parent, unlinks
//! itself, and is freed after that. So with the lock held every node that can be reached by links may be
//! looked at, but a new reference may be taken only if the count is not zero.
//!
//! # Cancelling
//! 1. With the lock held: the node is cut off from its parent, the latch of each node below is set,
//!    and all links below are cut. The nodes, a reference to each of them, form a chain. Those that
//!    are leaving are left out: no task waits for them.
//! 2. Without it: the nodes are taken from the chain one after the other, and their waiters woken.
//!
//! A node whose latch is set has no links, and no part in the tree any more; children made later are
//! born cancelled. That is checked with the lock held.

use crate::sight::WaitKind;
use crate::sync::latch::Latch;
use crate::sys::atomic::{AtomicUsize, Ordering, fence};
use crate::sys::{Arc, Mutex, UnsafeCell};
use crate::wait::WakeBatch;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;

struct Node {
    /// The number of references. The thread that takes it to zero frees the node.
    handles: AtomicUsize,
    latch: Latch,
    /// The lock of the tree.
    tree: Arc<Mutex<()>>,
    /// Guarded by the lock of the tree.
    links: UnsafeCell<Links>,
}

#[derive(Default)]
struct Links {
    parent: Option<NonNull<Node>>,
    first_child: Option<NonNull<Node>>,
    prev: Option<NonNull<Node>>,
    /// The next sibling; or, once cancelled, the next in the chain of those to be woken.
    next: Option<NonNull<Node>>,
}

/// A counted reference to a node.
pub(super) struct NodeRef(NonNull<Node>);

// SAFETY: all of a node is guarded by atomics and locks, and it may be freed by any thread.
unsafe impl Send for NodeRef {}
// SAFETY: as above.
unsafe impl Sync for NodeRef {}
impl UnwindSafe for NodeRef {}
impl RefUnwindSafe for NodeRef {}

/// # Safety
/// The lock of the node's tree is held, or the node was taken out of the tree by the caller, and the
/// node is alive.
unsafe fn links<R>(node: NonNull<Node>, f: impl FnOnce(&mut Links) -> R) -> R {
    // SAFETY: alive and exclusive by the caller's promise.
    unsafe { node.as_ref() }
        .links
        .with_mut(|links| f(unsafe { &mut *links }))
}

impl NodeRef {
    #[track_caller]
    fn allocate(tree: Arc<Mutex<()>>, cancelled: bool) -> NodeRef {
        let node = Box::new(Node {
            handles: AtomicUsize::new(1),
            latch: Latch::new(cancelled, WaitKind::Cancellation),
            tree,
            links: UnsafeCell::new(Links::default()),
        });
        NodeRef(NonNull::from(Box::leak(node)))
    }

    fn node(&self) -> &Node {
        // SAFETY: alive as long as we count.
        unsafe { self.0.as_ref() }
    }

    #[track_caller]
    pub(super) fn root() -> NodeRef {
        NodeRef::allocate(Arc::new(Mutex::new(())), false)
    }

    pub(super) fn latch(&self) -> &Latch {
        &self.node().latch
    }

    #[track_caller]
    pub(super) fn child(&self) -> NodeRef {
        let tree = &self.node().tree;
        if self.latch().is_set() {
            return NodeRef::allocate(tree.clone(), true);
        }
        let child = NodeRef::allocate(tree.clone(), false);
        let locked = tree.lock();
        if self.latch().is_set() {
            // No task waits for the child yet.
            child.latch().set_silently();
        } else {
            // SAFETY: the lock is held, and both are alive.
            unsafe { add_child(self.0, child.0) };
        }
        drop(locked);
        child
    }

    pub(super) fn cancel(&self) {
        if self.latch().is_set() {
            return;
        }
        let locked = self.node().tree.lock();
        if self.latch().is_set() {
            return;
        }
        // SAFETY: the lock is held, and the node is alive and linked.
        let mut chain = unsafe {
            unlink(self.0);
            cancel_below(self.0)
        };
        drop(locked);
        let mut batch = WakeBatch::new();
        while let Some(node) = chain {
            // SAFETY: the chain is ours, and so is a reference to each node in it.
            let node = unsafe {
                chain = links(node, |l| l.next.take());
                NodeRef(node)
            };
            node.latch().wake(&mut batch);
        }
        batch.finish();
    }
}

/// Sets the latches of a node and of all below, and cuts all links below. Returns the first of a
/// chain of the nodes that are referred to; each comes with a reference.
///
/// # Safety
/// The lock is held; the node is alive and was unlinked.
unsafe fn cancel_below(top: NonNull<Node>) -> Option<NonNull<Node>> {
    let mut chain = None;
    // Nodes to be visited, linked by `next`. No recursion: trees can be deep.
    let mut visit = Some(top);
    while let Some(node) = visit {
        // SAFETY: nodes that can be reached by links are alive while the lock is held.
        unsafe {
            let (next, first_child) = links(node, |l| {
                l.parent = None;
                l.prev = None;
                (l.next.take(), l.first_child.take())
            });
            visit = next;
            if let Some(first) = first_child {
                // The children go in front. Each node is walked over once more at most.
                let mut last = first;
                while let Some(sibling) = links(last, |l| l.next) {
                    last = sibling;
                }
                links(last, |l| l.next = visit);
                visit = Some(first);
            }
            node.as_ref().latch.set_silently();
            if try_acquire(node.as_ref()) {
                links(node, |l| l.next = chain);
                chain = Some(node);
            }
        }
    }
    chain
}

/// Takes a reference, unless the node is leaving.
fn try_acquire(node: &Node) -> bool {
    let mut handles = node.handles.load(Ordering::Relaxed);
    while handles != 0 {
        match node.handles.compare_exchange_weak(
            handles,
            handles + 1,
            Ordering::Relaxed,
            Ordering::Relaxed,
        ) {
            Ok(_) => return true,
            Err(actual) => handles = actual,
        }
    }
    false
}

/// # Safety
/// The lock is held, both are alive, and the child is not linked.
unsafe fn add_child(parent: NonNull<Node>, child: NonNull<Node>) {
    // SAFETY: by the caller's promise; the first child is alive because it can be reached.
    unsafe {
        let next = links(parent, |l| l.first_child.replace(child));
        links(child, |l| {
            l.parent = Some(parent);
            l.prev = None;
            l.next = next;
        });
        if let Some(next) = next {
            links(next, |l| l.prev = Some(child));
        }
    }
}

/// Cuts a node off from its parent and its siblings; returns the parent.
///
/// # Safety
/// The lock is held and the node is alive.
unsafe fn unlink(node: NonNull<Node>) -> Option<NonNull<Node>> {
    // SAFETY: by the caller's promise; what can be reached is alive.
    unsafe {
        let (parent, prev, next) = links(node, |l| (l.parent.take(), l.prev.take(), l.next.take()));
        if let Some(next) = next {
            links(next, |l| l.prev = prev);
        }
        match (prev, parent) {
            (Some(prev), _) => links(prev, |l| l.next = next),
            (None, Some(parent)) => links(parent, |l| l.first_child = next),
            (None, None) => {}
        }
        parent
    }
}

/// Takes a node without references out of the tree, and frees it.
///
/// # Safety
/// Its count has just reached zero.
#[cold]
unsafe fn leave(node: NonNull<Node>) {
    // SAFETY: only this function frees it, below.
    let tree = unsafe { node.as_ref() }.tree.clone();
    let locked = tree.lock();
    // SAFETY: the lock is held, the node is alive. If it was cancelled it has no links.
    unsafe {
        let parent = unlink(node);
        let mut child = links(node, |l| l.first_child.take());
        while let Some(orphan) = child {
            child = links(orphan, |l| {
                l.parent = None;
                l.prev = None;
                l.next.take()
            });
            if let Some(parent) = parent {
                add_child(parent, orphan);
            }
        }
    }
    drop(locked);
    // SAFETY: there is no reference and no link to it any more.
    drop(unsafe { Box::from_raw(node.as_ptr()) });
}

impl Clone for NodeRef {
    fn clone(&self) -> Self {
        let handles = self.node().handles.fetch_add(1, Ordering::Relaxed);
        if handles > isize::MAX as usize {
            // The program leaks tokens, and a wrapped count would free memory in use.
            std::process::abort();
        }
        NodeRef(self.0)
    }
}

impl Drop for NodeRef {
    fn drop(&mut self) {
        if self.node().handles.fetch_sub(1, Ordering::Release) == 1 {
            // What others did with the node happens before it is freed.
            fence(Ordering::Acquire);
            // SAFETY: that was the last reference.
            unsafe { leave(self.0) };
        }
    }
}
