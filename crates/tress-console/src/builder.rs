//! What a console is started with.

use crate::access::Access;
use crate::console::Console;
use crate::server::Limits;
use crate::source::Source;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::time::Duration;

/// The address of a console that is given none.
pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:6670";
/// Number of ports that [`Builder::next_free_port`] tries.
const PORTS_TO_TRY: u16 = 100;

/// Sets up and starts a [`Console`].
///
/// # Examples
/// ```
/// use tress_console::Console;
///
/// let console = Console::builder()
///     .address("127.0.0.1:0")
///     .token("correct-horse")
///     .start()?;
/// assert_ne!(console.local_addr().port(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
#[must_use = "a console is started by `start`"]
pub struct Builder {
    address: String,
    token: Option<String>,
    next_free_port: bool,
    limits: Limits,
}

impl Builder {
    pub(crate) fn new() -> Builder {
        Builder {
            address: DEFAULT_ADDRESS.to_owned(),
            token: None,
            next_free_port: false,
            limits: Limits {
                connections: 256,
                head: Duration::from_secs(10),
                idle: Duration::from_secs(60),
            },
        }
    }

    /// Sets the address to listen on, such as `127.0.0.1:6670` or `localhost:0`.
    ///
    /// An address that is not a loopback address needs a [token](Builder::token). With port 0 the system chooses
    /// the port. Default: `127.0.0.1:6670`.
    ///
    /// # Examples
    /// ```
    /// let console = tress_console::Console::builder().address("[::1]:0").start();
    /// # drop(console); // There may be no IPv6 here.
    /// ```
    pub fn address(mut self, address: impl Into<String>) -> Builder {
        self.address = address.into();
        self
    }

    /// Sets a secret that each request must carry.
    ///
    /// A client sends it as `Authorization: Bearer …` or as `?token=…`; requests without it are answered with status
    /// 401. Default: none.
    ///
    /// # Examples
    /// ```
    /// use std::io::{Read, Write};
    /// use std::net::TcpStream;
    /// use tress_console::Console;
    ///
    /// let console = Console::builder().address("127.0.0.1:0").token("secret").start()?;
    /// let mut client = TcpStream::connect(console.local_addr())?;
    /// client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    /// let mut answer = String::new();
    /// client.read_to_string(&mut answer)?;
    /// assert!(answer.starts_with("HTTP/1.1 401 "));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn token(mut self, token: impl Into<String>) -> Builder {
        self.token = Some(token.into());
        self
    }

    /// Sets whether the next ports are tried if the port is in use; at most 100 of them.
    ///
    /// Default: false.
    ///
    /// # Examples
    /// ```
    /// use tress_console::Console;
    ///
    /// let first = Console::builder().address("127.0.0.1:0").start()?;
    /// let second = Console::builder()
    ///     .address(first.local_addr().to_string())
    ///     .next_free_port(true)
    ///     .start()?;
    /// assert_ne!(first.local_addr(), second.local_addr());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn next_free_port(mut self, yes: bool) -> Builder {
        self.next_free_port = yes;
        self
    }

    /// Sets the maximum number of connections.
    ///
    /// Further ones are answered with status 503 and closed. Default: 256.
    pub fn max_connections(mut self, connections: usize) -> Builder {
        self.limits.connections = connections;
        self
    }

    /// Sets how long a client may take to send the head of a request.
    ///
    /// Default: 10 seconds.
    pub fn head_timeout(mut self, timeout: Duration) -> Builder {
        self.limits.head = timeout;
        self
    }

    /// Sets how long a connection may rest between requests, and how long a client may take to read a part of an
    /// answer.
    ///
    /// Default: 60 seconds.
    pub fn idle_timeout(mut self, timeout: Duration) -> Builder {
        self.limits.idle = timeout;
        self
    }

    /// Starts the console.
    ///
    /// # Errors
    /// Returns an error of the kind `InvalidInput` if the address cannot be parsed, if it is not a loopback address
    /// and there is no token, if the token is empty or has other characters than visible ASCII ones, or if the maximum
    /// number of connections is 0. Returns any error of resolving the address, of `bind(2)` and `listen(2)`, and of
    /// starting a thread and a runtime. Errors name the address.
    pub fn start(self) -> io::Result<Console> {
        if self.limits.connections == 0 {
            return Err(invalid("max_connections is 0, but must be at least 1"));
        }
        if let Some(token) = &self.token {
            check_token(token)?;
        }
        let addresses = self.resolve()?;
        let listener = self.listen(&addresses)?;
        let local = listener.local_addr()?;
        let access = Access::new(self.token, is_loopback(&local));
        Console::start(listener, local, access, self.limits, Source::new())
            .map_err(|error| self::named(&self.address, error))
    }

    fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let found = self.address.to_socket_addrs();
        let addresses: Vec<_> = found
            .map_err(|error| named(&self.address, error))?
            .collect();
        if addresses.is_empty() {
            return Err(invalid(&format!("{:?} has no address", self.address)));
        }
        if self.token.is_none() && !addresses.iter().all(is_loopback) {
            return Err(invalid(&format!(
                "{} is not a loopback address: a console that others can reach needs a token",
                self.address
            )));
        }
        Ok(addresses)
    }

    fn listen(&self, addresses: &[SocketAddr]) -> io::Result<TcpListener> {
        let more = match self.next_free_port {
            true => PORTS_TO_TRY,
            false => 0,
        };
        let mut last = None;
        for address in addresses {
            for port in address.port()..=address.port().saturating_add(more) {
                match TcpListener::bind(SocketAddr::new(address.ip(), port)) {
                    Ok(listener) => return Ok(listener),
                    Err(error) => {
                        let in_use = error.kind() == io::ErrorKind::AddrInUse;
                        last = Some(error);
                        if !in_use {
                            break;
                        }
                    }
                }
            }
        }
        Err(named(&self.address, last.expect("there is an address")))
    }
}

impl fmt::Debug for Builder {
    /// Leaves the token out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("address", &self.address)
            .field("has_token", &self.token.is_some())
            .field("next_free_port", &self.next_free_port)
            .field("limits", &self.limits)
            .finish()
    }
}

fn is_loopback(address: &SocketAddr) -> bool {
    // The canonical form of `::ffff:127.0.0.1` is `127.0.0.1`.
    address.ip().to_canonical().is_loopback()
}

fn check_token(token: &str) -> io::Result<()> {
    match token {
        "" => Err(invalid("the token is empty")),
        _ if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(()),
        _ => Err(invalid(
            "the token has characters that are not visible ASCII",
        )),
    }
}

pub(crate) fn invalid(text: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("the console cannot start: {text}"),
    )
}

fn named(address: &str, error: io::Error) -> io::Error {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => " (choose another port, or the next free one)",
        _ => "",
    };
    io::Error::new(
        error.kind(),
        format!("the console cannot listen on {address}: {error}{hint}"),
    )
}
