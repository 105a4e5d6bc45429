//! The limit of descriptors.

use super::descriptors;
use std::fs::File;

/// A lower limit than before, which is put back at the end.
pub struct Limit(libc::rlimit);

impl Limit {
    /// Allows so many descriptors more than there are.
    pub fn to_more(more: usize) -> Limit {
        let old = get();
        set(&libc::rlimit {
            rlim_cur: (descriptors() + more) as libc::rlim_t,
            ..old
        });
        Limit(old)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        set(&self.0);
    }
}

/// Every descriptor there is, given back at the end.
pub struct Everything {
    files: Vec<File>,
    _limit: Limit,
}

impl Everything {
    pub fn take() -> Everything {
        let limit = Limit::to_more(8);
        let mut files = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            files.push(file);
        }
        Everything {
            files,
            _limit: limit,
        }
    }

    /// Gives so many back.
    pub fn give_back(&mut self, descriptors: usize) {
        self.files.truncate(self.files.len() - descriptors);
    }
}

/// Raises the limit as far as it goes, and says how many descriptors this process may still open.
pub fn raise() -> usize {
    let limit = get();
    set(&libc::rlimit {
        rlim_cur: limit.rlim_max,
        ..limit
    });
    usize::try_from(limit.rlim_max).unwrap_or(usize::MAX) - descriptors()
}

fn get() -> libc::rlimit {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: writes one `rlimit`.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    assert_eq!(result, 0);
    limit
}

fn set(limit: &libc::rlimit) {
    // SAFETY: reads one `rlimit`.
    let result = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, limit) };
    assert_eq!(result, 0);
}
