//! Where the facade comes from.

use super::Refusal;
use super::args::Adopt;
use super::manifest::Patch;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use toml_edit::{Document, InlineTable, Item};

/// The facade of the checkout that this program was built from.
const HOME: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tokio");

/// A source of the facade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A folder: as it is written in the manifest, and where it is.
    Path { written: String, dir: PathBuf },
    /// A repository.
    Git { url: String, rev: Option<String> },
}

/// What is known of a facade before cargo has resolved it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// Its version.
    pub(crate) version: Option<semver::Version>,
    /// The features that it declares.
    pub(crate) features: Option<BTreeSet<String>>,
}

impl Source {
    /// Returns the source that the options ask for, or the one that the manifest has.
    ///
    /// # Errors
    /// Refuses if the manifest patches tokio to something else, or if there is no facade where it is looked for.
    pub(crate) fn choose(
        options: &Adopt,
        root: &Path,
        existing: Option<&Patch>,
    ) -> Result<Source, Refusal> {
        let asked = Source::asked(options, root)?;
        let Some(existing) = existing else {
            return match asked {
                Some(source) => Ok(source),
                None => Source::home(),
            };
        };
        let current = Source::written(existing, root);
        let agrees = match (&asked, &current) {
            (Some(asked), Some(current)) => asked.is_same(current),
            (None, Some(Source::Path { dir, .. })) => facade(dir).is_some(),
            (None, Some(Source::Git { .. })) => existing.is_marked,
            (_, None) => false,
        };
        match current {
            Some(current) if agrees => Ok(current),
            _ => Err(Refusal::new(format!(
                "tokio is patched already, to something else: `tokio = {}` in [patch.crates-io] of {}; take that \
                 entry out first",
                existing.text,
                root.join("Cargo.toml").display()
            ))),
        }
    }

    fn asked(options: &Adopt, root: &Path) -> Result<Option<Source>, Refusal> {
        if let Some(url) = &options.git {
            return Ok(Some(Source::Git {
                url: url.clone(),
                rev: options.rev.clone(),
            }));
        }
        let Some(given) = &options.path else {
            return Ok(None);
        };
        let dir = [given.clone(), given.join("crates/tokio")]
            .into_iter()
            .find(|dir| facade(dir).is_some())
            .and_then(|dir| dir.canonicalize().ok())
            .ok_or_else(|| {
                Refusal::new(format!(
                    "{} is not the facade: it has no package `tokio` that depends on tress; give the folder \
                     crates/tokio of a checkout of tress",
                    given.display()
                ))
            })?;
        let written = if given.is_absolute() {
            dir.clone()
        } else {
            relative(root, &dir)
        };
        Ok(Some(Source::Path {
            written: with_slashes(&written),
            dir,
        }))
    }

    fn home() -> Result<Source, Refusal> {
        match Path::new(HOME).canonicalize() {
            Ok(dir) if facade(&dir).is_some() => Ok(Source::Path {
                written: with_slashes(&dir),
                dir,
            }),
            _ => Err(Refusal::new(
                "the checkout that `tress` was built from is gone; say where the facade is: --path DIR, the folder \
                 crates/tokio of a checkout, or --git URL",
            )),
        }
    }

    /// Returns the source that a manifest names.
    pub(crate) fn written(patch: &Patch, root: &Path) -> Option<Source> {
        match (&patch.path, &patch.git) {
            (Some(path), _) => Some(Source::Path {
                written: path.clone(),
                dir: root.join(path),
            }),
            (None, Some(url)) => Some(Source::Git {
                url: url.clone(),
                rev: None,
            }),
            (None, None) => None,
        }
    }

    fn is_same(&self, other: &Source) -> bool {
        match (self, other) {
            (Source::Path { dir, .. }, Source::Path { dir: other, .. }) => {
                let real = |dir: &Path| dir.canonicalize().ok();
                real(dir).is_some() && real(dir) == real(other)
            }
            (Source::Git { url, .. }, Source::Git { url: other, .. }) => url == other,
            _ => false,
        }
    }

    /// Returns the value of the entry in the manifest.
    pub(crate) fn entry(&self) -> InlineTable {
        let mut table = InlineTable::new();
        match self {
            Source::Path { written, .. } => {
                table.insert("path", written.as_str().into());
            }
            Source::Git { url, rev } => {
                table.insert("git", url.as_str().into());
                if let Some(rev) = rev {
                    table.insert("rev", rev.as_str().into());
                }
            }
        }
        table
    }

