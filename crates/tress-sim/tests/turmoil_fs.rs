//! Files by `std::fs` and `tokio::fs`: what the tests of the crate turmoil expect of its own versions of these.
//!
//! There is a test here for each of turmoil's, in its order, unless `disk.rs`, beside this file, has its equal. What differs:
//!
//! | test of turmoil | here |
//! |---|---|
//! | `basic_read_write`, `read_write_convenience`, `copy_file`, `set_len_truncate`, `append_mode`, `cursor_based_io`, `per_host_isolation`, `hard_link_nlink_count` | Also in `disk.rs`. |
//! | `noatime_behavior` | As Linux mounts disks: the first read after a change is noted, those after it are not. |
//! | `worker_thread_*` | There is no `FsHandle`: a thread of a host has the disk of the host. |
//! | `data_loss_without_sync`, `file_lost_without_dir_sync`, `unsynced_writes_lost_on_crash`, `no_torn_writes_without_block_size`, `sync_data_vs_sync_all` | What was not synced is lost by chance, unless `DiskConfig::survival` says otherwise. `sync_data` makes as much durable as `sync_all`, but for times. |
//! | `random_sync_100_percent` | There is no `sync_probability`: `DiskConfig::survival` has the same effect. |
//! | `torn_write_*` | Blocks are of 4096 bytes and torn at multiples of 512, as disks do it. There is no `block_size`. |
//! | `corruption_*` | Bits flip on the disk, not in memory. |
//! | `tokio_io_latency`, `tokio_file_io_latency`, `tokio_no_latency_by_default`, `no_cache_full_latency` | There is always a page cache: what is in memory takes no time, reads of other blocks and syncs do. |
//! | `random_eviction_chaos`, `lru_eviction`, `cache_multiple_files` | The page cache has no limit: all files that a host has used since it was started are in it. |
//! | `aligned_*`, `misaligned_*`, `direct_io_bypasses_cache` | The option `direct_io` is the flag `O_DIRECT`. Lengths and offsets are multiples of 512; buffers may be anywhere, as on many disks. |
//! | `custom_alignment_*`, `aligned_io_succeeds_4096` | There is no `direct_io_alignment`. |

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::future::pending;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};
use tress_sim::{Builder, Result, Sim};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Runs a program on a host with a directory `/data`.
fn on_a_host(program: impl AsyncFnOnce() -> Result + 'static) {
    let mut sim = Builder::new().build();
    add(&mut sim, program);
    sim.run().unwrap();
}

fn add(sim: &mut Sim<'_>, program: impl AsyncFnOnce() -> Result + 'static) {
    sim.client("host", async {
        fs::create_dir("/data")?;
        program().await
    });
}

#[track_caller]
fn fails<T>(result: io::Result<T>, kind: ErrorKind) {
    assert_eq!(result.err().map(|error| error.kind()), Some(kind));
}

/// A file that is made if there is none, to read and to write.
fn open(path: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

fn sync_directory(path: &str) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn names_in(path: &str) -> io::Result<BTreeSet<String>> {
    let names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().into_string().unwrap()));
    names.collect()
}

#[test]
fn a_file_can_be_written_anywhere() {
    on_a_host(async || {
        let file = open("/data/file")?;
        file.write_all_at(b"later", 100)?;
        assert_eq!(file.metadata()?.len(), 105);
        let mut bytes = [1; 105];
        assert_eq!(file.read_at(&mut bytes, 0)?, 105);
        assert_eq!(bytes[..100], [0; 100]);
        assert_eq!(&bytes[100..], b"later");
        // The end, and past it.
        assert_eq!(file.read_at(&mut bytes, 103)?, 2);
        assert_eq!(file.read_at(&mut bytes, 200)?, 0);
        Ok(())
    });
}

#[test]
fn files_are_kept_apart() {
    on_a_host(async || {
        let (one, other) = (open("/one")?, open("/other")?);
        one.write_all_at(b"first", 0)?;
        other.write_all_at(b"second", 0)?;
        assert_eq!(fs::read("/one")?, b"first");
        assert_eq!(fs::read("/other")?, b"second");
        Ok(())
    });
}

#[test]
fn what_a_file_is_extended_by_is_zero() {
    on_a_host(async || {
        let file = open("/data/file")?;
        file.write_all_at(&[7; 10], 0)?;
        file.sync_all()?;
        file.set_len(5)?;
        file.set_len(100)?;
        let bytes = fs::read("/data/file")?;
        assert_eq!((&bytes[..5], &bytes[5..]), (&[7; 5][..], &[0; 95][..]));
        Ok(())
    });
}

