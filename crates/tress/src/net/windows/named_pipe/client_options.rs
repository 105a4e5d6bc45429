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

/// Options to open a named pipe as a client.
///
/// # Examples
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
    /// Creates options to read and write bytes.
    ///
    /// The server may identify the client, but not act in its name.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ClientOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new() -> ClientOptions {
        ClientOptions {
            read: true,
            write: true,
            trust: SECURITY_IDENTIFICATION,
            mode: PipeMode::Byte,
        }
    }

    /// Sets whether the pipe is opened for reading.
    ///
    /// The default is `true`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ClientOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let client = ClientOptions::new().read(false).open(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn read(&mut self, allowed: bool) -> &mut Self {
        self.read = allowed;
        self
    }

    /// Sets whether the pipe is opened for writing.
    ///
    /// The default is `true`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ClientOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let client = ClientOptions::new().write(false).open(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn write(&mut self, allowed: bool) -> &mut Self {
        self.write = allowed;
        self
    }

    /// Sets what the server may do in the client's name.
    ///
    /// The flags are the `SECURITY_…` flags of `CreateFile`, without `SECURITY_SQOS_PRESENT`, which is
    /// always set. The default is `SECURITY_IDENTIFICATION`, with which the server may identify the client
    /// and no more. Do not allow more for a name that comes from an untrusted source: whichever process
    /// serves that name could use the client's rights.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ClientOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// const SECURITY_ANONYMOUS: u32 = 0;
    ///
    /// let client = ClientOptions::new().security_qos_flags(SECURITY_ANONYMOUS).open(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn security_qos_flags(&mut self, flags: u32) -> &mut Self {
        self.trust = flags;
        self
    }

    /// Sets how the pipe is read.
    ///
    /// The default is [`PipeMode::Byte`]. Messages can be read only from a pipe that was created to carry
    /// them.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::{ClientOptions, PipeMode};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let client = ClientOptions::new().pipe_mode(PipeMode::Message).open(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn pipe_mode(&mut self, pipe_mode: PipeMode) -> &mut Self {
        self.mode = pipe_mode;
        self
    }

    /// Opens the pipe, that is, connects to one of its instances.
    ///
    /// # Errors
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) for a name that contains a NUL.
    /// - [`NotFound`](io::ErrorKind::NotFound) if there is no such pipe.
    /// - `ERROR_PIPE_BUSY` (231) if all of its instances have a client: wait and try again.
    /// - Any other error of `CreateFile`, such as [`PermissionDenied`](io::ErrorKind::PermissionDenied).
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ClientOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let client = ClientOptions::new().open(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn open(&self, addr: impl AsRef<OsStr>) -> io::Result<NamedPipeClient> {
        // SAFETY: no attributes.
        unsafe { self.open_with_security_attributes_raw(addr, ptr::null_mut()) }
    }

    /// Opens the pipe like [`open`](ClientOptions::open), with a `SECURITY_ATTRIBUTES` of the system, or
    /// null.
    ///
    /// # Errors
    /// See [`open`](ClientOptions::open).
    ///
    /// # Panics
    /// See [`open`](ClientOptions::open).
    ///
    /// # Safety
    /// `attrs` must be null or point to a valid `SECURITY_ATTRIBUTES`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ClientOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let options = ClientOptions::new();
    /// // SAFETY: there are no attributes.
    /// let client = unsafe {
    ///     options.open_with_security_attributes_raw(r"\\.\pipe\greetings", std::ptr::null_mut())
    /// }?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
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
        // SAFETY: the name ends with a NUL, and the attributes are valid by the caller's promise. The new
        // handle has no other owner.
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
