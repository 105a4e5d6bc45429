//! Buffers that receives share.
//!
//! The kernel takes a buffer for whatever arrives, on any connection. Two rules keep connections that are not
//! read from taking all buffers from those that are:
//! - A receive is stopped when its share of results waits to be fetched: 16 at most, and fewer the fewer
//!   buffers are free, down to one. The rest stays in its socket until the results are fetched. A result that a
//!   task waits for does not count.
//! - If no buffer is free when one is needed, results that were not fetched are copied to memory of their own,
//!   and their buffers come back. The share bounds the amount of that memory.
//!
//! Buffers that users hold stay with them: those are waited for.

use super::buffer::Buffer;
use super::ring::Ring;
use crate::driver::Driver;
use crate::sys::Mutex;
use crate::sys::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sys::plain::AtomicU16;
use crate::wakers::Wakers;
use io_uring::types::BufRingEntry;
use io_uring::{cqueue, opcode};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

/// Buffers that the kernel takes from when something arrives, so that a connection that waits holds none (Linux
/// 6.0).
///
/// A pool belongs to one driver and is shared by any number of its [receives](super::RecvMulti). Clones are
/// handles of the same pool. If all buffers are in use, receives wait until a [`PoolBuffer`] is dropped.
///
/// # Examples
/// ```
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, Pool, RecvMulti};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if let Ok(pool) = Pool::new(&driver, 64, 4096) {
///     let (near, mut far) = UnixStream::pair()?;
///     let mut received = driver.submit_multi(RecvMulti::new(near, &pool));
///     far.write_all(b"without asking")?;
///     let bytes = block_on(&driver, received.next()).expect("not the end")?;
///     assert_eq!(&bytes[..], b"without asking");
/// }
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    /// Weak, because operations under way keep the pool alive, and the driver keeps those.
    driver: Weak<Driver>,
    group: u16,
    count: u16,
    size: usize,
    /// The ring of free buffers, which the kernel reads, and behind it the buffers themselves.
    memory: NonNull<u8>,
    layout: Layout,
    /// Number of times that a buffer has left the ring, as far as is known. Starts at the number of buffers:
    /// all are outside at first.
    taken: AtomicU32,
    /// Number of times that a buffer was put into the ring. Written under the lock.
    returned: AtomicU32,
    /// Whether results were received since unfetched ones were last copied.
    received: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// Index of the place for the next free buffer.
    tail: u16,
    /// Wakers of the receives that wait for a buffer, by the receive's key.
    starving: BTreeMap<usize, Waker>,
    /// The receives into the pool, by the same key.
    members: BTreeMap<usize, Weak<dyn Unread>>,
}

/// Results that wait to be fetched.
pub(super) trait Unread: Send + Sync {
    /// Copies them to memory of their own, and gives their buffers back. The caller must hold no lock.
    fn copy_out(&self);
}

/// Maximum number of results of one receive that may wait to be fetched.
const SHARE: usize = 16;

