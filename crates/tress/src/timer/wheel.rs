//! The hierarchical timer wheel: which timer is due, and when to look next.
//!
//! A wheel is plain data. It knows ticks (`u64`, one millisecond each, counted
//! from the start of the runtime) and intrusive [`Node`]s, and nothing of
//! clocks, threads, wakers or tasks. Whoever owns it puts a lock around it.
//!
//! # Layout
//!
//! Five levels of 64 slots. A slot of level `n` spans `64^n` ticks, so a level
//! spans as much as one slot of the level above it:
//!
//! | level | one slot | the level |
//! |-------|----------|-----------|
//! | 0     | 1 ms     | 64 ms     |
//! | 1     | 64 ms    | 4.1 s     |
//! | 2     | 4.1 s    | 4.4 min   |
//! | 3     | 4.4 min  | 4.66 h    |
//! | 4     | 4.66 h   | 12.43 d   |
//!
//! Slots are absolute: a tick belongs to slot `(tick / 64^n) % 64` whatever the
//! time is now. In other words, a tick is a number of base-64 digits, and a
//! slot of level `n` stands for one value of digit `n`.
//!
//! # The one rule
//!
//! A node lives on the level of the highest digit in which its deadline differs
//! from the wheel's clock. Deadlines that differ in a digit above the top level
//! wait in the overflow list. [`Place::of`] is this rule, and it holds for
//! every linked node between any two calls. The rest follows from it:
//!
//! - *Nothing is behind the clock.* All higher digits being equal, a later
//!   deadline has the greater digit, so the occupied slots of a level lie after
//!   the slot the clock stands in. The lowest set bit of the occupancy word is
//!   the next slot; there is no wrap-around to care for.
//! - *Lower levels come first.* Whatever is on level `n` ends before the
//!   clock's digit `n + 1` changes, and everything on the levels above starts
//!   after that. The first level with a set bit holds the next thing to do.
//! - *Time may jump.* Between the clock and the next occupied slot there is
//!   nothing, so the clock hops from one to the next. When it reaches the start
//!   of a slot above level 0, that slot's nodes change places (they *cascade*),
//!   each at least one level down.
//! - *What is due needs no list of its own.* Level 0, slot `now % 64` can only
//!   hold deadlines equal to `now`. Popping takes from that slot, and the clock
//!   does not move on before it is empty. The owner may therefore let go of its
//!   lock between two pops, and insert and remove whatever it likes meanwhile.
//! - *Order.* Nodes of equal deadline are in the same list at any time, new
//!   ones are appended, and a cascade keeps the order. So nodes are popped by
//!   deadline, and among equals in the order of their insertion.
//!
//! # Cost
//!
//! Insertion, removal and [`Wheel::next_tick`] take constant time and do not
//! allocate. A node cascades at most once a level, plus once each time the
//! overflow list is read again. That happens only when the clock enters a
//! 12.43-day turn of the top level that the earliest deadline of the list falls
//! into, or fell into before it was removed. Turns without are skipped.
//!
//! With many timers most of the time goes into waiting for memory: a node has
//! long left the caches when its time comes, and a list says where the next one
//! is only once the present one has arrived. So each node also knows, as a hint,
//! where the one [`AHEAD`] places further on lies, and whoever walks along a
//! list asks for that one meanwhile.

use crate::sys::prefetch;
use core::cell::Cell;
use core::fmt;
use core::marker::PhantomPinned;
use core::mem;
use core::ptr::{self, NonNull};

#[cfg(all(test, not(loom)))]
mod tests;

/// Bits in one base-64 digit of a tick.
const DIGIT_BITS: u32 = 6;
/// Slots of a level. One occupancy word has a bit for each.
const SLOTS: usize = 1 << DIGIT_BITS;
/// Takes the lowest digit of a tick.
const DIGIT_MASK: u64 = SLOTS as u64 - 1;
/// Levels of the wheel.
const LEVELS: usize = 5;
/// Takes the digits that have a level; the ones above tell one turn of the top
/// level from another.
const TURN_MASK: u64 = (1 << (DIGIT_BITS * LEVELS as u32)) - 1;
/// Every slot of every level, the overflow list, and the unsettled one.
const LISTS: usize = LEVELS * SLOTS + 2;

