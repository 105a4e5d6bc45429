//! Files in memory, by `memmap2`.

#![cfg(all(
    target_os = "linux",
    target_env = "gnu",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]

use memmap2::{MmapMut, MmapOptions, RemapOptions};
use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::future::pending;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tress_sim::{Builder, Result, Sim};

const PAGE: usize = 4096;

fn new_sim<'a>() -> Sim<'a> {
    let day = Duration::from_secs(24 * 60 * 60);
    Builder::new().simulation_duration(day).build()
}

/// Runs a program on a host of its own.
fn on_a_host(program: impl FnOnce() -> Result + 'static) {
    let mut sim = new_sim();
    sim.client("host", async { program() });
    sim.run().unwrap();
}

/// Lets time pass.
fn run_for(sim: &mut Sim<'_>, time: Duration) {
    let end = sim.elapsed() + time;
    while sim.elapsed() < end {
        sim.step().unwrap();
    }
}

fn open(path: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

/// A file with that content.
fn file_with(path: &str, content: &[u8]) -> io::Result<File> {
    fs::write(path, content)?;
    open(path)
}

fn map_mut(file: &File) -> io::Result<MmapMut> {
    // SAFETY: a file of a simulated host is changed by nothing else but what the test does, and not while it is looked at.
    unsafe { MmapMut::map_mut(file) }
}

#[test]
fn a_map_shows_the_file() {
    on_a_host(|| {
        let content: Vec<u8> = (0..10_000).map(|n| (n % 251) as u8).collect();
        let file = file_with("/tmp/file", &content)?;
        // SAFETY: as in `map_mut`.
        let map = unsafe { MmapOptions::new().map(&file)? };
        assert_eq!(map[..], content);
        // SAFETY: as above.
        let part = unsafe { MmapOptions::new().offset(4100).len(100).map(&file)? };
        assert_eq!(part[..], content[4100..4200]);
        // The map stays when the file is closed, and when it has no name.
        drop(file);
        fs::remove_file("/tmp/file")?;
        assert_eq!(map[..], content);
        Ok(())
    });
}

#[test]
fn calls_and_maps_see_the_same() {
    on_a_host(|| {
        let file = file_with("/tmp/file", &[b'a'; 3 * PAGE])?;
        let (mut one, two) = (map_mut(&file)?, map_mut(&file)?);
        one[5000] = b'm';
        assert_eq!(two[5000], b'm', "another map");
        assert_eq!(fs::read("/tmp/file")?[5000], b'm', "another open file");
        let mut byte = [0];
        one[1] = b'n';
        file.read_exact_at(&mut byte, 1)?;
        assert_eq!(byte, *b"n");
        file.write_all_at(b"call", 8000)?;
        assert_eq!(&one[8000..8004], b"call");
        // What is written by a call beside a change of the same page leaves that as it is.
        one[100] = b'x';
        file.write_all_at(b"y", 101)?;
        assert_eq!(&fs::read("/tmp/file")?[100..102], b"xy");
        fs::write("/tmp/file", vec![b'b'; 3 * PAGE])?;
        assert_eq!(two[2 * PAGE], b'b', "cut, and written anew");
        Ok(())
    });
}

#[test]
fn what_is_written_to_a_private_map_stays_there() {
    on_a_host(|| {
        let file = file_with("/tmp/file", &[b'a'; PAGE])?;
        // SAFETY: as in `map_mut`.
        let mut map = unsafe { MmapOptions::new().map_copy(&file)? };
        map[7] = b'p';
        assert_eq!(map[7], b'p');
        assert_eq!(fs::read("/tmp/file")?, [b'a'; PAGE]);
        drop(map);
        assert_eq!(fs::read("/tmp/file")?, [b'a'; PAGE]);
        Ok(())
    });
}

#[test]
fn files_are_cut_and_grow_under_a_map() {
    on_a_host(|| {
        let file = file_with("/tmp/file", &[b'a'; 2 * PAGE])?;
        // SAFETY: as in `map_mut`. What is past the end of a file is looked at only here, where it is zeros.
        let mut map = unsafe { MmapOptions::new().len(4 * PAGE).map_mut(&file)? };
        map[10] = b'm';
        file.set_len(100)?;
        assert_eq!((map[10], map[99], map[100], map[PAGE]), (b'm', b'a', 0, 0));
        file.set_len(3 * PAGE as u64)?;
        assert_eq!((map[10], map[100], map[2 * PAGE]), (b'm', 0, 0));
        map[2 * PAGE + 1] = b'n';
        let read = fs::read("/tmp/file")?;
        assert_eq!(read.len(), 3 * PAGE);
        assert_eq!((read[10], read[100], read[2 * PAGE + 1]), (b'm', 0, b'n'));
        // What is past the end is not part of the file, nor becomes so.
        map[3 * PAGE + 5] = b'j';
        file.write_all_at(b"end", 3 * PAGE as u64 + 10)?;
        let read = fs::read("/tmp/file")?;
        assert_eq!(read.len(), 3 * PAGE + 13);
        assert_eq!(read[3 * PAGE + 5], 0);
        Ok(())
    });
}

#[test]
fn a_map_can_grow_and_be_unmapped_in_parts() {
    on_a_host(|| {
        let file = file_with("/tmp/file", &[b'a'; 8 * PAGE])?;
        // SAFETY: as in `map_mut`.
        let mut map = unsafe { MmapOptions::new().len(PAGE).map_mut(&file)? };
        map[0] = b'b';
        // SAFETY: no reference into the map is held.
        unsafe { map.remap(8 * PAGE, RemapOptions::new().may_move(true))? };
        assert_eq!((map[0], map[7 * PAGE]), (b'b', b'a'));
        map[7 * PAGE] = b'c';
        map[3 * PAGE] = b'd';
        let (start, raw) = (map.as_mut_ptr(), std::mem::ManuallyDrop::new(map));
        // SAFETY: a part in the middle, which nothing uses any more.
        unsafe { assert_eq!(libc::munmap(start.add(2 * PAGE).cast(), 2 * PAGE), 0) };
        let read = fs::read("/tmp/file")?;
        let bytes = (read[0], read[3 * PAGE], read[7 * PAGE]);
        assert_eq!(bytes, (b'b', b'd', b'c'));
        // SAFETY: parts that are still mapped.
        unsafe {
            *start = b'e';
            *start.add(5 * PAGE) = b'f';
            assert_eq!(libc::munmap(start.cast(), 8 * PAGE), 0);
        }
        let _ = raw;
        let read = fs::read("/tmp/file")?;
        assert_eq!((read[0], read[5 * PAGE]), (b'e', b'f'));
        Ok(())
    });
}

#[test]
fn errors_are_those_of_linux() {
    fn errors(directory: &Path) -> Vec<Option<i32>> {
        let path = directory.join("file");
        fs::write(&path, [1; 100]).unwrap();
        let readable = File::open(&path).unwrap();
        let writable = OpenOptions::new().write(true).open(&path).unwrap();
        let both = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .unwrap();
        let folder = File::open(directory).unwrap();
        let (read, write) = (libc::PROT_READ, libc::PROT_READ | libc::PROT_WRITE);
        let (shared, private) = (libc::MAP_SHARED, libc::MAP_PRIVATE);
        let asked = [
            (&readable, PAGE, read, shared, 0),
            (&readable, PAGE, write, shared, 0),
            (&readable, PAGE, write, private, 0),
            (&writable, PAGE, read, shared, 0),
            (&writable, PAGE, libc::PROT_WRITE, private, 0),
            (&both, PAGE, write, shared, 0),
            (&both, 0, write, shared, 0),
            (&both, PAGE, write, shared, 1),
            (&both, PAGE, write, 0, 0),
            (&both, usize::MAX, read, shared, 0),
            (&both, PAGE, read, shared, i64::MAX - 4095),
            (&folder, PAGE, read, private, 0),
        ];
        let outcome = |(file, size, protection, flags, offset): (&File, usize, i32, i32, i64)| {
            let fd = file.as_raw_fd();
            // SAFETY: the system chooses where; what was mapped is unmapped again.
            unsafe {
                let at = libc::mmap(
                    std::ptr::null_mut(),
                    size,
                    protection,
                    flags,
                    fd,
                    offset as _,
                );
                if at == libc::MAP_FAILED {
                    return io::Error::last_os_error().raw_os_error();
                }
                assert_eq!(libc::msync(at, size, libc::MS_SYNC), 0);
                assert_eq!(libc::munmap(at, size), 0);
                None
            }
        };
        asked.into_iter().map(outcome).collect()
    }
    let directory = std::env::temp_dir().join(format!("tress-sim-map-{}", std::process::id()));
    fs::create_dir(&directory).unwrap();
    let real = errors(&directory);
    fs::remove_dir_all(&directory).unwrap();
    on_a_host(move || {
        fs::create_dir("/data")?;
        assert_eq!(errors(Path::new("/data")), real);
        Ok(())
    });
}

#[test]
fn what_was_flushed_is_durable() {
    let mut sim = new_sim();
    sim.client("host", async {
        let file = file_with("/file", &[b'a'; 2 * PAGE])?;
        file.sync_all()?;
        File::open("/")?.sync_all()?;
        let mut map = map_mut(&file)?;
        map[..4].copy_from_slice(b"safe");
        map.flush()?;
        map[PAGE..PAGE + 4].copy_from_slice(b"lost");
        map.flush_async()?;
        pending().await
    });
    run_for(&mut sim, Duration::from_secs(1));
    let durable = sim.disk("host").read_durable("/file").unwrap();
    assert_eq!(&durable[..4], b"safe");
    assert_eq!(&durable[PAGE..PAGE + 4], b"aaaa");
    let seen = sim.disk("host").read("/file").unwrap();
    assert_eq!(&seen[PAGE..PAGE + 4], b"lost");
}

/// A host that fills a file by a map, flushes what it has done so far from time to time, and then changes it without a flush.
fn run_until(seed: u64, end: impl FnOnce(&mut Sim<'_>)) -> Vec<u8> {
    let mut sim = Builder::new().rng_seed(seed).build();
    let starts = Rc::new(RefCell::new(0));
    let count = starts.clone();
    sim.host("host", move || {
        let starts = count.clone();
        async move {
            *starts.borrow_mut() += 1;
            if *starts.borrow() > 1 {
                return pending().await;
            }
            let file = file_with("/file", &[b'a'; 64 * PAGE])?;
            file.sync_all()?;
            File::open("/")?.sync_all()?;
            let mut map = map_mut(&file)?;
            map.fill(b'b');
            map.flush()?;
            map.fill(b'c');
            pending().await
        }
    });
    run_for(&mut sim, Duration::from_secs(1));
    end(&mut sim);
    sim.disk("host").read("/file").unwrap()
}

#[test]
fn a_loss_of_power_takes_what_was_not_flushed() {
    let mut lost = 0;
    for seed in 0..20 {
        let content = run_until(seed, |sim| sim.bounce("host"));
        assert_eq!(content.len(), 64 * PAGE);
        assert!(content.iter().all(|byte| matches!(byte, b'b' | b'c')));
        lost += usize::from(content.contains(&b'b'));
        let again = run_until(seed, |sim| sim.bounce("host"));
        assert!(content == again, "one seed, one loss");
    }
    assert!(lost > 0, "some seed loses something");
}

#[test]
fn the_end_of_a_program_takes_nothing() {
    let content = run_until(0, |sim| sim.kill("host"));
    assert!(content.iter().all(|byte| *byte == b'c'));
    assert_eq!(content.len(), 64 * PAGE);
}

#[test]
fn memory_of_a_host_that_is_off_is_left_alone() {
    /// Looks at its map, and writes to it, when it is dropped.
    struct Last(MmapMut, Rc<RefCell<Vec<u8>>>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.borrow_mut().push(self.0[0]);
            self.0[0] = b'z';
        }
    }
    let mut sim = new_sim();
    let seen = Rc::new(RefCell::new(Vec::new()));
    for name in ["crashes", "is killed"] {
        let seen = seen.clone();
        sim.host(name, move || {
            let seen = seen.clone();
            async move {
                let file = file_with("/file", b"a")?;
                let _last = Last(map_mut(&file)?, seen);
                pending().await
            }
        });
    }
    // A plain program is not dropped: its map stays for ever.
    sim.host_main("stops", || {
        let map = map_mut(&file_with("/file", b"a").unwrap()).unwrap();
        std::thread::sleep(Duration::from_secs(1_000_000));
        drop(map);
    });
    sim.step().unwrap();
    sim.crash("crashes");
    sim.kill("is killed");
    sim.crash("stops");
    assert_eq!(*seen.borrow(), b"aa");
    assert_eq!(
        sim.disk("is killed").read("/file").as_deref(),
        Some(&b"a"[..])
    );
    sim.bounce("stops");
    sim.step().unwrap();
}

#[test]
fn a_test_may_drop_what_a_host_has_mapped() {
    let mut sim = new_sim();
    let kept = Rc::new(RefCell::new(None));
    let put = kept.clone();
    sim.client("host", async move {
        let mut map = map_mut(&file_with("/file", &[b'a'; PAGE])?)?;
        map[0] = b'b';
        *put.borrow_mut() = Some(map);
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(fs::read("/file")?[..2], *b"ba");
        Ok(())
    });
    sim.step().unwrap();
    kept.borrow_mut().take().unwrap();
    sim.run().unwrap();
}

#[test]
fn faults_of_the_disk_are_those_of_a_flush() {
    let mut sim = new_sim();
    sim.client("host", async {
        let mut file = file_with("/file", &[b'a'; PAGE])?;
        let mut map = map_mut(&file)?;
        map[0] = b'b';
        tokio::time::sleep(Duration::from_secs(1)).await;
        let error = map.flush().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EIO));
        map.flush()?;
        // A hole has no room until it is written to.
        file.set_len(PAGE as u64 * 100)?;
        let mut map = map_mut(&file)?;
        tokio::time::sleep(Duration::from_secs(1)).await;
        map[50 * PAGE] = b'c';
        let error = map.flush().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOSPC));
        file.write_all(b"d")?;
        Ok(())
    });
    sim.step().unwrap();
    sim.disk("host").config().failing_syncs = 1;
    run_for(&mut sim, Duration::from_millis(1500));
    sim.disk("host").config().capacity = Some(0);
    sim.run().unwrap();
}