// SAFETY: the memory is the pool's; what is written to it is written under the lock, by the kernel to
// buffers that are in the ring, or not at all while a `PoolBuffer` has it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Pool {
    /// Creates a pool of `count` buffers of `size` bytes each. `count` must be a power of two, 32,768 at most.
    ///
    /// # Errors
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) if `count` is no power of two or too large, or if `size`
    ///   is 0 or more than `u32::MAX`.
    /// - [`Unsupported`](io::ErrorKind::Unsupported) if the driver has no ring, or the kernel is older than
    ///   6.0.
    /// - [`OutOfMemory`](io::ErrorKind::OutOfMemory) if the buffers cannot be allocated.
    /// - [`QuotaExceeded`](io::ErrorKind::QuotaExceeded) if the driver has 65,535 pools already.
    /// - Any error of `io_uring_register(2)`.
    pub fn new(driver: &Arc<Driver>, count: u16, size: usize) -> io::Result<Pool> {
        if !count.is_power_of_two() || count > 1 << 15 || size == 0 || size > u32::MAX as usize {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a pool of {count} buffers of {size} bytes cannot be made: \
                     choose a power of two up to 32768, and at least one byte"
                ),
            ));
        }
        let ring = match &driver.ring {
            // Came with the same kernel as receives that go on.
            Some(ring) if ring.supports(opcode::SendZc::CODE) => ring,
            _ => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "pooled receives need io_uring of Linux 6.0 or later",
                ));
            }
        };
        let (memory, layout) = Shared::allocate(count, size)?;
        let registered = ring.add_group(memory.as_ptr() as u64, count);
        let group = registered.inspect_err(|_| {
            // SAFETY: just allocated with this layout, and not shared yet.
            unsafe { dealloc(memory.as_ptr(), layout) };
        })?;
        let driver = Arc::downgrade(driver);
        let shared = Arc::new(Shared::new(driver, group, count, size, (memory, layout)));
        ring.groups.lock().pools.push(Arc::downgrade(&shared));
        Ok(Pool(shared))
    }

    /// Returns the number of buffers that are free for the kernel to fill, as far as is known.
    ///
    /// Buffers that the kernel has filled count as free until the driver has taken their result.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use tress_driver::{Config, Driver, Pool};
    ///
    /// let driver = Arc::new(Driver::new(&Config::new())?);
    /// if let Ok(pool) = Pool::new(&driver, 16, 1024) {
    ///     assert_eq!(pool.available(), 16);
    /// }
    /// # std::io::Result::Ok(())
    /// ```
    pub fn available(&self) -> usize {
        let _counted = self.0.state.lock();
        self.0.free()
    }

    /// Maximum number of results of one receive that may wait to be fetched now before it is stopped.
    pub(super) fn share(&self) -> usize {
        (self.0.free() * SHARE / usize::from(self.0.count)).max(1)
    }

    /// Adds the receive `who` to the pool, until it leaves.
    pub(super) fn join(&self, who: usize, member: Weak<dyn Unread>) {
        let old = self.0.state.lock().members.insert(who, member);
        drop(old);
    }

    /// Gets the buffers of unfetched results back. That wakes every receive that waits for one when this is
    /// called, unless there are no such results.
    fn reclaim(&self) {
        // If another thread has just begun the same, it gives the buffers back after our waker was stored.
        if !self.0.received.swap(false, Ordering::AcqRel) {
            return;
        }
        let members: Vec<_> = self.0.state.lock().members.values().cloned().collect();
        for member in members.iter().filter_map(Weak::upgrade) {
            member.copy_out();
        }
    }

    pub(super) fn belongs_to(&self, driver: &Arc<Driver>) -> bool {
        std::ptr::eq(self.0.driver.as_ptr(), Arc::as_ptr(driver))
    }

    pub(super) fn group(&self) -> u16 {
        self.0.group
    }

    /// Waits until there is a buffer. `who` has one waker, however often it asks, until it is woken or leaves.
    pub(super) fn poll_available(&self, who: usize, cx: &mut Context<'_>) -> Poll<()> {
        if self.poll_returned(who, cx).is_ready() {
            return Poll::Ready(());
        }
        self.reclaim();
        self.poll_returned(who, cx)
    }

    fn poll_returned(&self, who: usize, cx: &mut Context<'_>) -> Poll<()> {
        let waker = cx.waker().clone();
        let mut state = self.0.state.lock();
        if self.0.free() > 0 {
            return Poll::Ready(());
        }
        let old = state.starving.insert(who, waker);
        drop(state);
        drop(old);
        Poll::Pending
    }

    /// Removes the receive `who` and its waker.
    pub(super) fn leave(&self, who: usize) {
        let mut state = self.0.state.lock();
        let left = (state.starving.remove(&who), state.members.remove(&who));
        drop(state);
        drop(left);
    }

    /// Returns the buffer that a result names, if it names one.
    ///
    /// # Safety
    /// It is a result of a receive into this pool, and is passed here once.
    pub(super) unsafe fn take(&self, length: u32, flags: u32) -> Option<PoolBuffer> {
        let id = cqueue::buffer_select(flags)?;
        // Set before the buffer is counted as taken: a receive that finds no buffer afterwards sees it.
        if !self.0.received.load(Ordering::Relaxed) {
            self.0.received.store(true, Ordering::Release);
        }
        self.0.taken.fetch_add(1, Ordering::Release);
        Some(PoolBuffer(Memory::Pool(Taken {
            pool: Arc::clone(&self.0),
            id,
            length: (length as usize).min(self.0.size),
        })))
    }
}

