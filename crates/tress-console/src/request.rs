//! The head of a request.

use crate::response::Status;
use std::borrow::Cow;

/// Maximum number of bytes of a head.
pub(crate) const MOST_HEAD: usize = 16 * 1024;
/// Maximum number of bytes of a request line.
const MOST_LINE: usize = 8 * 1024;
/// Maximum number of header fields.
const MOST_FIELDS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
    Other,
}

#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// As it was sent: paths are looked up in a table, where none needs decoding.
    pub(crate) path: String,
    query: String,
    pub(crate) host: Option<String>,
    /// The token of `Authorization: Bearer …`.
    pub(crate) bearer: Option<String>,
    /// Whether the connection can serve another request after this one.
    pub(crate) keep_alive: bool,
}

/// What the bytes received so far are.
#[derive(Debug)]
pub(crate) enum Parsed {
    /// A request, whose head has this many bytes.
    Whole(Request, usize),
    /// The beginning of a head.
    Part,
}

impl Request {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Parsed, Status> {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut head = httparse::Request::new(&mut fields);
        let length = match head.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) => return check_part(bytes).map(|()| Parsed::Part),
            Err(httparse::Error::TooManyHeaders) => return Err(Status::HeadTooLarge),
            Err(_) => return Err(Status::BadRequest),
        };
        check_line(bytes)?;
        if length > MOST_HEAD {
            return Err(Status::HeadTooLarge);
        }
        let target = head.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if !path.starts_with('/') {
            return Err(Status::BadRequest);
        }
        let mut request = Request {
            method: match head.method {
                Some("GET") => Method::Get,
                Some("HEAD") => Method::Head,
                _ => Method::Other,
            },
            path: path.to_owned(),
            query: query.to_owned(),
            host: None,
            bearer: None,
            // A client that speaks HTTP/1.0 does not expect it.
            keep_alive: head.version == Some(1),
        };
        for field in head.headers.iter() {
            request.learn(field)?;
        }
        Ok(Parsed::Whole(request, length))
    }

    fn learn(&mut self, field: &httparse::Header<'_>) -> Result<(), Status> {
        let value = String::from_utf8_lossy(field.value);
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("host") {
            // Two of them: a proxy might have looked at the other one.
            if self.host.replace(value.trim().to_owned()).is_some() {
                return Err(Status::BadRequest);
            }
        } else if is("authorization") {
            let (scheme, token) = value.split_once(' ').unwrap_or_default();
            if scheme.eq_ignore_ascii_case("bearer") {
                self.bearer = Some(token.trim().to_owned());
            }
        } else if is("connection") {
            let closes = |word: &str| word.trim().eq_ignore_ascii_case("close");
            self.keep_alive &= !value.split(',').any(closes);
        } else if is("transfer-encoding") || (is("content-length") && value.trim() != "0") {
            // There is a body, which is not read: what follows is not a request.
            self.keep_alive = false;
        }
        Ok(())
    }

    /// Returns the first value of that name in the query, decoded.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let mut pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.find(|(key, _)| decode(key) == name)?;
        Some(decode(value).into_owned())
    }
}

fn check_part(bytes: &[u8]) -> Result<(), Status> {
    check_line(bytes)?;
    match bytes.len() < MOST_HEAD {
        true => Ok(()),
        false => Err(Status::HeadTooLarge),
    }
}

fn check_line(bytes: &[u8]) -> Result<(), Status> {
    // Empty lines may come before the request line.
    let from = bytes.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    let line = &bytes[from.unwrap_or(0)..];
    match line
        .iter()
        .take(MOST_LINE + 1)
        .position(|byte| *byte == b'\n')
    {
        None if line.len() > MOST_LINE => Err(Status::LineTooLong),
        _ => Ok(()),
    }
}

/// Decodes `%41` and `+`. What makes no sense stays as it is.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digit = |n: usize| char::from(*bytes.get(at + n)?).to_digit(16);
        match (bytes[at], digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) => decoded.push(b' '),
            (byte, ..) => decoded.push(byte),
        }
        at += 1;
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Request {
        match Request::parse(text.as_bytes()) {
            Ok(Parsed::Whole(request, length)) => {
                assert_eq!(length, text.len());
                request
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_query_is_decoded() {
        let request = whole("GET /a?q=a%2Fb+c&q=2&empty=&bad=%zz%4 HTTP/1.1\r\n\r\n");
        assert_eq!(request.path, "/a");
        assert_eq!(request.query("q").as_deref(), Some("a/b c"));
        assert_eq!(request.query("empty").as_deref(), Some(""));
        assert_eq!(request.query("bad").as_deref(), Some("%zz%4"));
        assert_eq!(request.query("other"), None);
    }

    #[test]
    fn a_connection_is_kept_only_if_the_next_request_can_be_found() {
        let keeps = |text: &str| whole(text).keep_alive;
        assert!(keeps("GET / HTTP/1.1\r\n\r\n"));
        assert!(keeps("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"));
        assert!(!keeps("GET / HTTP/1.0\r\n\r\n"));
        assert!(!keeps("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n"));
        assert!(!keeps("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"));
        assert!(!keeps(
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        ));
    }

    #[test]
    fn heads_have_limits() {
        let refused = |text: String| Request::parse(text.as_bytes()).err();
        let line = "a".repeat(MOST_LINE);
        assert_eq!(
            refused(format!("GET /{line} HTTP/1.1\r\n\r\n")),
            Some(Status::LineTooLong)
        );
        assert_eq!(refused(format!("GET /{line}")), Some(Status::LineTooLong));
        let field = format!("X: {}\r\n", "a".repeat(1024));
        let fields = field.repeat(16);
        assert_eq!(
            refused(format!("GET / HTTP/1.1\r\n{fields}")),
            Some(Status::HeadTooLarge)
        );
        let fields = "X: y\r\n".repeat(MOST_FIELDS + 1);
        assert_eq!(
            refused(format!("GET / HTTP/1.1\r\n{fields}\r\n")),
            Some(Status::HeadTooLarge)
        );
    }

    #[test]
    fn two_hosts_and_targets_that_are_no_path_are_refused() {
        for text in [
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET http://evil.example/ HTTP/1.1\r\n\r\n",
            "GET * HTTP/1.1\r\n\r\n",
            "\x16\x03\x01\x02\x00\x01",
        ] {
            let parsed = Request::parse(text.as_bytes());
            assert_eq!(parsed.err(), Some(Status::BadRequest), "{text:?}");
        }
    }
}
