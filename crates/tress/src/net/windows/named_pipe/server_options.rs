use super::{NamedPipeServer, PipeMode, made, name};
use std::ffi::{OsStr, c_void};
use std::{io, ptr};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_FIRST_PIPE_INSTANCE, FILE_FLAG_OVERLAPPED, PIPE_ACCESS_INBOUND, PIPE_ACCESS_OUTBOUND,
    WRITE_DAC, WRITE_OWNER,
};
use windows_sys::Win32::System::Pipes::{
    CreateNamedPipeW, PIPE_READMODE_MESSAGE, PIPE_REJECT_REMOTE_CLIENTS, PIPE_TYPE_MESSAGE,
    PIPE_UNLIMITED_INSTANCES,
};
use windows_sys::Win32::System::SystemServices::ACCESS_SYSTEM_SECURITY;

/// Flags of a pipe that carries messages.
const MESSAGES: u32 = PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE;

/// Options to create an instance of a named pipe as a server.
///
/// # Examples
/// ```no_run
/// use tress::net::windows::named_pipe::{PipeMode, ServerOptions};
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// let server = ServerOptions::new()
///     .first_pipe_instance(true)
///     .pipe_mode(PipeMode::Message)
///     .create(r"\\.\pipe\greetings")?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Open mode of `CreateNamedPipe`: directions, whether it must be the first instance, and rights.
    open: u32,
    /// Pipe mode of `CreateNamedPipe`: what is carried, and whether remote clients are accepted.
    mode: u32,
    instances: u32,
    out_buffer: u32,
    in_buffer: u32,
}

fn set(word: &mut u32, bits: u32, on: bool) {
    match on {
        true => *word |= bits,
        false => *word &= !bits,
    }
}