/// How many places further on a node's hint points.
// D-TIME-02
const AHEAD: u32 = 8;
/// The unit of a hint, a cache line's length in bytes.
const LINE: isize = 64;

const _: () = assert!(SLOTS == u64::BITS as usize);
const _: () = assert!(mem::size_of::<Node>() <= 32);

/// The part of a timer that the wheel links into its lists.
///
/// It is meant to be embedded. The fields are cells, so shared references to
/// the surrounding struct may exist while the node is linked; but they are not
/// synchronised: from insertion until removal or popping, a node may be touched
/// only by whoever has the wheel to itself.
///
/// A node has no `Drop`. The surrounding struct has to [remove](Wheel::remove)
/// a linked node before it goes away.
pub(crate) struct Node {
    /// Neighbours in the list. Stale unless `place` names one.
    prev: Cell<Option<NonNull<Node>>>,
    next: Cell<Option<NonNull<Node>>>,
    deadline: Cell<u64>,
    /// The list this node is in.
    place: Cell<Place>,
    /// How many cache lines from here the node [`AHEAD`] places further on lies,
    /// or lay; 0 if that is not known.
    hint: Cell<i32>,
    /// Neighbours and list ends point here.
    _pinned: PhantomPinned,
}

/// When a node will be due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// At this tick.
    At(u64),
    /// This many ticks after the wheel is next settled.
    After(u64),
}

impl Node {
    /// A node that is in no wheel.
    pub(crate) const fn new() -> Node {
        Node {
            prev: Cell::new(None),
            next: Cell::new(None),
            deadline: Cell::new(0),
            place: Cell::new(Place::NOWHERE),
            hint: Cell::new(0),
            _pinned: PhantomPinned,
        }
    }

    /// The deadline of the latest successful insertion, 0 before the first.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn deadline(&self) -> u64 {
        self.deadline.get()
    }

    /// Whether the node is in a wheel: inserted, and neither removed nor popped
    /// since.
    #[inline]
    pub(crate) fn is_linked(&self) -> bool {
        self.place.get() != Place::NOWHERE
    }

    /// Lets this node's hint point to another.
    #[inline]
    fn point_to(&self, other: NonNull<Node>) {
        let distance = other
            .as_ptr()
            .addr()
            .wrapping_sub(ptr::from_ref(self).addr()) as isize;
        // Rounding down: who follows the hint gets that line and the one behind it.
        self.hint
            .set((distance.div_euclid(LINE)).try_into().unwrap_or(0));
    }

    /// Asks for the node that the hint points to, or else for `next`, to be in
    /// the cache soon.
    #[inline]
    fn prefetch_ahead(&self, next: Option<NonNull<Node>>) {
        let ahead = match self.hint.get() {
            0 => next,
            // The node there may be gone: a prefetch does not mind.
            lines => {
                let distance = lines as isize * LINE;
                NonNull::new(
                    ptr::from_ref(self)
                        .wrapping_byte_offset(distance)
                        .cast_mut(),
                )
            }
        };
        if let Some(ahead) = ahead {
            prefetch(ahead);
        }
    }
}

/// Which list a node is in: `level * 64 + slot`, or one of the three constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place(u16);

impl Place {
    /// The overflow list. It counts as slot 0 of a level above the top, and so
    /// has an occupancy bit like any slot.
    const OVERFLOW: Place = Place((LEVELS * SLOTS) as u16);
    /// The list of nodes that do not know their deadline yet: slot 1 of that
    /// level.
    const UNSETTLED: Place = Place((LEVELS * SLOTS) as u16 + 1);
    /// In no list. The index is out of range for [`Wheel::lists`].
    const NOWHERE: Place = Place(u16::MAX);

