//! Threads of hosts: how they start, wait, go on and end.

mod of_process;

use super::process::{ProcessId, Status};
use super::signal::OfThread;
use super::{Errno, Event, HostId, Kernel};
use crate::fiber::{self, Context, Donor};
use crate::raw;
use crate::time::Time;
use std::cell::Cell;
use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr;

/// A thread of a simulation. The first is the simulation's own, which runs no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ThreadId(usize);

const MAIN: ThreadId = ThreadId(0);

/// Events between two looks at what threads of the process have done that are not simulated.
const EVENTS_PER_LOOK: u64 = 1024;

/// All threads that there are or were.
#[derive(Debug)]
pub(crate) struct Threads {
    all: Vec<Option<Box<Thread>>>,
    pub(super) running: ThreadId,
    /// The context of the simulation's own thread while another one runs.
    main: Context,
    /// Why it goes on.
    stopped: Option<Stopped>,
    /// When it goes on at the latest.
    stop_at: Time,
    /// It goes on after each event.
    stops_after_events: bool,
    /// Number of events that it has gone on after.
    seen: u64,
    /// The host that the simulation's own thread acts for.
    acting: Option<HostId>,
    /// The only host whose threads may run, at the present time.
    only: Option<HostId>,
    /// Has ended, and is not on its stack any more once another thread runs.
    ended: Option<Donor>,
}

impl Default for Threads {
    fn default() -> Threads {
        Threads {
            all: vec![None],
            running: MAIN,
            main: Context::running(),
            stopped: None,
            stop_at: Time::START,
            stops_after_events: false,
            seen: 0,
            acting: None,
            only: None,
            ended: None,
        }
    }
}

/// Why the simulation's own thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// The time that it wanted to wait for has come.
    Time,
    /// A host has asked for it.
    Asked,
    /// There is nothing left that could ever happen.
    Stuck,
    /// An event has happened, and it wants to know of each.
    Event,
}

#[derive(Debug)]
struct Thread {
    host: HostId,
    process: ProcessId,
    /// Its process ends with it, with what it returns as the status.
    ends_process: bool,
    signals: OfThread,
    /// None: it has ended.
    donor: Option<Donor>,
    context: Context,
    state: State,
    /// How far it has got.
    time: Time,
    /// Counts the changes of its state: what was meant for an earlier one is void.
    turn: u64,
    timed_out: bool,
    /// It has waited at a word, and what has changed that has woken it.
    woken_at_word: bool,
    is_detached: bool,
    result: *mut c_void,
    joiners: Vec<ThreadId>,
    begin: raw::Start,
    argument: *mut c_void,
    kernel: *mut Kernel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    Waiting,
    Ended,
}

/// What a thread knows of the simulation that it is part of.
#[derive(Clone, Copy)]
struct Identity {
    kernel: *mut Kernel,
}

thread_local! {
    static IDENTITY: Cell<Identity> = const { Cell::new(Identity { kernel: ptr::null_mut() }) };
}

/// Returns whether the calling thread is one of a simulated host, and not in the kernel.
#[inline]
pub(crate) fn is_here() -> bool {
    let kernel = IDENTITY.get().kernel;
    // SAFETY: as in `here`; it is a plain read of one flag.
    !kernel.is_null() && unsafe { !(*kernel).busy }
}

thread_local! {
    /// The simulation that was made last on the calling thread.
    static OWNED: Cell<*mut Kernel> = const { Cell::new(ptr::null_mut()) };
}

/// Notes the simulation that the calling thread owns.
pub(crate) fn own(kernel: *mut Kernel) {
    OWNED.set(kernel);
}

/// Notes that a simulation is about to end.
pub(crate) fn disown(kernel: *mut Kernel) {
    if OWNED.get() == kernel {
        OWNED.set(ptr::null_mut());
    }
}

/// The kernel, entered by a thread of a host. The real system answers symbols until it is dropped.
pub(crate) struct Here {
    kernel: *mut Kernel,
    /// Entered by the thread that owns the simulation, between two steps of it.
    is_beside: bool,
}

