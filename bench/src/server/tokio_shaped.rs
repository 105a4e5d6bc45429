//! tress and Tokio: the same names, hence the same code.

use std::io::{self, SeekFrom};
use std::net::TcpListener;
use std::path::Path;

use ::tress::io::AsyncWriteOwned;
use ::tress::net::Pooled;
use ::tress_hyper::TressIo;

use super::hyper_io::TokioIo;
use super::spawning::{Http, Sockets};
use crate::runtime::{Tokio, Tress, TressReadiness, TressRecorder, TressSight};

macro_rules! tokio_shaped {
    ($peer:ty, $lib:ident, $io:ident, {$($more:tt)*}) => {
        impl Sockets for $peer {
            type Listener = ::$lib::net::TcpListener;
            type Stream = ::$lib::net::TcpStream;
            type File = ::$lib::fs::File;

            fn listener(listener: TcpListener) -> io::Result<Self::Listener> {
                Self::Listener::from_std(listener)
            }

            async fn accept(listener: &Self::Listener) -> io::Result<Self::Stream> {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                Ok(stream)
            }

            fn read<'a>(
                stream: &'a mut Self::Stream,
                buffer: &'a mut [u8],
            ) -> impl Future<Output = io::Result<usize>> + Send + 'a {
                ::$lib::io::AsyncReadExt::read(stream, buffer)
            }

            fn write_all<'a>(
                stream: &'a mut Self::Stream,
                bytes: &'a [u8],
            ) -> impl Future<Output = io::Result<()>> + Send + 'a {
                ::$lib::io::AsyncWriteExt::write_all(stream, bytes)
            }

            $($more)*

            async fn open(path: &Path) -> io::Result<Self::File> {
                Self::File::open(path).await
            }

            async fn read_block(
                file: &mut Self::File,
                mut block: Vec<u8>,
                position: u64,
            ) -> (io::Result<()>, Vec<u8>) {
                use ::$lib::io::{AsyncReadExt, AsyncSeekExt};
                // The file goes on where it is, except from its end to its beginning.
                if position == 0 {
                    if let Err(why) = file.seek(SeekFrom::Start(0)).await {
                        return (Err(why), block);
                    }
                }
                let read = file.read_exact(&mut block).await;
                (read.map(|_| ()), block)
            }
        }

        impl Http for $peer {
            type Io = $io<Self::Stream>;

            fn io(stream: Self::Stream) -> Self::Io {
                $io::new(stream)
            }
        }
    };
}

/// Sends back what comes, without copying it.
async fn echo_pooled(stream: ::tress::net::TcpStream) {
    let (reader, mut writer) = stream.into_split();
    let mut reader = Pooled::new(reader);
    // What goes wrong with a connection the client tells.
    while let Ok(Some(bytes)) = reader.read_pooled().await {
        // D-BENCH-02
        if writer.write_all_owned(bytes).await.0.is_err() {
            break;
        }
    }
}

tokio_shaped!(Tokio, tokio, TokioIo, {});
tokio_shaped!(Tress, tress, TressIo, {
    fn echo_pooled(stream: Self::Stream) -> impl Future<Output = ()> + Send {
        echo_pooled(stream)
    }
});
tokio_shaped!(TressRecorder, tress, TressIo, {});
tokio_shaped!(TressSight, tress, TressIo, {});
tokio_shaped!(TressReadiness, tress, TressIo, {
    fn echo_pooled(stream: Self::Stream) -> impl Future<Output = ()> + Send {
        echo_pooled(stream)
    }
});
