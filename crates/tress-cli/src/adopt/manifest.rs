//! The entry for tokio in `[patch.crates-io]` of a `Cargo.toml`.
//!
//! The text is changed line by line, at the places that the parser names, so that every other byte stays: comments,
//! order, spaces, line ends. Where a manifest writes its patches in another way than by a header (`patch.crates-io`
//! as a dotted key or an inline table), `toml_edit` makes the change, which may touch the spaces next to it.

use super::Refusal;
use toml_edit::{Document, DocumentMut, InlineTable, Item};

/// The comment at the end of the line that [`insert`] writes, by which [`Patch::is_marked`] knows it.
const MARK: &str = "# put in by `tress adopt`; `tress adopt --undo` takes it out";

/// An entry for tokio that a manifest has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patch {
    /// The value, as it is written.
    pub(crate) text: String,
    /// The folder, if the entry names one.
    pub(crate) path: Option<String>,
    /// The repository, if the entry names one.
    pub(crate) git: Option<String>,
    /// Whether `tress adopt` wrote it.
    pub(crate) is_marked: bool,
}

/// Returns the patch of tokio in a manifest, of whichever registry: cargo takes its address for its name.
///
/// # Errors
/// Refuses a text that is not TOML.
pub(crate) fn patch(text: &str) -> Result<Option<Patch>, Refusal> {
    let doc = parse(text)?;
    let found = doc
        .get("patch")
        .and_then(Item::as_table_like)
        .and_then(|patches| {
            patches
                .iter()
                .find_map(|(_, registry)| registry.get("tokio"))
        });
    Ok(found.map(|item| {
        let string = |key| item.get(key).and_then(Item::as_str).map(str::to_owned);
        let end = item.span().map_or(0, |span| span.end);
        Patch {
            text: item.to_string().trim().to_owned(),
            path: string("path"),
            git: string("git"),
            is_marked: line_at(text, end).trim_end().ends_with(MARK),
        }
    }))
}

/// Returns the manifest with `tokio = value` in `[patch.crates-io]`.
///
/// # Errors
/// Refuses a text that is not TOML, or in which `patch` is not a table.
pub(crate) fn insert(text: &str, value: &InlineTable) -> Result<String, Refusal> {
    let spliced = splice(text, value)?;
    if patch(&spliced).is_ok_and(|found| found.is_some()) {
        return Ok(spliced);
    }
    let mut doc: DocumentMut = text.parse().map_err(|error| not_toml(&error))?;
    let odd = || Refusal::new("`patch` in the manifest is not a table; write `[patch.crates-io]`");
    let patches = doc.entry("patch").or_insert(toml_edit::table());
    let registry = patches
        .as_table_like_mut()
        .ok_or_else(odd)?
        .entry("crates-io")
        .or_insert(toml_edit::table());
    registry
        .as_table_like_mut()
        .ok_or_else(odd)?
        .insert("tokio", toml_edit::value(value.clone()));
    Ok(doc.to_string())
}

/// Returns the manifest without the patch of tokio, and without a `[patch.crates-io]` that is empty then.
///
/// # Errors
/// Refuses a text that is not TOML.
pub(crate) fn remove(text: &str) -> Result<String, Refusal> {
    let doc = parse(text)?;
    if let Some(cut) = cut(text, &doc) {
        if patch(&cut).is_ok_and(|found| found.is_none()) {
            return Ok(cut);
        }
    }
    let mut doc: DocumentMut = text.parse().map_err(|error| not_toml(&error))?;
    if let Some(patches) = doc.get_mut("patch").and_then(Item::as_table_like_mut) {
        let names: Vec<String> = patches.iter().map(|(name, _)| name.to_owned()).collect();
        for name in &names {
            let Some(registry) = patches.get_mut(name).and_then(Item::as_table_like_mut) else {
                continue;
            };
            if registry.remove("tokio").is_some() && registry.is_empty() {
                patches.remove(name);
            }
        }
        if patches.is_empty() {
            doc.remove("patch");
        }
    }
    Ok(doc.to_string())
}

/// Puts the entry in behind the header, or a header and the entry at the end.
fn splice(text: &str, value: &InlineTable) -> Result<String, Refusal> {
    let doc = parse(text)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let entry = format!("tokio = {} {MARK}", value.to_string().trim());
    let header = doc
        .get("patch")
        .and_then(|patches| patches.get("crates-io"))
        .and_then(Item::as_table)
        .filter(|table| !table.is_implicit() && !table.is_dotted())
        .and_then(toml_edit::Table::span);
    Ok(match header {
        Some(span) => match text[span.start..].find('\n') {
            Some(end) => {
                let (before, after) = text.split_at(span.start + end + 1);
                format!("{before}{entry}{newline}{after}")
            }
            None => format!("{text}{newline}{entry}"),
        },
        None if text.is_empty() => format!("[patch.crates-io]{newline}{entry}{newline}"),
        None if text.ends_with('\n') => {
            format!("{text}{newline}[patch.crates-io]{newline}{entry}{newline}")
        }
        // What had no line end at its end has none again: `cut` knows by it how the text was.
        None => format!("{text}{newline}{newline}[patch.crates-io]{newline}{entry}"),
    })
}