/// Enters the kernel of the simulation that the calling thread owns, while no host runs, to use a descriptor of a host.
///
/// A test may wake a task of a host so, or drop what a host has made.
pub(crate) fn beside(fd: libc::c_int) -> Option<Here> {
    let mut here = enter_owned()?;
    let object = here.descriptors.object(fd).ok()?;
    let host = here.host_of(object);
    here.threads.acting = Some(host);
    Some(here)
}

/// Enters the kernel of the simulation that the calling thread owns, while no host runs.
pub(crate) fn enter_owned() -> Option<Here> {
    let kernel = OWNED.get();
    // SAFETY: the owner has not ended it, and nothing else refers to it unless the flag says so.
    unsafe {
        if kernel.is_null() || (*kernel).busy || !IDENTITY.get().kernel.is_null() {
            return None;
        }
        (*kernel).busy = true;
    }
    Some(Here {
        kernel,
        is_beside: true,
    })
}

/// Enters the kernel, if the calling thread is one of a simulated host and is not in it yet.
#[inline]
pub(crate) fn here() -> Option<Here> {
    let kernel = IDENTITY.get().kernel;
    if kernel.is_null() {
        return None;
    }
    // SAFETY: the kernel lives for as long as any of its threads can run. Only one of them does, and the flag says
    // that it has no reference to the kernel at present.
    unsafe {
        if (*kernel).busy {
            return None;
        }
        (*kernel).busy = true;
    }
    Some(Here {
        kernel,
        is_beside: false,
    })
}

/// As [`here`], for a system call, which takes time.
#[inline]
pub(crate) fn enter() -> Option<Here> {
    let mut kernel = here()?;
    kernel.charge(super::SYSCALL);
    kernel.note_call("makes a system call");
    kernel.yield_if_ahead();
    Some(kernel)
}

/// Makes symbols mean the real system on the calling thread, until it is dropped.
pub(crate) struct Outside(Identity);

/// See [`Outside`].
pub(crate) fn outside() -> Outside {
    Outside(IDENTITY.replace(Identity {
        kernel: ptr::null_mut(),
    }))
}

impl Drop for Outside {
    fn drop(&mut self) {
        IDENTITY.set(self.0);
    }
}

impl Deref for Here {
    type Target = Kernel;

    fn deref(&self) -> &Kernel {
        // SAFETY: `here` has made sure that there is no other reference, and the one that this makes is bound to self.
        unsafe { &*self.kernel }
    }
}

impl DerefMut for Here {
    fn deref_mut(&mut self) -> &mut Kernel {
        // SAFETY: as in `deref`.
        unsafe { &mut *self.kernel }
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        if self.is_beside {
            self.threads.acting = None;
        }
        self.busy = false;
    }
}

impl Here {
    /// Lets others run that are due, then goes on.
    pub(crate) fn give_way(&mut self) {
        let (id, _) = self.running();
        if id == MAIN {
            return;
        }
        let now = self.now;
        self.make_ready(id, now);
        self.leave();
    }

    /// Lets others run if this thread is far ahead of them.
    pub(crate) fn yield_if_ahead(&mut self) {
        if self.threads.running != MAIN && self.is_ahead() && !std::thread::panicking() {
            self.give_way();
        }
    }

    /// Waits until that time.
    pub(crate) fn sleep_until(&mut self, until: Time) {
        while self.now < until {
            self.wait(Some(until));
        }
    }

    /// Waits until another thread or an event wakes this one, or until that time. Returns false if the time came first.
    ///
    /// # Panics
    /// The simulation's own thread acts for a host: it must not wait.
    pub(crate) fn wait(&mut self, until: Option<Time>) -> bool {
        let (id, _) = self.running();
        assert_ne!(
            id, MAIN,
            "what is done to a host from outside must not wait"
        );
        let thread = self.threads.of(id);
        thread.state = State::Waiting;
        thread.timed_out = false;
        thread.signals.interrupted = None;
        thread.turn += 1;
        let turn = thread.turn;
        if let Some(until) = until {
            let until = until.max(self.now);
            self.events.add(until, Event::Go(id, turn));
        }
        self.leave();
        !self.threads.of(id).timed_out
    }

