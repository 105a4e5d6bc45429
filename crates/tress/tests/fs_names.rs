//! Names and directories.
#![cfg(not(loom))]

mod fs_support;

use fs_support::everywhere;
use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::pin::pin;
use std::task::Poll;
use tress::fs;

#[test]
fn names_come_and_go() {
    everywhere(|base| async move {
        let (one, two) = (base.join("one"), base.join("two"));
        fs::write(&one, "1").await.unwrap();
        fs::hard_link(&one, &two).await.unwrap();
        fs::rename(&one, base.join("uno")).await.unwrap();
        assert!(!fs::try_exists(&one).await.unwrap());
        assert!(fs::try_exists(&two).await.unwrap());
        for name in [&two, &base.join("uno")] {
            fs::remove_file(name).await.unwrap();
        }
        let error = fs::remove_file(&two).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    });
}

#[test]
fn a_copy_says_how_much_it_is() {
    everywhere(|base| async move {
        let (one, two) = (base.join("one"), base.join("two"));
        fs::write(&one, "123").await.unwrap();
        assert_eq!(fs::copy(&one, &two).await.unwrap(), 3);
        assert_eq!(fs::read(&two).await.unwrap(), b"123");
    });
}

/// On Windows making one takes a privilege.
#[cfg(unix)]
#[test]
fn symbolic_links_lead_to_names() {
    everywhere(|base| async move {
        let (one, link) = (base.join("one"), base.join("link"));
        fs::write(&one, "1").await.unwrap();
        fs::symlink("one", &link).await.unwrap();
        assert_eq!(fs::read_link(&link).await.unwrap().to_str(), Some("one"));
        assert_eq!(fs::read_to_string(&link).await.unwrap(), "1");
        assert!(fs::symlink_metadata(&link).await.unwrap().is_symlink());
        assert!(fs::metadata(&link).await.unwrap().is_file());
        assert_eq!(
            fs::canonicalize(&link).await.unwrap(),
            fs::canonicalize(&one).await.unwrap()
        );
        fs::remove_file(&one).await.unwrap();
        // It leads nowhere now.
        assert!(!fs::try_exists(&link).await.unwrap());
        fs::remove_file(&link).await.unwrap();
    });
}

/// Windows has other words for them.
#[cfg(unix)]
#[test]
fn errors_are_those_of_the_system() {
    everywhere(|base| async move {
        let (file, missing) = (base.join("file"), base.join("missing"));
        fs::write(&file, "").await.unwrap();
        let kind = |result: std::io::Result<()>| result.unwrap_err().kind();
        assert_eq!(kind(fs::create_dir(&base).await), ErrorKind::AlreadyExists);
        assert_eq!(
            kind(fs::create_dir(missing.join("x")).await),
            ErrorKind::NotFound
        );
        assert_eq!(
            kind(fs::remove_dir(&base).await),
            ErrorKind::DirectoryNotEmpty
        );
        assert_eq!(kind(fs::remove_dir(&file).await), ErrorKind::NotADirectory);
        assert_eq!(kind(fs::remove_file(&base).await), ErrorKind::IsADirectory);
        assert_eq!(kind(fs::rename(&missing, &file).await), ErrorKind::NotFound);
        assert_eq!(
            kind(fs::hard_link(&missing, base.join("x")).await),
            ErrorKind::NotFound
        );
        assert_eq!(
            kind(fs::hard_link(&file, &file).await),
            ErrorKind::AlreadyExists
        );
        assert_eq!(
            kind(fs::symlink("x", &file).await),
            ErrorKind::AlreadyExists
        );
        assert_eq!(kind(fs::remove_file("a\0b").await), ErrorKind::InvalidInput);
        let inside = fs::try_exists(file.join("x")).await;
        assert_eq!(inside.unwrap_err().kind(), ErrorKind::NotADirectory);
        assert_eq!(
            fs::read_dir(&file).await.unwrap_err().kind(),
            ErrorKind::NotADirectory
        );
    });
}

#[cfg(unix)]
#[test]
fn directories_have_their_mode() {
    use std::os::unix::fs::PermissionsExt;
    everywhere(|base| async move {
        for (name, recursive) in [("plain", false), ("deep/er", true)] {
            let path = base.join(name);
            let mut builder = fs::DirBuilder::new();
            builder.recursive(recursive).mode(0o700);
            builder.create(&path).await.unwrap();
            let mode = fs::metadata(&path).await.unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    });
}

/// More entries than fit in a batch, with every wait for them dropped once.
#[test]
fn every_entry_is_listed_once() {
    everywhere(|base| async move {
        for count in [0, 1, 63, 64, 65, 200] {
            let directory = base.join(count.to_string());
            fs::create_dir(&directory).await.unwrap();
            let names: BTreeSet<String> = (0..count).map(|n| n.to_string()).collect();
            for name in &names {
                std::fs::write(directory.join(name), "").unwrap();
            }
            let mut entries = fs::read_dir(&directory).await.unwrap();
            let mut found = BTreeSet::new();
            loop {
                let once = poll_fn(|cx| Poll::Ready(pin!(entries.next_entry()).poll(cx))).await;
                let entry = match once {
                    Poll::Ready(entry) => entry.unwrap(),
                    Poll::Pending => entries.next_entry().await.unwrap(),
                };
                let Some(entry) = entry else { break };
                assert!(entry.file_type().await.unwrap().is_file());
                assert_eq!(entry.path(), directory.join(entry.file_name()));
                assert!(found.insert(entry.file_name().into_string().unwrap()));
            }
            assert_eq!(found, names);
            assert!(entries.next_entry().await.unwrap().is_none());
        }
    });
}

/// Nobody drives the runtime: what needs no driver must not wait for one.
#[test]
fn a_handle_of_an_undriven_runtime_is_enough() {
    let rt = tress::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let directory = std::env::temp_dir().join(format!("tress-undriven-{}", std::process::id()));
    rt.handle().block_on(async {
        fs::create_dir(&directory).await.unwrap();
        let path = directory.join("file");
        fs::write(&path, "abc").await.unwrap();
        assert_eq!(fs::read(&path).await.unwrap(), b"abc");
        assert!(fs::try_exists(&path).await.unwrap());
        fs::remove_dir_all(&directory).await.unwrap();
    });
}
