//! Files are really operations of the ring where there is one, and never where there is none.
#![cfg(all(not(loom), target_os = "linux"))]

mod fs_support;
mod net_support;

use fs_support::Directory;
use net_support::on_each_backend;
use std::future::{Future, poll_fn};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::task::Poll;
use tress::fs::{self, File};
use tress::io::AsyncReadExt;
use tress::runtime::{Builder, IoBackend};

#[test]
fn the_metrics_tell_which_way_files_go() {
    on_each_backend(|backend| {
        let directory = Directory::new();
        let rt = net_support::current_thread(backend);
        let operations = || rt.metrics().total_ring_operations();
        let path = directory.path().join("file");
        rt.block_on(async {
            let steps: [(&str, u64); 7] = [
                ("create", 0),
                ("sync", 1),
                ("link", 1),
                ("rename", 1),
                ("exists", 1),
                ("mkdir", 1),
                ("remove", 1),
            ];
            let mut file = None;
            for (step, count) in steps {
                let before = operations();
                let (other, third) = (path.with_extension("b"), path.with_extension("c"));
                match step {
                    "create" => file = Some(File::create(&path).await.unwrap()),
                    "sync" => file.as_ref().unwrap().sync_all().await.unwrap(),
                    "link" => fs::hard_link(&path, &other).await.unwrap(),
                    "rename" => fs::rename(&other, &third).await.unwrap(),
                    "exists" => assert!(fs::try_exists(&third).await.unwrap()),
                    "mkdir" => fs::create_dir(path.with_extension("d")).await.unwrap(),
                    "remove" => fs::remove_file(&third).await.unwrap(),
                    step => unreachable!("{step}"),
                }
                let expected = if backend == IoBackend::Uring {
                    count
                } else {
                    0
                };
                assert_eq!(operations() - before, expected, "{step}");
            }
        });
    });
}

#[test]
fn a_read_that_would_wait_is_an_operation() {
    on_each_backend(|backend| {
        let rt = net_support::current_thread(backend);
        rt.block_on(async {
            let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
            let mut file = File::from(OwnedFd::from(near));
            let before = rt.metrics().total_ring_operations();
            let mut late = [0; 4];
            let mut read = pin!(file.read(&mut late));
            // There is nothing yet.
            poll_fn(|cx| {
                assert!(read.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            far.write_all(b"late").unwrap();
            assert_eq!(read.await.unwrap(), 4);
            assert_eq!(&late, b"late");
            let done = rt.metrics().total_ring_operations() - before;
            assert_eq!(done, u64::from(backend == IoBackend::Uring));
        });
    });
}

/// The read that it left behind was not done, by the ring or by the pool: the next one is.
#[test]
fn a_file_outlives_the_runtime_that_it_was_read_in() {
    on_each_backend(|backend| {
        let mut builder = Builder::new_current_thread();
        builder.enable_all().io_backend(backend);
        let rt = builder.max_blocking_threads(1).build().unwrap();
        let (near, mut far) = std::io::pipe().unwrap();
        let mut file = File::from(OwnedFd::from(near));
        let (release, wait) = std::sync::mpsc::channel::<()>();
        rt.block_on(async {
            // The pool has no thread left, if it is the pool's.
            tress::task::spawn_blocking(move || wait.recv());
            let mut late = [0; 4];
            let mut read = pin!(file.read(&mut late));
            poll_fn(|cx| {
                assert!(read.as_mut().poll(cx).is_pending());
                Poll::Ready(())
            })
            .await;
            // The kernel is told.
            tress::task::yield_now().await;
        });
        rt.shutdown_background();
        drop(release);
        far.write_all(b"late").unwrap();
        let mut late = [0; 4];
        let read = net_support::current_thread(backend).block_on(file.read(&mut late));
        assert_eq!((read.unwrap(), &late), (4, b"late"));
    });
}
