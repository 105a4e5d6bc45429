//! JSON, as much of it as has to be written.

use std::fmt::{Display, Write as _};

/// An object under construction.
pub(crate) struct Object<'a> {
    out: &'a mut String,
    empty: bool,
}

impl<'a> Object<'a> {
    pub(crate) fn begin(out: &'a mut String) -> Object<'a> {
        out.push('{');
        Object { out, empty: true }
    }

    fn key(&mut self, name: &str) {
        if !std::mem::take(&mut self.empty) {
            self.out.push(',');
        }
        string(self.out, name);
        self.out.push(':');
    }

    /// A number that `Display` writes as JSON does.
    pub(crate) fn number(&mut self, name: &str, value: impl Display) {
        self.key(name);
        // Writing to a string does not fail.
        let _ = write!(self.out, "{value}");
    }

    pub(crate) fn string(&mut self, name: &str, value: &str) {
        self.key(name);
        string(self.out, value);
    }

    pub(crate) fn null(&mut self, name: &str) {
        self.key(name);
        self.out.push_str("null");
    }

    pub(crate) fn object(&mut self, name: &str) -> Object<'_> {
        self.key(name);
        Object::begin(self.out)
    }

    /// An array of objects, one for each item.
    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        mut fill: impl FnMut(&mut Object<'_>, T),
    ) {
        self.key(name);
        self.out.push('[');
        for (n, item) in items.into_iter().enumerate() {
            if n > 0 {
                self.out.push(',');
            }
            let mut object = Object::begin(self.out);
            fill(&mut object, item);
            object.end();
        }
        self.out.push(']');
    }

    pub(crate) fn end(self) {
        self.out.push('}');
    }
}

/// JSON knows no infinity.
pub(crate) fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// A string with quotes.
pub(crate) fn string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
