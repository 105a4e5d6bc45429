//! Strings of JSON.

use std::fmt::Write as _;

/// Appends a string with its quotes.
///
/// Line ends are escaped, so what is made of such strings stands on one line, as server-sent events demand.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends a string, or `null`.
pub(crate) fn string_or_null(out: &mut String, text: Option<&str>) {
    match text {
        Some(text) => string(out, text),
        None => out.push_str("null"),
    }
}

/// Appends an array.
pub(crate) fn array<T>(
    out: &mut String,
    items: impl IntoIterator<Item = T>,
    mut item: impl FnMut(&mut String, T),
) {
    out.push('[');
    for (n, next) in items.into_iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        item(out, next);
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_escaped_and_stay_on_one_line() {
        let text = "a\"b\\c\nd\r\u{7f}\u{85}é";
        let mut out = String::new();
        array(&mut out, [Some(text), None], string_or_null);
        assert!(!out.contains(['\n', '\r']));
        let back: Vec<Option<String>> = serde_json::from_str(&out).unwrap();
        assert_eq!(back, [Some(text.to_owned()), None]);
    }
}