#[test]
fn a_new_file_is_not_an_old_one() {
    on_a_host(async || {
        File::create_new("/data/file")?;
        fails(File::create_new("/data/file"), ErrorKind::AlreadyExists);
        Ok(())
    });
}

#[test]
fn opening_can_truncate() {
    on_a_host(async || {
        fs::write("/data/file", "existing")?;
        sync_directory("/data")?;
        let mut options = OpenOptions::new();
        let file = options.write(true).truncate(true).open("/data/file")?;
        assert_eq!(file.metadata()?.len(), 0);
        Ok(())
    });
}

#[test]
fn reading_exactly_fails_at_the_end() {
    on_a_host(async || {
        let file = open("/data/file")?;
        file.write_all_at(b"exactly", 0)?;
        let mut bytes = [0; 7];
        file.read_exact_at(&mut bytes, 0)?;
        assert_eq!(&bytes, b"exactly");
        fails(file.read_exact_at(&mut [0; 8], 0), ErrorKind::UnexpectedEof);
        Ok(())
    });
}

#[test]
fn the_later_of_two_writes_counts() {
    on_a_host(async || {
        let file = open("/data/file")?;
        file.write_all_at(&[b'a'; 10], 0)?;
        file.write_all_at(&[b'b'; 3], 3)?;
        assert_eq!(fs::read("/data/file")?, b"aaabbbaaaa");
        Ok(())
    });
}

#[test]
fn a_file_has_a_position() {
    on_a_host(async || {
        let mut file = open("/data/file")?;
        file.write_all(b"hello world")?;
        file.rewind()?;
        let mut bytes = [0; 5];
        file.read_exact(&mut bytes)?;
        assert_eq!(&bytes, b"hello");
        assert_eq!(file.seek(SeekFrom::End(-5))?, 6);
        file.read_exact(&mut bytes)?;
        assert_eq!(&bytes, b"world");
        assert_eq!(file.seek(SeekFrom::Current(-11))?, 0);
        fails(file.seek(SeekFrom::Current(-1)), ErrorKind::InvalidInput);
        Ok(())
    });
}

#[test]
fn clones_of_a_file_share_its_content_and_position() {
    on_a_host(async || {
        let mut file = open("/data/file")?;
        file.write_all(b"hello world")?;
        let mut clone = file.try_clone()?;
        clone.write_all_at(b"HELLO", 0)?;
        clone.seek(SeekFrom::Start(3))?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        assert_eq!(text, "LO world");
        drop(file);
        clone.write_all(b"!")?;
        assert_eq!(fs::read("/data/file")?, b"HELLO world!");
        Ok(())
    });
}

#[test]
fn metadata_tells_files_from_directories() {
    on_a_host(async || {
        let file = open("/data/file")?;
        file.write_all_at(b"hello", 0)?;
        for metadata in [file.metadata()?, fs::metadata("/data/file")?] {
            assert!(metadata.is_file() && !metadata.is_dir());
            assert_eq!(metadata.len(), 5);
        }
        for path in ["/data", "/"] {
            let metadata = fs::metadata(path)?;
            assert!(metadata.is_dir() && !metadata.is_file());
        }
        fails(fs::metadata("/nowhere"), ErrorKind::NotFound);
        Ok(())
    });
}

#[test]
fn a_new_file_has_the_time_of_its_host() {
    on_a_host(async || {
        let before = SystemTime::now();
        let metadata = open("/data/file")?.metadata()?;
        let created = metadata.created()?;
        assert!(before <= created && created <= SystemTime::now());
        assert_eq!(metadata.modified()?, created);
        assert_eq!(metadata.accessed()?, created);
        Ok(())
    });
}

#[test]
fn writing_and_truncating_change_the_time() {
    on_a_host(async || {
        let file = open("/data/file")?;
        let created = file.metadata()?.modified()?;
        sleep(SECOND).await;
        file.write_all_at(b"hello", 0)?;
        let written = file.metadata()?.modified()?;
        assert!(written >= created + SECOND);
        sleep(SECOND).await;
        file.set_len(2)?;
        assert!(file.metadata()?.modified()? >= written + SECOND);
        assert_eq!(file.metadata()?.created()?, created);
        Ok(())
    });
}

