//! A payment that is asked for again after a time-out, though it may have been made: it is made twice.
//!
//! Mended: each has a key, and the bank makes no payment twice.

use crate::lines::{ask_again, serve};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use tress_sim::Sim;

/// What the bank has on its disk.
#[derive(Default)]
struct Books {
    balance: u64,
    keys: BTreeSet<String>,
}

impl Books {
    fn answer(&mut self, question: &str, is_mended: bool) -> String {
        match question.split_once(' ') {
            Some((amount, key)) => {
                let is_new = self.keys.insert(key.to_string());
                if is_new || !is_mended {
                    self.balance += amount.parse::<u64>().expect("an amount");
                    println!("paid {amount} for {key}: {}", self.balance);
                }
                "paid".to_string()
            }
            None => self.balance.to_string(),
        }
    }
}

pub fn service(sim: &mut Sim<'static>, is_mended: bool) {
    let books = Rc::new(RefCell::new(Books::default()));
    sim.host("bank", move || {
        let books = books.clone();
        serve(move |question| books.borrow_mut().answer(question, is_mended))
    });
    sim.client("client", async {
        for key in 0..10 {
            ask_again("bank", &format!("100 {key}")).await;
        }
        let balance = ask_again("bank", "balance").await;
        match balance.as_str() {
            "1000" => Ok(()),
            _ => Err(format!("{balance} after payments of 1000"))?,
        }
    });
}