impl Shared {
    /// Allocates memory for `count` buffers and their ring.
    fn allocate(count: u16, size: usize) -> io::Result<(NonNull<u8>, Layout)> {
        let layout = Shared::layout(count, size)?;
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc(layout) };
        // The size is the user's choice, so a failure must not end the process.
        let memory = NonNull::new(memory).ok_or(io::ErrorKind::OutOfMemory)?;
        // The buffers stay uninitialised until the kernel fills them, so their pages cost nothing yet.
        // SAFETY: the ring is at the start of the memory.
        unsafe { memory.write_bytes(0, Shared::ring_bytes(count)) };
        Ok((memory, layout))
    }

    /// Creates it with all buffers in the ring. The memory is from `allocate`.
    fn new(
        driver: Weak<Driver>,
        group: u16,
        count: u16,
        size: usize,
        (memory, layout): (NonNull<u8>, Layout),
    ) -> Shared {
        let shared = Shared {
            driver,
            group,
            count,
            size,
            memory,
            layout,
            taken: AtomicU32::new(u32::from(count)),
            returned: AtomicU32::new(0),
            received: AtomicBool::new(false),
            state: Mutex::new(State {
                tail: 0,
                starving: BTreeMap::new(),
                members: BTreeMap::new(),
            }),
        };
        for id in 0..count {
            shared.give_back(id);
        }
        shared
    }

    fn ring_bytes(count: u16) -> usize {
        usize::from(count) * size_of::<BufRingEntry>()
    }

    // D-DRV-07
    fn layout(count: u16, size: usize) -> io::Result<Layout> {
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let page = usize::try_from(page).unwrap_or(4096);
        usize::from(count)
            .checked_mul(size)
            .and_then(|bytes| bytes.checked_add(Shared::ring_bytes(count)))
            .and_then(|bytes| Layout::from_size_align(bytes, page).ok())
            .ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    fn buffer(&self, id: u16) -> *mut u8 {
        let offset = Shared::ring_bytes(self.count) + usize::from(id) * self.size;
        // SAFETY: ids are below the count, so it is within the memory.
        unsafe { self.memory.as_ptr().add(offset) }
    }

    /// Number of buffers in the ring, as far as is known. Exact under the lock: a thread that puts a buffer
    /// back has seen it being taken. A guess without the lock.
    fn free(&self) -> usize {
        let returned = self.returned.load(Ordering::Relaxed);
        let out = self.taken.load(Ordering::Acquire).wrapping_sub(returned);
        usize::from(self.count).saturating_sub(out as usize)
    }

    /// Puts a buffer into the ring, for the kernel to take.
    fn give_back(&self, id: u16) {
        let mut state = self.state.lock();
        let entries = self.memory.as_ptr().cast::<BufRingEntry>();
        let at = usize::from(state.tail & (self.count - 1));
        // SAFETY: within the ring, at the tail, where the kernel does not look yet; only the lock's holder
        // writes.
        let entry = unsafe { &mut *entries.add(at) };
        entry.set_addr(self.buffer(id) as u64);
        entry.set_len(self.size as u32);
        entry.set_bid(id);
        state.tail = state.tail.wrapping_add(1);
        // SAFETY: the ring's tail is a field of its first entry that is otherwise unused, aligned, and
        // written by us only; the kernel reads it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()) };
        tail.store(state.tail, Ordering::Release);
        let returned = self.returned.load(Ordering::Relaxed);
        self.returned
            .store(returned.wrapping_add(1), Ordering::Relaxed);
        if state.starving.is_empty() {
            return;
        }
        // All of them are woken: one that has nothing to receive would start again without taking a buffer.
        let starving = std::mem::take(&mut state.starving);
        drop(state);
        Wakers::from_iter(starving.into_values()).wake_all();
    }

    /// Takes the wakers of the receives that wait for a buffer, because none will come or none is needed.
    fn starving(&self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.state.lock().starving).into_values()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // A driver that is gone has closed its ring, with everything that was under way on it.
        let unregistered = self.driver.upgrade().is_none_or(|driver| {
            driver
                .ring
                .as_ref()
                .is_none_or(|ring| ring.remove_group(self.group))
        });
        if unregistered {
            // SAFETY: allocated with this layout. Operations that use the pool hold it, so none is under
            // way, and the kernel does not know the ring of buffers any more.
            unsafe { dealloc(self.memory.as_ptr(), self.layout) };
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("count", &self.0.count)
            .field("size", &self.0.size)
            .field("available", &self.available())
            .finish()
    }
}

