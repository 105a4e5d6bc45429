//! The load of the I/O cases: what it is, and its measurement from the server's side.
//!
//! The generator ([`client`]) is one thread without a runtime, always the same, in a process of its
//! own: this program, started again. So the CPU time of the measuring process is the server's alone.

mod client;
mod dialogue;

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use serde::{Deserialize, Serialize};

pub use dialogue::{HTTP_BODY, Kind};

use crate::case::{Outcome, Plan, Wrong};
use crate::meter::process_cpu;

/// A load: a number of connections, each with at most one request under way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    pub kind: Kind,
    pub connections: usize,
    /// Requests per second in all. Without it each connection sends its next request when it has the reply.
    pub rate: Option<u32>,
    pub server: SocketAddr,
    pub warm_up: Duration,
    pub measure: Duration,
}

/// What the generator says, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Word {
    /// The warm-up is over.
    Begun,
    /// The measured stretch is over.
    Ended { requests: u64, took: Duration },
    /// Everything is over; so many replies were right, and none wrong.
    Checked { replies: u64 },
}

impl Load {
    pub fn new(kind: Kind, connections: usize, server: SocketAddr, plan: &Plan) -> Self {
        Load {
            kind,
            connections,
            rate: None,
            server,
            warm_up: plan.load_warm_up,
            measure: plan.load,
        }
    }

    /// Sends requests at a fixed rate, whatever the replies do.
    pub fn paced(self, rate: u32) -> Self {
        Load {
            rate: Some(rate),
            ..self
        }
    }

    /// Lets the generator loose on the server, which runs in this process. The values: requests per
    /// second, and this process's CPU time per request in microseconds.
    pub fn measure(&self) -> Result<Outcome, Wrong> {
        let mut before = Duration::ZERO;
        let mut values = None;
        let mut checked = 0;
        self.generate(|word| match word {
            Word::Begun => before = process_cpu(),
            Word::Ended { requests, took } => {
                let cpu = process_cpu() - before;
                values = Some(vec![
                    requests as f64 / took.as_secs_f64(),
                    cpu.as_secs_f64() * 1e6 / requests as f64,
                ]);
            }
            Word::Checked { replies } => checked = replies,
        })?;
        let values = values.ok_or(Wrong("the load generator measured nothing".into()))?;
        Ok(Outcome { values, checked })
    }

    /// Runs the generator, in a process of its own, and passes on what it says.
    fn generate(&self, mut hear: impl FnMut(Word)) -> Result<(), Wrong> {
        // The program that runs the tests has another command line.
        if cfg!(test) {
            let load = *self;
            let (say, words) = std::sync::mpsc::channel();
            let say = move |word| say.send(word).expect("it is heard until it is dropped");
            let generator = thread::spawn(move || client::run(&load, say));
            words.iter().for_each(hear);
            let ended = generator
                .join()
                .map_err(|_| "the generator panicked".into());
            return ended.and_then(|ended| ended).map_err(Wrong);
        }
        let wrong = |why: &dyn std::fmt::Display| Wrong(format!("the load generator: {why}"));
        let spec = serde_json::to_string(self).expect("a load is JSON");
        let mut generator = Command::new(env::current_exe().map_err(|why| wrong(&why))?)
            .args(["--load", &spec])
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|why| wrong(&why))?;
        let said = generator.stdout.take().expect("it is piped");
        for line in BufReader::new(said).lines() {
            let line = line.map_err(|why| wrong(&why))?;
            hear(serde_json::from_str(&line).map_err(|why| wrong(&why))?);
        }
        let status = generator.wait().map_err(|why| wrong(&why))?;
        if status.success() {
            Ok(())
        } else {
            Err(wrong(&status))
        }
    }
}

/// The generator's side: does what `spec` says, and prints its words.
pub fn run(spec: &str) -> Result<(), String> {
    let load: Load = serde_json::from_str(spec).map_err(|why| format!("bad load: {why}"))?;
    client::run(&load, |word| {
        println!("{}", serde_json::to_string(&word).expect("a word is JSON"));
    })
}