#[test]
fn the_first_read_after_a_change_is_noted() {
    on_a_host(async || {
        let file = open("/data/file")?;
        file.write_all_at(b"hello", 0)?;
        let modified = file.metadata()?.modified()?;
        sleep(SECOND).await;
        file.read_at(&mut [0; 5], 0)?;
        let accessed = file.metadata()?.accessed()?;
        assert!(accessed >= modified + SECOND);
        sleep(SECOND).await;
        file.read_at(&mut [0; 5], 0)?;
        assert_eq!(file.metadata()?.accessed()?, accessed);
        assert_eq!(file.metadata()?.modified()?, modified);
        Ok(())
    });
}

#[test]
fn directories_have_times() {
    on_a_host(async || {
        let created = fs::metadata("/data")?.created()?;
        let mut last = fs::metadata("/data")?.modified()?;
        let mut has_changed = || {
            let now = fs::metadata("/data")?.modified()?;
            assert!(now >= last + SECOND);
            last = now;
            io::Result::Ok(())
        };
        sleep(SECOND).await;
        fs::create_dir("/data/sub")?;
        has_changed()?;
        assert!(fs::metadata("/data/sub")?.created()? >= created + SECOND);
        sleep(SECOND).await;
        fs::write("/data/file", "hello")?;
        has_changed()?;
        sleep(SECOND).await;
        fs::rename("/data/file", "/data/other")?;
        has_changed()?;
        sleep(SECOND).await;
        fs::remove_file("/data/other")?;
        has_changed()?;
        Ok(())
    });
}

#[test]
fn permissions_are_those_of_the_process_unless_others_are_asked_for() {
    on_a_host(async || {
        let mode =
            |path: &str| Ok::<_, io::Error>(fs::metadata(path)?.permissions().mode() & 0o777);
        open("/data/file")?;
        assert_eq!(mode("/data/file")?, 0o644);
        assert_eq!(mode("/data")?, 0o755);
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create(true)
            .mode(0o600)
            .open("/data/secret")?;
        assert_eq!(mode("/data/secret")?, 0o600);
        Ok(())
    });
}

#[test]
fn what_exists_does_so_through_links() {
    on_a_host(async || {
        assert!(!fs::exists("/data/file")? && !fs::exists("/nowhere/file")?);
        assert!(fs::exists("/data")?);
        fs::write("/data/file", "hello")?;
        symlink("/data/file", "/link")?;
        symlink("/nowhere", "/broken")?;
        assert!(fs::exists("/data/file")? && fs::exists("/link")?);
        assert!(!fs::exists("/broken")?);
        Ok(())
    });
}

#[test]
fn a_link_has_metadata_of_its_own() {
    on_a_host(async || {
        fs::write("/target", "hello")?;
        sleep(SECOND).await;
        symlink("/target", "/link")?;
        let link = fs::symlink_metadata("/link")?;
        assert!(link.is_symlink() && !link.is_file() && !link.is_dir());
        assert_eq!(link.len(), 7);
        let target = fs::metadata("/link")?;
        assert!(target.is_file());
        assert!(link.created()? >= target.created()? + SECOND);
        Ok(())
    });
}

#[test]
fn a_directory_is_removed_when_it_is_empty() {
    on_a_host(async || {
        let file = open("/data/file")?;
        fails(fs::remove_dir("/data"), ErrorKind::DirectoryNotEmpty);
        fs::remove_file("/data/file")?;
        fs::remove_dir("/data")?;
        assert!(!fs::exists("/data")?);
        // What is open is there until it is closed.
        file.write_all_at(b"hello", 0)?;
        assert_eq!(file.metadata()?.nlink(), 0);
        Ok(())
    });
}

#[test]
fn a_directory_has_a_parent() {
    on_a_host(async || {
        fails(fs::create_dir("/a/b/c"), ErrorKind::NotFound);
        fs::create_dir("/a")?;
        fs::create_dir("/a/b")?;
        fs::create_dir("/a/b/c")?;
        fs::create_dir_all("/a/b/c/d/e")?;
        File::create("/a/b/c/d/e/file")?;
        fails(
            fs::create_dir("/a/b/c/d/e/file/f"),
            ErrorKind::NotADirectory,
        );
        Ok(())
    });
}

#[test]
fn a_removed_file_is_gone() {
    on_a_host(async || {
        fs::write("/data/file", "hello")?;
        fs::remove_file("/data/file")?;
        fails(File::open("/data/file"), ErrorKind::NotFound);
        fails(fs::remove_file("/data/file"), ErrorKind::NotFound);
        Ok(())
    });
}

