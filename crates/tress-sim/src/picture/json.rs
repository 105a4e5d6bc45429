//! Just enough JSON for the data of a page.

use std::fmt::Write;

/// A list that is written item by item.
#[derive(Debug)]
pub(super) struct List<'a> {
    to: &'a mut String,
    is_empty: bool,
}

impl<'a> List<'a> {
    pub(super) fn new(to: &'a mut String) -> List<'a> {
        to.push('[');
        List { to, is_empty: true }
    }

    fn next(&mut self) -> &mut String {
        if !self.is_empty {
            self.to.push(',');
        }
        self.is_empty = false;
        self.to
    }

    pub(super) fn number(&mut self, number: u64) -> &mut Self {
        // Writing to a string does not fail.
        let _ = write!(self.next(), "{number}");
        self
    }

    /// Adds a number, or -1 for none.
    pub(super) fn place(&mut self, place: Option<usize>) -> &mut Self {
        match place {
            Some(place) => self.number(place as u64),
            None => {
                self.next().push_str("-1");
                self
            }
        }
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        string(self.next(), text);
        self
    }

    pub(super) fn list(&mut self, write: impl FnOnce(&mut List<'_>)) -> &mut Self {
        let mut list = List::new(self.next());
        write(&mut list);
        list.end();
        self
    }

    pub(super) fn end(self) {
        self.to.push(']');
    }
}

/// Writes a text. It may stand in a script of a page: nothing in it can end that.
pub(super) fn string(to: &mut String, text: &str) {
    to.push('"');
    for c in text.chars() {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(to, "\\u{:04x}", c as u32);
            }
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(to, "\\u{:04x}", c as u32);
            }
            c => to.push(c),
        }
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_texts() {
        let mut text = String::new();
        let mut list = List::new(&mut text);
        list.number(1)
            .place(None)
            .place(Some(2))
            .text("a\"\\\n\u{1}</script>ä")
            .list(|list| {
                list.text("");
            })
            .list(|_| ());
        list.end();
        let expected = "[1,-1,2,\"a\\\"\\\\\\n\\u0001\\u003c/script\\u003eä\",[\"\"],[]]";
        assert_eq!(text, expected);
    }
}
