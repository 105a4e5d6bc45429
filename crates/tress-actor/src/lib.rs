//! Processes on the tress runtime: addressed by PIDs, fed by bounded mailboxes, linked and supervised.

#![warn(missing_docs, missing_debug_implementations, rust_2018_idioms)]

mod actor;
mod atom;
pub mod command;
mod cx;
mod error;
mod event;
mod exit;
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
mod sys;
mod table;
mod topic;

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