    /// Calls `attempt` until it has a result, and waits in between to be woken, until that time. The attempt leaves the
    /// thread wherever it can be found by what could give it a result.
    pub(crate) fn wait_for<R>(
        &mut self,
        until: Option<Time>,
        mut attempt: impl FnMut(&mut Kernel) -> Option<R>,
    ) -> Option<R> {
        loop {
            if let Some(result) = attempt(self) {
                return Some(result);
            }
            if until.is_some_and(|until| until <= self.now) || !self.wait(until) {
                return attempt(self);
            }
        }
    }

    /// Goes on with whatever thread is next. Returns when this one is.
    fn leave(&mut self) {
        let now = self.now;
        let (id, _) = self.running();
        self.threads.of(id).time = now;
        // SAFETY: no reference into the kernel is held here; `self` is a pointer.
        unsafe { switch(self.kernel) };
        if self.has_signals(id) {
            self.handle_signals();
        }
    }

    /// Makes symbols mean the simulated system while `f` runs.
    pub(super) fn without<R>(&mut self, f: impl FnOnce() -> R) -> R {
        self.busy = false;
        let result = f();
        self.busy = true;
        result
    }

    /// Waits until a thread has ended, and returns what it returned.
    pub(crate) fn join(&mut self, thread: libc::pthread_t) -> Result<*mut c_void, Errno> {
        let id = self.threads.find(thread).ok_or(libc::ESRCH)?;
        let (me, _) = self.running();
        if id == me {
            return Err(libc::EDEADLK);
        }
        let joined = self.wait_for(None, |kernel| {
            let thread = kernel.threads.of(id);
            if thread.state == State::Ended {
                return Some(thread.result);
            }
            thread.joiners.push(me);
            None
        });
        self.threads.forget(id);
        Ok(joined.expect("waits without limit"))
    }
}

impl Threads {
    fn of(&mut self, id: ThreadId) -> &mut Thread {
        self.all[id.0]
            .as_mut()
            .expect("a thread that is used exists")
    }

    pub(super) fn host_of(&self, id: ThreadId) -> Option<HostId> {
        self.all[id.0].as_ref().map(|thread| thread.host)
    }

    /// Returns whether the simulation's own thread runs.
    pub(super) fn is_main(&self) -> bool {
        self.running == MAIN
    }

    pub(super) fn running_host(&self) -> Option<HostId> {
        match &self.all[self.running.0] {
            Some(thread) => Some(thread.host),
            None => self.acting,
        }
    }

    pub(crate) fn find(&self, pthread: libc::pthread_t) -> Option<ThreadId> {
        let is_it = |thread: &Option<Box<Thread>>| {
            let donor = thread.as_ref().and_then(|thread| thread.donor.as_ref());
            donor.is_some_and(|donor| donor.thread() == pthread)
        };
        self.all.iter().position(is_it).map(ThreadId)
    }

    /// Removes a thread that has ended, once nothing is to be known of it.
    fn forget(&mut self, id: ThreadId) {
        if let Some(donor) = self.all[id.0].take().and_then(|thread| thread.donor) {
            // SAFETY: it has ended: it has left its stack for good, since another thread runs here.
            unsafe { donor.end() };
        }
    }

    /// Detaches a thread: nothing will wait for its end.
    pub(crate) fn detach(&mut self, pthread: libc::pthread_t) -> Result<(), Errno> {
        let id = self.find(pthread).ok_or(libc::ESRCH)?;
        let thread = self.of(id);
        thread.is_detached = true;
        if thread.state == State::Ended {
            self.forget(id);
        }
        Ok(())
    }

    /// Returns how many threads of a host have not ended.
    pub(super) fn of_host(&self, host: HostId) -> usize {
        let threads = self.all.iter().flatten();
        threads
            .filter(|thread| thread.host == host && thread.state != State::Ended)
            .count()
    }

