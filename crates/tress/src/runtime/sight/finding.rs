//! What is wrong, in a sentence.

use crate::identity::Id;
use crate::json::Object;
use crate::sight::WaitKind;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

/// Something that is wrong with a running program; returned by
/// [`Handle::findings`](crate::runtime::Handle::findings).
///
/// Its `Display` is the sentence.
///
/// # Examples
/// ```
/// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
/// for finding in rt.handle().findings() {
///     println!("{}: {finding}", finding.severity);
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of problem it is.
    pub kind: FindingKind,
    /// How bad it is.
    pub severity: Severity,
    /// The sentence.
    pub text: String,
    /// The task that it is about, if it is about one.
    pub task: Option<Id>,
    /// That task's name, if it has one.
    pub name: Option<String>,
    /// Where that task was spawned, or where the lock or channel was created that it is about.
    pub site: Option<&'static Location<'static>>,
    /// The task, what it waits for, the task that holds that, and so on.
    pub chain: Vec<Link>,
    /// The last task of the chain waits for the first: a deadlock.
    pub cycle: bool,
    /// How long it has been so.
    pub since: Duration,
    /// What it is about: the number of a task or a worker, or an address. Together with the kind it says whether two
    /// findings tell the same.
    pub(super) about: u64,
}

/// Kinds of problems.
///
/// # Examples
/// ```
/// use tress::trace::FindingKind;
///
/// assert_eq!(FindingKind::SlowPoll.as_str(), "slow_poll");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// Tasks wait for each other.
    Deadlock,
    /// A task has waited too long for what another task holds.
    Stuck,
    /// A task waits, and nothing is left that could wake it.
    LostWake,
    /// A poll keeps its worker from everything else.
    SlowPoll,
    /// Many tasks queue for one lock.
    Convoy,
    /// More and more tasks are spawned at one place, and none of them ends.
    Leak,
    /// Tasks that are ready wait too long for a worker.
    Starvation,
    /// A channel is full, and its receiver does not read; or an unbounded one grows.
    FullChannel,
    /// The mailbox of a process is long.
    FullMailbox,
    /// All threads of the blocking pool are busy, and closures wait.
    BlockingPool,
}

/// How bad something is.
///
/// # Examples
/// ```
/// use tress::trace::Severity;
///
/// assert!(Severity::Critical > Severity::Warning);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Something is slower than it should be, or will be.
    Warning,
    /// Something does not work.
    Critical,
}

/// A task of a chain, and what it waits for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Link {
    /// The task.
    pub task: Id,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where it was spawned, if it is alive.
    pub spawned_at: Option<&'static Location<'static>>,
    /// What it waits for; `None` if it does not wait.
    pub wait: Option<WaitView>,
}

/// Something that a task waits for.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WaitView {
    /// What it is.
    pub kind: WaitKind,
    /// The address of the lock, channel or source of events. For [`WaitKind::Join`] the number of the task.
    pub resource: u64,
    /// Where that was created, if it is known.
    pub created_at: Option<&'static Location<'static>>,
    /// How long the task has waited.
    pub waited: Duration,
    /// The task that holds it, or that has to end, if one is known.
    pub held_by: Option<Id>,
}

/// Writes where something is in the program. Of a file in the registry's folder only what follows it is written: the
/// package, and its file.
pub(super) fn place(at: &Location<'_>) -> String {
    let file = at.file();
    let package = file
        .find("/registry/src/")
        .and_then(|at| file[at + "/registry/src/".len()..].split_once('/'));
    let file = package.map_or(file, |(_, package)| package);
    format!("{file}:{}:{}", at.line(), at.column())
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FindingKind {
    /// Returns the kind as it stands in JSON and in metrics.
    ///
    /// # Examples
    /// ```
    /// use tress::trace::FindingKind;
    ///
    /// assert_eq!(FindingKind::Deadlock.as_str(), "deadlock");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            FindingKind::Deadlock => "deadlock",
            FindingKind::Stuck => "stuck",
            FindingKind::LostWake => "lost_wake",
            FindingKind::SlowPoll => "slow_poll",
            FindingKind::Convoy => "convoy",
            FindingKind::Leak => "leak",
            FindingKind::Starvation => "starvation",
            FindingKind::FullChannel => "full_channel",
            FindingKind::FullMailbox => "full_mailbox",
            FindingKind::BlockingPool => "blocking_pool",
        }
    }
}

impl Severity {
    /// Returns the severity as it stands in JSON and in metrics.
    ///
    /// # Examples
    /// ```
    /// use tress::trace::Severity;
    ///
    /// assert_eq!(Severity::Warning.as_str(), "warning");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Finding {
    /// Returns whether both tell the same, at different times.
    pub(super) fn is_same(&self, other: &Finding) -> bool {
        self.kind == other.kind && self.about == other.about
    }

    /// Writes it as a JSON object, with the number of the runtime that has found it.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().sight(true).build()?;
    /// for finding in rt.handle().findings() {
    ///     println!("{}", finding.to_json(rt.handle().id()));
    /// }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn to_json(&self, runtime: crate::runtime::Id) -> String {
        let mut text = String::new();
        let mut out = Object::begin(&mut text);
        self.write_json(&mut out, runtime);
        out.end();
        text
    }

    pub(super) fn write_json(&self, out: &mut Object<'_>, runtime: crate::runtime::Id) {
        out.string("kind", self.kind.as_str());
        out.string("severity", self.severity.as_str());
        out.string("text", &self.text);
        out.number("runtime", runtime);
        number_or_null(out, "task", self.task.map(Id::get));
        string_or_null(out, "name", self.name.as_deref());
        string_or_null(out, "site", self.site.map(place).as_deref());
        out.number("since_ms", self.since.as_millis());
        out.number("cycle", self.cycle);
        out.list("chain", &self.chain, |out, link| link.write_json(out));
    }
}

impl Link {
    pub(super) fn write_json(&self, out: &mut Object<'_>) {
        out.number("task", self.task);
        string_or_null(out, "name", self.name.as_deref());
        let site = self.spawned_at.map(place);
        string_or_null(out, "site", site.as_deref());
        match &self.wait {
            None => out.null("waits_for"),
            Some(wait) => {
                out.string("waits_for", &wait.kind.to_string());
                wait.write_rest(out, "resource_site");
            }
        }
    }
}

impl WaitView {
    pub(super) fn write_json(&self, out: &mut Object<'_>) {
        out.string("kind", &self.kind.to_string());
        self.write_rest(out, "site");
    }

    fn write_rest(&self, out: &mut Object<'_>, site: &str) {
        out.string("resource", &format!("{:#x}", self.resource));
        let created_at = self.created_at.map(place);
        string_or_null(out, site, created_at.as_deref());
        out.number("for_ms", self.waited.as_millis());
        number_or_null(out, "held_by", self.held_by.map(Id::get));
    }

    /// Says what it is, such as `a Mutex created at src/db.rs:88:9`.
    pub(super) fn what(&self) -> String {
        let kind = self.kind.describe();
        match (self.kind, self.created_at) {
            (WaitKind::Join, _) => format!("the end of task {}", self.resource),
            (_, Some(at)) => format!("{kind} created at {}", place(at)),
            (_, None) => kind.to_owned(),
        }
    }
}

pub(super) fn string_or_null(out: &mut Object<'_>, name: &str, value: Option<&str>) {
    match value {
        Some(value) => out.string(name, value),
        None => out.null(name),
    }
}

pub(super) fn number_or_null(out: &mut Object<'_>, name: &str, value: Option<impl fmt::Display>) {
    match value {
        Some(value) => out.number(name, value),
        None => out.null(name),
    }
}
