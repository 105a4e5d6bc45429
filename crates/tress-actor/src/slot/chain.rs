//! A list of events.

use super::node::Node;
use crate::contain::contain;
use crate::event::Event;
use crate::pid::Pid;
use crate::topic::Topic;
use std::marker::PhantomData;
use std::ptr;

/// Events in the order of their arrival, which the chain owns.
pub(crate) struct Chain {
    first: *mut Node,
    /// Dangles if there is no first.
    last: *mut Node,
    len: usize,
    owns: PhantomData<Node>,
}

// SAFETY: it owns its nodes, and events can be sent.
unsafe impl Send for Chain {}
// SAFETY: a shared chain shows nothing but its length.
unsafe impl Sync for Chain {}

impl Chain {
    pub(crate) const fn new() -> Chain {
        Chain {
            first: ptr::null_mut(),
            last: ptr::null_mut(),
            len: 0,
            owns: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    #[inline]
    pub(super) fn push_node(&mut self, node: Box<Node>) {
        let node = Box::into_raw(node);
        // SAFETY: the node is ours now.
        unsafe { (*node).next = ptr::null_mut() };
        if self.first.is_null() {
            self.first = node;
        } else {
            // SAFETY: the last node of a chain that is not empty is the chain's.
            unsafe { (*self.last).next = node };
        }
        self.last = node;
        self.len += 1;
    }

    #[inline]
    pub(super) fn pop_node(&mut self) -> Option<Box<Node>> {
        if self.first.is_null() {
            return None;
        }
        // SAFETY: the nodes of a chain came from boxes and are the chain's alone.
        let node = unsafe { Box::from_raw(self.first) };
        self.first = node.next;
        self.len -= 1;
        Some(node)
    }

    /// Takes the next event.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Event> {
        // Chains that are handed out hold events only.
        self.pop_node()?.into_event()
    }

    /// Takes the value of the next event, and its sender, if it is a message with a value of this type that
    /// does not come from the system.
    #[inline(always)]
    pub(crate) fn pop_value<T: Send + 'static>(&mut self) -> Option<(Option<Pid>, T)> {
        // SAFETY: the first node, if there is one, is the chain's.
        let first = unsafe { self.first.as_mut() }?;
        let Some(Event::Message(message)) = &mut first.event else {
            return None;
        };
        if message.topic == Topic::EVENTS {
            return None;
        }
        let value = message.payload.take()?;
        let source = message.source;
        if let Some(node) = self.pop_node() {
            node.discard_empty();
        }
        Some((source, value))
    }

    /// Puts an event before all others.
    pub(crate) fn push_front(&mut self, event: Event) {
        let node = Box::into_raw(Node::new(0, Some(event)));
        // SAFETY: the node is ours.
        unsafe { (*node).next = self.first };
        if self.first.is_null() {
            self.last = node;
        }
        self.first = node;
        self.len += 1;
    }

    /// Appends nodes that are linked from the newest to the oldest.
    ///
    /// # Safety
    /// They came from boxes, end with a null and have no other owner.
    pub(super) unsafe fn append_reversed(&mut self, newest: *mut Node) {
        if newest.is_null() {
            return;
        }
        let (mut behind, mut node, mut count) = (ptr::null_mut(), newest, 0);
        while !node.is_null() {
            // SAFETY: by the caller's promise the node is ours until the chain is taken apart.
            let before = unsafe { std::mem::replace(&mut (*node).next, behind) };
            (behind, node, count) = (node, before, count + 1);
        }
        if self.first.is_null() {
            self.first = behind;
        } else {
            // SAFETY: as in `push_node`.
            unsafe { (*self.last).next = behind };
        }
        self.last = newest;
        self.len += count;
    }

    /// Takes out the first node for which `wanted` returns `true`.
    pub(super) fn remove_first(&mut self, wanted: impl Fn(&Node) -> bool) -> Option<Box<Node>> {
        let (mut before, mut node) = (ptr::null_mut::<Node>(), self.first);
        // SAFETY: the nodes are the chain's, which is borrowed exclusively.
        while let Some(this) = unsafe { node.as_ref() } {
            if !wanted(this) {
                (before, node) = (node, this.next);
                continue;
            }
            // SAFETY: as above; a node that has one before it is not the first.
            match unsafe { before.as_mut() } {
                Some(before) => before.next = this.next,
                None => self.first = this.next,
            }
            if self.last == node {
                self.last = before;
            }
            self.len -= 1;
            // SAFETY: it came from a box, and the chain has let go of it.
            return Some(unsafe { Box::from_raw(node) });
        }
        None
    }

    /// Iterates over the events.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Event> {
        let mut node = self.first;
        std::iter::from_fn(move || {
            // SAFETY: the nodes are the chain's, which is borrowed.
            let this = unsafe { node.as_ref() }?;
            node = this.next;
            Some(this.event.as_ref())
        })
        .flatten()
    }
}

impl Default for Chain {
    fn default() -> Chain {
        Chain::new()
    }
}

impl Drop for Chain {
    #[inline]
    fn drop(&mut self) {
        while let Some(node) = self.pop_node() {
            // Contained, because a panic would leak the events behind this one.
            contain(|| drop(node.into_event()));
        }
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Chain({} events)", self.len)
    }
}
