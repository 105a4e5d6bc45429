use crate::io::source::Source;
use crate::net::{TcpStream, tcp};
#[cfg(unix)]
use crate::net::{UnixStream, unix};

/// Streams that [`Pooled`](super::Pooled) can read from.
///
/// These are [`TcpStream`], `UnixStream`, and their owned reading halves. The trait is sealed: it cannot be
/// implemented outside this crate.
pub trait PooledSource: sealed::Receives {}

impl<S: sealed::Receives> PooledSource for S {}

/// The source that a pooled stream is received from.
#[derive(Debug)]
pub struct SourceRef<'a>(pub(super) Kind<'a>);

#[derive(Debug)]
pub(super) enum Kind<'a> {
    Tcp(&'a Source<mio::net::TcpStream>),
    #[cfg(unix)]
    Unix(&'a Source<mio::net::UnixStream>),
}

pub(super) mod sealed {
    use super::SourceRef;

    pub trait Receives {
        fn source(&self) -> SourceRef<'_>;
    }
}

impl sealed::Receives for TcpStream {
    fn source(&self) -> SourceRef<'_> {
        SourceRef(Kind::Tcp(self.io()))
    }
}

impl sealed::Receives for tcp::OwnedReadHalf {
    fn source(&self) -> SourceRef<'_> {
        SourceRef(Kind::Tcp(AsRef::<TcpStream>::as_ref(self).io()))
    }
}

#[cfg(unix)]
impl sealed::Receives for UnixStream {
    fn source(&self) -> SourceRef<'_> {
        SourceRef(Kind::Unix(self.io()))
    }
}

#[cfg(unix)]
impl sealed::Receives for unix::OwnedReadHalf {
    fn source(&self) -> SourceRef<'_> {
        SourceRef(Kind::Unix(AsRef::<UnixStream>::as_ref(self).io()))
    }
}
