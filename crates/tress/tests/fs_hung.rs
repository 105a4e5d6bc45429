//! Files whose server does not answer (FUSE): whoever asks for one waits, and nobody else.
#![cfg(all(not(loom), target_os = "linux"))]

#[path = "fs_support/fuse.rs"]
mod fuse;
#[path = "fs_support/mod.rs"]
mod support;

use fuse::Fuse;
use std::future::{Future, poll_fn};
use std::io::{self, SeekFrom};
use std::path::PathBuf;
use std::pin::Pin;
use std::thread;
use support::Directory;
use tress::fs::{self, File};
use tress::io::{
    AsyncReadExt, AsyncReadOwned, AsyncSeek, AsyncSeekExt, AsyncWriteExt, AsyncWriteOwned,
};
use tress::runtime::Builder;

/// Has a task begin an operation when the server has fallen silent. The only worker must go on to see that
/// it waits, and to end it.
fn hangs_alone<F>(what: &str, operation: impl Fn(PathBuf, File) -> F + Sync)
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let directory = Directory::new();
    let test = || {
        let mut fuse = match Fuse::mount(directory.path()) {
            Ok(fuse) => fuse,
            Err(error) => return eprintln!("SKIPPED: no file system of our own: {error}"),
        };
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let path = fuse.file();
            let mut options = File::options();
            let file = options.read(true).write(true).open(&path).await.unwrap();
            let operation = operation(path, file);
            fuse.fall_silent();
            let hung = tress::spawn(operation);
            while fuse.unanswered() == 0 {
                tress::task::yield_now().await;
            }
            assert!(fuse.end(), "{what} has stopped the worker");
            hung.await.unwrap().expect_err(what);
        });
    };
    // Only that thread sees the file system.
    thread::scope(|scope| scope.spawn(test).join().unwrap());
}

#[test]
fn a_read_that_is_not_answered_stops_nobody_else() {
    hangs_alone("a read", |_, mut file| async move {
        file.read(&mut [0; 10]).await.map(drop)
    });
    hangs_alone("an owned read", |_, mut file| async move {
        file.read_owned(vec![0; 10]).await.0.map(drop)
    });
    hangs_alone("a read at a position", |_, file| async move {
        file.read_at(vec![0; 10], 5).await.0.map(drop)
    });
}

#[test]
fn a_write_that_is_not_answered_stops_nobody_else() {
    hangs_alone("an owned write", |_, mut file| async move {
        file.write_owned("contents").await.0.map(drop)
    });
    hangs_alone("a write at a position", |_, file| async move {
        file.write_at("contents", 5).await.0.map(drop)
    });
}

#[test]
fn a_file_that_is_not_answered_for_stops_nobody_else() {
    hangs_alone("sync_all", |_, file| async move { file.sync_all().await });
    hangs_alone("sync_data", |_, file| async move { file.sync_data().await });
    hangs_alone("set_len", |_, file| async move { file.set_len(7).await });
}

/// The kernel knows the name, so that it tries at once.
#[test]
fn an_open_that_is_not_answered_stops_nobody_else() {
    hangs_alone("opening", |path, _| async move {
        File::open(path).await.map(drop)
    });
    hangs_alone("opening to write", |path, _| async move {
        File::options().write(true).open(path).await.map(drop)
    });
    hangs_alone("creating", |path, _| async move {
        File::create(path).await.map(drop)
    });
}

#[test]
fn names_that_are_not_answered_for_stop_nobody_else() {
    hangs_alone("try_exists", |path, _| async move {
        let other = path.with_file_name("other");
        fs::try_exists(other).await.map(drop)
    });
    hangs_alone("metadata", |path, _| async move {
        let other = path.with_file_name("other");
        fs::metadata(other).await.map(drop)
    });
    hangs_alone("remove_file", |path, _| fs::remove_file(path));
    hangs_alone("remove_dir", |path, _| async move {
        fs::remove_dir(path.with_file_name("other")).await
    });
    hangs_alone("create_dir", |path, _| async move {
        fs::create_dir(path.with_file_name("other")).await
    });
    hangs_alone("rename", |path, _| async move {
        fs::rename(&path, path.with_file_name("other")).await
    });
    hangs_alone("hard_link", |path, _| async move {
        fs::hard_link(&path, path.with_file_name("other")).await
    });
    hangs_alone("symlink", |path, _| async move {
        fs::symlink("somewhere", path.with_file_name("other")).await
    });
}

/// The kernel has a lock for the position that both share.
#[test]
fn a_clone_that_is_not_answered_stops_nobody_else() {
    for operation in [
        "read",
        "owned read",
        "write",
        "owned write",
        "seek",
        "position",
    ] {
        let directory = Directory::new();
        let test = || {
            let mut fuse = match Fuse::mount(directory.path()) {
                Ok(fuse) => fuse,
                Err(error) => return eprintln!("SKIPPED: no file system of our own: {error}"),
            };
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut options = File::options();
                let file = options.read(true).write(true).open(fuse.file()).await;
                let mut file = file.unwrap();
                let mut clone = file.try_clone().await.unwrap();
                fuse.fall_silent();
                assert_eq!(file.write(b"x").await.unwrap(), 1);
                while fuse.unanswered() == 0 {
                    tress::task::yield_now().await;
                }
                let other = tress::spawn(async move {
                    match operation {
                        "read" => drop(clone.read(&mut [0; 10]).await),
                        "owned read" => drop(clone.read_owned(vec![0; 10]).await),
                        "write" => drop(clone.write(b"y").await),
                        "owned write" => drop(clone.write_owned("y").await),
                        "seek" => drop(clone.seek(SeekFrom::Start(7)).await),
                        _ => drop(poll_fn(|cx| Pin::new(&mut clone).poll_complete(cx)).await),
                    }
                });
                tress::task::yield_now().await;
                assert!(fuse.end(), "a clone's {operation} has stopped the worker");
                other.await.unwrap();
            });
        };
        thread::scope(|scope| scope.spawn(test).join().unwrap());
    }
}
