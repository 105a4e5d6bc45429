//! Records what the binary was built with: the compiler and the versions of the peers, as
//! Cargo.lock has them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The packages whose versions belong into a report.
const PACKAGES: [&str; 19] = [
    "tress",
    "tokio",
    "async-broadcast",
    "async-channel",
    "async-executor",
    "async-io",
    "async-lock",
    "blocking",
    "compio",
    "crossfire",
    "flume",
    "hyper",
    "kanal",
    "monoio",
    "tress-actor",
    "actix",
    "kameo",
    "ractor",
    "may",
];

fn main() {
    let rustc = env::var("RUSTC").expect("cargo sets RUSTC");
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .expect("rustc answers --version");
    let version = String::from_utf8_lossy(&version.stdout);
    println!("cargo::rustc-env=BENCH_RUSTC={}", version.trim());

    let here =
        PathBuf::from(env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let lock = here
        .ancestors()
        .map(|dir| dir.join("Cargo.lock"))
        .find(|file| file.exists());
    let versions = lock.as_deref().map(versions).unwrap_or_default();
    println!("cargo::rustc-env=BENCH_VERSIONS={versions}");
    println!("cargo::rerun-if-changed=build.rs");
    if let Some(lock) = lock {
        println!("cargo::rerun-if-changed={}", lock.display());
    }
}

/// `name version` pairs, separated by commas.
fn versions(lock: &Path) -> String {
    let lock = fs::read_to_string(lock).unwrap_or_default();
    let mut found = Vec::new();
    for package in lock.split("[[package]]") {
        let field = |key: &str| {
            let line = package.lines().find(|line| line.starts_with(key))?;
            line.split('"').nth(1)
        };
        let (Some(name), Some(version)) = (field("name = "), field("version = ")) else {
            continue;
        };
        // The workspace has a package called tokio of its own, the facade; the peer is the
        // registry's.
        let from_registry = field("source = ").is_some();
        if PACKAGES.contains(&name) && (from_registry || name == "tress") {
            found.push(format!("{name} {version}"));
        }
    }
    found.join(",")
}
