//! Random programs, on the disk of a host and on the real one: both see the same.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tress_sim::Builder;

/// Draws what a program does.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: u64) -> u64 {
        // A linear congruential generator, whose upper bits are good enough.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Draws a path of few names, so that they meet again.
    fn path(&mut self, root: &Path) -> PathBuf {
        let mut path = root.to_path_buf();
        for _ in 0..=self.below(3) {
            match self.below(12) {
                0 => path.push("."),
                1 => path.push(".."),
                n => path.push(["a", "b", "c", "d", "e"][n as usize % 5]),
            }
        }
        // Nothing of the program is outside of its root.
        match path.components().any(|part| part.as_os_str() == "..") {
            true if self.below(2) == 0 => root.join("a/../b"),
            true => root.join("c"),
            false if self.below(20) == 0 => path.join(""),
            false => path,
        }
    }

    fn bytes(&mut self) -> Vec<u8> {
        let length = [0, 1, 10, 4095, 4096, 4097, 10_000][self.below(7) as usize];
        let byte = self.below(256) as u8;
        vec![byte; length]
    }
}

/// What a call has returned: an error is its number.
fn outcome<T: std::fmt::Debug>(result: io::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error {:?}", error.raw_os_error()),
    }
}

/// Content, short enough to be shown.
fn digest(bytes: &[u8]) -> (usize, u64) {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    (bytes.len(), bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

fn metadata(path: &Path, follow: bool) -> io::Result<(u32, Option<u64>, Option<u64>)> {
    let found = if follow {
        fs::metadata(path)?
    } else {
        fs::symlink_metadata(path)?
    };
    let of_file = found.is_file();
    Ok((
        found.mode() & libc::S_IFMT,
        of_file.then_some(found.len()),
        of_file.then_some(found.nlink()),
    ))
}

/// A path as the system gets it, without what the two differ in.
fn show(path: &Path, root: &Path) -> String {
    path.to_str().unwrap()[root.to_str().unwrap().len()..].to_string()
}

/// Does something that is drawn. Returns what it was, and what came of it.
fn step(choices: &mut Choices, root: &Path, open: &mut Vec<File>) -> String {
    let path = choices.path(root);
    let shown = show(&path, root);
    match choices.below(22) {
        0 | 1 => format!(
            "write {shown} {}",
            outcome(fs::write(&path, choices.bytes()))
        ),
        2 => format!("mkdir {shown} {}", outcome(fs::create_dir(&path))),
        3 => format!("mkdirs {shown} {}", outcome(fs::create_dir_all(&path))),
        4 => format!("unlink {shown} {}", outcome(fs::remove_file(&path))),
        5 => format!("rmdir {shown} {}", outcome(fs::remove_dir(&path))),
        6 if choices.below(4) == 0 => {
            format!("remove all {shown} {}", outcome(fs::remove_dir_all(&path)))
        }
        6..=8 => {
            let to = choices.path(root);
            let to_shown = show(&to, root);
            format!(
                "rename {shown} {to_shown} {}",
                outcome(fs::rename(&path, to))
            )
        }
        9 => {
            let to = choices.path(root);
            let to_shown = show(&to, root);
            format!(
                "link {shown} {to_shown} {}",
                outcome(fs::hard_link(&path, to))
            )
        }
        10 => {
            let target = ["a", "../b", "c/d", ".", "e/"][choices.below(5) as usize];
            let made = std::os::unix::fs::symlink(target, &path);
            format!("symlink {target} {shown} {}", outcome(made))
        }
        11 => format!(
            "read {shown} {}",
            outcome(fs::read(&path).map(|bytes| digest(&bytes)))
        ),
        12 => format!("stat {shown} {}", outcome(metadata(&path, true))),
        13 => format!("lstat {shown} {}", outcome(metadata(&path, false))),
        14 => {
            let names = fs::read_dir(&path).and_then(|entries| {
                let mut names = Vec::new();
                for entry in entries {
                    let entry = entry?;
                    names.push((entry.file_name(), entry.file_type()?.is_dir()));
                }
                names.sort();
                Ok(names)
            });
            format!("list {shown} {}", outcome(names))
        }
        15 => {
            let real = fs::canonicalize(&path);
            let real = real.map(|real| real.strip_prefix(root).map(Path::to_path_buf).ok());
            // Which of several errors it is depends on the C library, which goes part by part.
            format!("real path {shown} {:?}", real.ok())
        }
        16 => {
            let mut options = OpenOptions::new();
            options
                .read(choices.below(4) > 0)
                .write(choices.below(4) > 0);
            options
                .create(choices.below(2) == 0)
                .truncate(choices.below(4) == 0);
            options
                .append(choices.below(4) == 0)
                .create_new(choices.below(6) == 0);
            let opened = options.open(&path).map(|file| {
                // The positions of directories are an affair of the file system.
                if file.metadata().is_ok_and(|found| found.is_file()) {
                    open.push(file);
                }
            });
            format!("open {shown} {}", outcome(opened))
        }
        17 => format!("link of {shown} {}", outcome(fs::read_link(&path))),
        18 => {
            let to = choices.path(root);
            format!("copy {shown} {}", outcome(fs::copy(&path, to)))
        }
        19 => {
            let mode = 0o600 + choices.below(0o100) as u32;
            let set = fs::set_permissions(&path, fs::Permissions::from_mode(mode));
            let mode = fs::metadata(&path).map(|found| found.permissions().mode());
            // Those of directories are left out: what may be in them depends on who runs this.
            let mode = mode.map(|mode| (mode & libc::S_IFMT == libc::S_IFREG).then_some(mode));
            format!("chmod {shown} {} {}", outcome(set), outcome(mode))
        }
        _ if open.is_empty() => String::new(),
        _ => {
            let at = choices.below(open.len() as u64) as usize;
            use_open(choices, at, open)
        }
    }
}

fn use_open(choices: &mut Choices, at: usize, open: &mut Vec<File>) -> String {
    let file = &mut open[at];
    let offset = choices.below(20_000);
    match choices.below(9) {
        0 => {
            let mut bytes = vec![0; choices.below(10_000) as usize];
            let read = file.read(&mut bytes).map(|read| digest(&bytes[..read]));
            format!("read from {at} {}", outcome(read))
        }
        1 => format!("write to {at} {}", outcome(file.write(&choices.bytes()))),
        2 => format!("seek {at} {}", outcome(file.seek(SeekFrom::Start(offset)))),
        3 => format!(
            "seek {at} back {}",
            outcome(file.seek(SeekFrom::Current(-(offset as i64) / 2)))
        ),
        4 => format!(
            "seek {at} to the end {}",
            outcome(file.seek(SeekFrom::End(-10)))
        ),
        5 => format!(
            "write to {at} at {offset} {}",
            outcome(file.write_at(&choices.bytes(), offset))
        ),
        6 => {
            let mut bytes = vec![0; 5000];
            let read = file
                .read_at(&mut bytes, offset)
                .map(|read| digest(&bytes[..read]));
            format!("read {at} at {offset} {}", outcome(read))
        }
        7 => {
            let cut = file.set_len(offset);
            let size = file
                .metadata()
                .map(|found| (found.is_file().then_some(found.len()), found.nlink() > 0));
            format!("cut {at} to {offset} {} {}", outcome(cut), outcome(size))
        }
        _ => {
            open.remove(at);
            format!("close {at}")
        }
    }
}

/// Everything that there is, in order.
fn tree(directory: &Path) -> String {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let shown = names.iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        match fs::symlink_metadata(path).unwrap() {
            found if found.is_dir() => format!("{name}({})", tree(path)),
            found if found.is_symlink() => {
                format!("{name}->{}", fs::read_link(path).unwrap().display())
            }
            found => format!("{name}:{}", found.len()),
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn program(root: &Path, seed: u64) -> Vec<String> {
    fs::create_dir_all(root).unwrap();
    let mut choices = Choices(seed);
    let mut open = Vec::new();
    let mut step = || format!("{} [{}]", step(&mut choices, root, &mut open), tree(root));
    (0..400).map(|_| step()).collect()
}

#[test]
fn a_host_sees_what_a_real_system_shows() {
    let root = std::env::temp_dir().join(format!("tress-sim-differential-{}", std::process::id()));
    fs::create_dir(&root).unwrap();
    // Without links in it.
    let root = fs::canonicalize(root).unwrap();
    for seed in 0..40 {
        let real = program(&root.join(format!("{seed}/top")), seed);
        let mut sim = Builder::new()
            .rng_seed(seed)
            .simulation_duration(Duration::from_secs(1000))
            .build();
        let inside = Path::new("/var/directory").join(format!("{seed}/top"));
        sim.client("host", async move {
            for (at, (seen, real)) in program(&inside, seed).into_iter().zip(real).enumerate() {
                assert_eq!(seen, real, "step {at} of seed {seed}");
            }
            Ok(())
        });
        sim.run().unwrap();
    }
    fs::remove_dir_all(&root).unwrap();
}
