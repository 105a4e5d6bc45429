//! What the compiler says about code with the attributes, and where it says it.
//!
//! Each file in `ui` is compiled in every edition that has `async fn`. A comment `//~ ERROR text`
//! (or `WARN`) announces a message in its line that contains the text, `//~^` one in the line
//! above. A message that is not announced, or an announcement without its message, fails the test.
//! A first line `//@ flags` gives further flags to `rustc`.
//!
//! There are no dependencies, so the crate is simply compiled once more, with whatever `rustc` runs
//! the tests.
#![cfg(not(miri))]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn rustc() -> Command {
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

fn in_package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compiles the macros, and the stand-in for the runtime as a crate named `tress`. Returns the
/// flags to use both.
fn compile_crates(directory: &Path) -> Vec<String> {
    let macros = format!(
        "{}tress_macros{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    );
    let crates = [
        ("tress_macros", "proc-macro", "src/lib.rs", macros),
        (
            "tress",
            "lib",
            "tests/fake/mod.rs",
            "libtress.rlib".to_owned(),
        ),
    ];
    let mut flags = Vec::new();
    for (name, kind, source, file) in crates {
        let output = directory.join(file);
        let status = rustc()
            .args(["--edition", "2024", "--extern", "proc_macro"])
            .args(["--crate-name", name, "--crate-type", kind, "-o"])
            .args([&output, &in_package(source)])
            .status();
        assert!(
            status.expect("rustc runs").success(),
            "{source} does not compile"
        );
        flags.extend([
            "--extern".to_owned(),
            format!("{name}={}", output.display()),
        ]);
    }
    flags
}

/// A message: its line, whether it is an error, its text. An announcement is the same.
type Message = (usize, &'static str, String);

fn announced(source: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    for (line, text) in (1..).zip(source.lines()) {
        let Some((_, comment)) = text.split_once("//~") else {
            continue;
        };
        let above = comment.len() - comment.trim_start_matches('^').len();
        let comment = comment[above..].trim();
        let (level, text) = match comment.split_once(' ') {
            Some(("ERROR", text)) => ("error", text),
            Some(("WARN", text)) => ("warning", text),
            _ => panic!("line {line}: neither `ERROR text` nor `WARN text`"),
        };
        messages.push((line - above, level, text.to_owned()));
    }
    messages
}

/// Compiles `file` and collects the messages about it.
fn compile(file: &Path, edition: &str, flags: &[String]) -> (Vec<Message>, String) {
    let output = rustc()
        .args([
            "--edition",
            edition,
            "--error-format",
            "short",
            "--emit",
            "metadata",
            "-o",
        ])
        .arg(Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui.rmeta"))
        .args(flags)
        .arg(file)
        .output()
        .expect("rustc runs");
    let stderr = String::from_utf8(output.stderr).expect("messages are UTF-8");
    let mut messages = Vec::new();
    for line in stderr.lines() {
        // path:line:column: error[E0308]: mismatched types
        let Some(rest) = line.strip_prefix(&format!("{}:", file.display())) else {
            continue;
        };
        let mut fields = rest.splitn(3, ':');
        let line = fields
            .next()
            .and_then(|field| field.parse().ok())
            .expect("a line");
        let text = fields.nth(1).expect("a message").trim();
        let level = if text.starts_with("error") {
            "error"
        } else if text.starts_with("warning") {
            "warning"
        } else {
            continue;
        };
        messages.push((line, level, text.to_owned()));
    }
    let failed = messages.iter().any(|(_, level, _)| *level == "error");
    assert_eq!(
        failed,
        !output.status.success(),
        "{}: an error without a place:\n{stderr}",
        file.display()
    );
    (messages, stderr)
}

#[test]
fn messages_are_where_they_belong() {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let externs = compile_crates(&directory);

    let mut files: Vec<PathBuf> = fs::read_dir(in_package("tests/ui"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty());

    let mut wrong = String::new();
    for file in &files {
        let source = fs::read_to_string(file).unwrap();
        let mut flags = externs.clone();
        if let Some(more) = source
            .lines()
            .next()
            .unwrap_or_default()
            .strip_prefix("//@ ")
        {
            flags.extend(more.split(' ').map(str::to_owned));
        }
        for edition in ["2018", "2021", "2024"] {
            let (mut messages, stderr) = compile(file, edition, &flags);
            let mut missing = announced(&source);
            missing.retain(|(line, level, text)| {
                let found = messages
                    .iter()
                    .position(|(l, k, t)| l == line && k == level && t.contains(text.as_str()));
                found.map(|at| messages.remove(at)).is_none()
            });
            if !missing.is_empty() || !messages.is_empty() {
                let name = file.display();
                wrong += &format!(
                    "\n{name} in {edition}\nmissing: {missing:#?}\nextra: {messages:#?}\n{stderr}\n"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
