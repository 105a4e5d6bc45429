//! What several tests need.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::{Arc, Mutex};
use tress_actor::{
    Command, CommandError, Completion, Event, Events, ExitReason, Host, Lifecycle, Message,
    Payload, Pid, Process, ProcessContext, ProcessError, StepOutput,
};

/// Runs a test on a runtime with so many workers.
pub fn run<F: Future>(workers: usize, test: F) -> F::Output {
    let runtime = tress::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test)
}

pub fn host() -> Host {
    Host::builder("test").start().unwrap()
}

/// A hook that remembers what it saw.
#[derive(Clone, Default)]
pub struct Seen(Arc<Mutex<Log>>);

#[derive(Default)]
pub struct Log {
    pub started: Vec<Pid>,
    pub ended: Vec<(Pid, String)>,
    pub undeliverable: Vec<(Pid, Option<u64>)>,
}

impl Seen {
    pub fn log<R>(&self, look: impl FnOnce(&Log) -> R) -> R {
        look(&self.0.lock().unwrap())
    }
}

impl Lifecycle for Seen {
    fn on_start(&self, pid: Pid, _: Option<Pid>) -> Result<(), ProcessError> {
        self.0.lock().unwrap().started.push(pid);
        Ok(())
    }

    fn on_exit(&self, pid: Pid, reason: &ExitReason) {
        self.0.lock().unwrap().ended.push((pid, reason.to_string()));
    }

    fn on_undeliverable(&self, target: Pid, message: &Message) {
        let number = message.payload.downcast_ref::<u64>().copied();
        self.0.lock().unwrap().undeliverable.push((target, number));
    }
}

type Script = dyn FnMut(Option<Event>, &mut StepOutput) -> Result<(), ProcessError> + Send;

/// A process that hands its events to a closure one by one, after a first call without.
pub struct Scripted {
    script: Box<Script>,
    begun: bool,
}

pub fn scripted(
    script: impl FnMut(Option<Event>, &mut StepOutput) -> Result<(), ProcessError> + Send + 'static,
) -> Scripted {
    Scripted {
        script: Box::new(script),
        begun: false,
    }
}

impl Process for Scripted {
    fn init(&mut self, _: &ProcessContext<'_>, _: &str, _: Payload) -> Result<(), ProcessError> {
        Ok(())
    }

    fn step(&mut self, events: &mut Events<'_>, out: &mut StepOutput) -> Result<(), ProcessError> {
        out.wait_for_yields();
        if !std::mem::replace(&mut self.begun, true) {
            (self.script)(None, out)?;
        }
        for event in events {
            (self.script)(Some(event), out)?;
        }
        Ok(())
    }
}

/// Yields one command and ends with what it completes with.
pub fn once<C: Command>(command: C) -> Scripted {
    let mut command = Some(command);
    scripted(move |event, out| {
        match event {
            None => out.command(command.take().unwrap(), 7),
            Some(Event::Completion(Completion { tag, result, more })) => {
                assert_eq!((tag, more), (7, false));
                out.done(result);
            }
            Some(_) => {}
        }
        Ok(())
    })
}

pub async fn result_of(host: &Host, process: Scripted) -> Result<Payload, CommandError> {
    let (_, exit) = host.process(process).exec().unwrap();
    let result = exit.await.into_result().unwrap();
    result.downcast::<Result<Payload, CommandError>>().unwrap()
}

pub async fn value_of<T: Send + 'static>(host: &Host, command: impl Command) -> T {
    result_of(host, once(command))
        .await
        .unwrap()
        .downcast()
        .unwrap()
}
