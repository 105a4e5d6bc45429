//! Which requests are answered.

use crate::request::Request;
use crate::response::Status;
use std::hint::black_box;
use std::net::IpAddr;

#[derive(Debug)]
pub(crate) struct Access {
    token: Option<String>,
    /// Whether the server listens on a loopback address.
    loopback: bool,
}

impl Access {
    pub(crate) fn new(token: Option<String>, loopback: bool) -> Access {
        Access { token, loopback }
    }

    /// Returns why a request is refused, if it is. The token comes first: without it a client learns nothing else.
    pub(crate) fn refusal(&self, request: &Request) -> Option<Status> {
        if let Some(token) = &self.token {
            let given = request.bearer.clone().or_else(|| request.query("token"));
            if !given.is_some_and(|given| same(given.as_bytes(), token.as_bytes())) {
                return Some(Status::Unauthorized);
            }
        }
        match &request.host {
            Some(host) if self.loopback && !is_local(host) => Some(Status::Misdirected),
            None if self.loopback => Some(Status::BadRequest),
            _ => None,
        }
    }
}

/// Compares in a time that depends on the length of what is given only.
fn same(given: &[u8], secret: &[u8]) -> bool {
    let mut difference = usize::from(given.len() != secret.len());
    for (n, byte) in given.iter().enumerate() {
        // A secret is not empty.
        difference |= usize::from(byte ^ secret[n % secret.len()]);
    }
    black_box(difference) == 0
}

/// Returns whether a `Host` header names this machine, in a way that no name server has a say in.
///
/// A foreign page whose name resolves to a loopback address has its own name there. The port may be any, for tunnels.
fn is_local(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if port.is_empty() || port.starts_with(':') => name,
            _ => return false,
        },
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    match name.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => name.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_local() {
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1:6670",
            "127.8.8.8",
            "[::1]:6670",
            "[::1]",
        ] {
            assert!(is_local(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:6670",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
            "[::1",
            "[::1]evil.example",
            "evil@localhost",
        ] {
            assert!(!is_local(host), "{host}");
        }
    }

    #[test]
    fn only_the_whole_secret_is_the_same() {
        assert!(same(b"secret", b"secret"));
        for given in ["", "secre", "secret ", "secretsecret", "Secret", "secrat"] {
            assert!(!same(given.as_bytes(), b"secret"), "{given}");
        }
    }
}
