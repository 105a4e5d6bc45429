//! Runs `sort | uniq -c` on words: two children, and pipes between them and to them.
//!
//! ```text
//! cargo run -p tress --example pipeline -- to be or not to be
//! ```
//!
//! The output of the first child goes straight to the second, through a pipe of theirs; the words go in and
//! the counts come out at the same time, so no pipe can fill up and hold everybody. Children that are
//! left behind by an error are killed. Unix.

#[cfg(unix)]
#[tress::main]
async fn main() -> std::io::Result<()> {
    use std::process::Stdio;
    use tress::io::{AsyncReadExt, AsyncWriteExt};
    use tress::process::Command;

    let words: Vec<String> = std::env::args().skip(1).collect();

    let mut sort = Command::new("sort");
    sort.env("LC_ALL", "C").kill_on_drop(true);
    let mut sort = sort.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = sort.stdin.take().expect("it is piped");
    let between: Stdio = sort.stdout.take().expect("it is piped").try_into()?;

    let mut count = Command::new("uniq");
    count.arg("-c").kill_on_drop(true);
    let mut count = count.stdin(between).stdout(Stdio::piped()).spawn()?;
    let mut output = count.stdout.take().expect("it is piped");

    let feed = async move {
        for word in words {
            input.write_all(format!("{word}\n").as_bytes()).await?;
        }
        // Dropped here: the end of the input.
        std::io::Result::Ok(())
    };
    let mut text = String::new();
    let (fed, read) = tress::join!(feed, output.read_to_string(&mut text));
    fed?;
    read?;
    print!("{text}");

    let (sort, count) = tress::join!(sort.wait(), count.wait());
    for (name, status) in [("sort", sort?), ("uniq", count?)] {
        if !status.success() {
            return Err(std::io::Error::other(format!(
                "{name} has failed: {status}"
            )));
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn main() {
    eprintln!("this example needs Unix");
}
