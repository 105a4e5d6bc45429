//! Requests to a program's console.

use super::args::Target;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use serde::de::DeserializeOwned;
use std::fmt;
use std::io;
use std::time::Duration;
use tress::net::TcpStream;
use tress::time::timeout;
use tress_hyper::TressIo;

/// Maximum number of bytes of an answer.
const LARGEST: usize = 256 * 1024 * 1024;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A program that serves its console.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: String,
    token: Option<String>,
}

/// A reason why a program cannot be looked at, in a sentence that says what to do.
#[derive(Debug)]
pub(crate) struct Unreachable(String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

impl Client {
    pub(crate) fn new(target: &Target) -> Result<Client, Unreachable> {
        let pid = target.program.parse::<u32>().ok();
        let (address, token) = match pid {
            Some(pid) => of_process(pid)?,
            None => (target.program.clone(), None),
        };
        Ok(Client {
            address,
            token: target.token.clone().or(token),
        })
    }

    /// Gets a page.
    pub(crate) async fn get(&self, path: &str) -> Result<Bytes, Unreachable> {
        let asked = timeout(PATIENCE, self.ask(path)).await;
        asked.unwrap_or_else(|_| {
            Err(Unreachable(format!(
                "{} does not answer within {PATIENCE:?}: is it the console of a tress program?",
                self.address
            )))
        })
    }

    /// Gets a page that is JSON.
    pub(crate) async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, Unreachable> {
        let answer = self.get(path).await?;
        serde_json::from_slice(&answer).map_err(|error| self.strange(&error))
    }

    async fn ask(&self, path: &str) -> Result<Bytes, Unreachable> {
        let stream = TcpStream::connect(&self.address)
            .await
            .map_err(|error| self.refused(&error))?;
        let failed = |error: &dyn fmt::Display| self.strange(error);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TressIo::new(stream))
            .await
            .map_err(|error| failed(&error))?;
        // It ends with its sender.
        let connection = tress::spawn(connection);
        let mut request = Request::get(path)
            .header("host", &self.address)
            .header("connection", "close");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request
            .body(Empty::<Bytes>::new())
            .map_err(|error| failed(&error))?;
        let answer = sender
            .send_request(request)
            .await
            .map_err(|error| failed(&error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), LARGEST).collect().await;
        drop(sender);
        connection.abort();
        match status {
            StatusCode::OK => body
                .map(|body| body.to_bytes())
                .map_err(|error| failed(&error)),
            StatusCode::UNAUTHORIZED => Err(Unreachable(format!(
                "{} wants a token: give it with --token or in TRESS_CONSOLE_TOKEN",
                self.address
            ))),
            status => Err(Unreachable(format!(
                "{} answers {status} for {path}",
                self.address
            ))),
        }
    }

    /// Returns the error for an answer that is not what a console says.
    pub(crate) fn strange(&self, error: &dyn fmt::Display) -> Unreachable {
        Unreachable(format!(
            "{} does not speak as the console of a tress program does: {error}",
            self.address
        ))
    }

    fn refused(&self, error: &io::Error) -> Unreachable {
        Unreachable(format!(
            "cannot connect to {}: {error}. Start the program with TRESS_CONSOLE={} (the facade needs the feature \
             `console`), or let it call tress_console::Console",
            self.address, self.address
        ))
    }
}

/// Returns the address and the token that a process was started with.
fn of_process(pid: u32) -> Result<(String, Option<String>), Unreachable> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).map_err(|error| {
        Unreachable(format!(
            "cannot read the environment of process {pid}: {error}"
        ))
    })?;
    console_of(&environment).ok_or_else(|| {
        Unreachable(format!(
            "process {pid} was started without TRESS_CONSOLE: give the address of its console, if it has one"
        ))
    })
}

fn console_of(environment: &[u8]) -> Option<(String, Option<String>)> {
    let text = environment
        .split(|byte| *byte == 0)
        .find_map(|variable| variable.strip_prefix(b"TRESS_CONSOLE="))?;
    let text = std::str::from_utf8(text).ok()?;
    let mut parts = text.split(',');
    let address = parts.next().filter(|address| !address.is_empty())?;
    let token = parts.find_map(|part| part.strip_prefix("token="));
    Some((address.to_owned(), token.map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_of_a_process_stands_in_its_environment() {
        let found = |text: &[u8]| console_of(text);
        assert_eq!(found(b"A=1\0TRESS_CONSOLE=\0"), None);
        assert_eq!(found(b"A=1\0B=2\0"), None);
        let plain = Some(("127.0.0.1:6670".to_owned(), None));
        assert_eq!(found(b"A=1\0TRESS_CONSOLE=127.0.0.1:6670\0"), plain);
        let with_token = Some(("0.0.0.0:1".to_owned(), Some("x".to_owned())));
        assert_eq!(found(b"TRESS_CONSOLE=0.0.0.0:1,token=x\0C="), with_token);
    }
}
