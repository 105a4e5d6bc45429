//! The processes that run seeds, as the process of the test sees them.

use super::Test;
use super::fixed;
use super::options::Options;
use super::page::{Page, state};
use super::server::{Ended, Hello};
use crate::choices::{Choices, Kind, Ranges};
use std::collections::VecDeque;
use std::env;
use std::ffi::c_int;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What a server is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) seed: u64,
    /// Tells runs of the same seed apart.
    pub(super) copy: usize,
    pub(super) flags: u64,
    pub(super) backtrace_at: u64,
    /// The choices that are not drawn.
    pub(super) choices: Rc<Choices>,
    /// Real time that it may take, if that is less than what all may.
    pub(super) limit: Option<Duration>,
}

/// How a run has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed(String),
    Panicked(String),
    TimedOut,
    /// The process has ended in another way.
    Ended(ExitStatus),
}

/// What is known of a run that has ended.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) outcome: Outcome,
    pub(super) hash: u64,
    pub(super) steps: u64,
    /// Virtual time of the last step.
    pub(super) time: Duration,
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
    /// The steps, if they were asked for.
    pub(super) log: Vec<u8>,
    /// What became of each site.
    pub(super) sites: Vec<u8>,
    /// The faults that have happened by themselves, in words.
    pub(super) faults: Vec<String>,
    /// The accidents that have happened, in words, if they were asked for.
    pub(super) accidents: Vec<String>,
    /// Where the panic was that it has ended with, if it is known.
    pub(super) place: String,
    /// The numbers of the choices that it has made, for each kind.
    pub(super) made: [Ranges; Kind::NUMBER],
}

/// Servers, of which each runs one seed at a time.
#[derive(Debug)]
pub(super) struct Pool {
    servers: Vec<Server>,
    /// Each seed runs twice, in different servers: one after the other in one of them, both would find the same memory.
    is_paired: bool,
    /// Addresses are not the same in each process, since the system does not allow to say so.
    pub(super) has_random_addresses: bool,
}

#[derive(Debug)]
struct Server {
    process: Child,
    commands: Option<File>,
    results: File,
    /// None: the run writes to the standard output of this process.
    out: Option<File>,
    err: Option<File>,
    /// None: the run writes to a file that was asked for.
    trace: Option<File>,
    page: &'static Page,
    /// Real time that a run may take.
    limit: Duration,
    job: Option<Job>,
}

impl Pool {
    /// Starts servers. If each seed is to run twice there are at least two.
    ///
    /// # Errors
    /// The system has no room for them, or one ends before it says that it has started.
    pub(super) fn start(test: &Test, options: &Options, servers: usize) -> io::Result<Pool> {
        let start = |_| Server::start(test, options);
        let servers = match options.check {
            true => servers.max(1).next_multiple_of(2),
            false => servers.max(1),
        };
        let mut servers = (0..servers).map(start).collect::<io::Result<Vec<_>>>()?;
        let mut has_random_addresses = false;
        for server in &mut servers {
            has_random_addresses |= server.hello()?.has_random_addresses != 0;
        }
        Ok(Pool {
            servers,
            is_paired: options.check,
            has_random_addresses,
        })
    }

    /// Runs jobs, and calls `done` for each that has ended, until there are no more or it returns false. Waits for all that
    /// were started. While it waits, it calls `tick` every tenth of a second.
    ///
    /// # Errors
    /// A server is gone.
    pub(super) fn run(
        &mut self,
        jobs: &mut dyn Iterator<Item = Job>,
        tick: &mut dyn FnMut(),
        done: &mut dyn FnMut(Job, Finished) -> bool,
    ) -> io::Result<()> {
        let mut goes_on = true;
        let mut jobs = jobs.fuse();
        // Those that another server is to run.
        let mut waiting = VecDeque::new();
        let is_paired = self.is_paired;
        loop {
            let idle = self
                .servers
                .iter_mut()
                .enumerate()
                .filter(|(_, server)| goes_on && server.job.is_none());
            for (at, server) in idle {
                let is_for_it = |job: &Job| !is_paired || job.copy % 2 == at % 2;
                if let Some(job) = next_job(&mut jobs, &mut waiting, is_for_it) {
                    server.begin(job)?;
                }
            }
            let running = || self.servers.iter().filter(|server| server.job.is_some());
            let mut waited: Vec<_> = running()
                .map(|server| server.results.as_raw_fd())
                .map(readable)
                .collect();
            if waited.is_empty() {
                return Ok(());
            }
            // SAFETY: the list has that length.
            let ready =
                unsafe { libc::poll(waited.as_mut_ptr(), waited.len() as libc::nfds_t, 100) };
            if ready == -1 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return Err(io::Error::last_os_error());
            }
            tick();
            let is_ready = |fd: c_int| waited.iter().any(|one| one.fd == fd && one.revents != 0);
            for server in self
                .servers
                .iter_mut()
                .filter(|server| is_ready(server.results.as_raw_fd()))
            {
                let (job, finished) = server.end()?;
                // All that have ended are told, also after one that ends the whole.
                goes_on &= done(job, finished);
            }
        }
    }
}

