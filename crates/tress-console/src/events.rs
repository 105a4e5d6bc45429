//! Server-sent events: one client.

use crate::connection::write;
use crate::request::Method;
use crate::response::{self, Status};
use crate::server::Shared;
use std::io;
use tress::io::AsyncReadExt;
use tress::net::TcpStream;

/// Sends the newest texts of the feed until the client is gone. A client that is slow misses those in between.
pub(crate) async fn stream(
    mut stream: TcpStream,
    method: Method,
    shared: &Shared,
) -> io::Result<()> {
    let head = response::head(Status::Ok, "text/event-stream", None, false, "");
    let patience = shared.limits.idle;
    write(&mut stream, head.as_bytes(), patience).await?;
    if method == Method::Head {
        return Ok(());
    }
    let (mut reader, mut writer) = stream.split();
    write(&mut writer, b"retry: 1000\n\n", patience).await?;
    let mut client = shared.feed.subscribe();
    let mut ignored = [0; 64];
    loop {
        let text = tress::select! {
            text = client.next() => text,
            read = reader.read(&mut ignored) => match read? {
                0 => return Ok(()),
                _ => continue,
            },
        };
        write(&mut writer, text.as_bytes(), patience).await?;
    }
}