    /// The thread's number, as programs see it.
    pub(crate) fn number(&self, id: ThreadId) -> i32 {
        id.0 as i32
    }
}

impl Kernel {
    /// Starts a thread of a process, as `pthread_create` does. It runs when it is its turn.
    ///
    /// # Errors
    /// The system has no room for another thread.
    ///
    /// # Safety
    /// `attributes` is null or points to valid attributes; `begin` may be called with `argument` on another thread.
    pub(crate) unsafe fn start_thread(
        &mut self,
        process: ProcessId,
        attributes: *const libc::pthread_attr_t,
        begin: raw::Start,
        argument: *mut c_void,
    ) -> Result<libc::pthread_t, Errno> {
        let host = self.processes.of(process).host;
        let signals = OfThread {
            mask: self.threads.mask(self.threads.running).unwrap_or(0),
            ..OfThread::default()
        };
        let mut thread = Box::new(Thread {
            host,
            process,
            ends_process: false,
            signals,
            donor: None,
            context: Context::running(),
            state: State::Ready,
            time: self.now,
            turn: 0,
            timed_out: false,
            woken_at_word: false,
            is_detached: false,
            result: ptr::null_mut(),
            joiners: Vec::new(),
            begin,
            argument,
            kernel: self,
        });
        // SAFETY: the caller's promise; the thread's address stays the same until it has ended.
        let started = unsafe { Donor::new(attributes, run, ptr::from_mut(&mut *thread).cast()) };
        let (donor, context) =
            started.map_err(|error| error.raw_os_error().unwrap_or(libc::EAGAIN))?;
        let pthread = donor.thread();
        (thread.donor, thread.context) = (Some(donor), context);
        let id = ThreadId(self.threads.all.len());
        self.threads.all.push(Some(thread));
        self.events.add(self.now, Event::Go(id, 0));
        Ok(pthread)
    }

    /// Makes a thread that waits go on at the present time, or later if it has got further.
    pub(crate) fn wake(&mut self, id: ThreadId) {
        let Some(thread) = &self.threads.all[id.0] else {
            return;
        };
        if thread.state == State::Waiting {
            let time = thread.time.max(self.now);
            self.make_ready(id, time);
        }
    }

    fn make_ready(&mut self, id: ThreadId, time: Time) {
        let thread = self.threads.of(id);
        thread.state = State::Ready;
        thread.turn += 1;
        let turn = thread.turn;
        self.events.add(time, Event::Go(id, turn));
    }

    pub(crate) fn wake_all(&mut self, threads: &mut Vec<ThreadId>) {
        for thread in threads.drain(..) {
            self.wake(thread);
        }
    }

    /// Has the simulation's own thread go on as soon as the running one waits.
    pub(crate) fn stop_soon(&mut self) {
        self.threads.stopped.get_or_insert(Stopped::Asked);
    }

    /// Has the simulation's own thread go on after each event.
    pub(crate) fn stop_after_events(&mut self) {
        self.threads.stops_after_events = true;
    }

    /// Takes the next event, or says why there is none for now.
    fn take_event(&mut self) -> Option<(Time, Event)> {
        if self.events.happened % EVENTS_PER_LOOK == 0 {
            self.look_at_futexes();
        }
        let stop_at = self.threads.stop_at;
        match self.events.next_time() {
            None => self.threads.stopped = Some(Stopped::Stuck),
            Some(time) if time > stop_at => {
                self.now = stop_at;
                self.threads.stopped = Some(Stopped::Time);
            }
            Some(_) => return self.events.take(),
        }
        None
    }

