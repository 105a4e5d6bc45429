//! Files: the cursor's contract, positions, limits, and what dropped operations leave behind.
#![cfg(not(loom))]

mod fs_support;

use fs_support::{Directory, everywhere, runtimes};
use std::future::{Future, poll_fn};
#[cfg(unix)]
use std::io::ErrorKind;
use std::io::{IoSlice, SeekFrom};
use std::pin::pin;
use std::task::Poll;
#[cfg(target_os = "linux")]
use std::task::{Context, Waker};
use tress::fs::{self, File};
use tress::io::{AsyncReadExt, AsyncReadOwned, AsyncSeekExt, AsyncWriteExt, AsyncWriteOwned};

#[test]
fn what_is_written_is_read() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        let mut file = File::create_new(&path).await.unwrap();
        assert_eq!(
            file.write_vectored(&[IoSlice::new(b"hello "), IoSlice::new(b"world")])
                .await
                .unwrap(),
            11
        );
        file.write_all(b"!").await.unwrap();
        assert_eq!(file.stream_position().await.unwrap(), 12);
        file.rewind().await.unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello world!");
        assert_eq!(file.seek(SeekFrom::End(-6)).await.unwrap(), 6);
        assert_eq!(file.seek(SeekFrom::Current(-1)).await.unwrap(), 5);
        file.write_all(b"_").await.unwrap();
        file.set_len(8).await.unwrap();
        file.sync_all().await.unwrap();
        file.sync_data().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"hello_wo");
        assert_eq!(file.metadata().await.unwrap().len(), 8);
    });
}

#[test]
fn a_large_file_comes_back_whole() {
    everywhere(|directory| async move {
        let path = directory.join("large");
        let contents: Vec<u8> = (0..5_000_000_u32).map(|n| (n / 7) as u8).collect();
        let mut file = File::create(&path).await.unwrap();
        file.write_all(&contents).await.unwrap();
        file.flush().await.unwrap();
        assert!(fs::read(&path).await.unwrap() == contents);
    });
}

#[cfg(unix)]
#[test]
fn positions_are_independent() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        fs::write(&path, "0123456789").await.unwrap();
        let file = File::options().read(true).write(true).open(&path).await;
        let file = file.unwrap();
        let (written, _) = file.write_at("ab", 4).await;
        assert_eq!(written.unwrap(), 2);
        let (read, buffer) = file.read_at(Vec::with_capacity(4), 3).await;
        assert_eq!((read.unwrap(), &buffer[..]), (4, &b"3ab6"[..]));
        // At the end, behind it, with no room, and at the last position there is.
        for (offset, room) in [(10, 4), (1 << 40, 4), (0, 0), (i64::MAX as u64 - 1, 1)] {
            let (read, buffer) = file.read_at(Vec::with_capacity(room), offset).await;
            assert_eq!((read.unwrap(), buffer.len()), (0, 0), "{offset}");
        }
        for offset in [1 << 63, u64::MAX] {
            let (read, buffer) = file.read_at(b"kept".to_vec(), offset).await;
            assert_eq!(read.unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(buffer, b"kept");
            let (written, _) = file.write_at("x", offset).await;
            assert_eq!(written.unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        let (written, _) = file.write_at("", 100).await;
        assert_eq!(written.unwrap(), 0);
        assert_eq!(file.metadata().await.unwrap().len(), 10);
    });
}

