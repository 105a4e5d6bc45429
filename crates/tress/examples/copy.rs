//! Copies a file and shows how far it is.
//!
//! ```text
//! cargo run --release -p tress --example copy -- FROM TO
//! ```
//!
//! Reading and writing go on at the same time: while one buffer is written, the next is read. The buffers are
//! given away and come back (`read_owned`, `write_all_owned`), so that with io_uring the kernel fills and
//! empties them itself.

use std::io::{self, Write};
use tress::fs::File;
use tress::io::{AsyncReadOwned, AsyncWriteExt, AsyncWriteOwned, Buffer};

const CHUNK: usize = 256 * 1024;
const WIDTH: u64 = 40;

#[tress::main]
async fn main() -> io::Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (Some(from), Some(to), None) = (args.next(), args.next(), args.next()) else {
        eprintln!("usage: copy FROM TO");
        std::process::exit(2);
    };
    let mut source = File::open(from).await?;
    let total = source.metadata().await?.len();
    let mut target = File::create(to).await?;

    let mut copied = 0;
    let mut shown = None;
    let (mut read, mut full) = source.read_owned(Vec::with_capacity(CHUNK)).await;
    let mut spare = Vec::with_capacity(CHUNK);
    loop {
        let n = read?;
        if n == 0 {
            break;
        }
        let ((written, empty), (next, filled)) = tress::join!(
            target.write_all_owned(full.slice(..n)),
            source.read_owned(spare)
        );
        written?;
        copied += n as u64;
        show(copied, total, &mut shown)?;
        spare = empty.into_inner();
        (read, full) = (next, filled);
    }
    target.flush().await?;
    target.sync_all().await?;
    eprintln!();
    println!("copied {copied} bytes");
    Ok(())
}

/// Draws the bar, if it looks different now.
fn show(copied: u64, total: u64, shown: &mut Option<u64>) -> io::Result<()> {
    // A file that grows meanwhile is copied as far as it goes.
    let percent = (copied.min(total) * 100).checked_div(total).unwrap_or(100);
    if shown.replace(percent) == Some(percent) {
        return Ok(());
    }
    let done = (percent * WIDTH / 100) as usize;
    let left = WIDTH as usize - done;
    let mut terminal = io::stderr().lock();
    write!(terminal, "\r[{:#<done$}{:.<left$}] {percent:3} %", "", "")?;
    terminal.flush()
}
