//! Processes on the tress runtime, in the tradition of Erlang: addressed by PIDs, fed by bounded mailboxes,
//! linked, monitored and supervised.
//!
//! # How to begin
//!
//! Start a [`Host`] inside a runtime, write an [`Actor`], spawn it, and talk to it through its [`ActorRef`]:
//! ```
//! use tress_actor::{Actor, Cx, Flow, Host, ProcessError, Reply};
//!
//! /// The messages of a cashier.
//! enum Till {
//!     Pay(u64),
//!     Total(Reply<u64>),
//! }
//!
//! struct Cashier {
//!     total: u64,
//! }
//!
//! impl Actor for Cashier {
//!     type Msg = Till;
//!
//!     async fn handle(&mut self, msg: Till, _: &mut Cx<Till>) -> Result<Flow, ProcessError> {
//!         match msg {
//!             Till::Pay(amount) => self.total += amount,
//!             Till::Total(reply) => reply.send(self.total),
//!         }
//!         Ok(Flow::Continue)
//!     }
//! }
//!
//! #[tress::main]
//! async fn main() {
//!     let host = Host::builder("shop").start().unwrap();
//!     let cashier = host.spawn_actor(Cashier { total: 0 }).unwrap();
//!     cashier.cast(Till::Pay(3)).unwrap();
//!     assert_eq!(cashier.ask(Till::Total).await.unwrap(), 3);
//! }
//! ```
//!
//! # Three ways to write a process
//!
//! | a process that … | is |
//! |---|---|
//! | handles messages of one type, one after the other | an [`Actor`]: [`Host::spawn_actor`] |
//! | receives wherever it likes in an `async` block | a future with a [`Cx`]: [`Host::future`] |
//! | is a state machine, stepped with events | a [`Process`], which yields [commands](command): [`Host::process`] |
//!
//! Each runs as one task of the runtime. A panic ends the process and nothing else.
//!
//! # What can be done with a process
//!
//! All three have a [`Pid`] and a mailbox.
//!
//! | to | use |
//! |---|---|
//! | send to it | [`Host::send`], [`Host::send_waiting`], [`ActorRef`] |
//! | find it by a name, or in a group | [`Host::register`], [`Host::join_group`] |
//! | wait for its end | [`Spawn::exec`], [`Host::watch`] |
//! | tell another process of its end, or tie two together | [`Host::monitor`], [`Host::link`] |
//! | ask it to stop, or make it | [`Host::cancel`], [`Host::terminate`], [`Host::shutdown`] |
//! | restart it when it fails | [`supervisor`] |
//! | look at it | [`Host::inspect`], [`Host::process_info`], [`Lifecycle`] |
//! | reach it from other hosts and nodes | [`Router`], [`Relay`] |
//!
//! # Bounds
//!
//! A mailbox holds 1,024 messages unless its [`Capacity`] says otherwise; its [`Overflow`] decides what happens
//! to further ones. The number of processes is bounded by [`Builder::max_processes`], and the number of
//! restarts by [`Supervisor::intensity`].

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]
#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

mod actor;
mod atom;
pub mod command;
mod contain;
mod cx;
mod deadline;
mod error;
mod event;
mod exit;
mod few;
mod groups;
mod host;
mod inspect;
mod link;
mod names;
mod payload;
mod pid;
mod process;
mod relay;
mod remote;
mod run;
mod shutdown;
mod slot;
pub mod supervisor;
mod table;
mod topic;

use tress_sys as sys;

pub use actor::{Actor, ActorRef, AskError, Flow, Reply};
pub use atom::{Atom, AtomError, MAX_ATOM_LENGTH, MAX_ATOMS};
pub use command::{Answer, Call, Command, CommandError, CommandId, Completer, DuplicateCommand};
pub use cx::{Cx, Done, Mail, Outcome, Polls};
pub use error::{NoProcess, SendError, SendFailure, SpawnError, StartError};
pub use event::{Completion, Event, Message, SystemEvent};
pub use exit::{Exit, ExitReason, Linked, ProcessError};
pub use groups::GroupChange;
pub use host::spawn::{Body, Steps};
pub use host::{Builder, Host, Lifecycle, Sending, Spawn};
pub use inspect::{HostMetrics, ProcessInfo};
pub use link::{Ended, ExitFuture, MonitorRef};
pub use names::NameError;
pub use payload::Payload;
pub use pid::{ParsePidError, Pid, ProcessId};
pub use process::{Events, Process, ProcessContext, StepOutput};
pub use relay::{Package, Receiver, Relay, Router, Undelivered};
pub use remote::Control;
pub use shutdown::Remained;
pub use slot::{Capacity, MailboxCounters, Overflow, ProcessState};
pub use supervisor::{Backoff, ChildHost, Restart, Strategy, Supervisor};
pub use table::MAX_PROCESSES;
pub use topic::Topic;