#[test]
fn a_directory_lists_its_files_directories_and_links() {
    on_a_host(async || {
        fs::create_dir("/data/sub")?;
        fs::write("/data/file", "hello")?;
        fs::write("/data/sub/below", "hello")?;
        symlink("/data/file", "/data/link")?;
        let expected = ["file", "link", "sub"];
        assert_eq!(Vec::from_iter(names_in("/data")?), expected);
        for entry in fs::read_dir("/data")? {
            let (name, kind) = entry.map(|entry| (entry.file_name(), entry.file_type()))?;
            let kind = kind?;
            assert_eq!(
                (kind.is_file(), kind.is_symlink()),
                (name == "file", name == "link")
            );
        }
        Ok(())
    });
}

#[test]
fn a_tree_is_removed_at_once() {
    on_a_host(async || {
        fs::create_dir_all("/data/a/b")?;
        fs::write("/data/file", "hello")?;
        fs::write("/data/a/file", "hello")?;
        symlink("/data", "/data/a/b/up")?;
        fs::remove_dir_all("/data")?;
        fails(fs::metadata("/data"), ErrorKind::NotFound);
        fs::create_dir("/empty")?;
        fs::remove_dir_all("/empty")?;
        fails(fs::metadata("/empty"), ErrorKind::NotFound);
        fails(fs::remove_dir_all("/empty"), ErrorKind::NotFound);
        Ok(())
    });
}

#[test]
fn a_renamed_file_takes_the_place_of_another_one() {
    on_a_host(async || {
        fs::write("/data/old", "hello")?;
        fs::rename("/data/old", "/data/new")?;
        fails(File::open("/data/old"), ErrorKind::NotFound);
        fs::write("/data/other", "other")?;
        let open = File::open("/data/new")?;
        fs::rename("/data/other", "/data/new")?;
        assert_eq!(fs::read("/data/new")?, b"other");
        // The one that was replaced is there for whoever has it open.
        assert_eq!(io::read_to_string(open)?, "hello");
        assert_eq!(Vec::from_iter(names_in("/data")?), ["new"]);
        // It is a file still, and not a directory.
        fs::remove_file("/data/new")?;
        assert!(!fs::exists("/data/new")?);
        Ok(())
    });
}

#[test]
fn paths_are_made_canonical() {
    on_a_host(async || {
        fs::write("/data/file", "hello")?;
        symlink("/data/file", "/link")?;
        symlink("data", "/to-data")?;
        for path in [
            "/data/./file",
            "/data/../data/file",
            "/link",
            "/to-data/file",
            "//data//file",
        ] {
            assert_eq!(fs::canonicalize(path)?, Path::new("/data/file"), "{path}");
        }
        fails(fs::canonicalize("/data/other"), ErrorKind::NotFound);
        Ok(())
    });
}

#[test]
fn a_file_has_several_names() {
    on_a_host(async || {
        fs::write("/data/file", "hello")?;
        assert_eq!(fs::metadata("/data/file")?.nlink(), 1);
        fs::hard_link("/data/file", "/data/name")?;
        for path in ["/data/file", "/data/name"] {
            assert_eq!(fs::metadata(path)?.nlink(), 2);
        }
        fs::write("/data/name", "changed")?;
        assert_eq!(fs::read("/data/file")?, b"changed");
        fs::remove_file("/data/file")?;
        assert_eq!(fs::read("/data/name")?, b"changed");
        assert_eq!(fs::metadata("/data/name")?.nlink(), 1);
        Ok(())
    });
}

#[test]
fn a_link_is_removed_without_its_target() {
    on_a_host(async || {
        fs::write("/data/file", "hello")?;
        symlink("/data/file", "/link")?;
        fs::remove_file("/link")?;
        fails(fs::symlink_metadata("/link"), ErrorKind::NotFound);
        assert!(fs::exists("/data/file")?);
        // A directory with a link is not empty.
        symlink("/nowhere", "/data/link")?;
        fs::remove_file("/data/file")?;
        fails(fs::remove_dir("/data"), ErrorKind::DirectoryNotEmpty);
        Ok(())
    });
}

#[test]
fn a_link_is_renamed_without_its_target() {
    on_a_host(async || {
        fs::write("/data/file", "hello")?;
        symlink("/data/file", "/data/link")?;
        fs::rename("/data/link", "/data/other")?;
        fails(fs::symlink_metadata("/data/link"), ErrorKind::NotFound);
        assert!(fs::symlink_metadata("/data/other")?.is_symlink());
        assert_eq!(fs::read("/data/other")?, b"hello");
        assert!(fs::symlink_metadata("/data/file")?.is_file());
        Ok(())
    });
}