    /// Where a node with this deadline belongs while the clock shows `now`. The
    /// deadline must not be in the past.
    #[inline]
    fn of(deadline: u64, now: u64) -> Place {
        // Setting the lowest digit makes equality a case of level 0 instead of
        // a special case.
        let difference = (deadline ^ now) | DIGIT_MASK;
        let level = (u64::BITS - 1 - difference.leading_zeros()) / DIGIT_BITS;
        if level as usize >= LEVELS {
            return Place::OVERFLOW;
        }
        let slot = (deadline >> (level * DIGIT_BITS)) & DIGIT_MASK;
        Place::slot(level as usize, slot as usize)
    }

    #[inline]
    const fn slot(level: usize, slot: usize) -> Place {
        Place((level * SLOTS + slot) as u16)
    }

    #[inline]
    const fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    const fn level(self) -> usize {
        self.index() / SLOTS
    }

    #[inline]
    const fn bit(self) -> u64 {
        1 << (self.index() % SLOTS)
    }
}

/// The ends of a doubly linked list; both or neither are present.
///
/// Keeping the tail costs eight bytes a slot and spares an append the head's
/// cache line, which has long gone cold when the slot is a busy one.
#[derive(Clone, Copy, Default)]
struct List {
    head: Option<NonNull<Node>>,
    tail: Option<NonNull<Node>>,
    /// The first node that has no hint yet; `None` if the next one appended is
    /// that.
    unaware: Option<NonNull<Node>>,
    /// How far the tail is behind it; less if some of those between were removed.
    behind: u32,
}

/// [`Wheel::insert`] refused: the deadline is not after the wheel's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Due;

/// A set of [`Node`]s ordered by deadline. See the [module](self) for how it
/// works.
///
/// The wheel neither owns its nodes nor waits for them: before a wheel is
/// dropped, empty it with [`pop_any`](Wheel::pop_any), or make sure that nobody
/// calls [`remove`](Wheel::remove) on what was left in it.
pub(crate) struct Wheel {
    /// The tick everything has been processed up to. Never moves back.
    now: u64,
    /// Linked nodes.
    len: usize,
    /// The tick at which to read the overflow list again: the start of the turn
    /// that its earliest deadline falls into. Too early, but still in the
    /// future, if that node has been removed. Stale if the list is empty.
    overflow_turn: u64,
    /// A word for each level and one for the other lists. A bit is set exactly
    /// if the list is not empty.
    occupied: [u64; LEVELS + 1],
    /// Indexed by [`Place`]. In a box, as ten kibibytes are much to move or to
    /// have on a small stack.
    lists: Box<[List; LISTS]>,
}

// SAFETY: what keeps `Wheel` from being `Send` by itself are the pointers to
// nodes. `insert` has its caller promise that a linked node is touched only by
// whoever has the wheel to itself, whichever thread that is. So moving the
// wheel moves the right to touch its nodes along, and no thread keeps any of
// it. A node is plain data, tied to no thread.
unsafe impl Send for Wheel {}

impl Wheel {
    /// An empty wheel whose clock shows `now`.
    pub(crate) fn new(now: u64) -> Wheel {
        Wheel {
            now,
            len: 0,
            overflow_turn: 0,
            occupied: [0; LEVELS + 1],
            lists: Box::new([List::default(); LISTS]),
        }
    }

    /// The wheel's clock: the last tick processed.
    ///
    /// Between two pops it stands at the deadline of the node popped last,
    /// which may be well before the tick asked for.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// How many nodes are in the wheel, those that are due and wait to be
    /// popped included.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no node in the wheel.
    #[cfg(all(test, not(loom)))]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `node`, to be popped when the clock reaches `deadline`. `u64::MAX`
    /// does for "never".
    ///
    /// # Errors
    ///
    /// [`Due`] if `deadline <= self.now()`. The node is left as it was, outside
    /// the wheel.
    ///
    /// # Panics
    ///
    /// If the node is in a wheel already, as a safety net.
    ///
    /// # Safety
    ///
    /// `node` must point to a live node that is in no wheel and the caller's to
    /// access. If this returns `Ok`, then until the node is removed or popped:
    ///
    /// - it stays alive and where it is;
    /// - it is accessed only by whoever has exclusive use of this wheel (holds
    ///   its lock), on whatever thread;
    /// - nobody makes a `&mut` to it, so that `node` itself stays usable. A
    ///   `&Node`, or a shared reference to something that has the node inside,
    ///   does no harm.
    #[inline]
    pub(crate) unsafe fn insert(&mut self, node: NonNull<Node>, deadline: u64) -> Result<(), Due> {
        if deadline <= self.now {
            return Err(Due);
        }
        // SAFETY: the caller vouches that the node is alive and ours to access.
        // Its fields are cells, so further shared references do not matter.
        let fields = unsafe { node.as_ref() };
        assert!(!fields.is_linked(), "timer node inserted twice");
        fields.deadline.set(deadline);
        // SAFETY: as above; and the assertion has just shown that the node is
        // in no list.
        unsafe { self.link(node, deadline) };
        self.len += 1;
        Ok(())
    }

