//! Cells of finished operations, kept for the next ones: a thread that repeats an operation needs memory only
//! the first time.
//!
//! Each thread keeps some cells of each kind. The future that has fetched the result puts its cell away; the
//! ring has let go of it by then, or is about to.

use super::cell::OpCell;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::sync::Arc;

/// Maximum number of cells of one kind that a thread keeps: about as many as operations are under way at once.
// D-DRV-06
const CELLS: usize = 128;
/// Maximum number of kinds that a thread keeps. A kind is an operation on one type of descriptor, with one type
/// of buffer.
const KINDS: usize = 8;
/// Size in bytes above which a cell is not kept.
const LARGEST: usize = 512;

/// The cells of one kind.
struct Kind {
    /// The type of its cells.
    of: TypeId,
    cells: Vec<Kept>,
}

/// A cell without its type: what keeps them is compiled once, and not for each operation.
type Kept = Arc<dyn Any + Send + Sync>;

thread_local! {
    static SPARE: RefCell<Vec<Kind>> = const { RefCell::new(Vec::new()) };
}

/// Returns a cell for an operation.
pub(super) fn cell<O: Send + 'static>(op: O) -> Arc<OpCell<O>> {
    let kept = is_kept::<O>().then(|| take(TypeId::of::<OpCell<O>>()));
    if let Some(Ok(mut cell)) = kept.flatten().map(Arc::downcast::<OpCell<O>>) {
        // Otherwise the ring has not let go of it yet.
        if let Some(unshared) = Arc::get_mut(&mut cell) {
            unshared.renew(op);
            return cell;
        }
    }
    Arc::new(OpCell::new(op))
}

/// Keeps the cell of an operation that is over.
pub(super) fn keep<O: Send + 'static>(cell: Arc<OpCell<O>>) {
    if is_kept::<O>() {
        put(TypeId::of::<OpCell<O>>(), cell);
    }
}

const fn is_kept<O>() -> bool {
    size_of::<OpCell<O>>() <= LARGEST
}

fn take(of: TypeId) -> Option<Kept> {
    with(of, |cells| cells.pop()).flatten()
}

fn put(of: TypeId, cell: Kept) {
    with(of, |cells| {
        if cells.len() < CELLS {
            cells.push(cell);
        }
    });
}

/// Calls `f` with this thread's cells of a kind, unless it keeps none of that kind.
fn with<R>(of: TypeId, f: impl FnOnce(&mut Vec<Kept>) -> R) -> Option<R> {
    let kept = SPARE.try_with(|spare| {
        let mut kinds = spare.borrow_mut();
        if let Some(kind) = kinds.iter_mut().find(|kind| kind.of == of) {
            return Some(f(&mut kind.cells));
        }
        if kinds.len() == KINDS {
            return None;
        }
        kinds.push(Kind {
            of,
            cells: Vec::new(),
        });
        kinds.last_mut().map(|kind| f(&mut kind.cells))
    });
    // An error means that the thread exits.
    kept.ok().flatten()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wakers::Wakers;
    use std::task::{Context, Poll, Waker};

    /// An operation from its beginning to its end.
    fn whole<O: Send + 'static>(op: O) -> Arc<OpCell<O>> {
        let cell = cell(op);
        let _ = cell.complete(0, &mut Wakers::default());
        let polled = cell.poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready((0, _))));
        cell
    }

    /// Returns how many cells of a kind are kept, if there is room for that kind.
    fn kept<O: Send + 'static>() -> Option<usize> {
        with(TypeId::of::<OpCell<O>>(), |cells| cells.len())
    }

    #[test]
    fn a_cell_is_used_again_by_operations_of_its_kind() {
        let first = whole(1_u64);
        let address = Arc::as_ptr(&first).addr();
        keep(first);
        assert_ne!(Arc::as_ptr(&cell(1_u32)).addr(), address);
        let second = whole(2_u64);
        assert_eq!(Arc::as_ptr(&second).addr(), address);
    }

    #[test]
    fn a_cell_that_the_ring_still_has_is_left_to_it() {
        let first = whole(1_u64);
        let table = Arc::clone(&first);
        keep(first);
        let second = cell(2_u64);
        assert!(!Arc::ptr_eq(&second, &table));
    }

    #[test]
    fn a_thread_keeps_a_bounded_number() {
        let cells: Vec<_> = (0..CELLS + 10).map(whole).collect();
        cells.into_iter().for_each(keep);
        assert_eq!(kept::<usize>(), Some(CELLS));
        keep(whole([0_u8; LARGEST]));
        assert_eq!(kept::<[u8; LARGEST]>(), Some(0));
    }

    #[test]
    fn a_thread_keeps_a_bounded_number_of_kinds() {
        macro_rules! kinds {
            ($($n:literal)*) => { $(keep(whole([0_u8; $n]));)* };
        }
        kinds!(1 2 3 4 5 6 7 8 9 10);
        assert_eq!(kept::<[u8; 8]>(), Some(1));
        assert_eq!(kept::<[u8; 9]>(), None);
        // It works all the same.
        whole([0_u8; 10]);
    }
}
