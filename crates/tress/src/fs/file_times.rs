#[cfg(target_vendor = "apple")]
use std::os::darwin::fs::FileTimesExt;
#[cfg(windows)]
use std::os::windows::fs::FileTimesExt;
use std::time::SystemTime;

/// The times that [`File::set_times`](super::File::set_times) sets.
///
/// Times that were not given stay as they are.
///
/// # Examples
/// ```
/// use std::time::SystemTime;
/// use tress::fs::{File, FileTimes};
///
/// # #[tress::main]
/// # async fn main() -> std::io::Result<()> {
/// # let path = std::env::temp_dir().join(format!("tress-doc-filetimes-{}", std::process::id()));
/// let now = SystemTime::now();
/// let file = File::create(&path).await?;
/// file.set_times(FileTimes::new().set_accessed(now).set_modified(now)).await?;
/// # tress::fs::remove_file(path).await
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "times change nothing until `File::set_times` gets them"]
pub struct FileTimes {
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
    #[cfg(any(windows, target_vendor = "apple"))]
    created: Option<SystemTime>,
}

impl FileTimes {
    /// Creates a `FileTimes` that changes nothing.
    pub fn new() -> FileTimes {
        FileTimes::default()
    }

    /// Sets the time of the last access.
    pub fn set_accessed(self, time: SystemTime) -> FileTimes {
        FileTimes {
            accessed: Some(time),
            ..self
        }
    }

    /// Sets the time of the last modification.
    pub fn set_modified(self, time: SystemTime) -> FileTimes {
        FileTimes {
            modified: Some(time),
            ..self
        }
    }

    /// Sets the time of the creation. Windows and Apple's systems only.
    #[cfg(any(windows, target_vendor = "apple"))]
    pub fn set_created(self, time: SystemTime) -> FileTimes {
        FileTimes {
            created: Some(time),
            ..self
        }
    }

    pub(super) fn into_std(self) -> std::fs::FileTimes {
        let mut times = std::fs::FileTimes::new();
        if let Some(time) = self.accessed {
            times = times.set_accessed(time);
        }
        if let Some(time) = self.modified {
            times = times.set_modified(time);
        }
        #[cfg(any(windows, target_vendor = "apple"))]
        if let Some(time) = self.created {
            times = times.set_created(time);
        }
        times
    }
}
