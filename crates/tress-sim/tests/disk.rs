//! The disks of hosts, by `std::fs` and `tokio::fs`.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tress_sim::{Builder, Result, Sim};

/// Runs a program on a host of its own.
fn on_a_host(program: impl FnOnce() -> Result + 'static) {
    let mut sim = Builder::new()
        .simulation_duration(Duration::from_secs(1000))
        .build();
    sim.client("host", async { program() });
    sim.run().unwrap();
}

#[test]
fn std_reads_what_it_wrote() {
    on_a_host(|| {
        fs::write("/tmp/file", "some text")?;
        assert_eq!(fs::read_to_string("/tmp/file")?, "some text");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/tmp/file")?;
        file.seek(SeekFrom::End(-4))?;
        file.write_all(b"words")?;
        assert_eq!(file.stream_position()?, 10);
        file.rewind()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        assert_eq!(text, "some words");
        file.write_at(b"S", 0)?;
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, 0)?;
        assert_eq!(&bytes, b"Some");
        file.set_len(2)?;
        assert_eq!(file.metadata()?.len(), 2);
        let mut other = OpenOptions::new().append(true).open("/tmp/file")?;
        other.write_all(b"!")?;
        file.write_all_at(b"X", 0)?;
        other.write_all(b"?")?;
        assert_eq!(fs::read("/tmp/file")?, b"Xo!?");
        fs::copy("/tmp/file", "/tmp/copy")?;
        assert_eq!(fs::read("/tmp/copy")?, b"Xo!?");
        assert!(File::open("/tmp/file")?.write(b"x").is_err());
        Ok(())
    });
}

#[test]
fn names_are_made_moved_listed_and_removed() {
    on_a_host(|| {
        fs::create_dir_all("/data/a/b")?;
        fs::write("/data/a/b/one", "1")?;
        fs::write("/data/a/two", "2")?;
        fs::rename("/data/a/b/one", "/data/a/three")?;
        fs::hard_link("/data/a/two", "/data/a/four")?;
        std::os::unix::fs::symlink("a/two", "/data/link")?;
        assert_eq!(fs::read_to_string("/data/link")?, "2");
        assert_eq!(fs::read_link("/data/link")?, Path::new("a/two"));
        assert!(fs::symlink_metadata("/data/link")?.is_symlink());
        assert_eq!(
            fs::canonicalize("/data/../data/link")?,
            Path::new("/data/a/two")
        );
        assert_eq!(fs::metadata("/data/a/two")?.nlink(), 2);
        let listed = fs::read_dir("/data/a")?.map(|entry| {
            let entry = entry?;
            assert_eq!(entry.metadata()?.is_dir(), entry.file_type()?.is_dir());
            Ok(entry.file_name().into_string().unwrap())
        });
        let listed: BTreeSet<String> = listed.collect::<std::io::Result<_>>()?;
        assert_eq!(Vec::from_iter(listed), ["b", "four", "three", "two"]);
        let error = fs::remove_dir("/data").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir_all("/data")?;
        assert!(!fs::exists("/data")?);
        assert_eq!(fs::read("/data").unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(
            fs::create_dir("/tmp").unwrap_err().kind(),
            ErrorKind::AlreadyExists
        );
        let error = File::create_new("/tmp").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        Ok(())
    });
}

#[test]
fn metadata_is_that_of_the_host() {
    on_a_host(|| {
        let before = SystemTime::now();
        std::thread::sleep(Duration::from_secs(10));
        fs::write("/tmp/file", "text")?;
        let metadata = fs::metadata("/tmp/file")?;
        let age = metadata.modified()?.duration_since(before)?;
        assert!(
            (Duration::from_secs(10)..Duration::from_secs(11)).contains(&age),
            "{age:?}"
        );
        assert!(metadata.created()? >= before);
        assert_eq!(metadata.permissions().mode() & 0o777, 0o644);
        fs::set_permissions("/tmp/file", fs::Permissions::from_mode(0o600))?;
        assert_eq!(
            fs::metadata("/tmp/file")?.permissions().mode() & 0o777,
            0o600
        );
        let file = OpenOptions::new().write(true).open("/tmp/file")?;
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        file.set_modified(past)?;
        assert_eq!(file.metadata()?.modified()?, past);
        Ok(())
    });
}

#[test]
fn the_real_disk_cannot_be_seen() {
    let directory = std::env::temp_dir().join(format!("tress-sim-{}", std::process::id()));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("real"), "real").unwrap();
    let inside = directory.clone();
    on_a_host(move || {
        assert!(!fs::exists(&inside)?);
        fs::create_dir_all(&inside)?;
        fs::write(inside.join("simulated"), "simulated")?;
        assert_eq!(fs::read_dir(&inside)?.count(), 1);
        assert_eq!(std::env::current_dir()?, Path::new("/"));
        std::env::set_current_dir(&inside)?;
        assert_eq!(fs::read("simulated")?, b"simulated");
        assert_eq!(std::env::current_dir()?, inside);
        let error = fs::read("/proc/self/cgroup").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(fs::read_to_string("/etc/hostname")?, "host\n");
        Ok(())
    });
    let names = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["real"]);
    assert!(std::env::current_dir().unwrap() != directory);
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn each_host_has_a_disk_of_its_own() {
    let mut sim = Builder::new().build();
    for name in ["one", "two"] {
        sim.client(name, async move {
            assert!(!fs::exists("/tmp/name")?);
            fs::write("/tmp/name", name)?;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(fs::read_to_string("/tmp/name")?, name);
            Ok(())
        });
    }
    sim.run().unwrap();
}