/// Takes the next job that a server may run. Others before it wait.
fn next_job(
    jobs: &mut dyn Iterator<Item = Job>,
    waiting: &mut VecDeque<Job>,
    is_for_it: impl Fn(&Job) -> bool,
) -> Option<Job> {
    if let Some(at) = waiting.iter().position(&is_for_it) {
        return waiting.remove(at);
    }
    for job in jobs {
        if is_for_it(&job) {
            return Some(job);
        }
        waiting.push_back(job);
        if waiting.len() > WAITING {
            // It is far ahead of the others, and rests.
            return None;
        }
    }
    None
}

/// Number of jobs that may wait for other servers.
const WAITING: usize = 64;

fn readable(fd: c_int) -> libc::pollfd {
    libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    }
}

impl Server {
    fn start(test: &Test, options: &Options) -> io::Result<Server> {
        let (commands_read, commands) = pipe()?;
        let (results, results_write) = pipe()?;
        let memory = memory(c"tress-sim-page")?;
        memory.set_len(size_of::<Page>() as u64)?;
        let page = map(&memory)?;
        let (out, err) = match options.is_live {
            true => (duplicate(1)?, duplicate(2)?),
            false => (
                self::memory(c"tress-sim-stdout")?,
                self::memory(c"tress-sim-stderr")?,
            ),
        };
        let trace = match &options.trace {
            Some(path) => File::create(path)?,
            None => self::memory(c"tress-sim-trace")?,
        };
        let files = [&commands_read, &results_write, &out, &err, &memory, &trace];
        // Above all that they become, so that none is overwritten before it was used.
        let files = files.map(|file| duplicate(file.as_raw_fd()));
        let mut sources = [0; 6];
        for (source, file) in sources.iter_mut().zip(&files) {
            *source = file
                .as_ref()
                .map_err(|error| io::Error::from(error.kind()))?
                .as_raw_fd();
        }
        let mut command = Command::new("/proc/self/exe");
        // The same for each process, whatever this one was started as.
        command.arg0("tress-sim").args([
            "--exact",
            test.libtest_name(),
            "--nocapture",
            "--test-threads=1",
        ]);
        command
            .arg("--include-ignored")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let is_ours =
            |name: &str| name.starts_with("TRESS_SIM_") || name.starts_with("MADSIM_TEST_");
        let kept = ["TRESS_SIM_STRICT", "MADSIM_TEST_TIME_LIMIT"];
        for (name, _) in env::vars_os() {
            // The rest is for this process.
            if name
                .to_str()
                .is_some_and(|name| is_ours(name) && !kept.contains(&name))
            {
                command.env_remove(name);
            }
        }
        command.env(fixed::IS_SERVER, "1");
        // The test harness looks a terminal up, in files and with memory that depend on the environment.
        command.env_remove("TERM");
        // SAFETY: between fork and exec only system calls are made.
        unsafe {
            command.pre_exec(move || prepare(&sources));
        }
        let process = command.spawn()?;
        Ok(Server {
            process,
            commands: Some(commands),
            results,
            out: (!options.is_live).then_some(out),
            err: (!options.is_live).then_some(err),
            trace: options.trace.is_none().then_some(trace),
            page,
            limit: options.time_limit,
            job: None,
        })
    }

    fn hello(&mut self) -> io::Result<Hello> {
        let mut hello = Hello::default();
        self.receive(&mut hello)?;
        Ok(hello)
    }