impl ServerOptions {
    /// Creates options for a pipe that carries bytes in both directions, with any number of instances, no
    /// remote clients, and buffers of 64 KiB.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn new() -> ServerOptions {
        ServerOptions {
            open: FILE_FLAG_OVERLAPPED | PIPE_ACCESS_INBOUND | PIPE_ACCESS_OUTBOUND,
            mode: PIPE_REJECT_REMOTE_CLIENTS,
            instances: PIPE_UNLIMITED_INSTANCES,
            out_buffer: 64 * 1024,
            in_buffer: 64 * 1024,
        }
    }

    /// Sets what the pipe carries.
    ///
    /// The default is [`PipeMode::Byte`]. It must be the same for all instances.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::{PipeMode, ServerOptions};
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().pipe_mode(PipeMode::Message).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn pipe_mode(&mut self, pipe_mode: PipeMode) -> &mut Self {
        set(&mut self.mode, MESSAGES, pipe_mode == PipeMode::Message);
        self
    }

    /// Sets whether the client may write to the server.
    ///
    /// The default is `true`. If it is `false`, a client that opens the pipe for writing gets
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied).
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().access_inbound(false).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn access_inbound(&mut self, allowed: bool) -> &mut Self {
        set(&mut self.open, PIPE_ACCESS_INBOUND, allowed);
        self
    }

    /// Sets whether the server may write to the client.
    ///
    /// The default is `true`. If it is `false`, a client that opens the pipe for reading gets
    /// [`PermissionDenied`](io::ErrorKind::PermissionDenied).
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().access_outbound(false).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn access_outbound(&mut self, allowed: bool) -> &mut Self {
        set(&mut self.open, PIPE_ACCESS_OUTBOUND, allowed);
        self
    }

    /// Sets whether this must be the first instance of the pipe.
    ///
    /// If it is `true` and the name is in use, by this or another process,
    /// [`create`](ServerOptions::create) fails with [`PermissionDenied`](io::ErrorKind::PermissionDenied).
    /// The default is `false`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().first_pipe_instance(true).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn first_pipe_instance(&mut self, first: bool) -> &mut Self {
        set(&mut self.open, FILE_FLAG_FIRST_PIPE_INSTANCE, first);
        self
    }

    /// Sets whether the handle may change the access control list of the pipe (`WRITE_DAC`).
    ///
    /// The default is `false`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().write_dac(true).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn write_dac(&mut self, requested: bool) -> &mut Self {
        set(&mut self.open, WRITE_DAC, requested);
        self
    }

    /// Sets whether the handle may change the owner of the pipe (`WRITE_OWNER`).
    ///
    /// The default is `false`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().write_owner(true).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn write_owner(&mut self, requested: bool) -> &mut Self {
        set(&mut self.open, WRITE_OWNER, requested);
        self
    }

    /// Sets whether the handle may change what is audited (`ACCESS_SYSTEM_SECURITY`).
    ///
    /// The default is `false`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().access_system_security(true).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn access_system_security(&mut self, requested: bool) -> &mut Self {
        set(&mut self.open, ACCESS_SYSTEM_SECURITY, requested);
        self
    }

    /// Sets whether clients of other machines are rejected.
    ///
    /// The default is `true`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().reject_remote_clients(false).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn reject_remote_clients(&mut self, reject: bool) -> &mut Self {
        set(&mut self.mode, PIPE_REJECT_REMOTE_CLIENTS, reject);
        self
    }

    /// Sets the maximum number of instances that exist at the same time, from 1 to 254.
    ///
    /// The default is any number. The first instance decides, and the others must have the same value.
    ///
    /// # Panics
    /// Panics if `instances` is larger than 254.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().max_instances(4).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn max_instances(&mut self, instances: usize) -> &mut Self {
        assert!(
            instances < PIPE_UNLIMITED_INSTANCES as usize,
            "a pipe has 254 instances at most, or any number if none is given; this is {instances}"
        );
        self.instances = instances as u32;
        self
    }

    /// Sets the size of the buffer for bytes that the server writes.
    ///
    /// The default is 64 KiB.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().out_buffer_size(4096).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn out_buffer_size(&mut self, buffer: u32) -> &mut Self {
        self.out_buffer = buffer;
        self
    }

    /// Sets the size of the buffer for bytes that the server reads.
    ///
    /// The default is 64 KiB.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().in_buffer_size(4096).create(r"\\.\pipe\greetings")?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    pub fn in_buffer_size(&mut self, buffer: u32) -> &mut Self {
        self.in_buffer = buffer;
        self
    }

    /// Creates an instance of the pipe, whose name begins with `\\.\pipe\`.
    ///
    /// # Errors
    /// - [`InvalidInput`](io::ErrorKind::InvalidInput) for a name that contains a NUL.
    /// - [`PermissionDenied`](io::ErrorKind::PermissionDenied) if it must be the first instance and is not.
    /// - Any other error of `CreateNamedPipe`, such as `ERROR_PIPE_BUSY` if there are as many instances as
    ///   allowed.
    ///
    /// # Panics
    /// Panics if there is no current runtime, or it was built without I/O.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let server = ServerOptions::new().create(r"\\.\pipe\greetings")?;
    /// server.connect().await?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn create(&self, addr: impl AsRef<OsStr>) -> io::Result<NamedPipeServer> {
        // SAFETY: no attributes.
        unsafe { self.create_with_security_attributes_raw(addr, ptr::null_mut()) }
    }

    /// Creates an instance like [`create`](ServerOptions::create), with a `SECURITY_ATTRIBUTES` of the
    /// system, or null.
    ///
    /// # Errors
    /// See [`create`](ServerOptions::create).
    ///
    /// # Panics
    /// See [`create`](ServerOptions::create).
    ///
    /// # Safety
    /// `attrs` must be null or point to a valid `SECURITY_ATTRIBUTES`.
    ///
    /// # Examples
    /// ```no_run
    /// use tress::net::windows::named_pipe::ServerOptions;
    ///
    /// # tress::runtime::Runtime::new().unwrap().block_on(async {
    /// let options = ServerOptions::new();
    /// // SAFETY: there are no attributes.
    /// let server = unsafe {
    ///     options.create_with_security_attributes_raw(r"\\.\pipe\greetings", std::ptr::null_mut())
    /// }?;
    /// # Ok::<(), std::io::Error>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub unsafe fn create_with_security_attributes_raw(
        &self,
        addr: impl AsRef<OsStr>,
        attrs: *mut c_void,
    ) -> io::Result<NamedPipeServer> {
        let name = name(addr.as_ref())?;
        // SAFETY: the name ends with a NUL, and the attributes are valid by the caller's promise. The new
        // handle has no other owner.
        let handle = unsafe {
            made(CreateNamedPipeW(
                name.as_ptr(),
                self.open,
                self.mode,
                self.instances,
                self.out_buffer,
                self.in_buffer,
                0,
                attrs.cast(),
            ))?
        };
        NamedPipeServer::new(handle)
    }
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions::new()
    }
}
