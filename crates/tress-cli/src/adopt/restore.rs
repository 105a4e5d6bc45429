//! Puts `Cargo.toml` and `Cargo.lock` back, whatever happens.
//!
//! A [`Session`] saves both before anything is changed: in memory, for its end, its drop, and the signals that ask the
//! program to end; and in a journal, `target/tress-adopt/restore.json`, for the next run if this one is killed.

use super::saved::{Saved, remove, replace};
use super::{Refusal, manifest, platform, tell};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Both files as they were, and what was written to them since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Journal {
    manifest: Saved,
    lock: Saved,
    /// The texts that the session gives the manifest.
    ours: Vec<String>,
    /// The lock file that `--keep` left.
    lock_after: Option<String>,
}

/// The time in which the files differ from what they were.
#[derive(Debug)]
pub(crate) struct Session {
    state: Arc<Mutex<State>>,
    _claim: File,
}

#[derive(Debug)]
struct State {
    journal: Journal,
    dir: PathBuf,
    child: Option<u32>,
    is_over: bool,
}

impl Journal {
    fn restore(&self) -> io::Result<()> {
        self.manifest.restore()?;
        self.lock.restore()
    }

    fn write(&self, place: &Path) -> io::Result<()> {
        replace(place, &serde_json::to_string(self)?)
    }
}

impl Session {
    /// Saves the files of a workspace; `ours` are the texts that its manifest will get.
    ///
    /// # Errors
    /// Refuses if another `tress adopt` is at work in the same workspace, or a file cannot be read or written.
    pub(crate) fn start(root: &Path, ours: Vec<String>) -> Result<Session, Refusal> {
        let dir = dir(root);
        let claim = claim(root)?;
        let begin = || -> io::Result<Arc<Mutex<State>>> {
            let journal = Journal {
                manifest: Saved::of(&root.join("Cargo.toml"))?,
                lock: Saved::of(&root.join("Cargo.lock"))?,
                ours,
                lock_after: None,
            };
            let state = Arc::new(Mutex::new(State {
                journal,
                dir: dir.clone(),
                child: None,
                is_over: false,
            }));
            restore_on_signals(state.clone())?;
            lock(&state).journal.write(&dir.join("restore.json"))?;
            Ok(state)
        };
        let state =
            begin().map_err(|error| Refusal::io("cannot save Cargo.toml and Cargo.lock", error))?;
        Ok(Session {
            state,
            _claim: claim,
        })
    }

    /// Writes the manifest.
    ///
    /// # Errors
    /// Refuses if it cannot be written.
    pub(crate) fn set_manifest(&self, text: &str) -> Result<(), Refusal> {
        let state = lock(&self.state);
        debug_assert!(state.journal.ours.iter().any(|ours| ours == text));
        replace(&state.journal.manifest.path, text)
            .map_err(|error| Refusal::io("cannot write Cargo.toml", error))
    }

    /// Reads the lock file, if there is one.
    pub(crate) fn lock_text(&self) -> Option<String> {
        lock(&self.state).journal.lock.current()
    }

    /// Writes the lock file.
    ///
    /// # Errors
    /// Refuses if it cannot be written.
    pub(crate) fn set_lock(&self, text: &str) -> Result<(), Refusal> {
        let state = lock(&self.state);
        replace(&state.journal.lock.path, text)
            .map_err(|error| Refusal::io("cannot write Cargo.lock", error))
    }

    /// Runs a program to its end, in a group of processes that ends when this program is asked to.
    ///
    /// # Errors
    /// Any error of starting a process or of reading what it writes.
    pub(crate) fn output(&self, command: &mut Command) -> io::Result<Output> {
        platform::own_group(command);
        let child = {
            let mut state = lock(&self.state);
            let child = command.spawn()?;
            state.child = Some(child.id());
            child
        };
        let output = child.wait_with_output();
        lock(&self.state).child = None;
        output
    }

    /// Puts both files back.
    ///
    /// # Errors
    /// Refuses if they cannot be written; the journal stays then.
    pub(crate) fn restore(self) -> Result<(), Refusal> {
        lock(&self.state)
            .restore()
            .map_err(|error| Refusal::io("cannot put Cargo.toml and Cargo.lock back", error))
    }

