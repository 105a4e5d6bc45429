//! Threads as parts of a process: which of them take a signal, and the one that the process ends with.

use super::{OfThread, State, Thread, ThreadId, Threads};
use crate::kernel::process::ProcessId;
use crate::kernel::{Errno, Kernel};
use crate::raw;
use std::ffi::c_void;
use std::ptr;

/// How a wait of a thread has ended.
#[derive(Debug, Clone, Copy)]
pub(in crate::kernel) struct Woken {
    timed_out: bool,
    woken_at_word: bool,
}

impl Threads {
    /// Returns the process of a thread. None: it is the simulation's own.
    pub(in crate::kernel) fn process_of(&self, id: ThreadId) -> Option<ProcessId> {
        self.all[id.0].as_ref().map(|thread| thread.process)
    }

    /// What a thread that has not ended has of signals.
    pub(in crate::kernel) fn signals(&mut self, id: ThreadId) -> &mut OfThread {
        &mut self.of(id).signals
    }

    /// Returns the signals that a thread blocks. None: it is the simulation's own.
    pub(in crate::kernel) fn mask(&self, id: ThreadId) -> Option<u64> {
        self.all[id.0].as_ref().map(|thread| thread.signals.mask)
    }

    /// Returns the signals that wait for this thread alone.
    pub(in crate::kernel) fn pending(&self, id: ThreadId) -> u64 {
        let thread = self.all[id.0].as_ref();
        thread.map_or(0, |thread| thread.signals.pending)
    }

    /// Returns how the last wait of a thread has ended.
    pub(in crate::kernel) fn how_woken(&mut self, id: ThreadId) -> Woken {
        let Thread {
            timed_out,
            woken_at_word,
            ..
        } = *self.of(id);
        Woken {
            timed_out,
            woken_at_word,
        }
    }

    /// Restores what another wait has changed since.
    pub(in crate::kernel) fn set_how_woken(&mut self, id: ThreadId, woken: Woken) {
        let thread = self.of(id);
        (thread.timed_out, thread.woken_at_word) = (woken.timed_out, woken.woken_at_word);
    }

    /// Returns the threads of a process, in the order in which they were started.
    fn of_process(&self, process: ProcessId) -> impl Iterator<Item = (ThreadId, &Thread)> {
        let all = self.all.iter().enumerate();
        let all = all.filter_map(|(at, thread)| Some((ThreadId(at), thread.as_deref()?)));
        all.filter(move |(_, thread)| thread.process == process && thread.state != State::Ended)
    }

    /// Returns the threads of a process, in the order in which they were started.
    pub(in crate::kernel) fn all_of(&self, process: ProcessId) -> Vec<ThreadId> {
        self.of_process(process).map(|(id, _)| id).collect()
    }

    /// Returns the first thread of a process that takes a signal.
    pub(in crate::kernel) fn that_takes(
        &self,
        process: ProcessId,
        signal: u64,
    ) -> Option<ThreadId> {
        let mut threads = self.of_process(process);
        let found = threads.find(|(_, thread)| thread.signals.mask & signal == 0);
        found.map(|(id, _)| id)
    }

    /// Returns whether a signal can have its effect on a process: also one without threads takes it.
    pub(in crate::kernel) fn takes(&self, process: ProcessId, signal: u64) -> bool {
        self.that_takes(process, signal).is_some() || self.of_process(process).next().is_none()
    }

    /// Notes that a thread is woken at the word at which it waits, and not by anything else.
    pub(in crate::kernel) fn is_woken_at_word(&mut self, id: ThreadId) {
        if let Some(thread) = &mut self.all[id.0] {
            thread.woken_at_word = true;
        }
    }

    /// Returns whether that was noted of a thread, and forgets it.
    pub(in crate::kernel) fn take_woken_at_word(&mut self, id: ThreadId) -> bool {
        std::mem::take(&mut self.of(id).woken_at_word)
    }

    /// Returns the thread of a process with that number, as programs see it.
    pub(crate) fn numbered(&self, process: ProcessId, number: i32) -> Option<ThreadId> {
        let id = ThreadId(usize::try_from(number).ok()?);
        let thread = self.all.get(id.0)?.as_ref()?;
        (thread.process == process && thread.state != State::Ended).then_some(id)
    }
}

impl Kernel {
    /// Starts the first thread of a process, which ends with it, and with what it returns as its status.
    ///
    /// # Errors
    /// The system has no room for another thread.
    ///
    /// # Safety
    /// `begin` may be called with `argument` on another thread.
    pub(in crate::kernel) unsafe fn start_first_thread(
        &mut self,
        process: ProcessId,
        begin: raw::Start,
        argument: *mut c_void,
    ) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { self.start_thread(process, ptr::null(), begin, argument)? };
        let id = ThreadId(self.threads.all.len() - 1);
        let thread = self.threads.of(id);
        (thread.is_detached, thread.ends_process) = (true, true);
        Ok(())
    }

    /// Returns whether a signal waits that the thread takes.
    #[inline]
    pub(super) fn has_signals(&self, id: ThreadId) -> bool {
        let Some(thread) = &self.threads.all[id.0] else {
            return false;
        };
        let pending = thread.signals.pending | self.processes.pending(thread.process);
        pending & !thread.signals.mask != 0
    }
}
