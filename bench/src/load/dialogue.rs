//! What a client sends, and when its reply is complete and right.

use serde::{Deserialize, Serialize};

/// What the HTTP server is to say.
pub const HTTP_BODY: &[u8] = b"Hello, world!\n";

const HTTP_REQUEST: &[u8] =
    b"GET /hello HTTP/1.1\r\nhost: localhost\r\nuser-agent: bench\r\naccept: */*\r\n\r\n";

/// More than any reply's head has.
const HTTP_ROOM: usize = 1024;

/// What goes on in a connection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// Messages of so many bytes come back as they are.
    Echo { bytes: usize },
    /// One message of so many bytes comes back, then the client closes and connects again.
    Churn { bytes: usize },
    /// HTTP/1.1 with keep-alive, one request after the other.
    Http1,
}

impl Kind {
    pub fn reconnects(self) -> bool {
        matches!(self, Kind::Churn { .. })
    }

    /// Makes request `number` of connection `connection`; every one differs from the others, where
    /// the reply shows it.
    pub fn request(self, connection: usize, number: u64, request: &mut Vec<u8>) {
        match self {
            Kind::Echo { bytes } | Kind::Churn { bytes } => {
                request.resize(bytes, connection as u8);
                let stamp = number << 16 | connection as u64;
                let end = bytes - size_of::<u64>();
                request[end..].copy_from_slice(&stamp.to_ne_bytes());
                request[..size_of::<u64>()].copy_from_slice(&stamp.to_ne_bytes());
            }
            Kind::Http1 => {
                if request.is_empty() {
                    request.extend_from_slice(HTTP_REQUEST);
                }
            }
        }
    }

    /// How much room a reply needs.
    pub fn room(self) -> usize {
        match self {
            Kind::Echo { bytes } | Kind::Churn { bytes } => bytes,
            Kind::Http1 => HTTP_ROOM,
        }
    }

    /// Whether `reply` to `request` is complete; an error if it is wrong.
    pub fn check(self, request: &[u8], reply: &[u8]) -> Result<bool, String> {
        match self {
            Kind::Echo { .. } | Kind::Churn { .. } => {
                if reply.len() < request.len() {
                    return Ok(false);
                }
                if reply != request {
                    return Err("other bytes came back than were sent".into());
                }
                Ok(true)
            }
            Kind::Http1 => http_reply(reply),
        }
    }
}

/// Whether an HTTP reply is complete; an error if it is not the one that is wanted.
fn http_reply(reply: &[u8]) -> Result<bool, String> {
    const END: &[u8] = b"\r\n\r\n";
    let Some(head) = reply.windows(END.len()).position(|bytes| bytes == END) else {
        if reply.len() == HTTP_ROOM {
            return Err("the head of a reply has no end".into());
        }
        return Ok(false);
    };
    let (head, body) = (&reply[..head], &reply[head + END.len()..]);
    let head = std::str::from_utf8(head).map_err(|why| why.to_string())?;
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    if !status.starts_with("HTTP/1.1 200 ") {
        return Err(format!("the server said {status:?}"));
    }
    let length = lines.find_map(|line| line.strip_prefix("content-length: "));
    if length.and_then(|length| length.parse().ok()) != Some(HTTP_BODY.len()) {
        return Err(format!("a body of {length:?} bytes"));
    }
    if body.len() < HTTP_BODY.len() {
        return Ok(false);
    }
    if body != HTTP_BODY {
        return Err("another body than the server was given".into());
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_complete_when_all_is_back_and_right() {
        let kind = Kind::Echo { bytes: 64 };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        kind.request(3, 1, &mut first);
        kind.request(3, 2, &mut second);
        assert_ne!(first, second);
        assert_eq!(kind.check(&first, &first[..63]), Ok(false));
        assert_eq!(kind.check(&first, &first), Ok(true));
        assert!(kind.check(&first, &second).is_err());
    }

    #[test]
    fn an_http_reply_is_complete_with_its_body() {
        let reply = "HTTP/1.1 200 OK\r\ncontent-length: 14\r\ndate: today\r\n\r\nHello, world!\n";
        let reply = reply.as_bytes();
        assert_eq!(http_reply(&reply[..20]), Ok(false));
        assert_eq!(http_reply(&reply[..reply.len() - 1]), Ok(false));
        assert_eq!(http_reply(reply), Ok(true));
    }

    #[test]
    fn a_wrong_http_reply_is_told() {
        for wrong in [
            "HTTP/1.1 500 no\r\ncontent-length: 14\r\n\r\nHello, world!\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, world!",
            "HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\nHello, World!\n",
            "HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\nHello, world!\nH",
            "HTTP/1.1 200 OK\r\n\r\n",
        ] {
            assert!(http_reply(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
