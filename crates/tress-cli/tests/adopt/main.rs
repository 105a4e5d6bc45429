//! `tress adopt` in small repositories. They need the registry of crates, and are skipped where it cannot be reached.

mod repository;

use repository::{GOOD, Repository, TELLING, TOKIO, builds, manifest};

const FACADE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tokio");

#[test]
fn a_package_without_a_lock_file_is_the_same_on_both() {
    let Some(repository) = Repository::package("single", TOKIO, GOOD) else {
        return;
    };
    let before = repository.files();
    let json = repository.path().join("report.json");
    let said = repository.run(&format!("--json {}", json.display()), 0);
    let row = said
        .out
        .lines()
        .find(|line| line.starts_with("single tests/it.rs"))
        .unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells[2..5], ["2", "2", "2"], "{row}");
    said.has("verdict: same. 2 tests pass on tokio, and the same on tress");
    for line in [
        "building on tokio",
        "testing on tokio",
        "building on tress",
        "testing on tress",
    ] {
        assert!(said.err.contains(line), "{}", said.err);
    }
    assert_eq!(repository.files(), before, "no lock file is left");

    let report: serde_json::Value =
        serde_json::from_str(&repository.read("report.json").unwrap()).unwrap();
    assert_eq!(report["verdict"], "same");
    assert_eq!(report["exit_code"], 0);
    assert_eq!(report["tress"]["passed"], 2);

    // Everything is there by now.
    let said = repository.run("--offline --tests-on-tress-only -- --test it -- yields", 0);
    said.has("verdict: passes. 1 test passes on tress");
    assert!(!said.err.contains("on tokio"), "{}", said.err);
    assert_eq!(repository.files(), before);
}

#[test]
fn a_virtual_workspace_keeps_its_form_and_the_difference_is_named() {
    let root = "# Ours.\n[workspace]\nmembers = [ 'b',   # first\n\n  \"deep/a\" ]\nexclude = [\"out\"]\nresolver='2'\n\n\
                [patch.crates-io] # none of tokio\n# later\n\n[workspace.metadata.odd]\nx=0";
    let (a, b, out) = (
        manifest("a", TOKIO),
        manifest("b", TOKIO),
        manifest("out", ""),
    );
    let files = [
        ("Cargo.toml", root),
        ("deep/a/Cargo.toml", &a),
        ("deep/a/src/lib.rs", TELLING),
        ("b/Cargo.toml", &b),
        ("b/src/lib.rs", ""),
        ("b/tests/it.rs", GOOD),
        ("out/Cargo.toml", &out),
        ("out/src/lib.rs", ""),
    ];
    let Some(repository) = Repository::new("virtual", &files) else {
        return;
    };
    repository.cargo("generate-lockfile");
    let before = repository.files();

    // From inside a member, and what is kept is undone.
    let mut command = repository.adopt(&format!("--keep --path {FACADE}"));
    command.current_dir(repository.path().join("deep/a/src"));
    let said = repository::Said::of(command.output().unwrap(), 1);
    said.has("tests that pass on tokio and not on tress:\n  a src/lib.rs: the_type_is_tokios\n");
    said.has("it is tress");
    said.has("verdict: worse. 3 tests pass on tokio, and 1 of them not on tress");
    let kept = repository.read("Cargo.toml").unwrap();
    assert!(
        kept.contains("[patch.crates-io] # none of tokio\ntokio = { path = "),
        "{kept}"
    );
    assert!(
        repository
            .read("Cargo.lock")
            .unwrap()
            .contains("name = \"tress\"")
    );

    repository
        .run("--check", 1)
        .has("verdict: fails. 1 fails of 3 tests on tress");
    repository
        .run("--check -- -p b", 0)
        .has("verdict: passes. 2 tests pass on tress");
    repository
        .run("--keep --no-test --tests-on-tress-only", 0)
        .has("was in already");
    assert_eq!(repository.read("Cargo.toml").unwrap(), kept);
    repository
        .run("--undo", 0)
        .has("as they were before --keep");
    assert_eq!(repository.files(), before);
    repository.run("--undo", 2).has("nothing to undo");
    repository.run("--check", 2).has("tress adopt --keep");

    // The excluded package is a workspace of its own.
    let elsewhere = repository.path().join("out/Cargo.toml");
    let said = repository.run(&format!("--manifest-path {}", elsewhere.display()), 2);
    said.has("nothing here depends on tokio");
    assert_eq!(repository.read("out/Cargo.lock"), None);
    assert_eq!(repository.files(), before);
}

#[test]
fn what_was_changed_since_keep_is_undone_by_the_resolver() {
    let Some(repository) = Repository::package("kept", TOKIO, GOOD) else {
        return;
    };
    repository.cargo("generate-lockfile");
    repository.cargo("update -p tokio --precise 1.52.3");
    let locked = repository.read("Cargo.lock").unwrap();
    assert!(
        locked.contains("version = \"1.52.3\""),
        "the lock file holds an older one"
    );
    repository
        .run("--keep --no-test --tests-on-tress-only", 0)
        .has("verdict: builds");
    assert!(!repository.read("Cargo.lock").unwrap().contains("1.52.3"));

    let kept = repository.read("Cargo.toml").unwrap();
    repository.write("Cargo.toml", &format!("# Edited.\n{kept}"));
    repository.run("--undo", 0).has("from the registry");
    let expected = format!("# Edited.\n{}", manifest("kept", TOKIO));
    assert_eq!(repository.read("Cargo.toml"), Some(expected));
    let lock = repository.read("Cargo.lock").unwrap();
    assert!(!lock.contains("name = \"tress\""), "{lock}");
    assert!(lock.contains("name = \"tokio\"\nversion = \"1."), "{lock}");
}