    /// Adds `node` with a deadline that is `delay` ticks after the clock of the
    /// next [`settle`](Wheel::settle). Until then it is never due.
    ///
    /// For an owner that does not want to look at the clock each time.
    ///
    /// # Panics
    ///
    /// If the node is in a wheel already, as a safety net.
    ///
    /// # Safety
    ///
    /// As for [`insert`](Wheel::insert).
    #[inline]
    pub(crate) unsafe fn insert_unsettled(&mut self, node: NonNull<Node>, delay: u64) {
        // SAFETY: the caller vouches that the node is alive and ours to access.
        let fields = unsafe { node.as_ref() };
        assert!(!fields.is_linked(), "timer node inserted twice");
        fields.deadline.set(delay);
        // SAFETY: as above; and the node is in no list.
        unsafe { self.append(node, Place::UNSETTLED) };
        self.len += 1;
    }

    /// Whether there are nodes that wait for [`settle`](Wheel::settle).
    #[inline]
    pub(crate) fn has_unsettled(&self) -> bool {
        self.lists[Place::UNSETTLED.index()].head.is_some()
    }

    /// When `node`, which is in this wheel, will be due.
    ///
    /// # Safety
    ///
    /// As for [`remove`](Wheel::remove).
    pub(crate) unsafe fn expiry(&self, node: NonNull<Node>) -> Expiry {
        // SAFETY: the caller vouches that the node is alive and ours to access.
        let fields = unsafe { node.as_ref() };
        let ticks = fields.deadline.get();
        if fields.place.get() == Place::UNSETTLED {
            Expiry::After(ticks)
        } else {
            Expiry::At(ticks)
        }
    }

    /// Gives the nodes added by [`insert_unsettled`](Wheel::insert_unsettled)
    /// their deadlines, counted from `now`, or from the wheel's clock if that
    /// is later. A delay of 0 counts as 1.
    pub(crate) fn settle(&mut self, now: u64) {
        let start = now.max(self.now);
        let list = mem::take(&mut self.lists[Place::UNSETTLED.index()]);
        self.occupied[LEVELS] &= !Place::UNSETTLED.bit();
        let mut rest = list.head;
        while let Some(node) = rest {
            // SAFETY: as in `cascade`.
            let fields = unsafe { node.as_ref() };
            rest = fields.next.get();
            let deadline = start.saturating_add(fields.deadline.get().max(1));
            fields.deadline.set(deadline);
            // SAFETY: as in `cascade`.
            unsafe { self.link(node, deadline) };
        }
    }

    /// Takes `node` out of the wheel, wherever in it the node may be; nodes
    /// that are due, but have not been popped yet, are no exception.
    ///
    /// # Panics
    ///
    /// If the node is in no wheel.
    ///
    /// # Safety
    ///
    /// `node` must point to a live node that is in this wheel; or in none, and
    /// then the caller's to access.
    #[inline]
    pub(crate) unsafe fn remove(&mut self, node: NonNull<Node>) {
        // SAFETY: the caller's promise is the one `unlink` asks for.
        unsafe { self.unlink(node) };
    }

