//! The same on io_uring, as its authors advise: one thread to a ring, work deferred until it waits, one
//! receive a connection that goes on, buffers that the kernel chooses.

use std::alloc::{Layout, alloc_zeroed};
use std::io;
use std::mem;
use std::net::TcpListener as StdListener;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::net::sockopt::set_tcp_nodelay;

const ENTRIES: u32 = 1024;
/// As many and as large as a worker of tress has.
const BUFFERS: u16 = 1024;
const BUFFER: usize = 2048;
const GROUP: u16 = 0;

/// What a result is of: an entry's user data.
#[derive(Clone, Copy)]
enum Of {
    Accept,
    Receive(RawFd),
    /// From this buffer.
    Send(RawFd, u16),
}

impl Of {
    fn pack(self) -> u64 {
        let (kind, fd, buffer) = match self {
            Of::Accept => (0, 0, 0),
            Of::Receive(fd) => (1, fd, 0),
            Of::Send(fd, buffer) => (2, fd, buffer),
        };
        kind << 48 | u64::from(buffer) << 32 | fd as u64
    }

    fn unpack(packed: u64) -> Of {
        let (fd, buffer) = (packed as u32 as RawFd, (packed >> 32) as u16);
        match packed >> 48 {
            0 => Of::Accept,
            1 => Of::Receive(fd),
            _ => Of::Send(fd, buffer),
        }
    }
}

pub(super) fn serve(listener: StdListener) -> io::Result<()> {
    let uring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(4 * ENTRIES)
        .build(ENTRIES)?;
    let mut server = Server {
        pool: Pool::new(&uring)?,
        uring,
        connections: Vec::new(),
    };
    let listener = Fd(listener.as_raw_fd());
    server.push(Of::Accept, opcode::AcceptMulti::new(listener).build())?;
    loop {
        server.uring.submit_and_wait(1)?;
        loop {
            let Some(result) = server.uring.completion().next() else {
                break;
            };
            if !server.handle(&result)? {
                return Ok(());
            }
        }
    }
}

struct Server {
    uring: IoUring,
    pool: Pool,
    /// By their descriptors.
    connections: Vec<Option<OwnedFd>>,
}

impl Server {
    fn push(&mut self, of: Of, entry: squeue::Entry) -> io::Result<()> {
        let entry = entry.user_data(of.pack());
        // SAFETY: descriptors are closed when nothing is under way on them; what is sent lies in the pool,
        // which is never freed.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            self.uring.submit()?;
        }
        Ok(())
    }

    fn receive(&mut self, fd: RawFd) -> io::Result<()> {
        let entry = opcode::RecvMulti::new(Fd(fd), GROUP).build();
        self.push(Of::Receive(fd), entry)
    }

    fn send(&mut self, fd: RawFd, buffer: u16) -> io::Result<()> {
        let (start, length) = self.pool.waiting[usize::from(buffer)];
        let from = self.pool.buffer(buffer).wrapping_add(start as usize);
        let entry = opcode::Send::new(Fd(fd), from, length).build();
        self.push(Of::Send(fd, buffer), entry)
    }

    /// False when the listening socket has been shut down.
    fn handle(&mut self, result: &cqueue::Entry) -> io::Result<bool> {
        let more = cqueue::more(result.flags());
        match Of::unpack(result.user_data()) {
            Of::Accept => {
                if result.result() < 0 || !more {
                    return Ok(false);
                }
                let fd = result.result();
                // SAFETY: accepted just now.
                let stream = unsafe { OwnedFd::from_raw_fd(fd) };
                set_tcp_nodelay(&stream, true)?;
                if self.connections.len() <= fd as usize {
                    self.connections.resize_with(fd as usize + 1, || None);
                }
                self.connections[fd as usize] = Some(stream);
                self.receive(fd)?;
            }
            Of::Receive(fd) => {
                let received = result.result();
                if received > 0 {
                    let buffer = cqueue::buffer_select(result.flags()).expect("chosen");
                    self.pool.waiting[usize::from(buffer)] = (0, received as u32);
                    self.send(fd, buffer)?;
                }
                if !more {
                    let starved = received == -rustix::io::Errno::NOBUFS.raw_os_error();
                    if received > 0 || starved {
                        self.receive(fd)?;
                    } else {
                        // What goes wrong with a connection the client tells.
                        self.connections[fd as usize] = None;
                    }
                }
            }
            Of::Send(fd, buffer) => {
                let (start, length) = &mut self.pool.waiting[usize::from(buffer)];
                let sent = u32::try_from(result.result()).unwrap_or(*length);
                (*start, *length) = (*start + sent, *length - sent);
                if *length > 0 {
                    self.send(fd, buffer)?;
                } else {
                    self.pool.give(buffer);
                }
            }
        }
        Ok(true)
    }
}

/// The ring of free buffers, and behind it the buffers. Their memory is not freed: the kernel may use it a
/// little longer than there is a ring, and a process has one server in its life.
struct Pool {
    memory: *mut u8,
    tail: u16,
    /// Of each buffer that is being sent, where the rest begins and how long it is.
    waiting: Vec<(u32, u32)>,
}

const RING: usize = BUFFERS as usize * mem::size_of::<BufRingEntry>();

impl Pool {
    fn new(uring: &IoUring) -> io::Result<Pool> {
        let size = RING + usize::from(BUFFERS) * BUFFER;
        let layout = Layout::from_size_align(size, 4096).expect("it is small");
        // SAFETY: it has a size.
        let memory = unsafe { alloc_zeroed(layout) };
        assert!(!memory.is_null(), "there is memory");
        let mut pool = Pool {
            memory,
            tail: 0,
            waiting: vec![(0, 0); usize::from(BUFFERS)],
        };
        // SAFETY: it has room for the entries, is on a page, and is never freed.
        unsafe {
            uring
                .submitter()
                .register_buf_ring_with_flags(memory as u64, BUFFERS, GROUP, 0)?;
        }
        (0..BUFFERS).for_each(|buffer| pool.give(buffer));
        Ok(pool)
    }

    fn buffer(&self, buffer: u16) -> *mut u8 {
        self.memory
            .wrapping_add(RING + usize::from(buffer) * BUFFER)
    }

    /// Lets the kernel have it.
    fn give(&mut self, buffer: u16) {
        let address = self.buffer(buffer);
        let entries = self.memory.cast::<BufRingEntry>();
        let place = usize::from(self.tail % BUFFERS);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: inside of the memory; the kernel reads the entry when the tail says so.
        unsafe {
            let entry = &mut *entries.add(place);
            entry.set_addr(address as u64);
            entry.set_len(BUFFER as u32);
            entry.set_bid(buffer);
            let tail = BufRingEntry::tail(entries).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}
