//! Answers.

use std::fmt::Write as _;
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    BadRequest,
    Unauthorized,
    NotFound,
    MethodNotAllowed,
    Timeout,
    LineTooLong,
    Misdirected,
    HeadTooLarge,
    Internal,
    Unavailable,
}

impl Status {
    pub(crate) const fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::Unauthorized => "401 Unauthorized",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::Timeout => "408 Request Timeout",
            Status::LineTooLong => "414 URI Too Long",
            Status::Misdirected => "421 Misdirected Request",
            Status::HeadTooLarge => "431 Request Header Fields Too Large",
            Status::Internal => "500 Internal Server Error",
            Status::Unavailable => "503 Service Unavailable",
        }
    }
}

#[derive(Debug)]
pub(crate) enum Body {
    Text(String),
    Bytes(Vec<u8>),
    Shared(Arc<str>),
}

impl Body {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Body::Text(text) => text.as_bytes(),
            Body::Bytes(bytes) => bytes,
            Body::Shared(text) => text.as_bytes(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Response {
    status: Status,
    content_type: &'static str,
    /// Further header lines, each with its end.
    fields: String,
    pub(crate) body: Body,
}

impl Response {
    pub(crate) fn new(content_type: &'static str, body: Body) -> Response {
        Response {
            status: Status::Ok,
            content_type,
            fields: String::new(),
            body,
        }
    }

    pub(crate) fn json(body: Body) -> Response {
        Response::new("application/json", body)
    }

    /// An answer that says no more than its status.
    pub(crate) fn refusal(status: Status) -> Response {
        let mut response = Response::new(
            "text/plain; charset=utf-8",
            Body::Text(format!("{}\n", status.line())),
        );
        response.status = status;
        match status {
            Status::Unauthorized => response.field("WWW-Authenticate", "Bearer"),
            Status::MethodNotAllowed => response.field("Allow", "GET, HEAD"),
            _ => response,
        }
    }

    pub(crate) fn field(mut self, name: &str, value: &str) -> Response {
        // Writing to a string does not fail.
        let _ = write!(self.fields, "{name}: {value}\r\n");
        self
    }

    pub(crate) fn head(&self, keep_alive: bool) -> String {
        let length = Some(self.body.as_bytes().len());
        head(
            self.status,
            self.content_type,
            length,
            keep_alive,
            &self.fields,
        )
    }
}

/// Returns the head of an answer. One without a length ends with the connection.
pub(crate) fn head(
    status: Status,
    content_type: &str,
    length: Option<usize>,
    keep_alive: bool,
    fields: &str,
) -> String {
    let mut head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {content_type}\r\n",
        status.line()
    );
    if let Some(length) = length {
        let _ = write!(head, "Content-Length: {length}\r\n");
    }
    head.push_str(match keep_alive {
        true => "Connection: keep-alive\r\n",
        false => "Connection: close\r\n",
    });
    // A browser must neither keep what was said, nor guess its type, nor pass on an address that has the token, nor let
    // other pages have it.
    head.push_str(
        "Cache-Control: no-store\r\n\
         X-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n",
    );
    head.push_str(fields);
    head.push_str("\r\n");
    head
}
