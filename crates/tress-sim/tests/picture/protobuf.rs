//! Reads messages of protocol buffers of which nothing is known but the encoding.

/// A message: the numbers of its fields, and what they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Message(Vec<(u64, Value)>);

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    /// Reads a message.
    ///
    /// # Panics
    /// These bytes are none.
    pub fn read(mut bytes: &[u8]) -> Message {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(varint(&mut bytes)),
                1 => Value::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let length = varint(&mut bytes) as usize;
                    Value::Bytes(take(&mut bytes, length).to_vec())
                }
                5 => {
                    let word = take(&mut bytes, 4).try_into().unwrap();
                    Value::Number(u32::from_le_bytes(word).into())
                }
                other => panic!("there is no encoding {other}"),
            };
            fields.push((key >> 3, value));
        }
        Message(fields)
    }

    fn all(&self, field: u64) -> impl Iterator<Item = &Value> {
        let fields = self.0.iter().filter(move |(number, _)| *number == field);
        fields.map(|(_, value)| value)
    }

    pub fn messages(&self, field: u64) -> impl Iterator<Item = Message> {
        self.all(field).map(move |value| match value {
            Value::Bytes(bytes) => Message::read(bytes),
            Value::Number(_) => panic!("field {field} is a number"),
        })
    }

    pub fn message(&self, field: u64) -> Option<Message> {
        self.messages(field).next()
    }

    pub fn number(&self, field: u64) -> Option<u64> {
        self.all(field).next().map(|value| match value {
            Value::Number(number) => *number,
            Value::Bytes(_) => panic!("field {field} is no number"),
        })
    }

    pub fn text(&self, field: u64) -> Option<String> {
        self.all(field).next().map(|value| match value {
            Value::Bytes(bytes) => String::from_utf8(bytes.clone()).expect("a text"),
            Value::Number(_) => panic!("field {field} is no text"),
        })
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return number;
        }
    }
    panic!("a number of more than ten bytes")
}
