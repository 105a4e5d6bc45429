//! Just enough of the encoding of protocol buffers for a trace.

/// A message that is written field by field.
#[derive(Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// How a field is encoded.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;

impl Message {
    pub(super) fn new() -> Message {
        Message::default()
    }

    fn raw(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn key(&mut self, field: u32, how: u64) {
        self.raw(u64::from(field) << 3 | how);
    }

    pub(super) fn number(mut self, field: u32, number: u64) -> Message {
        self.key(field, VARINT);
        self.raw(number);
        self
    }

    pub(super) fn fixed(mut self, field: u32, number: u64) -> Message {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    pub(super) fn message(self, field: u32, message: Message) -> Message {
        self.bytes(field, &message.0)
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Message {
        self.key(field, LENGTH);
        self.raw(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn fields_are_encoded_as_the_format_says() {
        // The examples of the documentation of the format.
        assert_eq!(Message::new().number(1, 150).into_bytes(), [8, 0x96, 1]);
        let text = Message::new().text(2, "testing").into_bytes();
        assert_eq!(text, [&[0x12, 7][..], b"testing"].concat());
        let inner = Message::new().number(1, 150);
        assert_eq!(
            Message::new().message(3, inner).into_bytes(),
            [0x1a, 3, 8, 0x96, 1]
        );
        let fixed = Message::new().fixed(47, 1).into_bytes();
        assert_eq!(fixed, [0xf9, 2, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
}