    /// Leaves both files as they are now; with `record`, an [`undo_exactly`] can put them back.
    ///
    /// # Errors
    /// Refuses if the record cannot be written.
    pub(crate) fn keep(self, record: bool) -> Result<(), Refusal> {
        let lock_after = self.lock_text();
        let mut state = lock(&self.state);
        state.journal.lock_after = lock_after;
        if record {
            let place = state.dir.join("kept.json");
            state
                .journal
                .write(&place)
                .map_err(|error| Refusal::io("cannot record what was kept", error))?;
        }
        state.is_over = true;
        remove(&state.dir.join("restore.json"))
            .map_err(|error| Refusal::io("cannot remove the journal", error))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Err(error) = lock(&self.state).restore() {
            tell(&format!(
                "tress: cannot put Cargo.toml and Cargo.lock back ({error}); `tress adopt` will try again"
            ));
        }
    }
}

impl State {
    fn restore(&mut self) -> io::Result<()> {
        if self.is_over {
            return Ok(());
        }
        self.journal.restore()?;
        self.is_over = true;
        remove(&self.dir.join("restore.json"))
    }
}

/// Puts back what a run that was killed left behind; returns what it did.
///
/// # Errors
/// Refuses if that run is still at work, or its journal or the files cannot be read or written.
pub(crate) fn recover(root: &Path) -> Result<Option<String>, Refusal> {
    let place = dir(root).join("restore.json");
    if !place.exists() {
        return Ok(None);
    }
    let _claim = claim(root)?;
    let Some(journal) = read(&place) else {
        return Err(Refusal::new(format!(
            "an earlier run was killed, and its journal {} cannot be read; see what is changed (git diff), put it \
             right, and remove that file",
            place.display()
        )));
    };
    let failed = |error| Refusal::io("cannot put back what an earlier run left", error);
    let manifest = &journal.manifest;
    let current = manifest.current().unwrap_or_default();
    let is_untouched = Some(&current) == manifest.text.as_ref() || journal.ours.contains(&current);
    let note = if is_untouched {
        journal.restore().map_err(failed)?;
        "an earlier run was killed: Cargo.toml and Cargo.lock are put back as they were before it"
    } else {
        // Somebody has worked on it since: only our entry goes.
        if manifest::patch(&current)?.is_some_and(|patch| patch.is_marked) {
            replace(&manifest.path, &manifest::remove(&current)?).map_err(failed)?;
        }
        "an earlier run was killed, and Cargo.toml was changed since: the patch is taken out, the rest and Cargo.lock \
         are left as they are"
    };
    remove(&place).map_err(failed)?;
    Ok(Some(note.to_owned()))
}

/// Puts back the files as they were before `--keep`, if nobody has changed them since; returns whether it did.
///
/// # Errors
/// Refuses if they cannot be written.
pub(crate) fn undo_exactly(root: &Path) -> Result<bool, Refusal> {
    let place = dir(root).join("kept.json");
    let Some(journal) = read(&place) else {
        return Ok(false);
    };
    let is_same = journal.manifest.current().as_ref() == journal.ours.last()
        && journal.lock.current() == journal.lock_after;
    if is_same {
        journal
            .restore()
            .map_err(|error| Refusal::io("cannot put Cargo.toml and Cargo.lock back", error))?;
    }
    remove(&place).map_err(|error| Refusal::io("cannot remove the record of --keep", error))?;
    Ok(is_same)
}

fn dir(root: &Path) -> PathBuf {
    root.join("target").join("tress-adopt")
}

/// Makes sure that this is the only `tress adopt` in the workspace, until the file is closed.
fn claim(root: &Path) -> Result<File, Refusal> {
    let open = || -> io::Result<Option<File>> {
        fs::create_dir_all(dir(root))?;
        let file = File::create(dir(root).join("claim"))?;
        Ok(platform::claim(&file)?.then_some(file))
    };
    match open() {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(Refusal::new(format!(
            "another `tress adopt` is at work in {}; wait until it has ended",
            root.display()
        ))),
        Err(error) => Err(Refusal::io("cannot write to target/tress-adopt", error)),
    }
}

/// Starts a thread that restores the files and ends the program when it is asked to end.
fn restore_on_signals(state: Arc<Mutex<State>>) -> io::Result<()> {
    let (ready, is_ready) = mpsc::channel();
    let failed = ready.clone();
    std::thread::Builder::new()
        .name("tress-signals".into())
        .spawn(move || {
            let asked = tress::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .and_then(|rt| {
                    rt.block_on(platform::until_asked_to_end(|| {
                        let _ = ready.send(Ok(()));
                    }))
                });
            match asked {
                Ok(code) => end(&state, code),
                Err(error) => drop(failed.send(Err(error))),
            }
        })?;
    is_ready.recv().map_err(io::Error::other)?
}

