//! Signals: what processes do with them, and how a thread handles one.
//!
//! A signal that is handled waits with its process, or with one thread, until a thread that does not block it comes out of a
//! wait: a thread that waits for something else is woken. It runs the handler there, and then its call goes on or fails with
//! `EINTR`, as on Linux.

use super::process::{ProcessId, Status};
use super::{Errno, Here, HostId, Kernel, ThreadId};
use crate::net::How;
use crate::time::Time;
use libc::c_int;
use std::mem;

/// The highest number of a signal.
pub(crate) const LAST: c_int = 64;

/// What a process does with a signal, as `sigaction` sets it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Action {
    /// A function, or `SIG_DFL` or `SIG_IGN`.
    pub(crate) handler: usize,
    pub(crate) flags: c_int,
    /// The signals that wait while it runs.
    pub(crate) mask: u64,
}

const DEFAULT: Action = Action {
    handler: libc::SIG_DFL,
    flags: 0,
    mask: 0,
};

/// What a process does with each signal.
#[derive(Debug, Clone)]
pub(crate) struct Actions(Box<[Action; LAST as usize]>);

impl Default for Actions {
    fn default() -> Actions {
        let mut all = Box::new([DEFAULT; LAST as usize]);
        // The standard library ignores it in each program.
        all[place(libc::SIGPIPE)].handler = libc::SIG_IGN;
        Actions(all)
    }
}

impl Actions {
    /// Those of a child: it has none of its parent's functions.
    pub(super) fn for_child(&self) -> Actions {
        let mut all = self.0.clone();
        for action in all.iter_mut().filter(|action| action.is_function()) {
            *action = DEFAULT;
        }
        Actions(all)
    }

    fn of(&self, signal: c_int) -> Action {
        self.0[place(signal)]
    }

    /// Returns whether children that end are not waited for.
    pub(super) fn forgets_children(&self) -> bool {
        let action = self.of(libc::SIGCHLD);
        action.handler == libc::SIG_IGN || action.flags & libc::SA_NOCLDWAIT != 0
    }
}

impl Action {
    fn is_function(&self) -> bool {
        ![libc::SIG_DFL, libc::SIG_IGN].contains(&self.handler)
    }
}

fn place(signal: c_int) -> usize {
    (signal - 1) as usize
}

/// The bit of a signal in a set.
pub(crate) fn bit(signal: c_int) -> u64 {
    1 << place(signal)
}

/// Those that cannot be blocked, handled or ignored.
const FIRM: [c_int; 2] = [libc::SIGKILL, libc::SIGSTOP];

/// Returns the name of a signal.
pub(crate) fn name(signal: c_int) -> String {
    let name = match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGABRT => "SIGABRT",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        signal => return format!("signal {signal}"),
    };
    name.to_string()
}

/// What a signal does to a process that has not said anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Ends,
    None,
}

fn default_effect(signal: c_int) -> Effect {
    match signal {
        libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT => Effect::None,
        // Programs are not stopped by signals: `Sim::pause` stops a host.
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Effect::None,
        _ => Effect::Ends,
    }
}

/// What has become of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Sent {
    /// It has its effect, or will have it.
    Done,
    /// The program of the host ends by it. The caller sees to that.
    Ends(HostId, c_int),
}

/// A thread's part in signals.
#[derive(Debug, Default)]
pub(super) struct OfThread {
    /// Signals that it does not take.
    pub(super) mask: u64,
    /// Signals for this thread alone.
    pub(super) pending: u64,
    /// A handler has run in the last wait. Says whether the call that waits goes on afterwards.
    pub(super) interrupted: Option<Restarts>,
}

/// Whether a call that a signal has interrupted goes on: `SA_RESTART`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Restarts(bool);

impl Kernel {
    /// Sends a signal to a process. A number that is no signal has no effect.
    pub(crate) fn send_signal(&mut self, id: ProcessId, signal: c_int) -> Sent {
        if !self.processes.runs(id) || !(1..=LAST).contains(&signal) {
            return Sent::Done;
        }
        let process = self.processes.of(id);
        let (host, action) = (process.host, process.actions.of(signal));
        let is_blocked = !FIRM.contains(&signal) && !self.threads.takes(id, bit(signal));
        if action.is_function() || is_blocked || self.hosts[host.0].is_paused {
            self.processes.of(id).pending |= bit(signal);
            self.wake_for_signal(id, signal);
            return Sent::Done;
        }
        if action.handler == libc::SIG_IGN || default_effect(signal) == Effect::None {
            return Sent::Done;
        }
        if self.hosts[host.0].program == Some(id) {
            return Sent::Ends(host, signal);
        }
        self.end_process(id, Status::Signalled(signal));
        Sent::Done
    }

