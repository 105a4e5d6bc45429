//! How a path leads to an inode.

use super::Disk;
use super::inode::{InodeId, Node, ROOT};
use crate::kernel::Errno;

/// The longest name, and the longest path, in bytes.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4095;
/// Number of symbolic links that one path may follow.
const MOST_LINKS: usize = 40;

/// What is done with a symbolic link at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtEnd {
    /// It is followed.
    Follow,
    /// It is meant itself, unless a slash follows it.
    Stay,
    /// It is followed, unless a slash follows it: a file cannot be made there.
    Create,
    /// The name is meant, whatever it refers to.
    Name,
}

/// What the last part of a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Last {
    Name,
    /// `.`
    Same,
    /// `..`
    Parent,
    Root,
}

/// Where a path ends.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory, and the name in it. The name of the root is empty, and that of what `.` or `..` leads to as well.
    pub(super) directory: InodeId,
    pub(super) name: Vec<u8>,
    pub(super) last: Last,
    /// What is there, if something is.
    pub(super) inode: Option<InodeId>,
    /// The path says that it is a directory, by a slash at its end.
    pub(super) must_be_directory: bool,
}

impl Disk {
    /// Follows a path from a directory.
    ///
    /// # Errors
    /// - `ENOENT`: there is no such directory. That the last name does not exist is no error.
    /// - `ENOTDIR`, `ELOOP` and `ENAMETOOLONG`.
    pub(super) fn find(&self, base: InodeId, path: &[u8], at_end: AtEnd) -> Result<Place, Errno> {
        if path.is_empty() {
            return Err(libc::ENOENT);
        }
        if path.len() > LONGEST_PATH {
            return Err(libc::ENAMETOOLONG);
        }
        let mut links = 0;
        let mut last = Last::Root;
        let mut at = base;
        // What is still to be followed, the next part last.
        let mut rest: Vec<Vec<u8>> = Vec::new();
        let mut must_be_directory = false;
        push(&mut rest, path, &mut at, &mut must_be_directory);
        loop {
            let Some(name) = rest.pop() else {
                return Ok(Place {
                    directory: at,
                    name: Vec::new(),
                    last,
                    inode: Some(at),
                    must_be_directory,
                });
            };
            let directory = self.directory(at)?;
            if name.len() > LONGEST_NAME {
                return Err(libc::ENAMETOOLONG);
            }
            match name.as_slice() {
                b"." => {
                    last = Last::Same;
                    continue;
                }
                b".." => {
                    last = Last::Parent;
                    at = directory.parent;
                    continue;
                }
                _ => {}
            }
            let is_last = rest.is_empty();
            let place = |name, inode| Place {
                directory: at,
                name,
                last: Last::Name,
                inode,
                must_be_directory,
            };
            let Some(&found) = directory.entries.get(&name) else {
                return if is_last {
                    Ok(place(name, None))
                } else {
                    Err(libc::ENOENT)
                };
            };
            let follows = match at_end {
                AtEnd::Follow => true,
                AtEnd::Stay => !is_last || must_be_directory,
                AtEnd::Create => !is_last || !must_be_directory,
                AtEnd::Name => !is_last,
            };
            match &self.inode(found)?.node {
                Node::Link(target) if follows => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(libc::ELOOP);
                    }
                    push(&mut rest, target, &mut at, &mut must_be_directory);
                }
                _ if is_last => {
                    if must_be_directory && matches!(at_end, AtEnd::Follow | AtEnd::Stay) {
                        self.directory(found)?;
                    }
                    return Ok(place(name, Some(found)));
                }
                _ => at = found,
            }
        }
    }

    /// As [`find`](Self::find), for what exists.
    pub(crate) fn look_up(
        &self,
        base: InodeId,
        path: &[u8],
        follow: bool,
    ) -> Result<InodeId, Errno> {
        let at_end = if follow { AtEnd::Follow } else { AtEnd::Stay };
        self.find(base, path, at_end)?.inode.ok_or(libc::ENOENT)
    }

    /// Returns the path of a directory.
    pub(crate) fn path_of(&self, mut directory: InodeId) -> Result<Vec<u8>, Errno> {
        let mut names: Vec<&[u8]> = Vec::new();
        while directory != ROOT {
            let parent = self.directory(directory)?.parent;
            let mut entries = self.directory(parent)?.entries.iter();
            let entry = entries.find(|(_, inode)| **inode == directory);
            // It has been removed.
            let (name, _) = entry.ok_or(libc::ENOENT)?;
            names.push(name);
            directory = parent;
        }
        let mut path = Vec::new();
        for name in names.into_iter().rev() {
            path.push(b'/');
            path.extend(name);
        }
        if path.is_empty() {
            path.push(b'/');
        }
        Ok(path)
    }

    /// Returns the path of what a path leads to, without links.
    pub(crate) fn real_path(&self, base: InodeId, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let place = self.find(base, path, AtEnd::Follow)?;
        place.inode.ok_or(libc::ENOENT)?;
        let mut path = self.path_of(place.directory)?;
        if !place.name.is_empty() {
            if path != b"/" {
                path.push(b'/');
            }
            path.extend(place.name);
        }
        Ok(path)
    }
}

/// Puts a path before the rest.
fn push(rest: &mut Vec<Vec<u8>>, path: &[u8], at: &mut InodeId, must_be_directory: &mut bool) {
    if path.starts_with(b"/") {
        *at = ROOT;
    }
    if rest.is_empty() {
        *must_be_directory |=
            path.ends_with(b"/") || path.ends_with(b"/.") || path.ends_with(b"/..");
    }
    let parts = path
        .split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty());
    rest.extend(parts.rev().map(<[u8]>::to_vec));
}
