//! Cells of finished operations, kept for the next ones: a thread that repeats an operation needs memory only
//! the first time.
//!
//! Each thread keeps some cells of each kind. The future that has fetched the result puts its cell away; the
//! ring has let go of it by then, or is about to.

use super::cell::OpCell;
use std::any::Any;
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

thread_local! {
    /// A `Vec<Arc<OpCell<O>>>` for each `O`.
    static SPARE: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
}

/// Returns a cell for an operation.
pub(super) fn cell<O: Send + 'static>(op: O) -> Arc<OpCell<O>> {
    match with(|cells| cells.pop()).flatten() {
        Some(mut cell) => match Arc::get_mut(&mut cell) {
            Some(unshared) => {
                unshared.renew(op);
                cell
            }
            // The ring has not let go of it yet.
            None => Arc::new(OpCell::new(op)),
        },
        None => Arc::new(OpCell::new(op)),
    }
}

/// Keeps a cell whose operation was taken out.
pub(super) fn keep<O: Send + 'static>(cell: Arc<OpCell<O>>) {
    with(|cells| {
        if cells.len() < CELLS {
            cells.push(cell);
        }
    });
}

/// Calls `f` with the cells of one kind that this thread keeps; `None` if it keeps none of it. `f` runs no
/// foreign code.
fn with<O: Send + 'static, R>(f: impl FnOnce(&mut Vec<Arc<OpCell<O>>>) -> R) -> Option<R> {
    if size_of::<OpCell<O>>() > LARGEST {
        return None;
    }
    let kept = SPARE.try_with(|spare| {
        let mut kinds = spare.borrow_mut();
        let found = kinds
            .iter()
            .position(|kind| kind.is::<Vec<Arc<OpCell<O>>>>());
        if found.is_none() && kinds.len() < KINDS {
            kinds.push(Box::new(Vec::<Arc<OpCell<O>>>::new()));
        }
        let at = found.unwrap_or(kinds.len() - 1);
        kinds[at].downcast_mut().map(f)
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
        assert_eq!(with::<usize, _>(|cells| cells.len()), Some(CELLS));
        let _large = cell([0_u8; LARGEST]);
        assert_eq!(with::<[u8; LARGEST], _>(|_| ()), None);
    }

    #[test]
    fn a_thread_keeps_a_bounded_number_of_kinds() {
        macro_rules! kinds {
            ($($n:literal)*) => { $(keep(whole([0_u8; $n]));)* };
        }
        kinds!(1 2 3 4 5 6 7 8 9 10);
        assert_eq!(with::<[u8; 8], _>(|cells| cells.len()), Some(1));
        assert_eq!(with::<[u8; 9], _>(|cells| cells.len()), None);
        // It works all the same.
        whole([0_u8; 10]);
    }
}
