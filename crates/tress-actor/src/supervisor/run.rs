//! The process of a supervisor.

use super::restarts::Restarts;
use super::{Child, ChildHost, Restart, Strategy, Supervisor};
use crate::cx::{Cx, Mail};
use crate::deadline::Deadline;
use crate::error::SpawnError;
use crate::event::SystemEvent;
use crate::exit::{ExitReason, ProcessError};
use crate::pid::Pid;
use std::collections::VecDeque;
use std::ops::Range;
use tress::time::Instant;

/// The children that are to be restarted, and why; `None` if all run.
type Again = Option<(Range<usize>, String)>;

/// The end of a child.
struct Down(Pid, ExitReason);

struct Work {
    cx: Cx<()>,
    /// The supervisor above, if there is one: this one ends with it.
    parent: Option<Pid>,
    strategy: Strategy,
    children: Vec<Child>,
    /// The processes of the children that run.
    running: Vec<Option<Pid>>,
    /// Ends that arrived while something else was waited for.
    ends: VecDeque<Down>,
    /// Whether it has been asked to stop.
    cancelled: bool,
}

pub(super) async fn supervise(supervisor: Supervisor, cx: Cx<()>) -> Result<(), ProcessError> {
    let mut restarts = Restarts::new(supervisor.most, supervisor.within, supervisor.backoff);
    let count = supervisor.children.len();
    let mut work = Work {
        parent: cx.host().parent(cx.pid()),
        cx,
        strategy: supervisor.strategy,
        children: supervisor.children,
        running: vec![None; count],
        ends: VecDeque::new(),
        cancelled: false,
    };
    let result = work.run(&mut restarts).await;
    work.stop(0..count).await;
    result
}

impl Work {
    async fn run(&mut self, restarts: &mut Restarts) -> Result<(), ProcessError> {
        // A child that cannot be started counts as one that failed.
        let mut again = self.start(0..self.children.len())?;
        loop {
            while let Some((affected, why)) = again.take() {
                let Some(delay) = restarts.another(Instant::now()) else {
                    let name = &self.children[affected.start].name;
                    return Err(
                        format!("too many restarts; the last was of {name:?}: {why}").into(),
                    );
                };
                self.stop(affected.clone()).await;
                self.wait(delay).await;
                if self.cancelled {
                    return Ok(());
                }
                again = self.start(affected)?;
            }
            if self.cancelled {
                return Ok(());
            }
            let Down(pid, reason) = match self.ends.pop_front() {
                Some(down) => down,
                None => match self.news().await {
                    Some(down) => down,
                    None => return Ok(()),
                },
            };
            let Some(at) = self
                .running
                .iter()
                .position(|running| *running == Some(pid))
            else {
                continue;
            };
            self.running[at] = None;
            let wanted = match self.children[at].restart {
                Restart::Always => true,
                Restart::OnFailure => reason.is_abnormal(),
                Restart::Never => false,
            };
            if wanted {
                again = Some((self.affected(at), reason.to_string()));
            }
        }
    }

    /// The children that are restarted with one.
    fn affected(&self, at: usize) -> Range<usize> {
        match self.strategy {
            Strategy::OneForOne => at..at + 1,
            Strategy::OneForAll => 0..self.children.len(),
            Strategy::RestForOne => at..self.children.len(),
        }
    }

    /// Starts children in order. If one could not be started, returns those that have to be restarted, and why.
    /// Fails if one is a process that cannot be a child here.
    fn start(&mut self, which: Range<usize>) -> Result<Again, ProcessError> {
        for at in which.clone() {
            let started = (self.children[at].start)(ChildHost {
                host: self.cx.host(),
                supervisor: self.cx.pid(),
            });
            match started {
                Ok(pid) => {
                    self.see_to(at, pid)?;
                    self.running[at] = Some(pid);
                }
                // The host asks this supervisor to stop, too.
                Err(SpawnError::Stopping) => {
                    self.cancelled = true;
                    return Ok(None);
                }
                Err(error) => return Ok(Some((at..which.end, error.to_string()))),
            }
        }
        Ok(None)
    }

    /// Makes sure that the supervisor is told of a child's end, however it was started, and once for each child
    /// whose process it is.
    fn see_to(&self, at: usize, pid: Pid) -> Result<(), ProcessError> {
        let (host, supervisor) = (self.cx.host(), self.cx.pid());
        let name = &self.children[at].name;
        if pid == supervisor {
            return Err(format!(
                "the child {name:?} is the supervisor itself: return the process that was started"
            )
            .into());
        }
        if !host.is_ours(pid) {
            return Err(format!(
                "the child {name:?} is {pid}, of another host, which could not be stopped from here: \
                 start a supervisor there"
            )
            .into());
        }
        // A monitor that has told did so before this one can: if the process has ended already, its own reason
        // arrives first, and what this one tells is ignored.
        if self.running.contains(&Some(pid)) || !host.is_monitored_by(pid, supervisor) {
            // It fails if the supervisor has ended.
            let _ = host.monitor(supervisor, pid);
        }
        Ok(())
    }

    /// Waits for the next end of a child; `None` if the supervisor is asked to stop.
    async fn news(&mut self) -> Option<Down> {
        loop {
            match self.cx.next().await {
                Mail::Event(SystemEvent::Down { pid, reason, .. }) => {
                    return Some(Down(pid, reason));
                }
                Mail::Event(SystemEvent::Cancel { .. }) => {
                    self.cancelled = true;
                    return None;
                }
                Mail::Event(SystemEvent::LinkDown { pid, .. }) if Some(pid) == self.parent => {
                    self.cancelled = true;
                    return None;
                }
                // The links are there for the children, which end with the supervisor.
                Mail::Event(_) | Mail::Message(()) => {}
            }
        }
    }

    /// Waits for a time, unless the supervisor is asked to stop.
    async fn wait(&mut self, delay: std::time::Duration) {
        let until = Deadline::after(delay);
        while !self.cancelled {
            match until.limit(self.news()).await {
                Some(Some(down)) => self.ends.push_back(down),
                Some(None) => {}
                None => return,
            }
        }
    }

    /// Stops children, the last one first: asks them to, and terminates those that do not stop in time.
    async fn stop(&mut self, which: Range<usize>) {
        for at in which.rev() {
            let Some(pid) = self.running[at].take() else {
                continue;
            };
            let host = self.cx.host().clone();
            let until = Deadline::after(self.children[at].grace);
            // It may have ended by itself.
            let _ = host.cancel_from(Some(self.cx.pid()), pid, ExitReason::Shutdown);
            if until.limit(self.end_of(pid)).await.is_none() {
                let _ = host.terminate(pid);
                self.end_of(pid).await;
            }
        }
    }

    /// Waits for the end of one child, and keeps those of others for later.
    async fn end_of(&mut self, pid: Pid) {
        if let Some(at) = self.ends.iter().position(|down| down.0 == pid) {
            self.ends.remove(at);
            return;
        }
        loop {
            match self.news().await {
                Some(down) if down.0 == pid => return,
                Some(down) => self.ends.push_back(down),
                // It is stopping already.
                None => {}
            }
        }
    }
}
