//! Files whose operations fail after they were dropped, or that want their memory in a certain place.

use super::{once, runtimes, soon};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io::{self, IoSlice, SeekFrom};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::mpsc;
use tress::fs::File;
use tress::io::{
    AsyncReadExt, AsyncReadOwned, AsyncSeek, AsyncSeekExt, AsyncWrite, AsyncWriteExt,
    AsyncWriteOwned, BufReader, BufStream, BufWriter, Buffer, BufferMut,
};
use tress::runtime::Builder;

/// A file of its own for a test, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, contents: &[u8]) -> Scratch {
        let name = format!("tress-adversary-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, contents).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Drops a seek to before the start while it is under way, and then seeks to where there is something.
async fn seeks_after_one_that_was_dropped(mut file: impl AsyncSeek + Unpin) {
    for round in 0..3 {
        // The only thread for it is busy until after the seek was dropped.
        let (release, held) = mpsc::channel::<()>();
        let busy = tress::task::spawn_blocking(move || held.recv());
        assert!(once(file.seek(SeekFrom::End(-1000))).await.is_none());
        drop(release);
        assert!(busy.await.unwrap().is_err());
        let at = match round {
            0 => soon(file.seek(SeekFrom::Start(2))).await.unwrap(),
            1 => soon(file.stream_position()).await.unwrap(),
            _ => soon(file.seek(SeekFrom::End(-8))).await.unwrap(),
        };
        assert_eq!(at, 2);
        // An error of one's own is returned.
        let refused = soon(file.seek(SeekFrom::End(-1000))).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(soon(file.stream_position()).await.unwrap(), 2);
    }
}

#[test]
fn the_error_of_a_dropped_seek_is_not_the_next_ones() {
    let scratch = Scratch::new("seek", b"0123456789");
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).enable_all().build();
    runtime.unwrap().block_on(async {
        let open = || async {
            let mut options = File::options();
            options
                .read(true)
                .write(true)
                .open(&scratch.0)
                .await
                .unwrap()
        };
        seeks_after_one_that_was_dropped(open().await).await;
        seeks_after_one_that_was_dropped(Box::pin(open().await)).await;
        seeks_after_one_that_was_dropped(Box::new(&mut open().await)).await;
        seeks_after_one_that_was_dropped(BufReader::new(open().await)).await;
        seeks_after_one_that_was_dropped(BufWriter::new(open().await)).await;
        seeks_after_one_that_was_dropped(BufStream::new(open().await)).await;
    });
}

/// What a buffer has read ahead stays valid if a dropped seek has failed, and does not if it has moved the source.
#[test]
fn a_buffer_knows_whether_a_dropped_seek_has_moved() {
    let scratch = Scratch::new("ahead", b"0123456789");
    let mut builder = Builder::new_current_thread();
    let runtime = builder.max_blocking_threads(1).enable_all().build();
    runtime.unwrap().block_on(async {
        for (to, position, next) in [
            (SeekFrom::End(-1000), 1, b'1'),
            (SeekFrom::End(-3), 7, b'7'),
        ] {
            let mut reader = BufReader::new(File::open(&scratch.0).await.unwrap());
            assert_eq!(reader.read_u8().await.unwrap(), b'0');
            let (release, held) = mpsc::channel::<()>();
            let busy = tress::task::spawn_blocking(move || held.recv());
            assert!(once(reader.seek(to)).await.is_none());
            drop(release);
            assert!(busy.await.unwrap().is_err());
            assert_eq!(soon(reader.stream_position()).await.unwrap(), position);
            assert_eq!(reader.read_u8().await.unwrap(), next);
        }
    });
}

/// Pages of memory, as direct input and output wants them.
struct Pages(*mut u8, Layout);

impl Pages {
    fn new(count: usize, byte: u8) -> Pages {
        let layout = Layout::from_size_align(count * 4096, 4096).unwrap();
        // SAFETY: not empty.
        let pointer = unsafe { alloc_zeroed(layout) };
        assert!(!pointer.is_null());
        let mut pages = Pages(pointer, layout);
        pages.fill(byte);
        pages
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.0, self.1) };
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: so many, and all of them were zeros or more.
        unsafe { std::slice::from_raw_parts(self.0, self.1.size()) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.0, self.1.size()) }
    }
}

// SAFETY: nobody else has the pages.
unsafe impl Send for Pages {}

// SAFETY: the pages do not move, and all of them are filled.
unsafe impl Buffer for Pages {
    fn pointer(&self) -> *const u8 {
        self.0
    }

    fn filled(&self) -> usize {
        self.1.size()
    }
}

