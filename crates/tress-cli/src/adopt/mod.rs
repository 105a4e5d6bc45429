//! `tress adopt`: tries the facade in a repository that uses Tokio.
//!
//! 1. Find the root of the workspace, and put back what a killed run left there.
//! 2. Save `Cargo.toml` and `Cargo.lock` ([`restore`]); from here on every way out puts them back.
//! 3. Resolve as it is; put the patch in, choose tokio anew, resolve again, and look for a second tokio ([`graph`]).
//! 4. Take the patch out, build and test; put it in, build and test ([`run`]).
//! 5. Compare ([`report`]), print ([`table`]), and put the files back, or keep the patch.

mod args;
mod cargo;
mod facade;
mod graph;
mod libtest;
mod lock;
mod manifest;
mod platform;
mod report;
mod restore;
mod run;
mod saved;
#[cfg(test)]
mod scratch;
mod table;

pub(crate) use args::Adopt;

use cargo::Cargo;
use facade::Source;
use graph::Metadata;
use lock::Lock;
use report::Report;
use restore::Session;
use run::{Plan, Side};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Why a repository cannot be adopted, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(String);

impl Refusal {
    pub(crate) fn new(text: impl Into<String>) -> Refusal {
        Refusal(text.into())
    }

    pub(crate) fn io(what: &str, error: std::io::Error) -> Refusal {
        Refusal(format!("{what}: {error}"))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The exit code for a [`Refusal`].
const REFUSED: u8 = 2;

/// Runs the command, and returns its exit code.
pub(crate) fn run(options: &Adopt) -> ExitCode {
    match adopt(options) {
        Ok(code) => code.into(),
        Err(refusal) => {
            tell(&format!("tress: {refusal}"));
            REFUSED.into()
        }
    }
}

fn adopt(options: &Adopt) -> Result<u8, Refusal> {
    let start = match &options.manifest_path {
        Some(manifest) => manifest.parent().unwrap_or(Path::new("")).to_owned(),
        None => PathBuf::from("."),
    };
    // Before cargo looks at them. What is wrong with a folder that is not the root does not matter.
    for folder in start.canonicalize().unwrap_or(start).ancestors() {
        let _ = recover(folder);
    }
    let cargo = Cargo::new(
        options.manifest_path.clone(),
        options.offline,
        &options.cargo_test,
    );
    let located = cargo.locate()?;
    let root = &located.workspace_root;
    recover(root)?;
    let work = Work {
        options,
        cargo: cargo.at(root),
        manifest: std::fs::read_to_string(root.join("Cargo.toml"))
            .map_err(|error| Refusal::io("cannot read the manifest of the workspace", error))?,
        located: &located,
    };
    if options.undo {
        work.undo()
    } else if options.check {
        work.check()
    } else {
        work.compare()
    }
}

/// Prints to standard output, of which nobody need read all.
fn say(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Prints a line to standard error. The terminal may be gone, which must not keep the files from being put back.
fn tell(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

fn recover(root: &Path) -> Result<(), Refusal> {
    if let Some(note) = restore::recover(root)? {
        tell(&format!("tress: {note}"));
    }
    Ok(())
}

/// A workspace and what to do with it.
struct Work<'a> {
    options: &'a Adopt,
    cargo: Cargo,
    /// The text of the workspace's manifest.
    manifest: String,
    located: &'a Metadata,
}

impl Work<'_> {
    fn root(&self) -> &Path {
        &self.located.workspace_root
    }

    /// Tests on both sides and compares.
    fn compare(&self) -> Result<u8, Refusal> {
        let existing = manifest::patch(&self.manifest)?;
        let source = Source::choose(self.options, self.root(), existing.as_ref())?;
        let (without, with) = match existing {
            Some(_) => (manifest::remove(&self.manifest)?, self.manifest.clone()),
            None => (
                self.manifest.clone(),
                manifest::insert(&self.manifest, &source.entry())?,
            ),
        };
        let session = Session::start(self.root(), vec![without.clone(), with.clone()])?;

        tell("resolving …");
        session.set_manifest(&without)?;
        let real = self.cargo.resolve(&session)?;
        let versions: Vec<String> = real
            .tokios()
            .map(|tokio| tokio.version.to_string())
            .collect();
        if versions.is_empty() {
            return Err(Refusal::new(
                "nothing here depends on tokio; there is nothing to adopt",
            ));
        }
        let real_lock = session.lock_text().unwrap_or_default();
        session.set_manifest(&with)?;
        let patched = self.resolve_patched(&session, &real, &source)?;
        let patched_lock = session.lock_text().unwrap_or_default();
        let lock = Lock::parse(&patched_lock);
        let version = graph::verify(&patched, &lock, &source.known())?
            .version
            .to_string();

        let mut before = None;
        if !self.options.tests_on_tress_only {
            session.set_manifest(&without)?;
            session.set_lock(&real_lock)?;
            let run = self.plan(&session, &real).run(Side::Tokio)?;
            if let Some(error) = &run.build_error {
                return Err(Refusal::new(format!(
                    "it does not build on Tokio already; make `cargo test --no-run` succeed first, or leave Tokio out \
                     (--tests-on-tress-only):\n{error}"
                )));
            }
            before = Some(run);
            session.set_manifest(&with)?;
            session.set_lock(&patched_lock)?;
        }
        let after = self.plan(&session, &patched).run(Side::Tress)?;
        let before = before.as_ref().map(|run| (run, versions.join(", ")));
        let report = Report::new(before, (&after, version), patched.notes(&lock));
        self.finish(session, &report, &with)
    }

    /// Chooses tokio anew, with the patch in the manifest.
    fn resolve_patched(
        &self,
        session: &Session,
        real: &Metadata,
        source: &Source,
    ) -> Result<Metadata, Refusal> {
        let lock = Lock::parse(&session.lock_text().unwrap_or_default());
        self.cargo
            .update_tokio(session, &lock)
            .and_then(|()| self.cargo.resolve(session))
            .map_err(|refusal| {
                let reasons = real.obstacles(&source.known());
                if reasons.is_empty() {
                    refusal
                } else {
                    Refusal::new(graph::with_reasons("the facade does not fit", reasons))
                }
            })
    }

    fn plan<'a>(&'a self, session: &'a Session, graph: &Metadata) -> Plan<'a> {
        let target = &self.located.target_directory;
        let dir = self
            .options
            .target_dir
            .clone()
            .unwrap_or_else(|| target.join("tress-adopt"));
        Plan {
            cargo: &self.cargo,
            session,
            dir,
            args: &self.options.cargo_test,
            is_build_only: self.options.no_test,
            names: graph.names(),
        }
    }

    /// Prints the report, and puts the files back or keeps the patch.
    fn finish(&self, session: Session, report: &Report, with: &str) -> Result<u8, Refusal> {
        say(&table::format(report));
        if let Some(file) = &self.options.json {
            let text = serde_json::to_string_pretty(report).unwrap_or_default() + "\n";
            std::fs::write(file, text)
                .map_err(|error| Refusal::io(&format!("cannot write {}", file.display()), error))?;
        }
        if !self.options.keep {
            session.restore()?;
        } else if self.manifest == with {
            session.restore()?;
            say("kept: the patch was in already\n");
        } else {
            session.keep(true)?;
            say(
                "kept: the patch is in Cargo.toml and Cargo.lock; `tress adopt --undo` takes it out\n",
            );
        }
        Ok(report.exit_code)
    }

    /// Looks whether the patch is in and used, and tests on it.
    fn check(&self) -> Result<u8, Refusal> {
        let Some(existing) = manifest::patch(&self.manifest)? else {
            return Err(Refusal::new(
                "the patch is not in; `tress adopt --keep` puts it in",
            ));
        };
        let session = Session::start(self.root(), vec![self.manifest.clone()])?;
        tell("resolving …");
        let graph = self.cargo.resolve(&session)?;
        let lock = Lock::parse(&session.lock_text().unwrap_or_default());
        let known = Source::written(&existing, self.root()).map(|source| source.known());
        let facade = graph::verify(&graph, &lock, &known.unwrap_or_default())?;
        let run = self.plan(&session, &graph).run(Side::Tress)?;
        let report = Report::new(None, (&run, facade.version.to_string()), graph.notes(&lock));
        self.finish(session, &report, &self.manifest)
    }

    /// Takes out what `--keep` put in.
    fn undo(&self) -> Result<u8, Refusal> {
        let Some(existing) = manifest::patch(&self.manifest)? else {
            return Err(Refusal::new(
                "tokio is not patched here; there is nothing to undo",
            ));
        };
        if restore::undo_exactly(self.root())? {
            say("undone: Cargo.toml and Cargo.lock are as they were before --keep\n");
            return Ok(0);
        }
        if !existing.is_marked {
            // Somebody else wrote it: only if it is the facade.
            Source::choose(self.options, self.root(), Some(&existing))?;
        }
        let without = manifest::remove(&self.manifest)?;
        let session = Session::start(self.root(), vec![without.clone()])?;
        session.set_manifest(&without)?;
        if session.lock_text().is_some() {
            let graph = self.cargo.resolve(&session)?;
            if graph.tokios().any(graph::Package::is_facade) {
                return Err(Refusal::new(
                    "tokio is still the facade without the entry in Cargo.toml; is there a patch in a configuration of \
                     cargo?",
                ));
            }
        }
        session.keep(false)?;
        say("undone: the patch is out of Cargo.toml, and Cargo.lock has tokio from the registry\n");
        Ok(0)
    }
}
