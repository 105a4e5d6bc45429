//! A client that shows what the server sends.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use tress_console::{Builder, Console};

/// Fails a test that would hang.
const PATIENCE: Duration = Duration::from_secs(30);

pub fn builder() -> Builder {
    Console::builder().address("127.0.0.1:0")
}

pub fn start() -> Console {
    builder().start().unwrap()
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// In lower case.
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

pub struct Client(pub BufReader<TcpStream>);

impl Client {
    pub fn new(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Client(BufReader::new(stream))
    }

    pub fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Reads one answer with a length.
    pub fn answer(&mut self) -> io::Result<Answer> {
        self.answer_to("GET")
    }

    pub fn answer_to(&mut self, method: &str) -> io::Result<Answer> {
        let head = self.head()?;
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        let mut answer = Answer {
            status: status.ok_or(io::ErrorKind::InvalidData)?,
            head,
            body: Vec::new(),
        };
        let length = answer
            .field("content-length")
            .map(|text| text.parse().unwrap());
        if method != "HEAD" {
            answer.body = vec![0; length.unwrap_or(0)];
            self.0.read_exact(&mut answer.body)?;
        }
        Ok(answer)
    }

    pub fn head(&mut self) -> io::Result<String> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.0.read_line(&mut head)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(head.to_lowercase())
    }

    pub fn get(&mut self, path: &str) -> Answer {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        self.answer().unwrap()
    }

    /// Waits until the server has closed the connection. Returns what came before.
    pub fn until_closed(&mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => rest,
            // It was closed with something of ours unread.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => rest,
            Err(error) => panic!("{error}"),
        }
    }

    /// Reads one server-sent event: its name and its data.
    pub fn event(&mut self) -> (String, String) {
        let (mut name, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert_ne!(
                self.0.read_line(&mut line).unwrap(),
                0,
                "the stream has ended"
            );
            if let Some(text) = line.strip_prefix("event: ") {
                name = text.trim_end().to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = text.trim_end().to_owned();
            } else if line == "\n" && !name.is_empty() {
                return (name, data);
            }
        }
    }
}

pub fn get(console: &Console, path: &str) -> Answer {
    Client::new(console.local_addr()).get(path)
}

/// Asks again until it is so.
pub fn until<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let begun = std::time::Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "it did not happen");
        std::thread::yield_now();
    }
}