/// As Linux has them.
#[cfg(target_os = "linux")]
#[test]
fn errors_at_the_edges() {
    everywhere(|directory| async move {
        let missing = directory.join("missing");
        let kind = |error: std::io::Error| error.kind();
        assert_eq!(
            File::open(&missing).await.map_err(kind).unwrap_err(),
            ErrorKind::NotFound
        );
        assert_eq!(
            fs::read(&missing).await.map_err(kind).unwrap_err(),
            ErrorKind::NotFound
        );
        assert_eq!(
            fs::read(&directory).await.map_err(kind).unwrap_err(),
            ErrorKind::IsADirectory
        );
        let mut folder = File::open(&directory).await.unwrap();
        assert_eq!(
            folder.read(&mut [0; 8]).await.map_err(kind).unwrap_err(),
            ErrorKind::IsADirectory
        );
        assert_eq!(
            File::open("nul\0byte").await.map_err(kind).unwrap_err(),
            ErrorKind::InvalidInput
        );
        assert_eq!(
            File::create(&directory).await.map_err(kind).unwrap_err(),
            ErrorKind::IsADirectory
        );
        // A file that may only be read says so at the latest when it is flushed.
        let path = directory.join("file");
        fs::write(&path, "abc").await.unwrap();
        let mut file = File::open(&path).await.unwrap();
        assert!(file.seek(SeekFrom::Current(-1)).await.is_err());
        let written = file.write(b"x").await;
        assert!(written.is_err() || file.flush().await.is_err());
        // And it is still a file.
        let mut text = String::new();
        file.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
        assert_eq!(file.read(&mut [0; 8]).await.unwrap(), 0);
        assert_eq!(file.read(&mut []).await.unwrap(), 0);
        assert_eq!(fs::read_to_string("/dev/null").await.unwrap(), "");
        assert!(fs::read_to_string("/proc/self/comm").await.is_ok());
    });
}

#[test]
fn short_reads_and_writes() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        let mut file = File::create_new(&path).await.unwrap();
        file.set_max_buf_size(3);
        assert_eq!(file.max_buf_size(), 3);
        assert_eq!(file.write(b"abcdef").await.unwrap(), 3);
        file.write_all(b"def").await.unwrap();
        file.rewind().await.unwrap();
        assert_eq!(file.read(&mut [0; 8]).await.unwrap(), 3);
        let mut clone = file.try_clone().await.unwrap();
        assert_eq!(clone.max_buf_size(), 3);
        let mut rest = Vec::new();
        clone.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"def");
    });
}

/// Each operation is dropped after one poll; whatever comes next finds the file as if it had not been.
#[test]
fn dropped_operations_lose_nothing() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        fs::write(&path, "0123456789").await.unwrap();
        let mut file = File::options()
            .read(true)
            .write(true)
            .open(&path)
            .await
            .unwrap();
        let mut expected = 0_u64;
        for round in 0..50 {
            let mut buffer = [0; 4];
            let done = poll_fn(|cx| Poll::Ready(pin!(file.read(&mut buffer)).poll(cx))).await;
            if let Poll::Ready(n) = done {
                expected += n.unwrap() as u64;
            }
            match round % 4 {
                0 => assert_eq!(file.stream_position().await.unwrap(), expected),
                1 => {
                    let n = file.read(&mut buffer).await.unwrap();
                    assert_eq!(buffer[..n], b"0123456789"[expected as usize..][..n]);
                    expected += n as u64;
                }
                2 => file.sync_data().await.unwrap(),
                _ => {
                    let at = expected as usize % 10;
                    file.seek(SeekFrom::Start(at as u64)).await.unwrap();
                    file.write_all(&b"0123456789"[at..=at]).await.unwrap();
                    expected = at as u64 + 1;
                }
            }
            if expected >= 10 {
                file.rewind().await.unwrap();
                expected = 0;
            }
        }
        file.flush().await.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"0123456789");
    });
}

#[test]
fn a_write_survives_the_file_and_the_runtime() {
    for runtime in runtimes() {
        let directory = Directory::new();
        let path = directory.path().join("file");
        runtime.block_on(async {
            let mut file = File::create(&path).await.unwrap();
            assert_eq!(file.write(&[7; 100_000]).await.unwrap(), 100_000);
        });
        drop(runtime);
        assert_eq!(std::fs::read(&path).unwrap(), [7; 100_000]);
    }
}

/// Futures dropped while the kernel or the pool is at work leave no descriptor behind.
#[cfg(target_os = "linux")]
#[test]
fn no_descriptor_is_left() {
    let directory = Directory::new();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![1; 100_000]).unwrap();
    let count = || {
        std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter(|entry| {
                let link = std::fs::read_link(entry.as_ref().unwrap().path());
                link.is_ok_and(|link| link.starts_with(directory.path()))
            })
            .count()
    };
    for runtime in runtimes() {
        runtime.block_on(async {
            for _ in 0..100 {
                let mut cx = Context::from_waker(Waker::noop());
                let _ = pin!(File::open(&path)).poll(&mut cx);
                let file = File::open(&path).await.unwrap();
                let _ = pin!(file.sync_all()).poll(&mut cx);
                let _ = pin!(file.read_at(vec![0; 4096], 0)).poll(&mut cx);
                let _ = pin!(file.metadata()).poll(&mut cx);
            }
        });
        drop(runtime);
        assert_eq!(count(), 0);
    }
}

