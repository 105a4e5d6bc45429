use super::{NamedPipeClient, PipeMode, made, name};
use std::ffi::{OsStr, c_void};
use std::os::windows::io::AsRawHandle;
use std::{io, ptr};
use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_FLAG_OVERLAPPED, FILE_SHARE_NONE, OPEN_EXISTING, SECURITY_IDENTIFICATION,
    SECURITY_SQOS_PRESENT,
};
use windows_sys::Win32::System::Pipes::{PIPE_READMODE_MESSAGE, SetNamedPipeHandleState};

/// How to open a named pipe, for a client.
///
/// ```no_run
/// use tress::net::windows::named_pipe::ClientOptions;
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let client = ClientOptions::new().write(false).open(r"\\.\pipe\greetings")?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ClientOptions {
    read: bool,
    write: bool,
    /// What the server may do in the client's name.
    trust: u32,
    mode: PipeMode,
}

impl ClientOptions {
    /// To read and write bytes. The server may find out who the client is, and do nothing in its name.
    pub fn new() -> ClientOptions {
        ClientOptions {
            read: true,
            write: true,
            trust: SECURITY_IDENTIFICATION,
            mode: PipeMode::Byte,
        }
    }

    /// Whether it is opened for reading. Default: yes.
    pub fn read(&mut self, allowed: bool) -> &mut Self {
        self.read = allowed;
        self
    }

    /// Whether it is opened for writing. Default: yes.
    pub fn write(&mut self, allowed: bool) -> &mut Self {
        self.write = allowed;
        self
    }

    /// What the server may do in the client's name: the flags `SECURITY_…` of `CreateFile`, without
    /// `SECURITY_SQOS_PRESENT`, which is always there. Default: `SECURITY_IDENTIFICATION`, with which it
    /// may find out who the client is, and no more. To give a name that comes from elsewhere more than that
    /// is to give a stranger one's rights.
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        self.trust = flags;
        self
    }

    /// How the pipe is read: as bytes, unless it is said here. Messages can be read only from a pipe that
    /// was made to carry them.
    pub fn pipe_mode(&mut self, pipe_mode: PipeMode) -> &mut Self {
        self.mode = pipe_mode;
        self
    }

    /// Opens the pipe: connects to one of its instances.
    ///
    /// # Errors
    /// `InvalidInput` for a name with a NUL in it; `NotFound` if there is no such pipe; `ERROR_PIPE_BUSY`
    /// (231) if all of its instances have a client, and then one waits and tries again;
    /// `PermissionDenied`, and what else the system says.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn open(&self, addr: impl AsRef<OsStr>) -> io::Result<NamedPipeClient> {
        // SAFETY: no attributes.
        unsafe { self.open_with_security_attributes_raw(addr, ptr::null_mut()) }
    }

    /// As [`open`](ClientOptions::open), with a `SECURITY_ATTRIBUTES` of the system, or null.
    ///
    /// # Errors
    /// As [`open`](ClientOptions::open).
    ///
    /// # Panics
    /// As [`open`](ClientOptions::open).
    ///
    /// # Safety
    /// `attrs` is null or points to a valid `SECURITY_ATTRIBUTES`.
    #[track_caller]
    pub unsafe fn open_with_security_attributes_raw(
        &self,
        addr: impl AsRef<OsStr>,
        attrs: *mut c_void,
    ) -> io::Result<NamedPipeClient> {
        let name = name(addr.as_ref())?;
        let mut access = 0;
        if self.read {
            access |= GENERIC_READ;
        }
        if self.write {
            access |= GENERIC_WRITE;
        }
        // SAFETY: a name that ends with a NUL; the attributes by the caller's promise. What is opened is
        // nobody else's.
        let handle = unsafe {
            made(CreateFileW(
                name.as_ptr(),
                access,
                FILE_SHARE_NONE,
                attrs.cast(),
                OPEN_EXISTING,
                FILE_FLAG_OVERLAPPED | SECURITY_SQOS_PRESENT | self.trust,
                ptr::null_mut(),
            ))?
        };
        if self.mode == PipeMode::Message {
            let mode = PIPE_READMODE_MESSAGE;
            // SAFETY: an open handle and a mode; the limits stay as they are.
            let done = unsafe {
                SetNamedPipeHandleState(
                    handle.as_raw_handle(),
                    &raw const mode,
                    ptr::null(),
                    ptr::null(),
                )
            };
            if done == 0 {
                return Err(io::Error::last_os_error());
            }
        }
        NamedPipeClient::new(handle)
    }
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions::new()
    }
}
