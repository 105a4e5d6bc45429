//! Small repositories that the command is run in.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The dependency that all of them have: with the same features everywhere, so that each tokio is built once.
pub const TOKIO: &str = r#"tokio = { version = "1", features = ["rt", "macros", "time"] }"#;

/// Two tests that pass everywhere.
pub const GOOD: &str = "
#[tokio::test]
async fn yields() {
    tokio::task::yield_now().await;
}

#[tokio::test(flavor = \"current_thread\")]
async fn spawns() {
    assert_eq!(tokio::spawn(async { 6 * 7 }).await.unwrap(), 42);
}
";

/// A test that passes on Tokio alone.
pub const TELLING: &str = "
#[test]
fn the_type_is_tokios() {
    let name = std::any::type_name::<tokio::task::JoinHandle<()>>();
    assert!(name.starts_with(\"tokio\"), \"it is {name}\");
}
";

/// A repository in a temporary folder, which goes when it is dropped.
pub struct Repository {
    dir: PathBuf,
    /// All of them build into the same folders, one after the other.
    _turn: MutexGuard<'static, ()>,
}

impl Repository {
    /// Makes a repository of files, unless the registry cannot be reached.
    pub fn new(name: &str, files: &[(&str, &str)]) -> Option<Repository> {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        if !has_registry() {
            // Past the harness, which swallows what passing tests print.
            let text =
                format!("\nadopt: SKIPPED {name}: the registry of crates cannot be reached\n");
            std::io::stderr().write_all(text.as_bytes()).unwrap();
            return None;
        }
        let dir = std::env::temp_dir().join(format!("tress-adopt-{}-{name}", std::process::id()));
        let repository = Repository { dir, _turn: turn };
        for (name, text) in files {
            repository.write(name, text);
        }
        Some(repository)
    }

    /// Makes a repository of one package, with these lines under its dependencies.
    pub fn package(name: &str, dependencies: &str, tests: &str) -> Option<Repository> {
        let manifest = manifest(name, dependencies);
        let files = [
            ("Cargo.toml", manifest.as_str()),
            ("src/lib.rs", ""),
            ("tests/it.rs", tests),
        ];
        Repository::new(name, &files)
    }

    pub fn path(&self) -> &Path {
        &self.dir
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.dir.join(name)).ok()
    }

    /// Returns both files that the command changes.
    pub fn files(&self) -> (Option<String>, Option<String>) {
        (self.read("Cargo.toml"), self.read("Cargo.lock"))
    }

    pub fn cargo(&self, args: &str) {
        let status = cargo()
            .args(args.split(' '))
            .current_dir(&self.dir)
            .status()
            .unwrap();
        assert!(status.success(), "cargo {args}");
    }

    /// Returns the call `tress adopt` with arguments, in the folder of the repository.
    pub fn adopt(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tress"));
        command
            .arg("adopt")
            .arg("--target-dir")
            .arg(builds())
            .args(args.split_whitespace())
            .current_dir(&self.dir)
            .env_remove("CARGO_TARGET_DIR")
            .stdin(Stdio::null());
        command
    }

    /// Runs `tress adopt`, and expects an exit code.
    pub fn run(&self, args: &str, code: i32) -> Said {
        Said::of(self.adopt(args).output().unwrap(), code)
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// What the command said.
#[derive(Debug)]
pub struct Said {
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output, code: i32) -> Said {
        let said = Said {
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert_eq!(
            output.status.code(),
            Some(code),
            "{}\n{}",
            said.out,
            said.err
        );
        said
    }

    #[track_caller]
    pub fn has(&self, text: &str) {
        let all = format!("{}\n{}", self.out, self.err);
        assert!(all.contains(text), "no {text:?} in:\n{all}");
    }
}

/// Returns the manifest of a package.
pub fn manifest(name: &str, dependencies: &str) -> String {
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n{dependencies}\n"
    )
}

/// The folder of both builds, which all repositories share.
pub fn builds() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("adopt")
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Returns whether tokio can be fetched, which is tried once.
fn has_registry() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("tress-adopt-{}-probe", std::process::id()));
        fs::create_dir_all(dir.join("src")).unwrap();
        fs::write(dir.join("src/lib.rs"), "").unwrap();
        fs::write(dir.join("Cargo.toml"), manifest("probe", TOKIO)).unwrap();
        let fetched = cargo().arg("fetch").current_dir(&dir).status();
        let _ = fs::remove_dir_all(&dir);
        fetched.is_ok_and(|status| status.success())
    })
}