#[test]
fn into_std_waits_and_try_into_std_does_not() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        let mut file = File::create(&path).await.unwrap();
        file.write_all(&[1; 1000]).await.unwrap();
        let std = file.into_std().await;
        assert_eq!(std.metadata().unwrap().len(), 1000);
        assert!(File::from_std(std).try_into_std().is_ok());
    });
}

/// A terminal in raw mode: its master, and what programs see.
#[cfg(target_os = "linux")]
fn terminal() -> (std::fs::File, std::fs::File) {
    use std::os::fd::FromRawFd;
    let (mut master, mut slave) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: room for two descriptors, which are nobody else's, and for the terminal's settings.
    unsafe {
        let opened = libc::openpty(
            &raw mut master,
            &raw mut slave,
            none,
            none.cast(),
            none.cast(),
        );
        assert_eq!(opened, 0);
        let mut settings: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(slave, &raw mut settings), 0);
        libc::cfmakeraw(&raw mut settings);
        assert_eq!(
            libc::tcsetattr(slave, libc::TCSANOW, &raw const settings),
            0
        );
        let file = |fd| std::fs::File::from_raw_fd(fd);
        (file(master), file(slave))
    }
}

/// What was read ahead from something without a position cannot be put back, so a write leaves it alone.
#[cfg(target_os = "linux")]
#[test]
fn a_write_keeps_what_a_terminal_was_read_from() {
    use std::io::{Read, Write};
    everywhere(|_| async move {
        for taken in [0, 4] {
            let (mut master, slave) = terminal();
            let mut file = File::from_std(slave);
            let mut buffer = [0; 100];
            assert!(
                poll_fn(|cx| Poll::Ready(pin!(file.read(&mut buffer)).poll(cx)))
                    .await
                    .is_pending()
            );
            master.write_all(b"0123456789").unwrap();
            assert_eq!(file.read(&mut buffer[..taken]).await.unwrap(), taken);
            assert_eq!(file.write(b"hello").await.unwrap(), 5);
            file.flush().await.unwrap();
            let mut heard = [0; 5];
            master.read_exact(&mut heard).unwrap();
            assert_eq!(&heard, b"hello");
            let n = file.read(&mut buffer).await.unwrap();
            assert_eq!(buffer[..n], b"0123456789"[taken..]);
        }
    });
}

/// A task that does nothing else must not keep the others from running: it returns to the scheduler.
#[test]
fn operations_that_need_not_wait_use_the_budget() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        fs::write(&path, "x").await.unwrap();
        let mut options = File::options();
        let mut file = options.read(true).write(true).open(&path).await.unwrap();
        for operation in 0..4 {
            let mut many = pin!(async {
                for _ in 0..1000 {
                    match operation {
                        0 => drop(file.read_owned(vec![0]).await.0.unwrap()),
                        1 => drop(file.write_owned("x").await.0.unwrap()),
                        #[cfg(unix)]
                        2 => drop(file.read_at(vec![0], 0).await.0.unwrap()),
                        #[cfg(unix)]
                        3 => drop(file.write_at("x", 0).await.0.unwrap()),
                        _ => tress::task::yield_now().await,
                    }
                }
            });
            let first = poll_fn(|cx| Poll::Ready(many.as_mut().poll(cx))).await;
            assert!(first.is_pending(), "operation {operation}");
            many.await;
        }
    });
}

#[test]
fn a_write_comes_after_a_set_len_that_was_dropped() {
    for runtime in runtimes() {
        for _ in 0..50 {
            let directory = Directory::new();
            let path = directory.path().join("file");
            std::fs::write(&path, vec![b'a'; 1 << 20]).unwrap();
            runtime.block_on(async {
                let mut file = File::options().write(true).open(&path).await.unwrap();
                let _ = poll_fn(|cx| Poll::Ready(pin!(file.set_len(0)).poll(cx))).await;
                file.write_all(b"bbbb").await.unwrap();
                file.flush().await.unwrap();
            });
            assert_eq!(std::fs::read(&path).unwrap()[..4], *b"bbbb");
        }
    }
}
