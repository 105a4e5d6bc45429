//! Shutting a host down.

use crate::deadline::Deadline;
use crate::exit::ExitReason;
use crate::host::Host;
use crate::inspect::ProcessInfo;
use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Time that processes have after they were terminated: one that is not gone by then is in a step that does not
/// end.
const LAST_CALL: Duration = Duration::from_millis(100);

impl Host {
    /// Shuts the host down.
    ///
    /// 1. From now on no process is started.
    /// 2. All processes are asked to stop, by [`SystemEvent::Cancel`](crate::SystemEvent::Cancel).
    /// 3. Those that are left after `grace` are terminated. With a `grace` that the clock cannot reach, such as
    ///    [`Duration::MAX`], that never happens.
    ///
    /// # Errors
    /// [`Remained`] if processes had to be terminated, or could not even be.
    ///
    /// # Cancel safety
    /// If the future is dropped, steps 1 and 2 may have happened, and the host still starts no process. Nothing
    /// more is terminated. It may be called again.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tress_actor::{Cx, Host};
    ///
    /// # #[tress::main]
    /// # async fn main() {
    /// let host = Host::builder("main").start().unwrap();
    /// let pid = host.spawn(|mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} }).unwrap();
    /// host.shutdown(Duration::from_secs(1)).await.unwrap();
    /// assert!(!host.is_alive(pid));
    /// # }
    /// ```
    pub async fn shutdown(&self, grace: Duration) -> Result<(), Remained> {
        self.begin_stopping();
        for pid in self.processes() {
            // One that has ended meanwhile need not be asked.
            let _ = self.cancel(pid, ExitReason::Shutdown);
        }
        if self.all_ended(grace).await {
            return Ok(());
        }
        let terminated: Vec<ProcessInfo> = self
            .processes()
            .into_iter()
            .filter_map(|pid| self.process_info(pid))
            .collect();
        for info in &terminated {
            self.end(info.pid, ExitReason::Terminated);
        }
        self.all_ended(LAST_CALL).await;
        let (stuck, terminated): (Vec<_>, Vec<_>) = terminated
            .into_iter()
            .partition(|info| self.is_alive(info.pid));
        if stuck.is_empty() && terminated.is_empty() {
            return Ok(());
        }
        Err(Remained { terminated, stuck })
    }

    /// Waits until no process is left. Returns `false` if the time is up before.
    async fn all_ended(&self, grace: Duration) -> bool {
        let until = Deadline::after(grace);
        loop {
            let ended = self.next_end();
            if self.metrics().processes == 0 {
                return true;
            }
            if until.limit(ended).await.is_none() {
                return self.metrics().processes == 0;
            }
        }
    }
}

/// The processes that did not stop by themselves when a host was [shut down](Host::shutdown).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Remained {
    /// Processes that did not stop in time and were terminated.
    pub terminated: Vec<ProcessInfo>,
    /// Processes that could not even be terminated: they are in a step or a poll that does not return.
    pub stuck: Vec<ProcessInfo>,
}

impl fmt::Display for Remained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} processes did not stop when asked to and were terminated, {} are stuck; let them end \
             on `SystemEvent::Cancel`, or give them more time:",
            self.terminated.len(),
            self.stuck.len()
        )?;
        for info in self.terminated.iter().chain(&self.stuck) {
            write!(f, " {} ({:?}, {})", info.pid, info.state, info.kind)?;
        }
        Ok(())
    }
}

impl Error for Remained {}