#[test]
fn devices_work() {
    on_a_host(|| {
        let mut random = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        assert_ne!(random, [0; 32]);
        let mut zero = [1; 32];
        File::open("/dev/zero")?.read_exact(&mut zero)?;
        assert_eq!(zero, [0; 32]);
        let mut null = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/null")?;
        null.write_all(b"text")?;
        assert_eq!(null.read(&mut zero)?, 0);
        Ok(())
    });
}

#[test]
fn tokio_and_std_share_a_disk() {
    use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
    let mut sim = Builder::new().build();
    sim.client("host", async {
        tokio::fs::create_dir_all("/data/sub").await?;
        tokio::fs::write("/data/file", vec![7; 100_000]).await?;
        assert_eq!(fs::read("/data/file")?, vec![7; 100_000]);
        let mut file = tokio::fs::File::create("/data/sub/other").await?;
        file.write_all(b"some text").await?;
        file.sync_all().await?;
        let mut file = tokio::fs::File::open("/data/sub/other").await?;
        file.seek(SeekFrom::Start(5)).await?;
        let mut text = String::new();
        file.read_to_string(&mut text).await?;
        assert_eq!(text, "text");
        tokio::fs::rename("/data/sub/other", "/data/other").await?;
        let mut names = tokio::fs::read_dir("/data").await?;
        let mut found = BTreeSet::new();
        while let Some(entry) = names.next_entry().await? {
            found.insert(entry.file_name().into_string().unwrap());
        }
        assert_eq!(Vec::from_iter(found), ["file", "other", "sub"]);
        assert_eq!(tokio::fs::metadata("/data/other").await?.len(), 9);
        assert_eq!(
            tokio::fs::canonicalize("/data/sub/../other").await?,
            Path::new("/data/other")
        );
        tokio::fs::remove_dir_all("/data").await?;
        assert!(!tokio::fs::try_exists("/data").await?);
        Ok(())
    });
    sim.run().unwrap();
}