#[test]
fn links_are_followed_forty_times() {
    on_a_host(async || {
        symlink("/two", "/one")?;
        symlink("/one", "/two")?;
        for error in [fs::canonicalize("/one").err(), File::open("/one").err()] {
            assert_eq!(
                error.and_then(|error| error.raw_os_error()),
                Some(libc::ELOOP)
            );
        }
        fs::write("/data/0", "hello")?;
        for n in 1..=41 {
            symlink(format!("/data/{}", n - 1), format!("/data/{n}"))?;
        }
        assert_eq!(fs::read("/data/3")?, b"hello");
        assert_eq!(fs::read("/data/40")?, b"hello");
        let error = fs::read("/data/41").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
        Ok(())
    });
}

#[test]
fn threads_have_the_disk_of_their_host() {
    on_a_host(async || {
        fs::write("/data/first", "of the host")?;
        let worker = thread::spawn(|| {
            assert_eq!(fs::read("/data/first")?, b"of the host");
            for n in 0..3 {
                fs::write(format!("/data/{n}"), [n])?;
            }
            let file = open("/data/file")?;
            file.write_all_at(b"of a thread", 0)?;
            file.sync_all()?;
            sync_directory("/data")?;
            Ok::<_, io::Error>(file)
        });
        let file = worker.join().unwrap()?;
        assert_eq!(
            Vec::from_iter(names_in("/data")?),
            ["0", "1", "2", "file", "first"]
        );
        assert_eq!(fs::read("/data/2")?, [2]);
        // What one thread has opened is open for the others.
        let mut bytes = [0; 11];
        file.read_exact_at(&mut bytes, 0)?;
        assert_eq!(&bytes, b"of a thread");
        Ok(())
    });
}

