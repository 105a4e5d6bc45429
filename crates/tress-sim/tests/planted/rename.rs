//! A counter in a file that is replaced without a sync: after a loss of power the old one may be there, or an empty one.
//!
//! Mended: the file is synced before it gets its name, and the directory afterwards.

use crate::lines::{ask_again, serve};
use std::fs::{self, File};
use std::io::{ErrorKind, Result, Write};
use tress_sim::Sim;

/// Counts on, and returns the number that was reached.
fn add(is_mended: bool) -> Result<u64> {
    let count = match fs::read_to_string("/var/count") {
        Ok(text) => text.parse().map_err(|_| ErrorKind::InvalidData)?,
        Err(error) if error.kind() == ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let mut file = File::create("/var/count.new")?;
    write!(file, "{}", count + 1)?;
    if is_mended {
        file.sync_all()?;
    }
    fs::rename("/var/count.new", "/var/count")?;
    if is_mended {
        File::open("/var")?.sync_all()?;
    }
    Ok(count + 1)
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    sim.host("counter", move || {
        serve(move |_| match add(is_mended) {
            Ok(count) => count.to_string(),
            Err(error) => error.to_string(),
        })
    });
    sim.client("client", async {
        let mut acknowledged = 0;
        while acknowledged < 20 {
            let answer = ask_again("counter", "add").await;
            match answer.parse() {
                Ok(count) if count > acknowledged => acknowledged = count,
                _ => Err(format!("{answer:?} after {acknowledged}"))?,
            }
        }
        Ok(())
    });
}
