use std::io;
use std::mem;

/// A string to which bytes are appended that may turn out not to be UTF-8.
///
/// It borrows the memory of the string. The string gets it back with the new bytes by
/// [`commit`](Text::commit), or without them when this is dropped.
#[derive(Debug)]
pub(super) struct Text<'a> {
    /// Empty while its memory is in use; `None` when it has it back.
    string: Option<&'a mut String>,
    /// Bytes of the string, and those that were appended.
    pub(super) bytes: Vec<u8>,
    /// Number of bytes that belong to the string.
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

    /// Gives the string back with the new bytes, and returns how many they are: 0 if it has been given back
    /// already.
    ///
    /// # Errors
    /// The bytes are not UTF-8. The string is then as it was.
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

/// Makes a string of the first `len` bytes, which were taken from one.
fn first(mut bytes: Vec<u8>, len: usize) -> String {
    bytes.truncate(len);
    String::from_utf8(bytes).expect("it was a string")
}