#[test]
fn threads_write_to_one_file() {
    on_a_host(async || {
        let threads: Vec<_> = (0..4u8)
            .map(|n| {
                thread::spawn(move || {
                    let mut file = OpenOptions::new()
                        .append(true)
                        .create(true)
                        .open("/data/log")?;
                    (0..10).try_for_each(|_| file.write_all(&[n; 7]))
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap()?;
        }
        let log = fs::read("/data/log")?;
        assert_eq!(log.len(), 4 * 10 * 7);
        assert!(
            log.chunks(7)
                .all(|line| line.iter().all(|byte| *byte == line[0]))
        );
        Ok(())
    });
}

#[test]
fn tokio_reads_what_it_wrote() {
    on_a_host(async || {
        tokio::fs::write("/data/file", "hello world").await?;
        assert_eq!(tokio::fs::read("/data/file").await?, b"hello world");
        assert_eq!(
            tokio::fs::read_to_string("/data/file").await?,
            "hello world"
        );
        let mut options = tokio::fs::OpenOptions::new();
        let options = options.read(true).write(true).create(true);
        let mut file = options.open("/data/other").await?;
        file.write_all(b"some text").await?;
        file.sync_all().await?;
        file.rewind().await?;
        let mut text = String::new();
        file.read_to_string(&mut text).await?;
        assert_eq!(text, "some text");
        file.set_len(4).await?;
        assert_eq!(file.metadata().await?.len(), 4);
        Ok(())
    });
}

#[test]
fn tokio_makes_moves_and_removes() {
    on_a_host(async || {
        tokio::fs::create_dir_all("/a/b/c").await?;
        assert!(tokio::fs::try_exists("/a/b/c").await?);
        tokio::fs::remove_dir_all("/a").await?;
        assert!(!tokio::fs::try_exists("/a").await?);
        tokio::fs::write("/file", "text").await?;
        assert_eq!(tokio::fs::copy("/file", "/copy").await?, 4);
        tokio::fs::rename("/copy", "/other").await?;
        assert!(!tokio::fs::try_exists("/copy").await?);
        assert_eq!(tokio::fs::read("/other").await?, b"text");
        tokio::fs::remove_file("/other").await?;
        assert!(!tokio::fs::try_exists("/other").await?);
        Ok(())
    });
}

#[test]
fn syncs_take_their_latency_and_what_is_in_memory_does_not() {
    let mut sim = Builder::new().build();
    add(&mut sim, async || {
        let start = Instant::now();
        let mut file = tokio::fs::File::create("/data/file").await?;
        file.write_all(&[1; 20_000]).await?;
        file.flush().await?;
        assert_eq!(tokio::fs::read("/data/file").await?, [1; 20_000]);
        assert_eq!(tokio::fs::metadata("/data/file").await?.len(), 20_000);
        assert!(start.elapsed() < 5 * MS, "{:?}", start.elapsed());
        let start = Instant::now();
        file.sync_all().await?;
        assert!(
            (100 * MS..110 * MS).contains(&start.elapsed()),
            "{:?}",
            start.elapsed()
        );
        Ok(())
    });
    sim.disk("host").config().sync_latency = 100 * MS..=100 * MS;
    sim.run().unwrap();
}

/// Runs a program on a host, cuts the power when it is done, and runs another one when the host is back. What was not
/// synced survives with a probability.
fn across_a_crash(
    seed: u64,
    survival: f64,
    before: fn() -> io::Result<()>,
    after: impl Fn() -> io::Result<()>,
) {
    let phase = Cell::new(0);
    let mut sim = Builder::new().rng_seed(seed).build();
    sim.host("host", || async {
        match phase.get() {
            0 => before()?,
            _ => after()?,
        }
        phase.set(phase.get() + 1);
        pending().await
    });
    sim.disk("host").config().survival = Some(survival);
    while phase.get() < 1 {
        sim.step().unwrap();
    }
    sim.crash("host");
    sim.bounce("host");
    while phase.get() < 2 {
        sim.step().unwrap();
    }
}

fn make_data() -> io::Result<()> {
    fs::create_dir("/data")?;
    sync_directory("/")
}

#[test]
fn what_was_synced_survives_a_crash() {
    for seed in 0..20 {
        across_a_crash(
            seed,
            0.0,
            || {
                make_data()?;
                let mut file = File::create("/data/file")?;
                file.write_all(b"synced")?;
                file.sync_all()?;
                sync_directory("/data")
            },
            || {
                assert_eq!(fs::read("/data/file")?, b"synced");
                Ok(())
            },
        );
    }
}

#[test]
fn what_was_not_synced_is_lost_in_a_crash() {
    across_a_crash(
        1,
        0.0,
        || {
            fs::create_dir("/data")?;
            fs::write("/data/file", "not synced")
        },
        || {
            assert!(!fs::exists("/data")?);
            Ok(())
        },
    );
}

#[test]
fn what_was_not_synced_may_survive_a_crash() {
    across_a_crash(
        1,
        1.0,
        || {
            fs::create_dir("/data")?;
            fs::write("/data/file", "not synced")
        },
        || {
            assert_eq!(fs::read("/data/file")?, b"not synced");
            Ok(())
        },
    );
}

#[test]
fn a_file_is_lost_if_its_directory_was_not_synced() {
    let befores: [fn() -> io::Result<()>; 2] = [
        || File::sync_all(&written()?),
        || File::sync_data(&written()?),
    ];
    for before in befores {
        across_a_crash(1, 0.0, before, || {
            assert!(fs::exists("/data")?);
            fails(File::open("/data/file"), ErrorKind::NotFound);
            Ok(())
        });
    }
}

/// A new file with something in it, in a directory that was synced before.
fn written() -> io::Result<File> {
    make_data()?;
    let file = open("/data/file")?;
    file.write_all_at(b"some data", 0)?;
    Ok(file)
}

#[test]
fn writes_to_a_file_that_was_synced_before_are_lost() {
    across_a_crash(
        1,
        0.0,
        || {
            make_data()?;
            let file = open("/data/file")?;
            file.sync_all()?;
            sync_directory("/data")?;
            file.write_all_at(b"not", 0)?;
            file.write_all_at(b"synced", 3)
        },
        || {
            assert_eq!(fs::read("/data/file")?, b"");
            Ok(())
        },
    );
}

#[test]
fn data_of_a_new_file_can_be_synced() {
    across_a_crash(
        1,
        0.0,
        || {
            make_data()?;
            let mut options = OpenOptions::new();
            let file = options
                .write(true)
                .create(true)
                .truncate(true)
                .open("/data/file")?;
            file.write_all_at(b"some data", 0)?;
            file.sync_data()?;
            assert_eq!(fs::read("/data/file")?, b"some data");
            sync_directory("/data")
        },
        || {
            assert_eq!(fs::read("/data/file")?, b"some data");
            Ok(())
        },
    );
}

/// Writes four blocks and does not sync them. Returns what is there after a crash.
fn after_a_crash_in_a_write(seed: u64, survival: f64) -> Vec<u8> {
    let found = RefCell::new(Vec::new());
    across_a_crash(
        seed,
        survival,
        || {
            make_data()?;
            let file = open("/data/file")?;
            file.set_len(4 * 4096)?;
            file.sync_all()?;
            sync_directory("/data")?;
            file.write_all_at(&[1; 4 * 4096], 0)
        },
        || {
            *found.borrow_mut() = fs::read("/data/file")?;
            Ok(())
        },
    );
    found.into_inner()
}

#[test]
fn a_write_may_be_torn_at_the_boundaries_of_sectors() {
    let (mut none, mut all, mut within_a_block) = (0, 0, 0);
    for seed in 0..60 {
        let content = after_a_crash_in_a_write(seed, 0.5);
        assert_eq!(content.len(), 4 * 4096);
        let sectors: Vec<_> = content.chunks(512).collect();
        assert!(
            sectors
                .iter()
                .all(|sector| sector.iter().all(|byte| *byte == sector[0]))
        );
        let written = content.iter().filter(|byte| **byte == 1).count();
        none += u32::from(written == 0);
        all += u32::from(written == content.len());
        within_a_block += u32::from(written % 4096 != 0);
    }
    assert!(
        none > 0 && all > 0 && within_a_block > 10,
        "{none} {all} {within_a_block}"
    );
    assert!(
        after_a_crash_in_a_write(1, 0.0)
            .iter()
            .all(|byte| *byte == 0)
    );
}

#[test]
fn a_disk_may_be_full() {
    let mut sim = Builder::new().build();
    add(&mut sim, async || {
        let (one, other) = (open("/data/one")?, open("/data/other")?);
        other.write_all_at(&[2; 4096], 0)?;
        let mut blocks = 0;
        let error = loop {
            match one.write_all_at(&[1; 4096], blocks * 4096) {
                Ok(()) => blocks += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::StorageFull);
        // The system has a few files of its own.
        assert!((15..=19).contains(&blocks), "{blocks}");
        fails(other.write_all_at(&[3], 4096), ErrorKind::StorageFull);
        // What is there can be overwritten, and what is removed gives its room back.
        one.write_all_at(&[4; 4096], 0)?;
        drop(other);
        fs::remove_file("/data/other")?;
        one.write_all_at(&[3], blocks * 4096)?;
        Ok(())
    });
    sim.disk("host").config().capacity = Some(20 * 4096);
    sim.run().unwrap();
}

#[test]
fn reads_and_writes_fail_by_chance() {
    for (probability, expected) in [(0.0, 0..=0), (0.5, 60..=140), (1.0, 200..=200)] {
        let failed = Rc::new(Cell::new(0));
        let count = failed.clone();
        let mut sim = Builder::new().build();
        add(&mut sim, async move || {
            let file = open("/data/file")?;
            for _ in 0..200 {
                if let Err(error) = file.write_all_at(b"hello", 0) {
                    assert_eq!(error.raw_os_error(), Some(libc::EIO));
                    count.set(count.get() + 1);
                }
            }
            Ok(())
        });
        let mut disk = sim.disk("host");
        let config = disk.config();
        (config.read_error, config.write_error, config.sync_error) =
            (probability, probability, probability);
        sim.run().unwrap();
        assert!(
            expected.contains(&failed.get()),
            "{probability}: {}",
            failed.get()
        );
    }
}

/// Returns how many of 100 blocks that were written differ when they are read from the disk.
fn rotten(probability: f64) -> usize {
    let (phase, count) = (Cell::new(0), Cell::new(0));
    let mut sim = Builder::new().build();
    sim.host("host", || async {
        match phase.get() {
            0 => {
                make_data()?;
                let file = open("/data/file")?;
                file.write_all_at(&[0; 100 * 4096], 0)?;
                // It is in memory, where it does not rot.
                assert_eq!(fs::read("/data/file")?, [0; 100 * 4096]);
                file.sync_all()?;
                sync_directory("/data")?;
            }
            _ => {
                let content = fs::read("/data/file")?;
                let bits = |block: &[u8]| block.iter().map(|byte| byte.count_ones()).sum::<u32>();
                assert!(content.chunks(4096).all(|block| bits(block) <= 1));
                count.set(
                    content
                        .chunks(4096)
                        .filter(|block| bits(block) == 1)
                        .count(),
                );
            }
        }
        phase.set(phase.get() + 1);
        pending().await
    });
    sim.disk("host").config().bit_rot = probability;
    for n in 1..=2 {
        while phase.get() < n {
            sim.step().unwrap();
        }
        if n == 1 {
            sim.bounce("host");
        }
    }
    drop(sim);
    count.get()
}

#[test]
fn bits_on_a_disk_flip_by_chance() {
    assert_eq!(rotten(0.0), 0);
    assert!((30..70).contains(&rotten(0.5)), "{}", rotten(0.5));
    assert_eq!(rotten(1.0), 100);
}

#[test]
fn reads_take_their_latency_until_the_content_is_in_memory() {
    let phase = Cell::new(0);
    let mut sim = Builder::new().build();
    sim.host("host", || async {
        match phase.get() {
            0 => {
                make_data()?;
                for path in ["/data/one", "/data/other"] {
                    let mut file = File::create(path)?;
                    file.write_all(&[1; 3 * 4096])?;
                    file.sync_all()?;
                }
                sync_directory("/data")?;
            }
            _ => {
                // Each page of each file, and each once.
                for path in ["/data/one", "/data/other"] {
                    let file = File::open(path)?;
                    for at in [0, 4096, 8192] {
                        let first = took(|| file.read_at(&mut [0; 100], at))?;
                        assert!((20 * MS..22 * MS).contains(&first), "{first:?}");
                        let again = took(|| file.read_at(&mut [0; 100], at + 100))?;
                        assert!(again < MS, "{again:?}");
                    }
                }
                // Around memory: from the disk each time.
                let mut options = OpenOptions::new();
                let file = options
                    .read(true)
                    .custom_flags(libc::O_DIRECT)
                    .open("/data/one")?;
                let mut buffer = Aligned([0; 4096]);
                for _ in 0..2 {
                    let direct = took(|| file.read_at(&mut buffer.0, 0))?;
                    assert!((20 * MS..22 * MS).contains(&direct), "{direct:?}");
                    assert_eq!(buffer.0, [1; 4096]);
                }
            }
        }
        phase.set(phase.get() + 1);
        pending().await
    });
    sim.disk("host").config().read_latency = 20 * MS..=20 * MS;
    while phase.get() < 1 {
        sim.step().unwrap();
    }
    sim.bounce("host");
    while phase.get() < 2 {
        sim.step().unwrap();
    }
}

fn took<T>(action: impl FnOnce() -> io::Result<T>) -> io::Result<Duration> {
    let start = std::time::Instant::now();
    action()?;
    Ok(start.elapsed())
}

/// A buffer that the memory of a disk can be copied to without detours.
#[repr(align(4096))]
struct Aligned([u8; 4096]);

#[test]
fn direct_access_is_by_sectors() {
    on_a_host(async || {
        fs::write("/data/file", [7; 8192])?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_DIRECT);
        let file = options.open("/data/file")?;
        let mut buffer = Aligned([0; 4096]);
        assert_eq!(file.read_at(&mut buffer.0[..512], 512)?, 512);
        assert_eq!(buffer.0[..512], [7; 512]);
        assert_eq!(file.read_at(&mut buffer.0, 4096)?, 4096);
        file.write_all_at(&Aligned([8; 4096]).0, 0)?;
        assert_eq!(
            fs::read("/data/file")?[4090..4100],
            [8, 8, 8, 8, 8, 8, 7, 7, 7, 7]
        );
        // The length, and the offset.
        fails(
            file.read_at(&mut buffer.0[..100], 0),
            ErrorKind::InvalidInput,
        );
        fails(
            file.read_at(&mut buffer.0[..512], 7),
            ErrorKind::InvalidInput,
        );
        fails(file.write_at(&buffer.0[..100], 0), ErrorKind::InvalidInput);
        fails(file.write_at(&buffer.0[..512], 1), ErrorKind::InvalidInput);
        // The buffer may be anywhere, and larger than what is left of the file.
        assert_eq!(file.read_at(&mut buffer.0[1..513], 0)?, 512);
        assert_eq!(file.read_at(&mut buffer.0, 6144)?, 2048);
        assert_eq!(file.read_at(&mut buffer.0, 8192)?, 0);
        // Files that were opened otherwise do not mind.
        let file = open("/data/file")?;
        file.write_all_at(b"hello", 3)?;
        file.read_exact_at(&mut [0; 5], 3)?;
        Ok(())
    });
}
