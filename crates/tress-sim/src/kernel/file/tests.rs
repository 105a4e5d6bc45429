use super::*;
use crate::kernel;
use crate::{Builder, Result};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Runs a program on a host of its own.
fn on_a_host(program: impl FnOnce() -> Result + 'static) {
    // What programs have in statics, simulations that run at the same time share.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut sim = Builder::new().build();
    sim.client("host", async { program() });
    sim.run().unwrap();
}

/// Changes the disk of the host that this is called on.
fn configure(change: impl FnOnce(&mut DiskConfig)) {
    let mut kernel = kernel::here().unwrap();
    let (_, host) = kernel.running();
    change(&mut kernel.disks[host.0].config);
}

#[test]
fn programs_see_faults() {
    on_a_host(|| {
        let mut file = File::create("/tmp/file")?;
        configure(|config| {
            (
                config.failing_writes,
                config.failing_reads,
                config.failing_syncs,
            ) = (1, 1, 1);
        });
        assert_eq!(
            file.write(b"text").unwrap_err().raw_os_error(),
            Some(libc::EIO)
        );
        file.write_all(b"text")?;
        assert_eq!(
            fs::read("/tmp/file").unwrap_err().raw_os_error(),
            Some(libc::EIO)
        );
        assert_eq!(fs::read("/tmp/file")?, b"text");
        assert_eq!(file.sync_all().unwrap_err().raw_os_error(), Some(libc::EIO));
        file.sync_all()?;
        configure(|config| config.capacity = Some(0));
        assert_eq!(
            fs::write("/tmp/other", "text").unwrap_err().kind(),
            ErrorKind::StorageFull
        );
        Ok(())
    });
}

#[test]
fn short_operations_are_repeated() {
    on_a_host(|| {
        configure(|config| (config.short_read, config.short_write) = (0.9, 0.9));
        let bytes: Vec<u8> = (0..10_000).map(|n| n as u8).collect();
        fs::write("/tmp/file", &bytes)?;
        assert_eq!(fs::read("/tmp/file")?, bytes);
        let read = File::open("/tmp/file")?.read(&mut [0; 10_000])?;
        assert!(read < 10_000, "{read}");
        Ok(())
    });
}

#[test]
fn a_stall_takes_seconds() {
    on_a_host(|| {
        fs::write("/tmp/file", "text")?;
        configure(|config| config.stall = 1.0);
        let start = Instant::now();
        File::open("/tmp/file")?.read_exact(&mut [0; 4])?;
        assert!(start.elapsed() >= Duration::from_secs(1));
        Ok(())
    });
}

#[test]
fn what_would_have_to_wait_is_refused_on_demand() {
    on_a_host(|| {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open("/tmp/file")?;
        file.write_all(b"text")?;
        let no_wait = || {
            let mut bytes = [0; 4];
            let part = libc::iovec {
                iov_base: bytes.as_mut_ptr().cast(),
                iov_len: 4,
            };
            // SAFETY: the vector has room for as much as it says.
            let read = unsafe { libc::preadv2(file.as_raw_fd(), &part, 1, 0, libc::RWF_NOWAIT) };
            if read < 0 {
                Err(std::io::Error::last_os_error().kind())
            } else {
                Ok(bytes)
            }
        };
        assert_eq!(no_wait(), Ok(*b"text"));
        file.sync_all()?;
        // SAFETY: the descriptor is open.
        let forgotten =
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
        assert_eq!(forgotten, 0);
        assert_eq!(no_wait(), Err(ErrorKind::WouldBlock));
        let start = Instant::now();
        assert_eq!(fs::read("/tmp/file")?, b"text");
        assert!(start.elapsed() >= Duration::from_micros(50));
        assert_eq!(no_wait(), Ok(*b"text"));
        Ok(())
    });
}

#[test]
fn ranges_are_locked_for_open_files() {
    on_a_host(|| {
        let open = || {
            OpenOptions::new()
                .create(true)
                .append(true)
                .read(true)
                .open("/tmp/file")
        };
        let (first, second) = (open()?, open()?);
        let lock = |file: &File, command, kind: c_int, start, length| {
            // SAFETY: zeros are valid.
            let mut lock: libc::flock = unsafe { std::mem::zeroed() };
            (lock.l_type, lock.l_start, lock.l_len) = (kind as _, start, length);
            // SAFETY: the descriptor is open, and the command is about a lock.
            let result = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
            (result == 0).then_some((c_int::from(lock.l_type), lock.l_start, lock.l_len))
        };
        let set = libc::F_OFD_SETLK;
        assert!(lock(&first, set, libc::F_WRLCK, 10, 10).is_some());
        assert!(lock(&second, set, libc::F_RDLCK, 15, 1).is_none());
        assert!(lock(&second, set, libc::F_RDLCK, 20, 0).is_some());
        let found = lock(&second, libc::F_OFD_GETLK, libc::F_WRLCK, 0, 0);
        assert_eq!(found, Some((libc::F_WRLCK, 10, 10)));
        assert!(lock(&first, set, libc::F_UNLCK, 14, 2).is_some());
        assert!(lock(&second, set, libc::F_WRLCK, 14, 2).is_some());
        assert!(lock(&second, set, libc::F_WRLCK, 16, 1).is_none());
        // Those of a program do not know these.
        assert!(lock(&second, libc::F_SETLK, libc::F_WRLCK, 0, 0).is_some());
        Ok(())
    });
}

#[test]
fn entries_are_read_by_the_system_call() {
    on_a_host(|| {
        for n in 0..100 {
            fs::write(format!("/tmp/{n}"), "")?;
        }
        let directory = File::open("/tmp")?;
        let mut found = 0;
        loop {
            let mut room = [0_u64; 64];
            let size = size_of_val(&room);
            let fd = directory.as_raw_fd();
            // SAFETY: there is as much room as it says.
            let used = unsafe { libc::syscall(libc::SYS_getdents64, fd, room.as_mut_ptr(), size) };
            assert!(used >= 0);
            if used == 0 {
                break;
            }
            let mut at = 0;
            while at < used as usize / 8 {
                found += 1;
                // The size of an entry is at its 16th byte.
                at += (room[at + 2] & 0xffff) as usize / 8;
            }
        }
        assert_eq!(found, 102);
        Ok(())
    });
}

#[test]
fn real_files_that_are_allowed_can_be_read() {
    let directory = std::env::temp_dir().join(format!("tress-sim-allowed-{}", std::process::id()));
    fs::create_dir(&directory).unwrap();
    let path = directory.join("file");
    fs::write(&path, "real").unwrap();
    let (allowed, inside) = (directory.clone(), path.clone());
    on_a_host(move || {
        assert!(fs::read(&inside).is_err());
        kernel::here().unwrap().real_paths.push(allowed.clone());
        assert_eq!(fs::read(&inside)?, b"real");
        assert_eq!(fs::read_dir(&allowed)?.count(), 1);
        assert_eq!(fs::metadata(&inside)?.len(), 4);
        assert!(fs::write(&inside, "changed").is_err());
        assert!(fs::remove_file(&inside).is_err());
        Ok(())
    });
    assert_eq!(fs::read(&path).unwrap(), b"real");
    fs::remove_dir_all(&directory).unwrap();
}