    /// Handles events until a thread is to go on, and returns it.
    fn next(&mut self) -> ThreadId {
        if let Some(host) = self.threads.only {
            return self.ready_of(host).unwrap_or(MAIN);
        }
        if self.threads.stopped.is_some() {
            return MAIN;
        }
        loop {
            if self.threads.stops_after_events && self.threads.seen != self.events.happened {
                self.threads.seen = self.events.happened;
                self.threads.stopped = Some(Stopped::Event);
                return MAIN;
            }
            let Some((time, event)) = self.take_event() else {
                return MAIN;
            };
            self.now = time;
            self.note_event(&event);
            match event {
                Event::Go(id, turn) => {
                    if self.may_go(id, turn) {
                        let thread = self.threads.of(id);
                        thread.timed_out = thread.state == State::Waiting;
                        thread.state = State::Ready;
                        return id;
                    }
                }
                Event::Timer(object, setting) => self.timer_is_due(object, setting),
                Event::Net(event) => {
                    self.net.happen(time, event);
                    self.settle();
                }
            }
        }
    }

    /// Returns whether the thread is still to go on, and may.
    fn may_go(&mut self, id: ThreadId, turn: u64) -> bool {
        let Some(thread) = &self.threads.all[id.0] else {
            return false;
        };
        let host = &mut self.hosts[thread.host.0];
        let may_run = self.processes.runs(thread.process);
        if thread.turn != turn || !may_run || thread.state == State::Ended {
            return false;
        }
        if host.is_paused {
            // Looked at again when it goes on.
            host.delayed.push((id, turn));
        }
        !host.is_paused
    }

    /// Lets the threads of a host run again. Returns the signal by which its program ends, if one has come meanwhile.
    #[must_use]
    pub(crate) fn resume(&mut self, id: HostId) -> Option<libc::c_int> {
        let host = &mut self.hosts[id.0];
        host.is_paused = false;
        for (id, turn) in std::mem::take(&mut host.delayed) {
            self.events.add(self.now, Event::Go(id, turn));
        }
        self.send_delayed(id)
    }

    /// Returns the first thread of the host that is ready.
    fn ready_of(&self, host: HostId) -> Option<ThreadId> {
        let is_ready = |thread: &Option<Box<Thread>>| {
            thread.as_ref().is_some_and(|thread| {
                thread.host == host
                    && thread.state == State::Ready
                    && self.processes.runs(thread.process)
            })
        };
        self.threads.all.iter().position(is_ready).map(ThreadId)
    }

    /// Runs the simulation until that time, or until a host asks for an end, or nothing can happen any more. Called by
    /// the simulation's own thread.
    ///
    /// # Safety
    /// The kernel stays where it is for as long as any of its threads may run.
    pub(crate) unsafe fn run(this: *mut Kernel, until: Time) -> Stopped {
        // SAFETY: the caller's kernel; nothing else refers to it, since no thread of a host runs.
        unsafe {
            let kernel = &mut *this;
            debug_assert_eq!(kernel.threads.running, MAIN);
            kernel.threads.stop_at = until;
            kernel.busy = true;
            switch(this);
            (*this).busy = false;
            (*this).threads.stopped.take().expect("says why it goes on")
        }
    }
}

/// Calls `f` on the simulation's own thread as if it were one of that host. Threads that it starts are that host's.
///
/// # Safety
/// The kernel is one of a simulation whose own thread this is, and no thread of a host runs. `f` does not wait.
pub(crate) unsafe fn act_for<R>(kernel: *mut Kernel, host: HostId, f: impl FnOnce() -> R) -> R {
    struct Acting(*mut Kernel, Time);
    impl Drop for Acting {
        fn drop(&mut self) {
            IDENTITY.set(Identity {
                kernel: ptr::null_mut(),
            });
            // SAFETY: the caller's kernel, to which nothing else refers.
            unsafe {
                (*self.0).threads.acting = None;
                (*self.0).now = self.1;
            }
        }
    }
    // SAFETY: as there. What is done so takes no time.
    let now = unsafe {
        (*kernel).threads.acting = Some(host);
        (*kernel).now
    };
    let _acting = Acting(kernel, now);
    IDENTITY.set(Identity { kernel });
    f()
}