    /// Reads the version and the features of a facade in a folder; cargo knows those of a repository once it has
    /// fetched it.
    pub(crate) fn known(&self) -> Known {
        match self {
            Source::Path { dir, .. } => facade(dir).unwrap_or_default(),
            Source::Git { .. } => Known::default(),
        }
    }
}

/// Reads the manifest in a folder, if it is that of a package named tokio that depends on tress.
fn facade(dir: &Path) -> Option<Known> {
    let text = std::fs::read_to_string(dir.join("Cargo.toml")).ok()?;
    let doc = Document::parse(text.as_str()).ok()?;
    let package = doc.get("package")?;
    if package.get("name")?.as_str()? != "tokio" || doc.get("dependencies")?.get("tress").is_none()
    {
        return None;
    }
    let features = doc.get("features").and_then(Item::as_table_like);
    Some(Known {
        version: package.get("version")?.as_str()?.parse().ok(),
        features: features.map(|table| table.iter().map(|(name, _)| name.to_owned()).collect()),
    })
}

/// Returns the way from one folder to another; both are absolute.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let from = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    let (mut from, mut to) = (from.components().peekable(), to.components().peekable());
    if from.peek() != to.peek() {
        // Different drives.
        return to.collect();
    }
    while from.peek().is_some() && from.peek() == to.peek() {
        from.next();
        to.next();
    }
    from.map(|_| Component::ParentDir).chain(to).collect()
}

/// Cargo takes slashes everywhere, and they need no escapes.
fn with_slashes(path: &Path) -> String {
    let text = path.to_string_lossy();
    if cfg!(windows) {
        text.trim_start_matches(r"\\?\").replace('\\', "/")
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn existing(text: &str) -> Patch {
        let text = format!("[patch.crates-io]\ntokio = {text}\n");
        crate::adopt::manifest::patch(&text).unwrap().unwrap()
    }

    #[test]
    fn the_checkout_is_the_default() {
        let source = Source::choose(&Adopt::default(), Path::new("/"), None).unwrap();
        let known = source.known();
        assert_eq!(known.version.unwrap().major, 1);
        assert!(known.features.unwrap().contains("rt-multi-thread"));
        assert!(source.entry().to_string().contains("crates/tokio"));
    }

    #[test]
    fn a_checkout_stands_for_its_facade() {
        let options = Adopt {
            path: Some(Path::new(HOME).join("../..")),
            ..Adopt::default()
        };
        let source = Source::choose(&options, Path::new("/"), None).unwrap();
        let default = Source::choose(&Adopt::default(), Path::new("/"), None).unwrap();
        assert!(source.is_same(&default));
    }

    #[test]
    fn a_repository_is_written_with_its_revision() {
        let options = Adopt {
            git: Some("https://example.com/tress".into()),
            rev: Some("abc".into()),
            ..Adopt::default()
        };
        let source = Source::choose(&options, Path::new("/"), None).unwrap();
        let text = source.entry().to_string();
        assert_eq!(
            text.trim(),
            r#"{ git = "https://example.com/tress", rev = "abc" }"#
        );
    }

    #[test]
    fn another_patch_is_refused_and_ours_is_taken() {
        let fork = existing("{ git = 'https://example.com/fork' }");
        let refusal = Source::choose(&Adopt::default(), Path::new("/"), Some(&fork)).unwrap_err();
        assert!(
            refusal.to_string().contains("example.com/fork"),
            "{refusal}"
        );
        let ours = existing(&format!("{{ path = '{HOME}' }}"));
        assert!(Source::choose(&Adopt::default(), Path::new("/"), Some(&ours)).is_ok());
        let options = Adopt {
            git: Some("https://example.com/tress".into()),
            ..Adopt::default()
        };
        assert!(Source::choose(&options, Path::new("/"), Some(&ours)).is_err());
    }

    #[test]
    fn a_folder_without_a_facade_is_refused() {
        let options = Adopt {
            path: Some(env!("CARGO_MANIFEST_DIR").into()),
            ..Adopt::default()
        };
        let refusal = Source::choose(&options, Path::new("/"), None).unwrap_err();
        assert!(refusal.to_string().contains("crates/tokio"), "{refusal}");
    }

    #[test]
    fn ways_between_folders() {
        let way = |from: &str, to: &str| with_slashes(&relative(Path::new(from), Path::new(to)));
        assert_eq!(way("/nowhere/a/b", "/nowhere/a/c/d"), "../c/d");
        assert_eq!(way("/nowhere/a", "/nowhere/a/b"), "b");
    }
}
