//! The stacks that a thread keeps for its next coroutines.

use super::{CACHED, Stack, arena, rounded};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;

/// The one used last is at the back.
struct Cache(VecDeque<Stack>);

thread_local! {
    static CACHE: RefCell<Cache> = const { RefCell::new(Cache(VecDeque::new())) };
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.0.drain(..).for_each(arena::give);
    }
}

/// A stack of `size` bytes, rounded up to pages: the one of that size used last, or one from the arena.
pub(in crate::coroutine) fn take(size: usize) -> io::Result<Stack> {
    let size = rounded(size);
    let warm = CACHE.try_with(|cache| {
        let stacks = &mut cache.borrow_mut().0;
        let at = stacks.iter().rposition(|stack| stack.size() == size)?;
        stacks.remove(at)
    });
    match warm {
        Ok(Some(stack)) => Ok(stack),
        // None fits, or the thread is ending.
        Ok(None) | Err(_) => arena::take(size),
    }
}

/// Keeps a stack warm; the least recently used one may have to go for it.
pub(in crate::coroutine) fn give(stack: Stack) {
    let mut stack = Some(stack);
    let oldest = CACHE.try_with(|cache| {
        let stacks = &mut cache.borrow_mut().0;
        stacks.extend(stack.take());
        (stacks.len() > CACHED)
            .then(|| stacks.pop_front())
            .flatten()
    });
    // What the cache did not take, because the thread is ending, goes straight back.
    stack
        .into_iter()
        .chain(oldest.ok().flatten())
        .for_each(arena::give);
}

#[cfg(test)]
pub(super) fn len() -> usize {
    CACHE.with(|cache| cache.borrow().0.len())
}
