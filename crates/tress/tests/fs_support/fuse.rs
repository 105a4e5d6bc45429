//! A file system of our own (FUSE), whose server can fall silent: from then on whoever asks it anything
//! waits until it is gone.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::{ffi::CString, ptr};

/// The only file, of so many bytes.
const NAME: &str = "file";
const LENGTH: u64 = 4096;

/// A test that hangs is to fail: a server that nobody asks, nor ends, for so long ends by itself.
const PATIENCE_MS: i32 = 10_000;

// Of the kernel's interface (`linux/fuse.h`): requests,
const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const RELEASE: u32 = 18;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;
// and the lengths of the headers and of what answers INIT.
const REQUEST_HEADER: usize = 40;
const ANSWER_HEADER: usize = 16;
const GREETING: usize = 64;

const ROOT: u64 = 1;
const FILE: u64 = 2;
/// In seconds: what was told holds until the end.
const FOR_EVER: u64 = 1 << 30;

/// The file system, where the thread that made it sees it, and those that it starts. Nobody else does, so
/// that nothing is left behind.
pub struct Fuse {
    at: PathBuf,
    state: Arc<State>,
    server: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    silent: AtomicBool,
    unanswered: AtomicUsize,
}

impl Fuse {
    /// Mounts it; why not, where that is not allowed. Moves the thread to a world of its own.
    pub fn mount(at: &Path) -> io::Result<Fuse> {
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/fuse")?;
        // SAFETY: changes what this thread sees.
        checked(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        mount(c"none", Path::new("/"), c"none", private, c"")?;
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0",
            device.as_raw_fd()
        );
        let options = CString::new(options).expect("no zeros in it");
        let harmless = libc::MS_NOSUID | libc::MS_NODEV;
        mount(c"tress-test", at, c"fuse", harmless, &options)?;
        let state = Arc::new(State::default());
        let server = thread::spawn({
            let state = state.clone();
            move || serve(&device, &state)
        });
        Ok(Fuse {
            at: at.to_owned(),
            state,
            server: Some(server),
        })
    }

    /// The file. The kernel knows it, and need not ask about its name any more.
    pub fn file(&self) -> PathBuf {
        let file = self.at.join(NAME);
        assert_eq!(std::fs::metadata(&file).unwrap().len(), LENGTH);
        file
    }

    /// From now on nothing is answered.
    pub fn fall_silent(&self) {
        self.state.silent.store(true, Ordering::Release);
    }

    /// How many wait for an answer that does not come.
    pub fn unanswered(&self) -> usize {
        self.state.unanswered.load(Ordering::Acquire)
    }

    /// The end of it: whoever waits is told so. False if it had ended before.
    pub fn end(&mut self) -> bool {
        let ended = self.server.as_ref().is_none_or(JoinHandle::is_finished);
        let at = CString::new(self.at.as_os_str().as_bytes()).expect("it was mounted there");
        let force = libc::MNT_FORCE | libc::MNT_DETACH;
        // SAFETY: the string ends. The mount is ours.
        checked(unsafe { libc::umount2(at.as_ptr(), force) }).expect("it can be unmounted");
        if let Some(server) = self.server.take() {
            server.join().expect("the server did not panic");
        }
        !ended
    }
}

impl Drop for Fuse {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.end();
        }
    }
}

fn checked(result: i32) -> io::Result<()> {
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn mount(
    what: &std::ffi::CStr,
    at: &Path,
    kind: &std::ffi::CStr,
    flags: libc::c_ulong,
    options: &std::ffi::CStr,
) -> io::Result<()> {
    let at = CString::new(at.as_os_str().as_bytes())?;
    // SAFETY: strings that end.
    checked(unsafe {
        libc::mount(
            what.as_ptr(),
            at.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })
}

/// Until the file system is unmounted, or nobody has come for long.
fn serve(mut device: &File, state: &State) {
    let mut request = vec![0; 1 << 16];
    loop {
        let mut wait = libc::pollfd {
            fd: device.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one descriptor, which is open.
        if unsafe { libc::poll(ptr::from_mut(&mut wait), 1, PATIENCE_MS) } == 0 {
            return;
        }
        let length = match device.read(&mut request) {
            Ok(length) => length,
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return,
            // Those asked for were interrupted meanwhile.
            Err(_) => continue,
        };
        let request = &request[..length];
        let kind = u32::from_ne_bytes(request[4..8].try_into().unwrap());
        if matches!(kind, FORGET | BATCH_FORGET | INTERRUPT) {
            continue;
        }
        // Nobody waits for what is told when a file was closed.
        if kind != RELEASE && state.silent.load(Ordering::Acquire) {
            state.unanswered.fetch_add(1, Ordering::AcqRel);
            continue;
        }
        // Its maker may have gone.
        let _ = device.write_all(&answer(kind, request));
    }
}

fn answer(kind: u32, request: &[u8]) -> Vec<u8> {
    let object = u64::from_ne_bytes(request[16..24].try_into().unwrap());
    let (error, body) = match kind {
        INIT => (0, greeting()),
        LOOKUP if request[REQUEST_HEADER..].strip_suffix(b"\0") == Some(NAME.as_bytes()) => {
            (0, entry())
        }
        LOOKUP => (-libc::ENOENT, Vec::new()),
        GETATTR => (0, attributes(object)),
        // A number of its own, and flags: none.
        OPEN => (0, vec![0; 16]),
        RELEASE => (0, Vec::new()),
        _ => (-libc::ENOSYS, Vec::new()),
    };
    let length = (ANSWER_HEADER + body.len()) as u32;
    let mut answer = Vec::new();
    answer.extend(length.to_ne_bytes());
    answer.extend(i32::to_ne_bytes(error));
    answer.extend(&request[8..16]);
    answer.extend(body);
    answer
}

/// `fuse_init_out`: version 7.31, and no more than a page in one go.
fn greeting() -> Vec<u8> {
    let mut greeting = Vec::new();
    for word in [7u32, 31, 4096, 0, 0, 4096, 1] {
        greeting.extend(word.to_ne_bytes());
    }
    greeting.resize(GREETING, 0);
    greeting
}

/// `fuse_entry_out`.
fn entry() -> Vec<u8> {
    let mut entry = Vec::new();
    for word in [FILE, 0, FOR_EVER, FOR_EVER, 0] {
        entry.extend(word.to_ne_bytes());
    }
    entry.extend(attribute(FILE));
    entry
}

/// `fuse_attr_out`.
fn attributes(object: u64) -> Vec<u8> {
    let mut attributes = Vec::new();
    for word in [FOR_EVER, 0] {
        attributes.extend(word.to_ne_bytes());
    }
    attributes.extend(attribute(object));
    attributes
}

/// `fuse_attr`.
fn attribute(object: u64) -> Vec<u8> {
    let (mode, size) = match object {
        ROOT => (libc::S_IFDIR | 0o755, 0),
        _ => (libc::S_IFREG | 0o644, LENGTH),
    };
    let mut attribute = Vec::new();
    for word in [object, size, 0, 0, 0, 0] {
        attribute.extend(word.to_ne_bytes());
    }
    for word in [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0] {
        attribute.extend(word.to_ne_bytes());
    }
    attribute
}
