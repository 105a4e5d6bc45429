//! Memory that nobody, not even the kernel, can write to before the test allows it: a page whose first
//! fault waits for us (`userfaultfd`). An operation that meets it does not let itself be cancelled.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tress::io::{Buffer, BufferMut};

/// A page.
pub const ROOM: usize = 4096;

// Of the kernel's interface.
const API: u64 = 0xAA;
const MISSING: u64 = 1;
const PAGE_FAULT: u8 = 0x12;

/// `uffdio_api`.
#[repr(C)]
struct Greeting {
    api: u64,
    features: u64,
    calls: u64,
}

/// `uffdio_register` and `uffdio_zeropage`: what they have in common is all that is used.
#[repr(C)]
struct Range {
    start: u64,
    length: u64,
    mode: u64,
    result: u64,
}

/// Whoever serves the faults.
pub struct Faults {
    handler: File,
    page: NonNull<u8>,
}

// SAFETY: it only says where the page is.
unsafe impl Sync for Faults {}

/// The page. Counts its end, when it is unmapped.
pub struct Page {
    memory: NonNull<u8>,
    dropped: Arc<AtomicUsize>,
}

// SAFETY: memory of its own, like a box.
unsafe impl Send for Page {}

impl Page {
    /// A page and its server; why not, where that is not allowed.
    pub fn new(dropped: &Arc<AtomicUsize>) -> io::Result<(Page, Faults)> {
        // SAFETY: makes a descriptor.
        let handler = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
        if handler < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, and ours.
        let handler = unsafe { File::from_raw_fd(handler as i32) };
        let mut greeting = Greeting {
            api: API,
            features: 0,
            calls: 0,
        };
        call(&handler, libc::_IOWR::<Greeting>(0xAA, 0x3F), &mut greeting)?;
        // SAFETY: a new mapping.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                ROOM,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).expect("not at the end of the world");
        let page = Page {
            memory,
            dropped: dropped.clone(),
        };
        let mut range = range(memory, MISSING);
        call(&handler, libc::_IOWR::<Range>(0xAA, 0x00), &mut range)?;
        Ok((
            page,
            Faults {
                handler,
                page: memory,
            },
        ))
    }
}

fn range(page: NonNull<u8>, mode: u64) -> Range {
    Range {
        start: page.as_ptr().addr() as u64,
        length: ROOM as u64,
        mode,
        result: 0,
    }
}

fn call<T>(handler: &File, number: libc::Ioctl, argument: &mut T) -> io::Result<()> {
    // SAFETY: the numbers above go with their arguments.
    match unsafe { libc::ioctl(handler.as_raw_fd(), number, &raw mut *argument) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

impl Faults {
    /// Waits until the kernel has met the page; it waits from then on.
    pub fn wait(&self) {
        let mut message = [0; 32];
        let length = (&self.handler).read(&mut message).expect("faults are told");
        assert_eq!((length, message[0]), (32, PAGE_FAULT));
    }

    /// Lets the kernel go on.
    pub fn serve(&self) {
        let mut range = range(self.page, 0);
        call(&self.handler, libc::_IOWR::<Range>(0xAA, 0x04), &mut range).expect("served");
    }
}

// SAFETY: a mapping stays where it is.
unsafe impl Buffer for Page {
    fn pointer(&self) -> *const u8 {
        self.memory.as_ptr()
    }

    fn filled(&self) -> usize {
        ROOM
    }
}

// SAFETY: as above, all of it can be written to.
unsafe impl BufferMut for Page {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.memory.as_ptr()
    }

    fn room(&self) -> usize {
        ROOM
    }

    unsafe fn set_filled(&mut self, _: usize) {}
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody has it any more: that is what the tests are about.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), ROOM) };
        self.dropped.fetch_add(1, Ordering::AcqRel);
    }
}
