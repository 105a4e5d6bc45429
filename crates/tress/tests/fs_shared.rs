//! Files that share a position: clones, and what the standard library has opened.
#![cfg(not(loom))]

mod fs_support;

use fs_support::{Directory, everywhere, runtimes};
use std::future::{Future, poll_fn};
use std::io::SeekFrom;
use std::pin::{Pin, pin};
use std::task::Poll;
use tress::fs::{self, File};
use tress::io::{
    AsyncReadExt, AsyncReadOwned, AsyncSeek, AsyncSeekExt, AsyncWriteExt, AsyncWriteOwned,
};
use tress::runtime::Builder;

const BLOCK: usize = 4096;
const BLOCKS: usize = 300;

/// Two handles of one file, in every way they can be come by.
async fn pairs(path: &std::path::Path) -> [[File; 2]; 2] {
    let mut options = File::options();
    let one = options.read(true).write(true).open(path).await.unwrap();
    let clone = one.try_clone().await.unwrap();
    let mut options = std::fs::OpenOptions::new();
    let std = options.read(true).write(true).open(path).unwrap();
    let duplicate = std.try_clone().unwrap();
    [[one, clone], [std.into(), duplicate.into()]]
}

/// What is in the page cache is not read by the operations that matter here.
#[cfg(target_os = "linux")]
fn leave_the_cache(file: &File) {
    use std::os::fd::AsRawFd;
    for advice in [libc::POSIX_FADV_RANDOM, libc::POSIX_FADV_DONTNEED] {
        // SAFETY: an open descriptor.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
    }
}

#[cfg(not(target_os = "linux"))]
fn leave_the_cache(_: &File) {}

#[test]
fn no_byte_is_read_twice() {
    for runtime in runtimes() {
        for owned in [false, true] {
            let directory = Directory::new();
            runtime.block_on(async {
                let path = directory.path().join("file");
                fs::write(&path, vec![1; BLOCK * BLOCKS]).await.unwrap();
                for pair in pairs(&path).await {
                    pair[0].sync_all().await.unwrap();
                    leave_the_cache(&pair[0]);
                    let reading = pair.map(|mut file| {
                        tress::spawn(async move {
                            let mut total = 0;
                            loop {
                                let read = if owned {
                                    file.read_owned(Vec::with_capacity(BLOCK)).await.0
                                } else {
                                    file.read(&mut [0; BLOCK]).await
                                };
                                match read.unwrap() {
                                    0 => return total,
                                    n => total += n,
                                }
                            }
                        })
                    });
                    let mut total = 0;
                    for reading in reading {
                        total += reading.await.unwrap();
                    }
                    assert_eq!(total, BLOCK * BLOCKS);
                }
            });
        }
    }
}

#[test]
fn nothing_is_written_over() {
    for runtime in runtimes() {
        for owned in [false, true] {
            let directory = Directory::new();
            runtime.block_on(async {
                let path = directory.path().join("file");
                fs::write(&path, "").await.unwrap();
                for pair in pairs(&path).await {
                    let writing = pair.map(|mut file| {
                        tress::spawn(async move {
                            for _ in 0..BLOCKS {
                                let block = vec![1; BLOCK];
                                if owned {
                                    file.write_all_owned(block).await.0.unwrap();
                                } else {
                                    file.write_all(&block).await.unwrap();
                                }
                            }
                            file.flush().await.unwrap();
                        })
                    });
                    for writing in writing {
                        writing.await.unwrap();
                    }
                    let length = fs::metadata(&path).await.unwrap().len();
                    assert_eq!(length, 2 * (BLOCK * BLOCKS) as u64);
                    fs::write(&path, "").await.unwrap();
                }
            });
        }
    }
}

/// A file that is not in the page cache: it would be the ring's, which does not take the position's lock.
#[cfg(target_os = "linux")]
#[test]
fn what_is_shared_is_not_for_the_ring() {
    for runtime in runtimes() {
        let operations = || runtime.metrics().total_ring_operations();
        runtime.block_on(async {
            let mut file = File::open("/proc/self/status").await.unwrap();
            let mut clone = file.try_clone().await.unwrap();
            let before = operations();
            let mut text = [0; 6];
            file.read_exact(&mut text).await.unwrap();
            assert_eq!(&text, b"Name:\t");
            clone.read_owned(vec![0; 6]).await.0.unwrap();
            clone.write_owned("x").await.0.unwrap_err();
            assert_eq!(operations(), before);
        });
    }
}

