//! How events are written as bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Writes numbers and texts to a buffer. What does not fit is cut.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    buffer: &'a mut [u8],
    length: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(buffer: &'a mut [u8]) -> Writer<'a> {
        Writer { buffer, length: 0 }
    }

    pub(super) fn length(&self) -> usize {
        self.length
    }

    fn put(&mut self, bytes: &[u8]) {
        let room = &mut self.buffer[self.length..];
        let length = bytes.len().min(room.len());
        room[..length].copy_from_slice(&bytes[..length]);
        self.length += length;
    }

    pub(super) fn u8(&mut self, number: u8) {
        self.put(&[number]);
    }

    pub(super) fn u16(&mut self, number: u16) {
        self.put(&number.to_le_bytes());
    }

    pub(super) fn u32(&mut self, number: u32) {
        self.put(&number.to_le_bytes());
    }

    pub(super) fn u64(&mut self, number: u64) {
        self.put(&number.to_le_bytes());
    }

    /// Writes bytes with their number. Those behind the first 64 Ki are left out.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let room = (self.buffer.len() - self.length).saturating_sub(2);
        let length = bytes.len().min(room).min(usize::from(u16::MAX));
        self.u16(length as u16);
        self.put(&bytes[..length]);
    }

    pub(super) fn address(&mut self, address: SocketAddr) {
        match address.ip() {
            IpAddr::V4(ip) => {
                self.u8(4);
                self.put(&ip.octets());
            }
            IpAddr::V6(ip) => {
                self.u8(6);
                self.put(&ip.octets());
            }
        }
        self.u16(address.port());
    }
}

/// Reads what was written. All is `None` behind the end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.0
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(length.into())
    }

    pub(super) fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub(super) fn address(&mut self) -> Option<SocketAddr> {
        let ip = match self.u8()? {
            4 => IpAddr::V4(Ipv4Addr::from(self.array::<4>()?)),
            6 => IpAddr::V6(Ipv6Addr::from(self.array::<16>()?)),
            _ => return None,
        };
        Some(SocketAddr::new(ip, self.u16()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let addresses = ["1.2.3.4:5", "[fe80::1]:65535"].map(|text| text.parse().unwrap());
        let mut buffer = [0; 100];
        let mut writer = Writer::new(&mut buffer);
        writer.u8(1);
        writer.u32(u32::MAX);
        writer.bytes(b"text");
        for address in addresses {
            writer.address(address);
        }
        writer.u64(u64::MAX);
        let length = writer.length();
        let mut reader = Reader::new(&buffer[..length]);
        assert_eq!((reader.u8(), reader.u32()), (Some(1), Some(u32::MAX)));
        assert_eq!(reader.text().as_deref(), Some("text"));
        assert_eq!(addresses.map(Some), [reader.address(), reader.address()]);
        assert_eq!((reader.u64(), reader.u64()), (Some(u64::MAX), None));
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        let mut buffer = [0; 6];
        let mut writer = Writer::new(&mut buffer);
        writer.bytes(b"longer");
        writer.bytes(b"more");
        writer.u64(1);
        assert_eq!(writer.length(), 6);
        let mut reader = Reader::new(&buffer);
        assert_eq!(reader.text().as_deref(), Some("long"));
        assert_eq!((reader.bytes(), reader.u8()), (None, None));
    }
}
