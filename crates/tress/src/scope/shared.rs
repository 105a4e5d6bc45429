//! What a scope, its handles and its children share: who is alive, and why it failed.

use crate::sync::CancellationToken;
use crate::sys::Mutex;
use crate::sys::guarded;
use crate::task::AbortHandle;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;
use std::thread;

pub(super) struct Shared<E> {
    state: Mutex<State<E>>,
    token: CancellationToken,
}

struct State<E> {
    /// By key; without a handle while the child is being spawned.
    children: HashMap<u64, Option<AbortHandle>>,
    next_key: u64,
    /// The first reason to cancel.
    cause: Option<Cause<E>>,
    /// No child may begin any more.
    cancelled: bool,
    /// The scope's future, waiting.
    waiter: Option<Waker>,
}

pub(super) enum Cause<E> {
    Failed(E),
    Panic(Box<dyn Any + Send>),
    Cancelled,
    TimedOut,
}

/// What the scope's future does next.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Settled {
    /// Nobody is left.
    Over,
    /// It will be woken when a child ends or the scope is cancelled.
    Waits,
    /// It was cancelled meanwhile, and the body must go.
    Again,
}

impl<E> Shared<E> {
    pub(super) fn new(token: CancellationToken) -> Shared<E> {
        Shared {
            state: Mutex::new(State {
                children: HashMap::new(),
                next_key: 0,
                cause: None,
                cancelled: false,
                waiter: None,
            }),
            token,
        }
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().children.len()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state.lock().cancelled
    }

    /// Makes room for a child that is about to be spawned. `entered` must follow.
    pub(super) fn enter(this: &Arc<Self>) -> Place<E> {
        let mut state = this.state.lock();
        let key = state.next_key;
        state.next_key += 1;
        state.children.insert(key, None);
        Place {
            shared: this.clone(),
            key,
        }
    }

    /// The child has been spawned; it may be over already. If the scope was cancelled it is aborted.
    pub(super) fn entered(&self, key: u64, abort: AbortHandle) {
        let refused = {
            let mut state = self.state.lock();
            match (state.cancelled, state.children.get_mut(&key)) {
                (false, Some(slot)) => {
                    *slot = Some(abort);
                    None
                }
                (true, _) | (false, None) => Some(abort),
            }
        };
        // Of a child that is over this does nothing.
        if let Some(abort) = refused {
            abort.abort();
        }
    }

    /// Cancels the scope for `cause`, unless it was cancelled before.
    pub(super) fn fail(&self, cause: Cause<E>) {
        let (children, waiter) = {
            let mut state = self.state.lock();
            if state.cancelled {
                drop(state);
                // Foreign code runs in its destructor: after the lock. The scope has its reason to fail, and
                // must not end by this one before its children do.
                guarded(|| drop(cause));
                return;
            }
            state.cause = Some(cause);
            (state.cancel(), state.waiter.take())
        };
        self.tell(children, waiter);
    }

    /// The scope's future is going.
    pub(super) fn close(&self) {
        let (children, waiter) = {
            let mut state = self.state.lock();
            (state.cancel(), state.waiter.take())
        };
        self.tell(children, None);
        drop(waiter);
    }

    /// Outside of the lock: a child's abort and a waker are code that may come back to us.
    fn tell(&self, children: Vec<AbortHandle>, waiter: Option<Waker>) {
        /// Also if the token has a waker that panics.
        struct Others(Vec<AbortHandle>, Option<Waker>);
        impl Drop for Others {
            fn drop(&mut self) {
                for child in &self.0 {
                    child.abort();
                }
                match self.1.take() {
                    Some(waiter) if thread::panicking() => drop(guarded(|| waiter.wake())),
                    Some(waiter) => waiter.wake(),
                    None => {}
                }
            }
        }
        let _others = Others(children, waiter);
        self.token.cancel();
    }

    /// Leaves the waker, unless there is something to do.
    pub(super) fn settle(&self, waker: &Waker, has_body: bool) -> Settled {
        let waker = waker.clone();
        let before = {
            let mut state = self.state.lock();
            if has_body && state.cancelled {
                return Settled::Again;
            }
            if !has_body && state.children.is_empty() {
                state.cancelled = true;
                return Settled::Over;
            }
            state.waiter.replace(waker)
        };
        drop(before);
        Settled::Waits
    }

    pub(super) fn take_cause(&self) -> Option<Cause<E>> {
        self.state.lock().cause.take()
    }

    fn leave(&self, key: u64) {
        let (child, waiter) = {
            let mut state = self.state.lock();
            let child = state.children.remove(&key);
            let last = state.children.is_empty();
            (child, last.then(|| state.waiter.take()).flatten())
        };
        drop(child);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
    }
}

impl<E> State<E> {
    /// Forbids new children and returns those to abort. One that is being spawned is aborted by
    /// its spawner.
    fn cancel(&mut self) -> Vec<AbortHandle> {
        self.cancelled = true;
        self.children
            .values_mut()
            .filter_map(Option::take)
            .collect()
    }
}

/// A child's membership; the child has left when this is dropped.
pub(super) struct Place<E> {
    shared: Arc<Shared<E>>,
    key: u64,
}

impl<E> Place<E> {
    pub(super) fn key(&self) -> u64 {
        self.key
    }

    pub(super) fn shared(&self) -> &Shared<E> {
        &self.shared
    }

    /// May the child be polled? One that has started is ended by its abort alone, which a shield
    /// defers; one that has not does not begin in a cancelled scope, whose abort is on its way.
    pub(super) fn may_run(&self, started: &mut bool) -> bool {
        if !*started {
            *started = !self.shared.is_cancelled();
        }
        *started
    }
}

impl<E> Drop for Place<E> {
    fn drop(&mut self) {
        self.shared.leave(self.key);
    }
}