#[test]
fn files_are_locked_against_each_other() {
    on_a_host(|| {
        let first = File::create("/tmp/lock")?;
        let second = File::open("/tmp/lock")?;
        let flock = |file: &File, operation| {
            // SAFETY: the descriptor is open.
            match unsafe { libc::flock(file.as_raw_fd(), operation) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        flock(&first, libc::LOCK_EX)?;
        let refused = flock(&second, libc::LOCK_SH | libc::LOCK_NB).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::WouldBlock);
        let start = std::time::Instant::now();
        let waiting = std::thread::spawn(move || {
            flock(&second, libc::LOCK_EX).unwrap();
            start.elapsed()
        });
        std::thread::sleep(Duration::from_secs(5));
        // Closing it gives the lock back.
        drop(first);
        let waited = waiting.join().unwrap();
        assert!(
            (Duration::from_secs(5)..Duration::from_secs(6)).contains(&waited),
            "{waited:?}"
        );
        Ok(())
    });
}

#[test]
fn a_sync_takes_time_and_what_is_in_memory_does_not() {
    on_a_host(|| {
        let mut file = File::create("/tmp/file")?;
        let start = std::time::Instant::now();
        file.write_all(&[1; 10_000])?;
        fs::read("/tmp/file")?;
        let in_memory = start.elapsed();
        assert!(in_memory < Duration::from_micros(50), "{in_memory:?}");
        let start = std::time::Instant::now();
        file.sync_all()?;
        let synced = start.elapsed();
        assert!(synced >= Duration::from_micros(500), "{synced:?}");
        Ok(())
    });
}

/// Replaces a file on a host, at which the power fails then. Returns what the file is after the next start.
fn replace_and_crash(seed: u64, syncs: bool) -> Option<Vec<u8>> {
    let found = Rc::new(RefCell::new(None));
    let mut sim = Builder::new().rng_seed(seed).build();
    let in_host = found.clone();
    sim.host("host", move || {
        let found = in_host.clone();
        async move {
            let starts = fs::read("/starts").unwrap_or_default().len();
            match starts {
                0 => {
                    for (path, text) in [("/tmp/file", "old"), ("/starts", "1")] {
                        let mut file = File::create(path)?;
                        file.write_all(text.as_bytes())?;
                        file.sync_all()?;
                    }
                    File::open("/tmp")?.sync_all()?;
                    File::open("/")?.sync_all()?;
                    let mut new = File::create("/tmp/new")?;
                    new.write_all(&[b'n'; 10_000])?;
                    if syncs {
                        new.sync_all()?;
                    }
                    fs::rename("/tmp/new", "/tmp/file")?;
                    if syncs {
                        File::open("/tmp")?.sync_all()?;
                    }
                }
                _ => *found.borrow_mut() = Some(fs::read("/tmp/file").ok()),
            }
            std::future::pending().await
        }
    });
    step_for(&mut sim, Duration::from_secs(1));
    sim.bounce("host");
    step_for(&mut sim, Duration::from_secs(1));
    let found = found.borrow_mut().take();
    found.expect("the host has started again, and knows that it was started before")
}

fn step_for(sim: &mut Sim<'_>, time: Duration) {
    let until = sim.elapsed() + time;
    while sim.elapsed() < until {
        sim.step().unwrap();
    }
}

#[test]
fn a_replaced_file_may_be_lost_without_syncs() {
    let results: BTreeSet<_> = (0..100)
        .map(|seed| replace_and_crash(seed, false))
        .collect();
    assert!(!results.contains(&None), "a rename is never half");
    let results: BTreeSet<_> = results.into_iter().flatten().collect();
    assert!(results.contains(b"old".as_slice()), "the rename is lost");
    assert!(results.contains(b"".as_slice()), "the content is lost");
    assert!(
        results.contains([b'n'; 10_000].as_slice()),
        "nothing is lost"
    );
}

#[test]
fn a_replaced_file_is_safe_with_syncs() {
    for seed in 0..100 {
        assert_eq!(
            replace_and_crash(seed, true).unwrap(),
            [b'n'; 10_000],
            "seed {seed}"
        );
    }
}

#[test]
fn a_crash_is_the_same_for_the_same_seed() {
    for seed in 0..10 {
        assert_eq!(
            replace_and_crash(seed, false),
            replace_and_crash(seed, false)
        );
    }
}

#[test]
fn a_killed_program_leaves_what_it_wrote() {
    for seed in 0..20 {
        let found = RefCell::new(String::new());
        let mut sim = Builder::new().rng_seed(seed).build();
        sim.host("host", || async {
            let log = OpenOptions::new()
                .append(true)
                .create(true)
                .open("/tmp/log")?;
            // SAFETY: the descriptor is open.
            let locked = unsafe { libc::flock(log.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
            assert_eq!(locked, 0, "the lock of a program that was killed is gone");
            (&log).write_all(b"started ")?;
            *found.borrow_mut() = fs::read_to_string("/tmp/log")?;
            std::future::pending().await
        });
        step_for(&mut sim, Duration::from_millis(10));
        sim.kill("host");
        sim.bounce("host");
        step_for(&mut sim, Duration::from_millis(10));
        drop(sim);
        assert_eq!(found.into_inner(), "started started ");
    }
}

#[test]
fn what_a_program_does_when_the_power_is_gone_does_nothing() {
    /// Writes when it is dropped.
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            assert!(fs::write("/tmp/late", "late").is_err());
        }
    }
    let mut sim = Builder::new().build();
    sim.host("host", || async {
        assert!(!fs::exists("/tmp/late")?);
        let _late = Late;
        std::future::pending().await
    });
    step_for(&mut sim, Duration::from_millis(10));
    sim.bounce("host");
    step_for(&mut sim, Duration::from_millis(10));
}

#[test]
fn a_panic_has_a_backtrace_with_names() {
    on_a_host(|| {
        let backtrace = std::backtrace::Backtrace::force_capture().to_string();
        assert!(
            backtrace.contains("a_panic_has_a_backtrace_with_names"),
            "{backtrace}"
        );
        Ok(())
    });
}

#[test]
fn what_a_disk_does_not_have_is_refused() {
    on_a_host(|| {
        let file = File::create("/tmp/file")?;
        let error =
            |result: isize| (result < 0).then(|| std::io::Error::last_os_error().raw_os_error());
        let (path, name) = (c"/tmp/file".as_ptr(), c"user.name".as_ptr());
        // SAFETY: C strings, and no room to write to.
        let found = unsafe { libc::getxattr(path, name, std::ptr::null_mut(), 0) };
        assert_eq!(error(found), Some(Some(libc::ENOTSUP)));
        // SAFETY: the descriptor is open; there is nothing to read.
        let set = unsafe { libc::fsetxattr(file.as_raw_fd(), name, std::ptr::null(), 0, 0) };
        assert_eq!(error(set as isize), Some(Some(libc::ENOTSUP)));
        // SAFETY: it has no conditions.
        let watched = unsafe { libc::inotify_init1(0) };
        assert_eq!(error(watched as isize), Some(Some(libc::ENOSYS)));
        // SAFETY: a C string.
        let made = unsafe { libc::mkfifo(c"/tmp/pipe".as_ptr(), 0o600) };
        assert_eq!(error(made as isize), Some(Some(libc::EPERM)));
        Ok(())
    });
}

#[test]
fn files_outside_of_hosts_are_real() {
    let path = std::env::temp_dir().join(format!("tress-sim-file-{}", std::process::id()));
    fs::write(&path, "text").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 4);
    let mut file = OpenOptions::new()
        .read(true)
        .append(true)
        .open(&path)
        .unwrap();
    file.write_all(b"!").unwrap();
    file.sync_data().unwrap();
    file.rewind().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "text!");
    let parent = path.parent().unwrap();
    assert!(
        fs::read_dir(parent)
            .unwrap()
            .any(|entry| entry.unwrap().path() == path)
    );
    assert_eq!(
        fs::canonicalize(&path).unwrap().file_name(),
        path.file_name()
    );
    fs::remove_file(&path).unwrap();
    assert!(!fs::exists(&path).unwrap());
}