    fn receive<T: Copy>(&mut self, message: &mut T) -> io::Result<()> {
        // SAFETY: a message is plain numbers: any bytes are one.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(ptr::from_mut(message).cast::<u8>(), size_of::<T>())
        };
        let received = self.results.read_exact(bytes);
        received.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.commands = None;
                let status = self.process.wait();
                let status =
                    status.map_or_else(|error| error.to_string(), |status| status.to_string());
                io::Error::other(format!("the process that runs seeds has ended: {status}"))
            }
            _ => error,
        })
    }

    fn begin(&mut self, job: Job) -> io::Result<()> {
        self.page.clear(job.flags, job.backtrace_at, &job.choices);
        let limit = job.limit.map_or(self.limit, |limit| limit.min(self.limit));
        let limit = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        self.page.limit.store(limit, Ordering::Relaxed);
        for file in [&self.out, &self.err, &self.trace].into_iter().flatten() {
            file.set_len(0)?;
        }
        let mut commands = self.commands.as_ref().expect("it has not ended");
        commands.write_all(&job.seed.to_ne_bytes())?;
        self.job = Some(job);
        Ok(())
    }

    fn end(&mut self) -> io::Result<(Job, Finished)> {
        let mut ended = Ended::default();
        self.receive(&mut ended)?;
        let job = self.job.take().expect("it was given one");
        let page = self.page;
        let status = ExitStatus::from_raw(ended.status);
        let outcome = match page.state.load(Ordering::Relaxed) {
            _ if ended.timed_out != 0 => Outcome::TimedOut,
            state::PASSED if status.success() => Outcome::Passed,
            state::FAILED => Outcome::Failed(page.text()),
            state::PANICKED => Outcome::Panicked(page.text()),
            _ => Outcome::Ended(status),
        };
        // The output of what went well is looked at only to compare it.
        let is_read = outcome != Outcome::Passed || job.flags != 0;
        let contents = |file: &Option<File>| match file {
            Some(file) if is_read => contents(file),
            _ => Ok(Vec::new()),
        };
        let (faults, accidents) = page.happened();
        let finished = Finished {
            outcome,
            hash: page.hash(),
            steps: page.steps(),
            time: Duration::from_nanos(page.time()),
            out: contents(&self.out)?,
            err: contents(&self.err)?,
            log: contents(&self.trace)?,
            faults,
            accidents,
            place: page.place(),
            made: Kind::ALL.map(|kind| page.made(kind)),
            sites: (0..crate::chaos::number_of_sites())
                .map(|site| page.site(site))
                .collect(),
        };
        Ok((job, finished))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It ends when there are no more commands.
        self.commands = None;
        let _ = self.process.wait();
        // SAFETY: mapped by `start`, with that size; nothing has the reference any more.
        unsafe {
            libc::munmap(
                ptr::from_ref(self.page).cast_mut().cast(),
                size_of::<Page>(),
            )
        };
    }
}

/// Makes the process that is about to become a server ready: descriptors with fixed numbers and no others, and
/// addresses that are not random.
fn prepare(sources: &[c_int; 6]) -> io::Result<()> {
    // SAFETY: system calls on descriptors of this process, which is about to be replaced.
    unsafe {
        let fixed = [
            fixed::COMMANDS,
            fixed::RESULTS,
            fixed::OUT,
            fixed::ERR,
            fixed::PAGE,
            fixed::TRACE,
        ];
        for (source, fixed) in sources.iter().zip(fixed) {
            if libc::dup2(*source, fixed) == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        // Others that were inherited would take numbers that simulated ones have in other processes.
        let (first, last) = (fixed::TRACE + 1, libc::c_uint::MAX);
        if libc::syscall(
            libc::SYS_close_range,
            first,
            last,
            libc::CLOSE_RANGE_CLOEXEC,
        ) == -1
        {
            return Err(io::Error::last_os_error());
        }
        // Where that is forbidden, the server says so.
        let present = libc::personality(0xffff_ffff);
        libc::personality((present | fixed::ADDR_NO_RANDOMIZE) as libc::c_ulong);
    }
    Ok(())
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: there is room for both; they belong to nobody else.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok((File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])))
    }
}

/// Returns a file in memory, to which everything is appended.
fn memory(name: &std::ffi::CStr) -> io::Result<File> {
    // SAFETY: the name is a C string; the descriptor belongs to nobody else.
    unsafe {
        let file = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if file == -1 {
            return Err(io::Error::last_os_error());
        }
        let file = File::from_raw_fd(file);
        if libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(file)
    }
}

/// Returns another descriptor of a file, with a number above all fixed ones.
fn duplicate(fd: c_int) -> io::Result<File> {
    // SAFETY: the descriptor is open; the new one belongs to nobody else.
    unsafe {
        let file = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 32);
        if file == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(File::from(OwnedFd::from_raw_fd(file)))
    }
}

fn map(memory: &File) -> io::Result<&'static Page> {
    let (size, access) = (size_of::<Page>(), libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a new mapping of a file of that size; zeros are a valid page.
    unsafe {
        let at = libc::mmap(
            ptr::null_mut(),
            size,
            access,
            libc::MAP_SHARED,
            memory.as_raw_fd(),
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(&*at.cast::<Page>())
    }
}

/// Reads all of a file in memory.
fn contents(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