/// What a dropped read has read is kept here too.
#[test]
fn dropped_reads_lose_nothing() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        let contents: Vec<u8> = (0..=255).collect();
        fs::write(&path, &contents).await.unwrap();
        let mut file = File::from_std(std::fs::File::open(&path).unwrap());
        // From now on the pool reads.
        drop(file.try_clone().await.unwrap());
        let mut read: Vec<u8> = Vec::new();
        let mut dropped = 0;
        while read.len() < contents.len() {
            let polled = poll_fn(|cx| Poll::Ready(pin!(file.read_owned(vec![0; 3])).poll(cx)));
            match polled.await {
                Poll::Ready((n, buffer)) => read.extend(&buffer[..n.unwrap()]),
                Poll::Pending => dropped += 1,
            }
            let (n, buffer) = file.read_owned(vec![0; 2]).await;
            read.extend(&buffer[..n.unwrap()]);
        }
        assert_eq!(read, contents);
        assert_ne!(dropped, 0, "no read was dropped before its end");
    });
}

/// Reads from a position, and drops the read when it has begun and not ended.
async fn drop_a_read(file: &mut File, from: u64) {
    // From now on the pool reads.
    drop(file.try_clone().await.unwrap());
    loop {
        file.seek(SeekFrom::Start(from)).await.unwrap();
        let read = poll_fn(|cx| Poll::Ready(pin!(file.read(&mut [0; 4])).poll(cx)));
        if read.await.is_pending() {
            return;
        }
    }
}

/// What a dropped read has read is given back before anything else is done.
#[test]
fn the_position_is_where_the_reader_believes() {
    everywhere(|directory| async move {
        let path = directory.join("file");
        fs::write(&path, "0123456789").await.unwrap();
        let mut options = std::fs::OpenOptions::new();
        let std = options.read(true).write(true).open(&path).unwrap();
        let mut file = File::from_std(std);
        for step in 0..6 {
            drop_a_read(&mut file, 3).await;
            let at = match step {
                0 => poll_fn(|cx| Pin::new(&mut file).poll_complete(cx)).await,
                1 => file.stream_position().await,
                2 => file.seek(SeekFrom::Current(1)).await.map(|at| at - 1),
                3 => file.seek(SeekFrom::End(-2)).await.map(|at| at - 5),
                4 => {
                    file.write_all(b"3").await.unwrap();
                    file.stream_position().await.map(|at| at - 1)
                }
                _ => {
                    file.set_len(9).await.unwrap();
                    file.stream_position().await
                }
            };
            assert_eq!(at.unwrap(), 3, "step {step}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"012345678");
    });
}

#[test]
fn whoever_gets_the_file_finds_the_same_position() {
    use std::io::Seek;
    everywhere(|directory| async move {
        let path = directory.join("file");
        fs::write(&path, "0123456789").await.unwrap();
        let open = || File::from_std(std::fs::File::open(&path).unwrap());

        let mut file = open();
        drop_a_read(&mut file, 3).await;
        assert_eq!(file.into_std().await.stream_position().unwrap(), 3);

        let mut file = open();
        drop_a_read(&mut file, 3).await;
        let mut clone = file.try_clone().await.unwrap();
        assert_eq!(clone.stream_position().await.unwrap(), 3);

        let mut file = open();
        drop_a_read(&mut file, 3).await;
        // Waits for the read, and leaves what it has read.
        file.flush().await.unwrap();
        let mut std = loop {
            match file.try_into_std() {
                Ok(std) => break std,
                // The pool still has it.
                Err(busy) => file = busy,
            }
        };
        assert_eq!(std.stream_position().unwrap(), 3);
    });
}

/// What a dropped operation has left to the pool of a runtime that has ended is done again.
#[test]
fn the_end_of_another_runtime_is_not_heard_of() {
    let directory = Directory::new();
    let path = directory.path().join("file");
    for set_len in [false, true] {
        std::fs::write(&path, "0123456789").unwrap();
        let mut options = std::fs::OpenOptions::new();
        let std = options.read(true).write(true).open(&path).unwrap();
        let mut file = File::from_std(std);
        let runtime = || {
            let mut builder = Builder::new_current_thread();
            builder.max_blocking_threads(1).build().unwrap()
        };
        let ended = runtime();
        let (release, wait) = std::sync::mpsc::channel::<()>();
        ended.block_on(async {
            drop_a_read(&mut file, 3).await;
            file.flush().await.unwrap();
            // The pool has no thread left.
            tress::task::spawn_blocking(move || wait.recv());
            poll_fn(|cx| {
                assert!(if set_len {
                    pin!(file.set_len(5)).poll(cx).is_pending()
                } else {
                    Pin::new(&mut file).poll_complete(cx).is_pending()
                });
                Poll::Ready(())
            })
            .await;
        });
        ended.shutdown_background();
        drop(release);
        runtime().block_on(async {
            if set_len {
                file.set_len(5).await.unwrap();
            }
            assert_eq!(file.stream_position().await.unwrap(), 3);
        });
    }
}