    /// Wakes a thread of the process that takes the signal. If all block it, one of them may wait for it in `sigwait`.
    fn wake_for_signal(&mut self, id: ProcessId, signal: c_int) {
        let mut threads = match self.threads.that_takes(id, bit(signal)) {
            Some(thread) => vec![thread],
            None => self.threads.all_of(id),
        };
        self.wake_all(&mut threads);
    }

    /// Sends a signal to one thread.
    pub(crate) fn send_to_thread(&mut self, thread: ThreadId, signal: c_int) -> Sent {
        let Some(process) = self.threads.process_of(thread) else {
            return Sent::Done;
        };
        if !self.processes.runs(process) || !(1..=LAST).contains(&signal) {
            return Sent::Done;
        }
        if self.processes.of(process).actions.of(signal).is_function() {
            self.threads.signals(thread).pending |= bit(signal);
            self.wake(thread);
            return Sent::Done;
        }
        self.send_signal(process, signal)
    }

    /// Ends the program of a host by itself, as the end of a process does: its connections are closed, and none of the host's
    /// threads goes on.
    pub(super) fn end_program(&mut self, host: HostId, status: Status) {
        self.hosts[host.0].exited = Some(status);
        self.switch_off(host, How::Kill);
        self.abandon(host);
        self.stop_soon();
    }

    /// Gives processes of a host that goes on after a pause the signals that have come meanwhile. Returns the one by which the
    /// host's program ends, if there is one.
    pub(super) fn send_delayed(&mut self, host: HostId) -> Option<c_int> {
        for id in self.processes.of_host(host) {
            let pending = mem::take(&mut self.processes.of(id).pending);
            for signal in (1..=LAST).filter(|signal| pending & bit(*signal) != 0) {
                if let Sent::Ends(_, signal) = self.send_signal(id, signal) {
                    return Some(signal);
                }
            }
        }
        None
    }

    /// Returns what the running process does with a signal, after setting it to something else if that is wanted.
    pub(crate) fn signal_action(
        &mut self,
        signal: c_int,
        new: Option<Action>,
    ) -> Result<Action, Errno> {
        if !(1..=LAST).contains(&signal) || (new.is_some() && FIRM.contains(&signal)) {
            return Err(libc::EINVAL);
        }
        let id = self.running_process();
        let process = self.processes.of(id);
        let past = process.actions.of(signal);
        if let Some(new) = new {
            process.actions.0[place(signal)] = new;
            let is_ignored = new.handler == libc::SIG_IGN
                || (new.handler == libc::SIG_DFL && default_effect(signal) == Effect::None);
            if is_ignored {
                process.pending &= !bit(signal);
            }
        }
        Ok(past)
    }

    /// Returns the signals that the running thread blocks, after setting them to others if that is wanted.
    pub(crate) fn signal_mask(&mut self, new: impl FnOnce(u64) -> u64) -> u64 {
        let (thread, _) = self.running();
        let Some(mask) = self.threads.mask(thread) else {
            // The simulation's own thread acts for the host.
            return 0;
        };
        let firm = bit(libc::SIGKILL) | bit(libc::SIGSTOP);
        self.threads.signals(thread).mask = new(mask) & !firm;
        mask
    }

    /// Returns the signals that wait for the running thread.
    pub(crate) fn pending_signals(&mut self) -> u64 {
        let (thread, process) = (self.running().0, self.running_process());
        self.processes.pending(process) | self.threads.pending(thread)
    }

    /// Takes the first of these signals that waits for the running thread.
    fn take_signal(&mut self, among: u64) -> Option<c_int> {
        let (thread, process) = (self.running().0, self.running_process());
        let found = self.pending_signals() & among;
        let signal = (1..=LAST).find(|signal| found & bit(*signal) != 0)?;
        let own = &mut self.threads.signals(thread).pending;
        if *own & bit(signal) != 0 {
            *own &= !bit(signal);
        } else {
            self.processes.of(process).pending &= !bit(signal);
        }
        Some(signal)
    }
}

/// A handler that wants to know more than the number.
type Informed = extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void);

impl Here {
    /// Sends a signal that the running thread has asked for. Does not return if its own process ends by it.
    pub(crate) fn send(&mut self, send: impl FnOnce(&mut Kernel) -> Sent) {
        let me = self.running_process();
        if let Sent::Ends(host, signal) = send(self) {
            self.end_program(host, Status::Signalled(signal));
        }
        if !self.processes.runs(me) {
            self.stop_for_good();
        }
        self.handle_signals();
    }

