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

/// The bits of a pipe that carries messages.
const MESSAGES: u32 = PIPE_TYPE_MESSAGE | PIPE_READMODE_MESSAGE;

/// How to make an instance of a named pipe, for a server.
///
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
    /// As `CreateNamedPipe` takes it: the directions, who may be first, and rights.
    open: u32,
    /// As it takes it: what is carried, and for whom.
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
    /// Bytes in both directions, any number of instances, no clients from other machines, and buffers of
    /// 64 KiB.
    pub fn new() -> ServerOptions {
        ServerOptions {
            open: FILE_FLAG_OVERLAPPED | PIPE_ACCESS_INBOUND | PIPE_ACCESS_OUTBOUND,
            mode: PIPE_REJECT_REMOTE_CLIENTS,
            instances: PIPE_UNLIMITED_INSTANCES,
            out_buffer: 64 * 1024,
            in_buffer: 64 * 1024,
        }
    }

    /// What the pipe carries: bytes, unless it is said here. The same for all instances.
    pub fn pipe_mode(&mut self, pipe_mode: PipeMode) -> &mut Self {
        set(&mut self.mode, MESSAGES, pipe_mode == PipeMode::Message);
        self
    }

    /// Whether the client may write to the server. Default: yes. A client that opens the pipe for
    /// writing all the same gets `PermissionDenied`.
    pub fn access_inbound(&mut self, allowed: bool) -> &mut Self {
        set(&mut self.open, PIPE_ACCESS_INBOUND, allowed);
        self
    }

    /// Whether the server may write to the client. Default: yes. A client that opens the pipe for
    /// reading all the same gets `PermissionDenied`.
    pub fn access_outbound(&mut self, allowed: bool) -> &mut Self {
        set(&mut self.open, PIPE_ACCESS_OUTBOUND, allowed);
        self
    }

    /// Whether this has to be the first instance: if the name is taken, by this or another process,
    /// [`create`](ServerOptions::create) fails with `PermissionDenied`. Default: no.
    pub fn first_pipe_instance(&mut self, first: bool) -> &mut Self {
        set(&mut self.open, FILE_FLAG_FIRST_PIPE_INSTANCE, first);
        self
    }

    /// Whether the handle may change who may do what with the pipe (`WRITE_DAC`). Default: no.
    pub fn write_dac(&mut self, requested: bool) -> &mut Self {
        set(&mut self.open, WRITE_DAC, requested);
        self
    }

    /// Whether the handle may change the pipe's owner (`WRITE_OWNER`). Default: no.
    pub fn write_owner(&mut self, requested: bool) -> &mut Self {
        set(&mut self.open, WRITE_OWNER, requested);
        self
    }

    /// Whether the handle may change what is audited (`ACCESS_SYSTEM_SECURITY`). Default: no.
    pub fn access_system_security(&mut self, requested: bool) -> &mut Self {
        set(&mut self.open, ACCESS_SYSTEM_SECURITY, requested);
        self
    }

    /// Whether clients of other machines are refused. Default: yes.
    pub fn reject_remote_clients(&mut self, reject: bool) -> &mut Self {
        set(&mut self.mode, PIPE_REJECT_REMOTE_CLIENTS, reject);
        self
    }

    /// How many instances there may be at a time, from 1 to 254. Default: any number. The first instance
    /// decides, and the others must say the same.
    ///
    /// # Panics
    /// For more than 254.
    #[track_caller]
    pub fn max_instances(&mut self, instances: usize) -> &mut Self {
        assert!(
            instances < PIPE_UNLIMITED_INSTANCES as usize,
            "a pipe has 254 instances at most, or any number if none is given; this is {instances}"
        );
        self.instances = instances as u32;
        self
    }

    /// How large the buffer for what the server writes should be.
    pub fn out_buffer_size(&mut self, buffer: u32) -> &mut Self {
        self.out_buffer = buffer;
        self
    }

    /// How large the buffer for what the server reads should be.
    pub fn in_buffer_size(&mut self, buffer: u32) -> &mut Self {
        self.in_buffer = buffer;
        self
    }

    /// Makes an instance of the pipe, whose name begins with `\\.\pipe\`.
    ///
    /// # Errors
    /// `InvalidInput` for a name with a NUL in it; `PermissionDenied` if it should be the first instance
    /// and is not; else what the system says, such as `ERROR_PIPE_BUSY` if there are as many instances as
    /// there may be.
    ///
    /// # Panics
    /// If there is no current runtime, or it was built without I/O.
    #[track_caller]
    pub fn create(&self, addr: impl AsRef<OsStr>) -> io::Result<NamedPipeServer> {
        // SAFETY: no attributes.
        unsafe { self.create_with_security_attributes_raw(addr, ptr::null_mut()) }
    }

    /// As [`create`](ServerOptions::create), with a `SECURITY_ATTRIBUTES` of the system, or null.
    ///
    /// # Errors
    /// As [`create`](ServerOptions::create).
    ///
    /// # Panics
    /// As [`create`](ServerOptions::create).
    ///
    /// # Safety
    /// `attrs` is null or points to a valid `SECURITY_ATTRIBUTES`.
    #[track_caller]
    pub unsafe fn create_with_security_attributes_raw(
        &self,
        addr: impl AsRef<OsStr>,
        attrs: *mut c_void,
    ) -> io::Result<NamedPipeServer> {
        let name = name(addr.as_ref())?;
        // SAFETY: a name that ends with a NUL; the attributes by the caller's promise. What is made is
        // nobody else's.
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
