//! The lock file, as far as it is about tokio.

use super::graph::is_registry;
use semver::Version;
use toml_edit::{Document, Item, Table};

/// What a lock file says of tokio.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lock {
    tokios: Vec<(String, Option<String>)>,
    unused: Option<String>,
}

impl Lock {
    /// Reads a lock file; what is not one, has no tokio.
    pub(crate) fn parse(text: &str) -> Lock {
        let Ok(doc) = Document::parse(text) else {
            return Lock::default();
        };
        let string = |table: &Table, key| table.get(key).and_then(Item::as_str).map(str::to_owned);
        let tokios = |item: Option<&Item>| -> Vec<(String, Option<String>)> {
            let tables = item
                .and_then(Item::as_array_of_tables)
                .into_iter()
                .flatten();
            tables
                .filter(|table| string(table, "name").as_deref() == Some("tokio"))
                .filter_map(|table| Some((string(table, "version")?, string(table, "source"))))
                .collect()
        };
        let unused = tokios(doc.get("patch").and_then(|patch| patch.get("unused")));
        Lock {
            tokios: tokios(doc.get("package")),
            unused: unused.into_iter().next().map(|(version, _)| version),
        }
    }

    /// Returns the version and the source of each tokio.
    pub(crate) fn tokios(&self) -> &[(String, Option<String>)] {
        &self.tokios
    }

    /// Returns the names by which `cargo update` knows each tokio of a registry that the facade could replace.
    pub(crate) fn tokio_specs(&self) -> Vec<String> {
        self.tokios
            .iter()
            .filter_map(|(version, source)| Some((version, source.as_deref()?)))
            .filter(|(version, source)| is_registry(source) && version.starts_with("1."))
            .map(|(version, source)| format!("{source}#tokio@{version}"))
            .collect()
    }

    /// Returns the version of a patch of tokio that was not used.
    pub(crate) fn unused_patch(&self) -> Option<Version> {
        self.unused.as_ref()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REGISTRY: &str = "registry+https://registry.example/index";

    #[test]
    fn a_lock_file_is_read() {
        let text = format!(
            "[[package]]\nname = \"tokio\"\nversion = \"1.40.0\"\nsource = \"{REGISTRY}\"\n\n\
             [[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\n\n\
             [[patch.unused]]\nname = \"tokio\"\nversion = \"1.54.1\"\n"
        );
        let lock = Lock::parse(&text);
        assert_eq!(lock.tokio_specs(), [format!("{REGISTRY}#tokio@1.40.0")]);
        assert_eq!(lock.unused_patch(), Some("1.54.1".parse().unwrap()));
        assert_eq!(Lock::parse("["), Lock::default());
    }
}