impl Kernel {
    /// Runs the threads of a host that are ready, and those that they make ready, while time stands still. Called by the
    /// simulation's own thread.
    ///
    /// # Safety
    /// As for [`run`](Kernel::run).
    pub(crate) unsafe fn run_only(this: *mut Kernel, host: HostId) {
        // SAFETY: as in `run`.
        unsafe {
            let now = (*this).now;
            (*this).threads.only = Some(host);
            (*this).busy = true;
            switch(this);
            (*this).busy = false;
            (*this).threads.only = None;
            (*this).now = now;
        }
    }
}

/// Goes on with whatever thread is next; returns when the calling one is.
///
/// # Safety
/// The calling thread is the one that runs, and holds no reference into the kernel.
unsafe fn switch(kernel: *mut Kernel) {
    // SAFETY: the references end before the switch. Contexts are in boxes, or in the kernel, which do not move.
    unsafe {
        let from = (*kernel).threads.running;
        let to = (*kernel).next();
        if to != from {
            let (from, to) = {
                let threads = &mut (*kernel).threads;
                threads.running = to;
                (threads.context(from), threads.context(to))
            };
            fiber::switch(from, to);
        }
        let kernel = &mut *kernel;
        if let Some(donor) = kernel.threads.ended.take() {
            donor.end();
        }
        if kernel.threads.running != MAIN {
            let id = kernel.threads.running;
            let thread = kernel.threads.of(id);
            kernel.now = thread.time.max(kernel.now);
        }
    }
}

impl Threads {
    fn context(&mut self, id: ThreadId) -> *mut Context {
        match &mut self.all[id.0] {
            Some(thread) => &mut thread.context,
            None => &mut self.main,
        }
    }
}

/// What runs on the stack of a thread of a host.
unsafe extern "C" fn run(thread: *mut c_void) -> ! {
    let thread: *mut Thread = thread.cast();
    // SAFETY: the box of this thread lives until it has ended.
    let (kernel, begin, argument) =
        unsafe { ((*thread).kernel, (*thread).begin, (*thread).argument) };
    // SAFETY: `switch` has come here in the kernel, as it comes back elsewhere.
    unsafe {
        if let Some(donor) = (*kernel).threads.ended.take() {
            donor.end();
        }
        (*kernel).now = (*thread).time.max((*kernel).now);
        (*kernel).busy = false;
    }
    IDENTITY.set(Identity { kernel });
    if let Some(mut kernel) = here() {
        // What has come before it could run.
        kernel.handle_signals();
    }
    let result = begin(argument);
    raw::run_thread_local_destructors();
    IDENTITY.set(Identity {
        kernel: ptr::null_mut(),
    });
    // SAFETY: this thread runs, and has no reference to the kernel; from here on symbols mean the real system.
    unsafe {
        let id = {
            let kernel = &mut *kernel;
            kernel.busy = true;
            let id = kernel.threads.running;
            let thread = kernel.threads.of(id);
            (thread.state, thread.result) = (State::Ended, result);
            let mut joiners = std::mem::take(&mut thread.joiners);
            let ended = thread.ends_process.then_some(thread.process);
            kernel.wake_all(&mut joiners);
            if let Some(process) = ended {
                kernel.end_process(process, Status::Exited(result as usize as libc::c_int));
            }
            id
        };
        leave_for_good(kernel, id);
    }
}

/// Goes on with another thread, and never comes back.
///
/// # Safety
/// As for [`switch`]; the calling thread has ended.
unsafe fn leave_for_good(kernel: *mut Kernel, id: ThreadId) -> ! {
    // SAFETY: the caller's promise. What is left of the thread is its context, which is freed only after the switch if
    // it is detached, or by the thread that joins it.
    unsafe {
        let to = (*kernel).next();
        assert_ne!(to, id, "a thread that has ended is not ready");
        let threads = &mut (*kernel).threads;
        threads.running = to;
        let to = threads.context(to);
        let mut last = Context::running();
        if threads.of(id).is_detached {
            let thread = threads.all[id.0].take();
            threads.ended = thread.and_then(|thread| thread.donor);
        }
        fiber::switch(&mut last, to);
    }
    unreachable!("nothing goes on with a thread that has ended");
}
