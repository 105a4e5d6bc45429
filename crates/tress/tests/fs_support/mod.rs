//! A runtime of each kind and backend, and a directory that is gone afterwards.
#![allow(dead_code)]

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use tress::runtime::{Builder, IoBackend, Runtime};

/// Runs it on both schedulers with io_uring where it can be had, with readiness, and without I/O.
pub fn everywhere<F: Future<Output = ()>>(test: impl Fn(PathBuf) -> F) {
    for runtime in runtimes() {
        let directory = Directory::new();
        runtime.block_on(test(directory.0.clone()));
    }
}

pub fn runtimes() -> impl Iterator<Item = Runtime> {
    let backends = [Some(IoBackend::Auto), Some(IoBackend::Readiness), None];
    backends.into_iter().flat_map(|backend| {
        [Builder::new_current_thread(), Builder::new_multi_thread()].map(|mut builder| {
            builder.enable_time();
            if let Some(backend) = backend {
                builder.enable_io().io_backend(backend);
            }
            builder.build().unwrap()
        })
    })
}

pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tress-fs-{}-{n}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}
