//! A console that runs.

use crate::access::Access;
use crate::builder::Builder;
use crate::server::{self, Limits, Shared};
use crate::source::{RUNTIME_NAME, Source};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// How long dropping a console waits for its thread, which may be inside a [`Section`](tress::trace::Section) of the
/// program's.
const PATIENCE: Duration = Duration::from_secs(5);

/// A server that shows what the runtimes of this process do; see the [crate's page](crate).
///
/// It stops when this is dropped: connections are closed, and the port is free afterwards.
///
/// # Examples
/// ```
/// use tress_console::Console;
///
/// let console = Console::builder().address("127.0.0.1:0").start()?;
/// let rt = tress::runtime::Runtime::new()?;
/// rt.block_on(async { println!("look at http://{}/", console.local_addr()) });
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use = "the console stops when it is dropped"]
pub struct Console {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: ThreadId,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Console {
    /// Returns a builder with the default settings.
    ///
    /// # Examples
    /// ```
    /// let builder = tress_console::Console::builder().address("127.0.0.1:0");
    /// let console = builder.start()?;
    /// # drop(console);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::new()
    }

    pub(crate) fn start(
        listener: TcpListener,
        address: SocketAddr,
        access: Access,
        limits: Limits,
        source: Source,
    ) -> io::Result<Console> {
        listener.set_nonblocking(true)?;
        let runtime = tress::runtime::Builder::new_current_thread()
            .enable_all()
            .name(RUNTIME_NAME)
            // Whatever the environment says: it is not what the program is looked at for.
            .sight(false)
            .trace_events(0)
            .build()?;
        source.look_around();
        let shared = Arc::new(Shared::new(access, limits, source));
        let (end, ended) = channel::<()>();
        let at_work = shared.clone();
        let thread = thread::Builder::new()
            .name("tress-console".to_owned())
            .spawn(move || {
                runtime.block_on(server::run(listener, at_work));
                drop(runtime);
                drop(end);
            });
        let thread = thread.inspect_err(|_| shared.source.look_away())?;
        Ok(Console {
            address,
            shared,
            thread: thread.thread().id(),
            ended,
        })
    }

    /// Returns the address that it listens on.
    ///
    /// # Examples
    /// ```
    /// let console = tress_console::Console::builder().address("127.0.0.1:0").start()?;
    /// assert!(console.local_addr().ip().is_loopback());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns the number of connections.
    ///
    /// # Examples
    /// ```
    /// let console = tress_console::Console::builder().address("127.0.0.1:0").start()?;
    /// assert_eq!(console.connections(), 0);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn connections(&self) -> usize {
        self.shared.connections()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.shared.stop.notify_one();
        if thread::current().id() != self.thread {
            // Nothing is ever sent: it returns when the thread has ended, or too much time has passed. In that case the
            // thread ends when the foreign code that it is in returns.
            let _ = self.ended.recv_timeout(PATIENCE);
        }
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Console")
            .field("address", &self.address)
            .field("connections", &self.connections())
            .finish_non_exhaustive()
    }
}