#[test]
fn large_maps_of_small_files_cost_little() {
    on_a_host(|| {
        let file = file_with("/file", b"small")?;
        // SAFETY: as in `map_mut`; what is past the end is not looked at.
        let mut map = unsafe { MmapOptions::new().len(1 << 36).map_mut(&file)? };
        map[0] = b'S';
        file.set_len(1 << 34)?;
        map[1 << 33] = b'x';
        map.flush()?;
        let mut byte = [0];
        file.read_exact_at(&mut byte, 1 << 33)?;
        assert_eq!(byte, *b"x");
        Ok(())
    });
}

/// Draws what a program does.
struct Choices(u64);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        // A linear congruential generator, whose upper bits are good enough.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Uses a file by calls and by maps at random. Returns what it has seen.
fn program(path: &Path, seed: u64) -> Vec<String> {
    let mut choices = Choices(seed);
    let file = open(path.to_str().unwrap()).unwrap();
    let mut shared: Vec<(usize, MmapMut)> = Vec::new();
    let mut private: Vec<(usize, MmapMut)> = Vec::new();
    let mut seen = Vec::new();
    for _ in 0..300 {
        let length = file.metadata().unwrap().len() as usize;
        let at = choices.below(40_000);
        let byte = choices.below(256) as u8;
        let all = [&mut shared, &mut private];
        seen.push(match choices.below(12) {
            0 | 1 => {
                let is_private = choices.below(3) == 0;
                let offset = choices.below(5) * PAGE;
                let size = 1 + choices.below(20_000);
                let mut options = MmapOptions::new();
                options.offset(offset as u64).len(size);
                // SAFETY: only what is in the file is looked at.
                let map = unsafe {
                    match is_private {
                        true => options.map_copy(&file),
                        false => options.map_mut(&file),
                    }
                };
                all[usize::from(is_private)].push((offset, map.unwrap()));
                format!("map {offset} {size} {is_private}")
            }
            2..=6 => {
                let maps = &mut *all[choices.below(2)];
                if maps.is_empty() {
                    continue;
                }
                let number = choices.below(maps.len());
                let (offset, map) = &mut maps[number];
                let inside = length.saturating_sub(*offset).min(map.len());
                if inside == 0 {
                    continue;
                }
                let place = choices.below(inside);
                let before = map[place];
                let sum: u64 = map[..inside].iter().map(|byte| u64::from(*byte)).sum();
                if choices.below(3) > 0 {
                    map[place] = byte;
                }
                format!("at {place} of {number}: {before}, {sum}")
            }
            7 => {
                let bytes = vec![byte; choices.below(6000)];
                format!("write {:?}", file.write_at(&bytes, at as u64).ok())
            }
            8 => {
                let mut bytes = vec![0; choices.below(20_000)];
                let read = file.read_at(&mut bytes, at as u64).unwrap();
                let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
                format!("read {read}: {sum}")
            }
            9 => {
                // What of a private map is left of a file that is cut is not the same everywhere.
                private.clear();
                file.set_len(at as u64).unwrap();
                format!("cut to {at}")
            }
            10 => {
                // A real disk takes its time.
                let waits = choices.below(20) == 0;
                for (_, map) in &shared {
                    match waits {
                        true => map.flush().unwrap(),
                        false => map.flush_async().unwrap(),
                    }
                }
                "flush".to_string()
            }
            _ => {
                let maps = &mut *all[choices.below(2)];
                if !maps.is_empty() {
                    let number = choices.below(maps.len());
                    maps.remove(number);
                }
                "unmap".to_string()
            }
        });
    }
    drop((shared, private));
    let read = fs::read(path).unwrap();
    let sum: u64 = read.iter().map(|byte| u64::from(*byte)).sum();
    seen.push(format!("{}: {sum}", read.len()));
    seen
}

#[test]
fn a_host_sees_what_a_real_system_shows() {
    let root = std::env::temp_dir().join(format!("tress-sim-maps-{}", std::process::id()));
    fs::create_dir(&root).unwrap();
    for seed in 0..60 {
        let real = program(&root.join(seed.to_string()), seed);
        on_a_host(move || {
            for (at, (seen, real)) in program(Path::new("/file"), seed)
                .into_iter()
                .zip(real)
                .enumerate()
            {
                assert_eq!(seen, real, "step {at} of seed {seed}");
            }
            Ok(())
        });
    }
    fs::remove_dir_all(&root).unwrap();
}