// SAFETY: as above.
unsafe impl BufferMut for Pages {
    fn pointer_mut(&mut self) -> *mut u8 {
        self.0
    }

    fn room(&self) -> usize {
        self.1.size()
    }

    unsafe fn set_filled(&mut self, _: usize) {}
}

/// A write past the page cache moves the position as another does, also if the file is open for appending.
#[test]
fn direct_writes_of_owned_buffers_follow_each_other() {
    for runtime in runtimes() {
        for append in [false, true] {
            let scratch = Scratch::new("follow", &[3; 4 * 4096]);
            let mut options = File::options();
            options.read(true).write(!append).append(append);
            options.custom_flags(libc::O_DIRECT);
            runtime.block_on(async {
                let mut file = match options.open(&scratch.0).await {
                    Ok(file) => file,
                    Err(error) => {
                        eprintln!("SKIPPED: no direct input and output here: {error}");
                        return;
                    }
                };
                let mut position = if append { 4 * 4096 } else { 0 };
                // Now that its blocks are found, writing to them ends by itself.
                file.sync_all().await.unwrap();
                for byte in 0..4 {
                    let (written, _) = file.write_owned(Pages::new(1, byte)).await;
                    assert_eq!(written.unwrap(), 4096);
                    position += 4096;
                    assert_eq!(file.stream_position().await.unwrap(), position);
                }
                let written = &std::fs::read(&scratch.0).unwrap()[position as usize - 4 * 4096..];
                let found: Vec<u8> = written.chunks(4096).map(|page| page[0]).collect();
                assert_eq!(found, [0, 1, 2, 3]);
                file.seek(SeekFrom::Start(position - 8192)).await.unwrap();
                for byte in [2, 3] {
                    let (read, page) = file.read_owned(Pages::new(1, 9)).await;
                    assert!(read.unwrap() == 4096 && page[..] == [byte; 4096]);
                }
            });
        }
    }
}

/// An aligned buffer of aligned length is read and written past the page cache, wherever the file is and whoever shares it.
#[test]
fn direct_input_and_output_through_the_traits() {
    let (mut ones, mut sixes) = (Pages::new(1, 1), Pages::new(1, 6));
    for runtime in runtimes() {
        let scratch = Scratch::new("direct", &[3; 5 * 4096]);
        let open = || {
            let mut options = std::fs::OpenOptions::new();
            options.read(true).write(true).custom_flags(libc::O_DIRECT);
            options.open(&scratch.0)
        };
        if let Err(error) = open() {
            eprintln!("SKIPPED: no direct input and output here: {error}");
            return;
        }
        runtime.block_on(async {
            let opened = {
                let mut options = File::options();
                options.read(true).write(true).custom_flags(libc::O_DIRECT);
                options.open(&scratch.0).await.unwrap()
            };
            let cloned = File::from_std(open().unwrap());
            let _clone = cloned.try_clone().await.unwrap();
            for mut file in [opened, File::from_std(open().unwrap()), cloned] {
                std::fs::write(&scratch.0, [3; 5 * 4096]).unwrap();
                let mut page = Pages::new(1, 0);
                // Read the first, write the second, both at once into the third and fourth.
                assert_eq!(file.read(&mut page).await.unwrap(), 4096);
                assert!(page.iter().all(|&byte| byte == 3));
                assert_eq!(file.write(&ones).await.unwrap(), 4096);
                file.flush().await.unwrap();
                let pieces = [IoSlice::new(&ones), IoSlice::new(&sixes)];
                let written =
                    std::future::poll_fn(|cx| Pin::new(&mut file).poll_write_vectored(cx, &pieces));
                assert_eq!(written.await.unwrap(), 2 * 4096);
                file.flush().await.unwrap();
                assert_eq!(file.stream_position().await.unwrap(), 4 * 4096);
                file.seek(SeekFrom::Start(4096)).await.unwrap();
                for byte in [1, 1, 6, 3] {
                    file.read_exact(&mut page).await.unwrap();
                    assert!(page.iter().all(|&found| found == byte));
                }
                assert_eq!(file.read(&mut page).await.unwrap(), 0);

                // A read that was dropped is returned by the next one, or the position goes back.
                file.rewind().await.unwrap();
                let _ = once(file.read(&mut page)).await;
                file.seek(SeekFrom::Start(4096)).await.unwrap();
                file.read_exact(&mut page).await.unwrap();
                assert!(page.iter().all(|&found| found == 1));
            }
        });
    }
    ones.fill(0);
    sixes.fill(0);
}