    /// Runs the handlers of signals that wait for the running thread. Returns whether there was one.
    pub(crate) fn handle_signals(&mut self) -> bool {
        let (thread, _) = self.running();
        let mut has_run = false;
        let Some(mask) = self.threads.mask(thread) else {
            return has_run;
        };
        while let Some(signal) = self.take_signal(!mask) {
            let process = self.running_process();
            let action = self.processes.of(process).actions.of(signal);
            if !action.is_function() {
                // It was handled when it came, and is not any more.
                let sent = self.send_signal(process, signal);
                self.send(|_| sent);
                continue;
            }
            self.run_handler(thread, process, signal, action);
            has_run = true;
        }
        has_run
    }

    fn run_handler(&mut self, thread: ThreadId, process: ProcessId, signal: c_int, action: Action) {
        if action.flags & libc::SA_RESETHAND != 0 {
            self.processes.of(process).actions.0[place(signal)] = DEFAULT;
        }
        let of_itself = match action.flags & libc::SA_NODEFER {
            0 => bit(signal),
            _ => 0,
        };
        let past = self.signal_mask(|mask| mask | action.mask | of_itself);
        // The handler may wait, too.
        let woken = self.threads.how_woken(thread);
        let number = self.processes.number(process);
        self.note_call("handles a signal");
        self.without(|| call(&action, signal, number));
        self.signal_mask(|_| past);
        self.threads.set_how_woken(thread, woken);
        let restarts = action.flags & libc::SA_RESTART != 0;
        let signals = self.threads.signals(thread);
        // One handler that ends the call is enough.
        signals.interrupted = Some(match signals.interrupted {
            Some(Restarts(false)) => Restarts(false),
            _ => Restarts(restarts),
        });
    }

    /// Returns whether a handler has run in the last wait such that the call ends, and forgets it. Those that can go on say so.
    pub(super) fn is_interrupted(&mut self, may_restart: bool) -> bool {
        let (thread, _) = self.running();
        match self.threads.signals(thread).interrupted.take() {
            Some(Restarts(restarts)) => !(restarts && may_restart),
            None => false,
        }
    }

    /// As [`wait_for`](Here::wait_for), for a call that a signal interrupts. Unless it may go on, and the handler says that it
    /// shall, that is an error.
    ///
    /// # Errors
    /// `EINTR`: a signal was handled, and there is no result.
    pub(crate) fn wait_or_signal<R>(
        &mut self,
        until: Option<Time>,
        may_restart: bool,
        mut attempt: impl FnMut(&mut Kernel) -> Option<R>,
    ) -> Result<Option<R>, Errno> {
        loop {
            if let Some(result) = attempt(self) {
                return Ok(Some(result));
            }
            if until.is_some_and(|until| until <= self.now) || !self.wait(until) {
                return Ok(attempt(self));
            }
            if self.is_interrupted(may_restart) {
                return attempt(self).map_or(Err(libc::EINTR), |result| Ok(Some(result)));
            }
        }
    }

    /// Waits until that time.
    ///
    /// # Errors
    /// `EINTR`: a signal was handled before.
    pub(crate) fn sleep_or_signal(&mut self, until: Time) -> Result<(), Errno> {
        while self.now < until {
            self.wait(Some(until));
            if self.is_interrupted(false) {
                return Err(libc::EINTR);
            }
        }
        Ok(())
    }

    /// Waits for one of these signals, which the caller blocks, and takes it.
    ///
    /// # Errors
    /// `EAGAIN`: none came until that time. `EINTR`: another one was handled.
    pub(crate) fn wait_for_signal(
        &mut self,
        set: u64,
        until: Option<Time>,
    ) -> Result<c_int, Errno> {
        let taken = self.wait_or_signal(until, false, |kernel| kernel.take_signal(set))?;
        taken.ok_or(libc::EAGAIN)
    }
}

/// Calls a handler as the system does.
fn call(action: &Action, signal: c_int, sender: libc::pid_t) {
    let function = action.handler as *const ();
    if action.flags & libc::SA_SIGINFO == 0 {
        // SAFETY: the program has given this function to `sigaction` as one of that type.
        unsafe { mem::transmute::<*const (), extern "C" fn(c_int)>(function)(signal) };
        return;
    }
    // SAFETY: zeros are valid for both. The process that is named is the one that gets it.
    unsafe {
        let mut info: libc::siginfo_t = mem::zeroed();
        info.si_signo = signal;
        info.si_code = libc::SI_USER;
        // The number of the sender is the first that follows the alignment of a pointer.
        let after = std::ptr::from_mut(&mut info).cast::<c_int>().add(4);
        after.write(sender);
        let mut state: libc::ucontext_t = mem::zeroed();
        let state = std::ptr::from_mut(&mut state).cast();
        mem::transmute::<*const (), Informed>(function)(signal, &mut info, state);
    }
}
