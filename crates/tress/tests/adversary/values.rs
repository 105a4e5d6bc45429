//! Values that panic, or call back into what they are part of, when they are woken, cloned, dropped or printed.
//!
//! `chaos` runs random programs over the public interface in which every user value may do so at any time.
//! It runs in a process of its own, so that a hang or an abort is a failure with a seed in it. The
//! environment variable `TRESS_CHAOS_SEEDS` says how many programs, or with `7..9` which; more than a minute's
//! worth wants the test `values::chaos_body` to be run by itself with `TRESS_TEST_CASE=chaos`
//! or `threads`.

mod mischief;
mod program;
mod tasks;
mod threads;
mod world;

use super::child;

const SEEDS: u64 = 120;

fn seeds() -> std::ops::Range<u64> {
    let number = |text: &str| {
        text.parse()
            .expect("TRESS_CHAOS_SEEDS is a number or a range")
    };
    match std::env::var("TRESS_CHAOS_SEEDS") {
        Ok(text) => match text.split_once("..") {
            Some((from, to)) => number(from)..number(to),
            None => 0..number(&text),
        },
        Err(_) => 0..SEEDS,
    }
}

#[test]
fn chaos() {
    child::passes("values::chaos_body", "chaos");
}

#[test]
fn chaos_of_threads() {
    child::passes("values::chaos_body", "threads");
}

#[test]
fn chaos_body() {
    let run = match child::case().as_deref() {
        Some("chaos") => program::run,
        Some("threads") => threads::run,
        _ => return,
    };
    mischief::silence();
    for seed in seeds() {
        eprint!("{seed} ");
        run(seed);
    }
}