#[test]
fn what_does_not_fit_is_named() {
    let pinned = TOKIO.replace("\"1\"", "\"=1.52.3\"");
    let Some(repository) = Repository::package("pinned", &pinned, GOOD) else {
        return;
    };
    let before = repository.files();
    repository
        .run("", 2)
        .has("pinned 0.1.0 asks for tokio =1.52.3, and the facade is 1.");
    assert_eq!(repository.files(), before);

    // A facade that is older than what is asked for.
    let tress = concat!(env!("CARGO_MANIFEST_DIR"), "/../tress");
    let old =
        "[package]\nname = \"tokio\"\nversion = \"1.30.0\"\nedition = \"2021\"\n[workspace]\n";
    let features = "[features]\nrt = []\nmacros = []\ntime = []\n";
    let old = format!("{old}{features}[dependencies]\ntress = {{ path = \"{tress}\" }}\n");
    repository.write("target/old/Cargo.toml", &old);
    repository.write("target/old/src/lib.rs", "");
    repository.write(
        "Cargo.toml",
        &manifest("pinned", &TOKIO.replace("\"1\"", "\"1.50\"")),
    );
    let said = repository.run("--path target/old", 2);
    said.has("the patch is not used");
    said.has("pinned 0.1.0 asks for tokio ^1.50, and the facade is 1.30.0: ask for less, or use a newer tress");

    // A second tokio.
    let two = format!("{TOKIO}\nolder = {{ package = \"tokio\", version = \"0.2\" }}");
    repository.write("Cargo.toml", &manifest("pinned", &two));
    let said = repository.run("", 2);
    said.has("is linked besides the facade");
    said.has("pinned 0.1.0 asks for tokio ^0.2");

    // A patch of somebody else's.
    let patched = format!(
        "{}\n[patch.crates-io]\ntokio = {{ path = \"fork\" }}\n",
        manifest("pinned", TOKIO)
    );
    repository.write("Cargo.toml", &patched);
    repository.run("", 2).has("`tokio = { path = \"fork\" }`");
    repository
        .run("--undo", 2)
        .has("`tokio = { path = \"fork\" }`");
    assert_eq!(repository.read("Cargo.toml"), Some(patched));
    assert_eq!(repository.read("Cargo.lock"), None);
}

#[cfg(unix)]
mod interrupted {
    use super::*;
    use repository::Said;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    /// Starts the command, and returns it, and the process of a test that waits, with the patch in place.
    fn begin(repository: &Repository) -> (Child, String) {
        let mut command = repository.adopt("--tests-on-tress-only");
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let test = loop {
            match repository.read("started") {
                Some(text) if text.ends_with('\n') => break text.trim().to_owned(),
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        std::fs::remove_file(repository.path().join("started")).unwrap();
        let manifest = repository.read("Cargo.toml").unwrap();
        assert!(manifest.contains("[patch.crates-io]"), "{manifest}");
        (child, test)
    }

    /// Sends a signal, and returns whether there was a process to get it.
    fn signal(process: &str, name: &str) -> bool {
        let mut kill = Command::new("kill");
        kill.args([name, process]).stderr(Stdio::null());
        kill.status().unwrap().success()
    }

    /// A test that does not end by itself.
    const ENDLESS: &str = "
#[test]
fn waits() {
    let home = std::path::Path::new(env!(\"CARGO_MANIFEST_DIR\"));
    std::fs::write(home.join(\"started\"), format!(\"{}\\n\", std::process::id())).unwrap();
    while !home.join(\"go\").exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
";

    #[test]
    fn a_run_that_is_killed_is_put_right_by_the_next() {
        let Some(repository) = Repository::package("killed", TOKIO, ENDLESS) else {
            return;
        };
        let before = repository.files();
        let (mut child, _) = begin(&repository);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_ne!(repository.files(), before);
        // The cargo that it left behind ends.
        repository.write("go", "");
        let said = repository.run("--check", 2);
        said.has("an earlier run was killed: Cargo.toml and Cargo.lock are put back");
        said.has("the patch is not in");
        assert_eq!(repository.files(), before);
    }

    #[test]
    fn a_run_that_is_asked_to_end_puts_everything_back() {
        let Some(repository) = Repository::package("ended", TOKIO, ENDLESS) else {
            return;
        };
        let before = repository.files();
        for (name, code) in [("-TERM", 143), ("-INT", 130)] {
            let (mut child, test) = begin(&repository);
            assert!(signal(&child.id().to_string(), name));
            assert_eq!(child.wait().unwrap().code(), Some(code));
            assert!(!signal(&test, "-0"), "cargo and the tests have ended, too");
            assert_eq!(repository.files(), before);
            assert!(
                !repository
                    .path()
                    .join("target/tress-adopt/restore.json")
                    .exists()
            );
        }
        repository.write("go", "");
        let said = Said::of(
            repository.adopt("--tests-on-tress-only").output().unwrap(),
            0,
        );
        said.has("verdict: passes");
        assert!(builds().join("tress.log").exists());
    }
}
