//! Calls of cargo.

use super::Refusal;
use super::graph::Metadata;
use super::lock::Lock;
use super::restore::Session;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The number of cargo's last lines that an error repeats.
const LAST_LINES: usize = 20;

/// How cargo is called for a workspace.
#[derive(Clone, Debug)]
pub(crate) struct Cargo {
    program: OsString,
    manifest: Option<PathBuf>,
    is_offline: bool,
    /// The options for features among the arguments for cargo test.
    features: Vec<OsString>,
}

impl Cargo {
    /// Returns the cargo for the package or workspace of a manifest, or of the current folder.
    pub(crate) fn new(
        manifest: Option<PathBuf>,
        is_offline: bool,
        test_args: &[OsString],
    ) -> Cargo {
        Cargo {
            program: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            manifest,
            is_offline,
            features: feature_options(test_args),
        }
    }

    /// Returns the same for the root of the workspace.
    pub(crate) fn at(&self, root: &Path) -> Cargo {
        Cargo {
            manifest: Some(root.join("Cargo.toml")),
            ..self.clone()
        }
    }

    /// Returns a call of a subcommand, which reads nothing and says what it does in plain text.
    pub(crate) fn command(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg(subcommand)
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_TERM_QUIET", "false")
            .env("CARGO_TERM_VERBOSE", "false")
            .env("CARGO_TERM_PROGRESS_WHEN", "never")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(manifest) = &self.manifest {
            command.arg("--manifest-path").arg(manifest);
        }
        if self.is_offline {
            command.arg("--offline");
        }
        command
    }

    /// Returns the workspace without what it depends on: nothing is resolved and nothing written.
    ///
    /// # Errors
    /// Refuses with cargo's words if there is no package here.
    pub(crate) fn locate(&self) -> Result<Metadata, Refusal> {
        let mut command = self.command("metadata");
        command.args(["--format-version", "1", "--no-deps"]);
        let output = command.output().map_err(|error| self.not_started(&error))?;
        parse(&succeeded("this is no cargo package", output)?)
    }

    /// Resolves the workspace for this machine, which may write the lock file.
    ///
    /// # Errors
    /// Refuses with cargo's words if it cannot be resolved.
    pub(crate) fn resolve(&self, session: &Session) -> Result<Metadata, Refusal> {
        let mut command = self.command("metadata");
        command.args(["--format-version", "1"]).args(&self.features);
        if let Some(host) = self.host() {
            // Packages for other systems need not be here, nor be fetched.
            command.args(["--filter-platform", &host]);
        }
        let output = session
            .output(&mut command)
            .map_err(|error| self.not_started(&error))?;
        parse(&succeeded("cargo cannot resolve the workspace", output)?)
    }

    /// Makes the resolver choose anew each tokio of the registry that the lock file holds.
    ///
    /// # Errors
    /// Refuses with cargo's words if there is no choice that satisfies all.
    pub(crate) fn update_tokio(&self, session: &Session, lock: &Lock) -> Result<(), Refusal> {
        let specs = lock.tokio_specs();
        if specs.is_empty() {
            // Without a name it would update everything.
            return Ok(());
        }
        let mut command = self.command("update");
        for spec in &specs {
            command.args(["-p", spec]);
        }
        let output = session
            .output(&mut command)
            .map_err(|error| self.not_started(&error))?;
        succeeded("cargo update of tokio failed", output).map(drop)
    }

    fn host(&self) -> Option<String> {
        let output = Command::new(&self.program).arg("-vV").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        text.lines()
            .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
    }

    /// Returns the refusal for a cargo that cannot be started.
    pub(crate) fn not_started(&self, error: &std::io::Error) -> Refusal {
        Refusal::new(format!(
            "cannot run {}: {error}; is cargo on the PATH?",
            self.program.to_string_lossy()
        ))
    }
}

fn parse(text: &[u8]) -> Result<Metadata, Refusal> {
    serde_json::from_slice(text)
        .map_err(|error| Refusal::new(format!("cannot read the output of cargo metadata: {error}")))
}

/// Returns what a call printed, if it succeeded.
fn succeeded(what: &str, output: Output) -> Result<Vec<u8>, Refusal> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(Refusal::new(format!(
        "{what}:\n{}",
        last_lines(&text, LAST_LINES)
    )))
}

/// Returns the last lines of a text, indented.
pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let last = &lines[lines.len().saturating_sub(count)..];
    last.iter()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns those arguments for cargo test that choose features, which `cargo metadata` takes as well.
fn feature_options(args: &[OsString]) -> Vec<OsString> {
    let mut chosen = Vec::new();
    let mut rest = args.iter().take_while(|arg| *arg != OsStr::new("--"));
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy();
        match &*text {
            "--all-features" | "--no-default-features" => chosen.push(arg.clone()),
            "--features" | "-F" => {
                chosen.push(arg.clone());
                chosen.extend(rest.next().cloned());
            }
            text if text.starts_with("--features=") || text.starts_with("-F") => {
                chosen.push(arg.clone())
            }
            _ => {}
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_among_arguments() {
        let words =
            |text: &str| -> Vec<OsString> { text.split_whitespace().map(Into::into).collect() };
        let args =
            words("-p a --features x,y --all-features --lib --features=z -Fq -- --features no");
        let expected = words("--features x,y --all-features --features=z -Fq");
        assert_eq!(feature_options(&args), expected);
    }

    #[test]
    fn the_end_of_a_text() {
        assert_eq!(last_lines("a\nb\nc\n\n", 2), "    b\n    c");
        assert_eq!(last_lines("", 2), "");
    }

    #[test]
    fn a_folder_without_a_package_is_refused_with_cargos_words() {
        let scratch = crate::adopt::scratch::Scratch::new();
        let cargo = Cargo::new(Some(scratch.path().join("Cargo.toml")), true, &[]);
        let refusal = cargo.locate().unwrap_err().to_string();
        assert!(refusal.contains("no cargo package"), "{refusal}");
        assert!(refusal.contains("Cargo.toml"), "{refusal}");
    }
}
