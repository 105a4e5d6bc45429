//! What this process has in memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

/// The system's allocator, counting the bytes that are in use: for `#[global_allocator]`.
pub struct Counting {
    bytes: AtomicIsize,
}

impl Counting {
    pub const fn new() -> Counting {
        Counting {
            bytes: AtomicIsize::new(0),
        }
    }

    /// Bytes in use by the whole process.
    pub fn bytes(&self) -> isize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn count(&self, bytes: isize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

// SAFETY: the system allocator, with a counter beside it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size() as isize);
        // SAFETY: as promised to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.count(layout.size() as isize);
        // SAFETY: as promised to us.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        self.count(-(layout.size() as isize));
        // SAFETY: as promised to us.
        unsafe { System.dealloc(at, layout) }
    }
}

/// The resident set of this process, in bytes.
pub fn resident() -> isize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: isize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    // SAFETY: asks for a constant.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as isize
}