    /// The tick at which [`pop_due`](Wheel::pop_due) has something to do next;
    /// `None` if the wheel is empty, but for unsettled nodes.
    ///
    /// This is never later than the earliest deadline, but may be earlier: on
    /// the way there the clock may have to stop for a cascade, after which
    /// `next_tick` says more. It is later than `now()`, except while there are
    /// nodes that are due and have not been popped.
    #[inline]
    pub(crate) fn next_tick(&self) -> Option<u64> {
        self.next_stop().map(|(tick, _)| tick)
    }

    /// Takes one node whose deadline is not after `now` out of the wheel, the
    /// earliest, moving the clock to its deadline. Once there is none left,
    /// moves the clock to `now` and returns `None`.
    ///
    /// A `now` in the past does not move the clock; only what is due already is
    /// popped.
    pub(crate) fn pop_due(&mut self, now: u64) -> Option<NonNull<Node>> {
        let target = now.max(self.now);
        while let Some((tick, place)) = self.next_stop() {
            if tick > target {
                break;
            }
            debug_assert!(tick >= self.now);
            self.now = tick;
            if place.level() == 0 {
                return self.pop_front(place);
            }
            self.cascade(place);
        }
        // The next stop, if any, is after `target`. The clock enters no
        // occupied slot on the way, hence no node's place changes.
        self.now = target;
        None
    }

    /// Takes some node out of the wheel, whatever its deadline, and leaves the
    /// clock alone. For shutting down.
    pub(crate) fn pop_any(&mut self) -> Option<NonNull<Node>> {
        if self.has_unsettled() {
            return self.pop_front(Place::UNSETTLED);
        }
        let (_, place) = self.next_stop()?;
        self.pop_front(place)
    }

    /// Calls `f` with every node and when it is due, in no order.
    pub(crate) fn for_each(&self, mut f: impl FnMut(NonNull<Node>, Expiry)) {
        for list in self.lists.iter() {
            let mut next = list.head;
            while let Some(node) = next {
                // SAFETY: a node of one of our lists is alive, and ours while we have the wheel.
                unsafe {
                    f(node, self.expiry(node));
                    next = node.as_ref().next.get();
                }
            }
        }
    }

    /// Where the clock has to stop next: the start of the first occupied slot,
    /// and its place. If only the overflow list has nodes, the time to read it.
    #[inline]
    fn next_stop(&self) -> Option<(u64, Place)> {
        for level in 0..LEVELS {
            let occupied = self.occupied[level];
            if occupied != 0 {
                let slot = occupied.trailing_zeros();
                let shift = level as u32 * DIGIT_BITS;
                // The digits above this level are the clock's, this one is the
                // slot, those below are 0.
                let above = self.now & (u64::MAX << (shift + DIGIT_BITS));
                let tick = above | (u64::from(slot) << shift);
                return Some((tick, Place::slot(level, slot as usize)));
            }
        }
        if self.has_overflow() {
            return Some((self.overflow_turn, Place::OVERFLOW));
        }
        None
    }

    #[inline]
    fn has_overflow(&self) -> bool {
        self.occupied[LEVELS] & Place::OVERFLOW.bit() != 0
    }

    /// Finds new places for all the nodes of a list, the clock having reached
    /// the start of the slot.
    fn cascade(&mut self, place: Place) {
        let list = mem::take(&mut self.lists[place.index()]);
        self.occupied[place.level()] &= !place.bit();
        let mut rest = list.head;
        while let Some(node) = rest {
            // SAFETY: the node was in one of our lists, so whoever inserted it
            // keeps it alive, and lets us access it as we have the wheel to
            // ourselves.
            let fields = unsafe { node.as_ref() };
            // `link` overwrites it.
            rest = fields.next.get();
            fields.prefetch_ahead(rest);
            // SAFETY: as above; and the node is in no list any more. Its old
            // list has been taken out of the wheel, and this loop has the only
            // pointer into what is left of it.
            unsafe { self.link(node, fields.deadline.get()) };
        }
    }

