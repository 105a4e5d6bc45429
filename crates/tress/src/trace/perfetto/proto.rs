//! Protocol buffers, as far as a writer needs them: varints, fixed numbers, and what is preceded by its length.

/// The encoded fields of a message.
#[derive(Debug, Default, Clone)]
pub struct Message {
    bytes: Vec<u8>,
}

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH_DELIMITED: u64 = 2;

/// Appends a number in groups of seven bits, lowest first.
pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

impl Message {
    /// Creates a message without fields.
    pub fn new() -> Message {
        Message::default()
    }

    /// Removes all fields.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns whether it has no fields.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the encoded fields.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn key(&mut self, field: u32, wire_type: u64) {
        put_varint(&mut self.bytes, u64::from(field) << 3 | wire_type);
    }

    /// Adds a field of the type `uint64`, `uint32`, `bool` or of an enumeration.
    pub fn number(&mut self, field: u32, value: u64) {
        self.key(field, VARINT);
        put_varint(&mut self.bytes, value);
    }

    /// Adds a field of the type `int64` or `int32`.
    pub fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    /// Adds a field of the type `fixed64`.
    pub fn fixed(&mut self, field: u32, value: u64) {
        self.key(field, FIXED_64);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Adds a field of the type `string`.
    pub fn string(&mut self, field: u32, value: &str) {
        self.delimited(field, value.as_bytes());
    }

    /// Adds a field that is a message.
    pub fn message(&mut self, field: u32, value: &Message) {
        self.delimited(field, &value.bytes);
    }

    fn delimited(&mut self, field: u32, value: &[u8]) {
        self.key(field, LENGTH_DELIMITED);
        put_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(value);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn fields_are_as_the_format_says() {
        let mut inner = Message::new();
        inner.number(1, 150);
        assert_eq!(inner.as_bytes(), [0x08, 0x96, 0x01]);
        let mut outer = Message::new();
        outer.message(3, &inner);
        outer.string(2, "testing");
        outer.fixed(47, 1);
        outer.signed(4, -1);
        let mut expected = vec![0x1a, 3, 0x08, 0x96, 0x01];
        expected.extend_from_slice(b"\x12\x07testing");
        expected.extend_from_slice(&[0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
        expected.extend_from_slice(&[
            0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ]);
        assert_eq!(outer.as_bytes(), expected);
        outer.clear();
        assert!(outer.is_empty());
    }

    #[test]
    fn numbers_take_seven_bits_a_byte() {
        for (value, length) in [(0, 1), (127, 1), (128, 2), (1 << 14, 3), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(bytes.len(), length, "{value}");
        }
    }
}
