//! What tasks wait for, in the words of a dump.

use crate::sight::{self, Holders, Wait, WaitKind};
use crate::sys::clock::{Clock, Scale};
use std::cmp::Reverse;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::time::Duration;

/// Maximum number of lines about queues.
const MOST_QUEUES: usize = 100;

/// A moment, by which the lengths of waits are told.
pub(super) struct Moment {
    scale: Scale,
    now: u64,
}

impl Moment {
    /// Returns the present one, or `None` if nothing is noted.
    pub(super) fn if_on() -> Option<Moment> {
        sight::is_on().then(|| Moment {
            scale: Scale::measure(),
            now: Clock::new().now(),
        })
    }

    fn since(&self, count: u64) -> Duration {
        Duration::from_nanos(self.scale.length(self.now.saturating_sub(count)))
    }

    /// Returns a line about each thing that a task waits for.
    pub(super) fn waits_of(&self, task: u64) -> Vec<String> {
        let Some(waits) = sight::waits_of(task) else {
            return Vec::new();
        };
        let mut lines: Vec<String> = waits.iter().map(|wait| self.tell(wait)).collect();
        if waits.more > 0 {
            lines.push(format!("waits for {} more", waits.more));
        }
        lines
    }

    fn tell(&self, wait: &Wait) -> String {
        let mut line = format!("waits for {}", wait.kind.describe());
        // Writing to a string does not fail.
        let _ = self.tell_rest(&mut line, wait);
        line
    }

    fn tell_rest(&self, line: &mut String, wait: &Wait) -> fmt::Result {
        match (wait.kind, wait.resource) {
            (WaitKind::Join, 0) => {}
            (WaitKind::Join, task) => write!(line, ", task {task}")?,
            _ => {}
        }
        if let Some(site) = wait.site {
            let made = match wait.kind {
                WaitKind::Join => "spawned",
                _ => "created",
            };
            write!(line, " {made} at {site}")?;
        }
        write!(line, " for {:.3?}", self.since(wait.since))?;
        if !wait.kind.has_holder() {
            return Ok(());
        }
        match sight::holders_of(wait.resource) {
            Some(holders) => self.tell_holders(line, &holders),
            None => Ok(()),
        }
    }

    fn tell_holders(&self, line: &mut String, holders: &Holders) -> fmt::Result {
        for (n, holder) in holders.iter().enumerate() {
            line.push_str(if n == 0 { ", held by " } else { " and " });
            match holder.task {
                0 => line.push_str("something that is no task"),
                task => write!(line, "task {task}")?,
            }
            if let Some(site) = sight::root(holder.task) {
                write!(line, ", block_on at {site},")?;
            }
            write!(line, " for {:.3?}", self.since(holder.since))?;
        }
        match holders.more {
            0 => Ok(()),
            more => write!(line, " and {more} more"),
        }
    }

    /// Writes what the futures of `block_on` wait for, in the whole process.
    pub(super) fn write_roots(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut roots = sight::roots();
        roots.sort_unstable_by_key(|(number, _)| *number);
        writeln!(out, "futures of block_on in the process: {}", roots.len())?;
        for (number, site) in roots {
            writeln!(out, "  task {number}: block_on at {site}")?;
            self.write_waits(out, number)?;
        }
        Ok(())
    }

    /// Writes which queues without a limit, or with a large one, have grown long, in the whole process.
    pub(super) fn write_queues(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut queues = sight::grown_queues();
        queues.sort_unstable_by_key(|(address, queue)| (Reverse(queue.length), *address));
        for (_, queue) in queues.iter().take(MOST_QUEUES) {
            let what = match queue.kind {
                WaitKind::Mailbox => "a mailbox",
                _ => "a channel",
            };
            write!(out, "{what}")?;
            if let Some(site) = queue.site {
                write!(out, " created at {site}")?;
            }
            let since = self.since(queue.since);
            let length = queue.length;
            writeln!(
                out,
                " had {length} messages {since:.3?} ago, and was not found empty since"
            )?;
        }
        Ok(())
    }

    /// Writes the lines about what a task waits for below its own.
    pub(super) fn write_waits(&self, out: &mut dyn Write, task: u64) -> io::Result<()> {
        for line in self.waits_of(task) {
            writeln!(out, "    {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::runtime::Builder;
    use crate::sight::{Switch, waits_of};
    use crate::sync::Notify;
    use crate::task::{spawn, yield_now};

    /// A task that is torn down without another poll leaves no entry behind.
    #[test]
    fn a_task_that_is_cancelled_or_shut_down_is_forgotten() {
        let _on = Switch::on();
        let rt = Builder::new_current_thread().build().unwrap();
        let waits = || async { Notify::new().notified().await };
        let (aborted, left) = rt.block_on(async {
            let (aborted, left) = (spawn(waits()), spawn(waits()));
            yield_now().await;
            let numbers = (aborted.id().get(), left.id().get());
            assert!(waits_of(numbers.0).is_some() && waits_of(numbers.1).is_some());
            aborted.abort();
            assert!(aborted.await.unwrap_err().is_cancelled());
            numbers
        });
        assert!(waits_of(aborted).is_none());
        assert!(waits_of(left).is_some());
        drop(rt);
        assert!(waits_of(left).is_none());
    }
}