/// Takes out the line of the entry, and the header if nothing is left below it: the reverse of [`splice`].
fn cut(text: &str, doc: &Document<&str>) -> Option<String> {
    let registry = doc.get("patch")?.get("crates-io")?.as_table()?;
    let value = registry.get("tokio")?.as_value()?.span()?;
    let start = line_start(text, value.start);
    let end = line_end(text, value.end);
    let (before, after) = (&text[..start], &text[end..]);
    let header = line_start(text, registry.span()?.start);
    let below = before[line_end(text, header)..].trim().is_empty()
        && (after.trim().is_empty() || after.trim_start().starts_with('['));
    if !below || registry.is_implicit() {
        return Some(if after.is_empty() && !text.ends_with('\n') {
            strip_newline(before).to_owned()
        } else {
            format!("{before}{after}")
        });
    }
    let mut kept = &text[..header];
    let has_gap = kept.ends_with("\n\n") || kept.ends_with("\n\r\n");
    if has_gap || (after.is_empty() && !text.ends_with('\n')) {
        kept = strip_newline(kept);
    }
    if after.is_empty() && !text.ends_with('\n') {
        kept = strip_newline(kept);
    }
    Some(format!("{kept}{after}"))
}

fn strip_newline(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// Returns where the next line starts.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |i| at + i + 1)
}

fn line_at(text: &str, at: usize) -> &str {
    &text[line_start(text, at)..line_end(text, at)]
}

fn parse(text: &str) -> Result<Document<&str>, Refusal> {
    Document::parse(text).map_err(|error| not_toml(&error))
}

fn not_toml(error: &toml_edit::TomlError) -> Refusal {
    Refusal::new(format!(
        "the manifest of the workspace is not TOML: {error}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value() -> InlineTable {
        let mut table = InlineTable::new();
        table.insert("path", "../tress/crates/tokio".into());
        table
    }

    /// Puts the entry in and takes it out again; returns the text between.
    fn there_and_back(text: &str) -> String {
        let with = insert(text, &value()).unwrap();
        let found = patch(&with).unwrap().expect("it is in");
        assert_eq!(found.path.as_deref(), Some("../tress/crates/tokio"));
        assert!(found.is_marked, "{with}");
        assert_eq!(remove(&with).unwrap(), text, "{with:?}");
        with
    }

    #[test]
    fn a_header_is_added_at_the_end() {
        let with = there_and_back("[package]\nname = \"a\" # odd\n");
        let entry = format!("tokio = {{ path = \"../tress/crates/tokio\" }} {MARK}\n");
        let expected = format!("[package]\nname = \"a\" # odd\n\n[patch.crates-io]\n{entry}");
        assert_eq!(with, expected);
    }

    #[test]
    fn every_other_byte_stays() {
        for text in [
            "",
            "[workspace]",
            "[workspace]\n\n\n",
            "[workspace]\r\nmembers = [\r\n  'a',\r\n]\r\n",
            "# top\n[workspace]\nmembers=[ 'a',\n\n   'b' ] # two\n# end",
            "[patch.crates-io]\nbytes = { path = '..' }\n",
            "[patch.crates-io] # ours\n# a comment\nbytes = { path = '..' }\n\n[dependencies]\na = '1'\n",
            "[patch.crates-io]\n# nothing yet\n",
            "[patch.'https://example.com/index']\na = { path = 'a' }\n",
            "[patch]\n[package]\nname='a'\n",
            "[patch.crates-io.bytes]\npath = 'b'\n",
        ] {
            there_and_back(text);
        }
    }

    #[test]
    fn other_ways_to_write_a_table_are_understood() {
        for text in [
            "patch.crates-io.bytes.path = 'b'\n[package]\nname = 'a'\n",
            "[patch]\ncrates-io = { bytes = { path = 'b' } }\n",
        ] {
            let with = insert(text, &value()).unwrap();
            assert!(patch(&with).unwrap().is_some(), "{with}");
            let without = remove(&with).unwrap();
            assert_eq!(patch(&without), Ok(None), "{without}");
            assert!(without.contains("bytes"), "{without}");
        }
    }

    #[test]
    fn a_patch_in_any_form_is_seen_and_taken_out() {
        for text in [
            "[patch.crates-io.tokio]\npath = 'x'\n",
            "[patch.crates-io]\ntokio.path = 'x'\n",
            "[patch.'https://registry.example/index']\ntokio = { path = 'x' }\n",
        ] {
            let found = patch(text).unwrap().expect(text);
            assert_eq!(found.path.as_deref(), Some("x"), "{text}");
            assert!(!found.is_marked);
            assert_eq!(patch(&remove(text).unwrap()), Ok(None), "{text}");
        }
        let git = "[patch.crates-io]\ntokio = { git = 'https://example.com/t' }\n";
        let found = patch(git).unwrap().unwrap();
        assert_eq!(found.git.as_deref(), Some("https://example.com/t"));
    }

    #[test]
    fn what_is_not_toml_is_refused() {
        assert!(patch("[a").is_err());
        assert!(insert("patch = 1\n", &value()).is_err());
    }
}