/// Bytes that were received into a [`Pool`]. Dropping it makes room for others.
///
/// It dereferences to the bytes, and can be written as a [`Buffer`].
///
/// # Examples
/// ```
/// use std::io::Write;
/// use std::os::unix::net::UnixStream;
/// use std::sync::Arc;
/// use tress_driver::{Config, Driver, Pool, RecvMulti, op};
/// # use std::{future::Future, pin::pin, task::{Context, Poll, Waker}};
/// # fn block_on<T>(driver: &Driver, future: impl Future<Output = T>) -> T {
/// #     let mut future = pin!(future);
/// #     loop {
/// #         if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
/// #             return value;
/// #         }
/// #         driver.park(None).unwrap();
/// #     }
/// # }
///
/// let driver = Arc::new(Driver::new(&Config::new())?);
/// if let Ok(pool) = Pool::new(&driver, 8, 512) {
///     let (near, mut far) = UnixStream::pair()?;
///     let near = Arc::new(std::os::fd::OwnedFd::from(near));
///     far.write_all(b"echo")?;
///     let mut received = driver.submit_multi(RecvMulti::new(near.clone(), &pool));
///     let bytes = block_on(&driver, received.next()).expect("not the end")?;
///     let (sent, _bytes) = block_on(&driver, driver.submit(op::Send::new(near, bytes, 0)));
///     assert_eq!(sent?, 4);
/// }
/// # std::io::Result::Ok(())
/// ```
pub struct PoolBuffer(Memory);

enum Memory {
    Pool(Taken),
    /// A copy: it had not been fetched when its buffer was needed.
    Own(Box<[u8]>),
}

/// A buffer that is not in the ring.
struct Taken {
    pool: Arc<Shared>,
    id: u16,
    length: usize,
}

impl PoolBuffer {
    /// Returns `true` if less than an eighth of the pool's buffers is free.
    ///
    /// Bytes that are kept for long are better copied then, so that the buffer returns to the pool. Always
    /// `false` if the bytes have been copied out of the pool already.
    pub fn is_scarce(&self) -> bool {
        match &self.0 {
            Memory::Pool(taken) => taken.pool.free() < usize::from(taken.pool.count).div_ceil(8),
            Memory::Own(_) => false,
        }
    }

    /// Returns a copy that holds no buffer of the pool; `None` if this one holds none.
    pub(super) fn copied(&self) -> Option<PoolBuffer> {
        match &self.0 {
            Memory::Pool(_) => Some(PoolBuffer(Memory::Own((**self).into()))),
            Memory::Own(_) => None,
        }
    }
}

impl Deref for PoolBuffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Pool(taken) => {
                let memory = taken.pool.buffer(taken.id);
                // SAFETY: the kernel has filled that much, and does not have the buffer until it is given back.
                unsafe { std::slice::from_raw_parts(memory, taken.length) }
            }
            Memory::Own(bytes) => bytes,
        }
    }
}

// SAFETY: the bytes stay where they are, and nothing writes to them, until it is dropped.
unsafe impl Buffer for PoolBuffer {
    fn pointer(&self) -> *const u8 {
        self.as_ptr()
    }

    fn filled(&self) -> usize {
        self.len()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.pool.give_back(self.id);
    }
}

impl fmt::Debug for PoolBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = match &self.0 {
            Memory::Pool(taken) => Some(taken.id),
            Memory::Own(_) => None,
        };
        f.debug_struct("PoolBuffer")
            .field("id", &id)
            .field("length", &self.len())
            .finish()
    }
}

/// The numbers by which the kernel tells pools apart.
#[derive(Default)]
pub(super) struct Groups {
    next: u16,
    free: Vec<u16>,
    pools: Vec<Weak<Shared>>,
}

impl Ring {
    fn add_group(&self, address: u64, count: u16) -> io::Result<u16> {
        let mut groups = self.groups.lock();
        let group = match groups.free.pop() {
            Some(group) => group,
            None if groups.next == u16::MAX => {
                return Err(io::Error::new(
                    io::ErrorKind::QuotaExceeded,
                    "too many buffer pools in one I/O driver",
                ));
            }
            None => {
                groups.next += 1;
                groups.next - 1
            }
        };
        // SAFETY: the memory is that of a pool, which stays until the group is removed.
        let registered = unsafe {
            self.uring()
                .submitter()
                .register_buf_ring_with_flags(address, count, group, 0)
        };
        if registered.is_err() {
            groups.free.push(group);
        }
        registered.map(|()| group)
    }

    /// Collects the wakers of all receives that wait for a buffer.
    pub(super) fn wake_starving(&self, wakers: &mut Wakers) {
        let pools: Vec<_> = self
            .groups
            .lock()
            .pools
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for pool in pools {
            wakers.extend(pool.starving());
        }
    }

    /// Unregisters a group. Returns `false` if the kernel keeps it.
    fn remove_group(&self, group: u16) -> bool {
        let mut groups = self.groups.lock();
        groups.pools.retain(|pool| pool.strong_count() != 0);
        let removed = self.uring().submitter().unregister_buf_ring(group).is_ok();
        if removed {
            groups.free.push(group);
        }
        removed
    }
}

#[cfg(all(test, loom))]
mod model;
