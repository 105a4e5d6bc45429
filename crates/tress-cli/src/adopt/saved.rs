//! A file that is put back as it was.

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) path: PathBuf,
    /// `None` if there was none.
    pub(crate) text: Option<String>,
    /// In nanoseconds since the epoch: cargo builds anew what is newer.
    modified: Option<u64>,
}

impl Saved {
    /// Reads a file; none at all is a state, too.
    ///
    /// # Errors
    /// Any error of reading it.
    pub(crate) fn of(path: &Path) -> io::Result<Saved> {
        // A link stays a link.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let text = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let modified = fs::metadata(&path).and_then(|data| data.modified()).ok();
        Ok(Saved {
            path,
            text,
            modified: modified
                .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
                .and_then(|since| u64::try_from(since.as_nanos()).ok()),
        })
    }

    /// Makes the file what it was, if it is not.
    ///
    /// # Errors
    /// Any error of writing or removing it.
    pub(crate) fn restore(&self) -> io::Result<()> {
        let current = fs::read_to_string(&self.path).ok();
        match &self.text {
            text if *text == current => Ok(()),
            None => fs::remove_file(&self.path),
            Some(text) => {
                replace(&self.path, text)?;
                if let Some(nanos) = self.modified {
                    let time = UNIX_EPOCH + Duration::from_nanos(nanos);
                    // Only a convenience: what depends on the time is built once more without it.
                    let _ = File::options()
                        .write(true)
                        .open(&self.path)
                        .and_then(|file| file.set_modified(time));
                }
                Ok(())
            }
        }
    }

    /// Returns the text that the file has now.
    pub(crate) fn current(&self) -> Option<String> {
        fs::read_to_string(&self.path).ok()
    }
}

/// Writes a file as a whole or not at all.
///
/// # Errors
/// Any error of writing or renaming it.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let next = path.with_file_name(format!(".{name}.tress-adopt"));
    let mut file = File::create(&next)?;
    file.write_all(text.as_bytes())?;
    if let Ok(data) = fs::metadata(path) {
        file.set_permissions(data.permissions())?;
    }
    file.sync_all()?;
    drop(file);
    fs::rename(&next, path)
}

/// Removes a file, if it is there.
///
/// # Errors
/// Any error of removing it.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::scratch::Scratch;

    #[test]
    fn text_and_time_come_back() {
        let scratch = Scratch::new();
        let path = scratch.write("Cargo.toml", "old");
        let then = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(then)
            .unwrap();
        let saved = Saved::of(&path).unwrap();
        replace(&path, "new").unwrap();
        assert_eq!(saved.current().as_deref(), Some("new"));
        saved.restore().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), then);
        assert_eq!(
            fs::read_dir(scratch.path()).unwrap().count(),
            1,
            "nothing else is left"
        );
    }

    #[test]
    fn what_was_not_there_goes() {
        let scratch = Scratch::new();
        let path = scratch.path().join("Cargo.lock");
        let saved = Saved::of(&path).unwrap();
        saved.restore().unwrap();
        fs::write(&path, "made").unwrap();
        saved.restore().unwrap();
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new();
        let real = scratch.write("real.toml", "old");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        let link = scratch.path().join("Cargo.toml");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let saved = Saved::of(&link).unwrap();
        replace(&saved.path, "new").unwrap();
        assert_eq!(fs::read_to_string(&link).unwrap(), "new");
        saved.restore().unwrap();
        assert!(link.is_symlink());
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o640
        );
    }
}
