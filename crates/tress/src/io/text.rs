use std::io;
use std::mem;

/// A string to which bytes are appended that may turn out not to be UTF-8.
///
/// The string lends its memory for that. It gets it back with [`commit`](Text::commit), or as it was
/// when this is dropped.
#[derive(Debug)]
pub(super) struct Text<'a> {
    /// Empty while its memory is lent; `None` when it has it back.
    string: Option<&'a mut String>,
    /// What the string was, and what was appended.
    pub(super) bytes: Vec<u8>,
    /// So many bytes are the string's.
    len: usize,
}

impl<'a> Text<'a> {
    pub(super) fn new(string: &'a mut String) -> Self {
        let bytes = mem::take(string).into_bytes();
        let len = bytes.len();
        Text {
            string: Some(string),
            bytes,
            len,
        }
    }

    /// Gives the string back with what was appended, and returns how many bytes that was. Nothing if
    /// it has been given back.
    ///
    /// # Errors
    /// It is not UTF-8. The string is then as it was.
    pub(super) fn commit(&mut self) -> io::Result<usize> {
        let Some(string) = self.string.take() else {
            return Ok(0);
        };
        match String::from_utf8(mem::take(&mut self.bytes)) {
            Ok(whole) => {
                *string = whole;
                Ok(string.len() - self.len)
            }
            Err(error) => {
                let utf8 = error.utf8_error();
                *string = first(error.into_bytes(), self.len);
                Err(io::Error::new(io::ErrorKind::InvalidData, utf8))
            }
        }
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        if let Some(string) = self.string.take() {
            *string = first(mem::take(&mut self.bytes), self.len);
        }
    }
}

/// The first `len` bytes, which were taken from a string.
fn first(mut bytes: Vec<u8>, len: usize) -> String {
    bytes.truncate(len);
    String::from_utf8(bytes).expect("it was a string")
}
