//! Pictures of a run that has failed: where they are, and what is said of them.

use super::page::RECORD;
use super::pool::{Job, Pool};
use super::shrink::Shrunk;
use super::{Failure, Options, Test, report};
use crate::picture::Recording;
use std::env;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::mem::discriminant;
use std::path::{Path, PathBuf};

/// The name of the folder in that of Cargo.
const FOLDER: &str = "sim-pictures";

/// Which pictures are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pictures {
    folder: Folder,
    /// Files that were asked for by name, also of a run that passes.
    html: Option<PathBuf>,
    perfetto: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Folder {
    /// Where Cargo puts what it makes.
    #[default]
    Target,
    Given(PathBuf),
    Off,
}

/// A way to write a recording.
type Format = fn(&Recording, BufWriter<File>) -> io::Result<()>;

impl Pictures {
    /// Reads the environment.
    pub(super) fn from(variable: impl Fn(&str) -> Option<String>) -> Pictures {
        let file = |name| {
            variable(name)
                .filter(|text| !text.is_empty())
                .map(PathBuf::from)
        };
        Pictures {
            folder: match variable("TRESS_SIM_PICTURES") {
                None => Folder::Target,
                Some(text) if matches!(text.trim(), "" | "0") => Folder::Off,
                Some(text) => Folder::Given(text.into()),
            },
            html: file("TRESS_SIM_HTML"),
            perfetto: file("TRESS_SIM_PERFETTO"),
        }
    }

    /// Returns whether files were asked for by name.
    pub(super) fn has_files(&self) -> bool {
        self.html.is_some() || self.perfetto.is_some()
    }

    /// Returns whether there will be pictures if a run fails.
    pub(super) fn are_wanted(&self, test: &Test) -> bool {
        self.has_files() || self.folder().is_some() && !test.should_panic
    }

    fn folder(&self) -> Option<PathBuf> {
        match &self.folder {
            Folder::Off => None,
            Folder::Given(folder) => Some(folder.clone()),
            Folder::Target => target_folder(&env::current_exe().ok()?),
        }
    }

    /// The files that are to be written, and what each is.
    fn files(&self, test: &Test, seed: u64) -> Vec<(PathBuf, &'static str, Format)> {
        let mut files: Vec<(PathBuf, &'static str, Format)> = Vec::new();
        let name = format!("{}-{seed}", test.name.replace("::", "-"));
        let in_folder = |extension: &str| {
            let folder = self.folder().filter(|_| !self.has_files());
            folder.map(|folder| folder.join(format!("{name}.{extension}")))
        };
        let html = self.html.clone().or_else(|| in_folder("html"));
        files.extend(html.map(|path| {
            let format: Format = |recording, writer| recording.write_html(writer);
            (path, "for a browser", format)
        }));
        let perfetto = self.perfetto.clone().or_else(|| in_folder("pftrace"));
        files.extend(perfetto.map(|path| {
            let format: Format = |recording, writer| recording.write_perfetto(writer);
            (path, "for ui.perfetto.dev", format)
        }));
        files
    }

    /// Writes pictures. Returns what is to be said of them.
    pub(super) fn write(&self, test: &Test, seed: u64, recording: Recording) -> String {
        let recording = recording.titled(format!("{}, seed {seed}", test.name));
        let mut text = String::new();
        for (path, what, format) in self.files(test, seed) {
            // Writing to a string does not fail.
            let _ = match write_file(&path, &recording, format) {
                Ok(()) => writeln!(text, "  {} ({what})", path.display()),
                Err(error) => writeln!(text, "  {} cannot be written: {error}", path.display()),
            };
        }
        match text.is_empty() {
            true => text,
            false => format!("What happened:\n{text}"),
        }
    }
}

fn write_file(path: &Path, recording: &Recording, format: Format) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    if let Some(folder) = folder {
        fs::create_dir_all(folder)?;
    }
    format(recording, BufWriter::new(File::create(path)?))
}

/// The folder below that of Cargo, if it has built the executable: `target/PROFILE/deps/NAME`.
fn target_folder(executable: &Path) -> Option<PathBuf> {
    let deps = executable.parent()?;
    if deps.file_name() != Some(OsStr::new("deps")) {
        return None;
    }
    Some(deps.parent()?.parent()?.join(FOLDER))
}

/// Runs a seed that has failed once more, records it, and writes pictures of it. Returns what is to be said of them.
///
/// # Errors
/// A process that runs seeds is gone.
pub(super) fn of_failure(
    pool: &mut Pool,
    test: &Test,
    options: &Options,
    failure: &Failure,
    shrunk: Option<&Shrunk>,
) -> io::Result<String> {
    let pictures = &options.pictures;
    if !pictures.are_wanted(test) {
        return Ok(String::new());
    }
    let job = Job {
        seed: failure.seed,
        flags: RECORD,
        choices: shrunk
            .map_or(&options.choices, |shrunk| &shrunk.choices)
            .clone(),
        ..Job::default()
    };
    let mut recorded = None;
    pool.run(&mut [job].into_iter(), &mut || (), &mut |_, finished| {
        recorded = Some(finished);
        true
    })?;
    let finished = recorded.expect("it has ended");
    let (how, expected) = (&finished.outcome, &failure.finished.outcome);
    Ok(match finished.recording {
        Some(recording) if discriminant(how) == discriminant(expected) => {
            pictures.write(test, failure.seed, recording.failed(report::how(how)))
        }
        // A picture of another failure would mislead.
        _ => format!(
            "There is no picture of it: run once more, the seed {}\n",
            report::how(how)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pictures(variables: &[(&str, &str)]) -> Pictures {
        Pictures::from(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, text)| text.to_string())
        })
    }

    #[test]
    fn the_environment_says_where() {
        assert_eq!(pictures(&[]).folder, Folder::Target);
        for off in ["", "0", " 0 "] {
            assert_eq!(pictures(&[("TRESS_SIM_PICTURES", off)]).folder, Folder::Off);
        }
        let given = pictures(&[("TRESS_SIM_PICTURES", "there")]);
        assert_eq!(given.folder(), Some(PathBuf::from("there")));
        assert!(!given.has_files());
        assert!(pictures(&[("TRESS_SIM_HTML", "a.html")]).has_files());
        assert!(!pictures(&[("TRESS_SIM_PERFETTO", "")]).has_files());
    }

    #[test]
    fn the_folder_is_that_of_cargo() {
        let folder = target_folder(Path::new("/t/debug/deps/a-1"));
        assert_eq!(folder, Some(PathBuf::from("/t/sim-pictures")));
        assert_eq!(target_folder(Path::new("/t/debug/a")), None);
        assert_eq!(target_folder(Path::new("/deps/a")), None);
    }
}
