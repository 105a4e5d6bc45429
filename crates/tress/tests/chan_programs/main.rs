//! Random programs over channels and selects, against a plain specification of them.
//!
//! A program runs on one thread, and polls by hand. Each result is compared with what `spec.rs` says, and
//! so are lengths, counts of handles and what was not delivered. Now and then, and at the end, all that
//! were woken are polled until nobody is: whoever waits then must be right to do so, or a wake-up was
//! lost.
//!
//! `TRESS_PROGRAMS` says how many programs to run; `TRESS_SEED` repeats them. One that fails is made as
//! short as it can be before it is printed.

#[path = "../chan_support/mod.rs"]
mod chan_support;
mod machine;
mod spec;

use chan_support::Dice;
use machine::{Machine, Step};
use spec::Kind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tress::channel::Overflow;

const KINDS: [Kind; 7] = [
    Kind::Rendezvous,
    Kind::Rendezvous,
    Kind::Bounded(1, Overflow::Suspend),
    Kind::Bounded(2, Overflow::Suspend),
    Kind::Bounded(1, Overflow::DropOldest),
    Kind::Bounded(2, Overflow::DropLatest),
    Kind::Unbounded,
];

#[derive(Clone, Debug)]
struct Program {
    kinds: [Kind; 2],
    steps: Vec<Step>,
}

impl Program {
    fn random(dice: &mut Dice) -> Program {
        let kinds = [(); 2].map(|()| KINDS[dice.below(KINDS.len())]);
        let count = 2 + dice.below(30);
        Program {
            kinds,
            steps: (0..count).map(|_| Step::random(dice)).collect(),
        }
    }

    /// What went wrong, if anything.
    fn run(&self) -> Result<(), String> {
        let run = catch_unwind(AssertUnwindSafe(|| {
            let mut machine = Machine::new(self.kinds);
            for step in &self.steps {
                machine.step(step);
            }
            machine.settle();
        }));
        run.map_err(|panic| match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => panic.downcast_ref::<&str>().unwrap_or(&"").to_string(),
        })
    }

    /// The same without steps that are not needed to make it fail.
    fn shrunk(mut self) -> Program {
        let mut nth = self.steps.len();
        while nth > 0 {
            nth -= 1;
            let mut shorter = self.clone();
            shorter.steps.remove(nth);
            if shorter.run().is_err() {
                self = shorter;
                nth = self.steps.len();
            }
        }
        self
    }
}

#[test]
fn channels_do_what_the_specification_says() {
    let default = if cfg!(miri) { 20 } else { 5_000 };
    let count = std::env::var("TRESS_PROGRAMS").map_or(default, |count| count.parse().unwrap());
    let mut dice = Dice::new(14);
    for nth in 0..count {
        let program = Program::random(&mut dice);
        if program.run().is_err() {
            let shrunk = program.shrunk();
            let error = shrunk.run().unwrap_err();
            panic!("program {nth}:\n{shrunk:#?}\n{error}");
        }
    }
}