    /// Pops the first node of a list that has one.
    fn pop_front(&mut self, place: Place) -> Option<NonNull<Node>> {
        let head = self.lists[place.index()].head;
        debug_assert!(head.is_some());
        let node = head?;
        // SAFETY: the node is in one of our lists, hence in this wheel and, as
        // promised to `insert`, alive.
        unsafe {
            self.unlink(node);
            node.as_ref().prefetch_ahead(self.lists[place.index()].head);
        }
        Some(node)
    }

    /// Appends `node` to the list that its deadline belongs to. Does not count
    /// it.
    ///
    /// # Safety
    ///
    /// The node must be alive, in no list, and satisfy what
    /// [`insert`](Wheel::insert) asks for from here on.
    #[inline]
    unsafe fn link(&mut self, node: NonNull<Node>, deadline: u64) {
        debug_assert!(deadline >= self.now);
        let place = Place::of(deadline, self.now);
        if place == Place::OVERFLOW {
            let turn = deadline & !TURN_MASK;
            let alone = !self.has_overflow();
            self.overflow_turn = if alone {
                turn
            } else {
                turn.min(self.overflow_turn)
            };
        }
        // SAFETY: by the caller's promise.
        unsafe { self.append(node, place) };
    }

    /// Appends `node` to a list.
    ///
    /// # Safety
    ///
    /// As for [`link`](Wheel::link).
    #[inline]
    unsafe fn append(&mut self, node: NonNull<Node>, place: Place) {
        let list = &mut self.lists[place.index()];
        let tail = list.tail.replace(node);
        match tail {
            // SAFETY: nodes in our lists are alive, and ours to access as we
            // have the wheel to ourselves.
            Some(tail) => unsafe { tail.as_ref() }.next.set(Some(node)),
            None => list.head = Some(node),
        }
        // SAFETY: the caller vouches for the node.
        let fields = unsafe { node.as_ref() };
        fields.prev.set(tail);
        fields.next.set(None);
        fields.place.set(place);
        fields.hint.set(0);

        match list.unaware {
            None => (list.unaware, list.behind) = (Some(node), 0),
            Some(_) if list.behind + 1 < AHEAD => list.behind += 1,
            Some(first) => {
                // SAFETY: in our list, as above.
                let first = unsafe { first.as_ref() };
                first.point_to(node);
                list.unaware = first.next.get();
            }
        }
        self.occupied[place.level()] |= place.bit();
    }

    /// Takes `node` out of its list, and the list's occupancy bit back if it
    /// was the last.
    ///
    /// # Safety
    ///
    /// The node must be alive and in this wheel; or in none, and then ours to
    /// access.
    #[inline]
    unsafe fn unlink(&mut self, node: NonNull<Node>) {
        // SAFETY: the caller vouches that the node is alive. If it is in this
        // wheel, it is ours to access, because `&mut self` is the exclusive use
        // that `insert` had its caller make the condition; if not, the caller
        // vouches for that as well.
        let fields = unsafe { node.as_ref() };
        let place = fields.place.replace(Place::NOWHERE);
        let Some(list) = self.lists.get_mut(place.index()) else {
            panic!("timer node is in no wheel");
        };
        debug_assert!(
            place == Place::UNSETTLED || place == Place::of(fields.deadline.get(), self.now)
        );

        let prev = fields.prev.get();
        let next = fields.next.get();
        match prev {
            // SAFETY: `place` named a list, so the links are not stale. The
            // neighbours are in our lists as well, and thus alive and ours to
            // access.
            Some(prev) => unsafe { prev.as_ref() }.next.set(next),
            None => list.head = next,
        }
        match next {
            // SAFETY: as for `prev`.
            Some(next) => unsafe { next.as_ref() }.prev.set(prev),
            None => {
                list.tail = prev;
                list.behind = list.behind.saturating_sub(1);
            }
        }
        if list.unaware == Some(node) {
            list.unaware = next;
            list.behind = list.behind.saturating_sub(1);
        }
        if list.head.is_none() {
            self.occupied[place.level()] &= !place.bit();
        }
        self.len -= 1;
    }
}

impl fmt::Debug for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wheel")
            .field("now", &self.now)
            .field("len", &self.len)
            .field("next_tick", &self.next_tick())
            .finish_non_exhaustive()
    }
}
