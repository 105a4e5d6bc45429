//! Two messages on two connections, of which the second needs the first. Nothing says that they arrive in that order.
//!
//! Mended: the second is sent when the first has been answered.

use crate::lines::{ask, serve};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::sleep;
use tress_sim::Sim;

/// Takes uploads into folders that have been made before. These are on the disk.
fn answer(folders: &mut BTreeSet<String>, question: &str) -> String {
    match question.split_once(' ') {
        Some(("make", folder)) => {
            folders.insert(folder.to_string());
            "made".to_string()
        }
        Some(("upload", folder)) if folders.contains(folder) => "had".to_string(),
        _ => format!("no folder for {question:?}"),
    }
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    let folders = Rc::new(RefCell::new(BTreeSet::new()));
    sim.host("server", move || {
        let folders = folders.clone();
        serve(move |question| answer(&mut folders.borrow_mut(), question))
    });
    sim.client("client", async move {
        let mut uploaded = 0;
        for folder in 0.. {
            let make = spawn_local(async move { ask("server", &format!("make {folder}")).await });
            match is_mended {
                true if make.await?.is_err() => continue,
                true => {}
                // By then it must have arrived.
                false => sleep(Duration::from_millis(500)).await,
            }
            match ask("server", &format!("upload {folder}")).await.as_deref() {
                Ok("had") => uploaded += 1,
                Ok(error) => Err(error)?,
                Err(_) => {}
            }
            if uploaded == 10 {
                break;
            }
        }
        Ok(())
    });
}
