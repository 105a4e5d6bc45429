//! smol: async-io's sockets; files by positional reads in its blocking pool.

use std::fs::File;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use async_io::Async;
use futures_lite::{AsyncReadExt, AsyncWriteExt};

use super::hyper_io::FuturesIo;
use super::spawning::{Http, Sockets};
use crate::runtime::smol::Smol;

impl Sockets for Smol {
    type Listener = Async<TcpListener>;
    type Stream = Async<TcpStream>;
    type File = Arc<File>;

    fn listener(listener: TcpListener) -> io::Result<Self::Listener> {
        Async::new(listener)
    }

    async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
        let (stream, _) = listener.accept().await?;
        stream.get_ref().set_nodelay(true)?;
        Ok(stream)
    }

    fn read<'a>(
        stream: &'a mut Self::Stream,
        buffer: &'a mut [u8],
    ) -> impl Future<Output = io::Result<usize>> + Send + 'a {
        AsyncReadExt::read(stream, buffer)
    }

    fn write_all<'a>(
        stream: &'a mut Self::Stream,
        bytes: &'a [u8],
    ) -> impl Future<Output = io::Result<()>> + Send + 'a {
        AsyncWriteExt::write_all(stream, bytes)
    }

    async fn open(path: &Path) -> io::Result<Self::File> {
        let path = path.to_owned();
        blocking::unblock(|| File::open(path)).await.map(Arc::new)
    }

    async fn read_block(
        file: &mut Self::File,
        mut block: Vec<u8>,
        position: u64,
    ) -> (io::Result<()>, Vec<u8>) {
        let file = file.clone();
        blocking::unblock(move || (file.read_exact_at(&mut block, position), block)).await
    }
}

impl Http for Smol {
    type Io = FuturesIo<Self::Stream>;

    fn io(stream: Self::Stream) -> Self::Io {
        FuturesIo(stream)
    }
}