/// Ends the child and the program; the lock is never given back, so that nothing is written after it.
fn end(state: &Mutex<State>, code: i32) -> ! {
    let mut state = lock(state);
    if let Some(child) = state.child {
        platform::end_group(child);
    }
    if !state.is_over {
        match state.restore() {
            Ok(()) => tell("tress: interrupted; Cargo.toml and Cargo.lock are as they were"),
            Err(error) => tell(&format!(
                "tress: interrupted; cannot put Cargo.toml and Cargo.lock back ({error}); `tress adopt` will try again"
            )),
        }
    }
    std::process::exit(code)
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // What a panic leaves is what has to be put back.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn read(place: &Path) -> Option<Journal> {
    serde_json::from_str(&fs::read_to_string(place).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::scratch::Scratch;

    const BEFORE: &str = "[package]\nname = 'a'\n";

    fn with_patch() -> String {
        let mut value = toml_edit::InlineTable::new();
        value.insert("path", "x".into());
        manifest::insert(BEFORE, &value).unwrap()
    }

    /// Makes a workspace with a manifest, and starts a session that has put a patch in and made a lock file.
    fn begun() -> (Scratch, Session) {
        let scratch = Scratch::new();
        scratch.write("Cargo.toml", BEFORE);
        let session = Session::start(scratch.path(), vec![with_patch()]).unwrap();
        session.set_manifest(&with_patch()).unwrap();
        session.set_lock("locked").unwrap();
        (scratch, session)
    }

    #[test]
    fn a_session_that_is_dropped_restores() {
        let (scratch, session) = begun();
        drop(session);
        assert_eq!(scratch.read("Cargo.toml").as_deref(), Some(BEFORE));
        assert_eq!(scratch.read("Cargo.lock"), None);
        assert_eq!(recover(scratch.path()), Ok(None));
    }

    #[test]
    fn a_session_that_is_killed_is_recovered() {
        let (scratch, session) = begun();
        // Its claim goes with its process; the rest stays.
        lock(&session.state).is_over = true;
        assert!(recover(scratch.path()).is_err(), "it is still at work");
        drop(session);
        assert_eq!(scratch.read("Cargo.toml"), Some(with_patch()));
        let note = recover(scratch.path()).unwrap().unwrap();
        assert!(note.contains("put back"), "{note}");
        assert_eq!(scratch.read("Cargo.toml").as_deref(), Some(BEFORE));
        assert_eq!(scratch.read("Cargo.lock"), None);
        assert_eq!(recover(scratch.path()), Ok(None));
    }

    #[test]
    fn work_that_was_done_since_is_not_lost() {
        let (scratch, session) = begun();
        lock(&session.state).is_over = true;
        drop(session);
        scratch.write("Cargo.toml", &format!("# mine\n{}", with_patch()));
        let note = recover(scratch.path()).unwrap().unwrap();
        assert!(note.contains("changed since"), "{note}");
        assert_eq!(
            scratch.read("Cargo.toml").unwrap(),
            format!("# mine\n{BEFORE}")
        );
    }

    #[test]
    fn what_is_kept_can_be_undone_exactly() {
        let (scratch, session) = begun();
        session.keep(true).unwrap();
        assert_eq!(scratch.read("Cargo.toml"), Some(with_patch()));
        assert_eq!(undo_exactly(scratch.path()), Ok(true));
        assert_eq!(scratch.read("Cargo.toml").as_deref(), Some(BEFORE));
        assert_eq!(scratch.read("Cargo.lock"), None);
        assert_eq!(undo_exactly(scratch.path()), Ok(false));
    }

    #[test]
    fn what_was_changed_after_keep_is_not_undone_exactly() {
        let (scratch, session) = begun();
        session.keep(true).unwrap();
        scratch.write("Cargo.lock", "other");
        assert_eq!(undo_exactly(scratch.path()), Ok(false));
        assert_eq!(scratch.read("Cargo.lock").as_deref(), Some("other"));
    }

    #[test]
    fn a_journal_that_cannot_be_read_is_named() {
        let scratch = Scratch::new();
        scratch.write("target/tress-adopt/restore.json", "{");
        let refusal = recover(scratch.path()).unwrap_err();
        assert!(refusal.to_string().contains("restore.json"), "{refusal}");
    }
}
