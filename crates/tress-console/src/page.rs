//! The page: one answer that needs no other file.

use crate::response::{Body, Response};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

const HTML: &str = include_str!("page/index.html");
const STYLE: &str = include_str!("page/console.css");
/// In the order in which the parts use each other.
const SCRIPTS: [&str; 6] = [
    include_str!("page/base.js"),
    include_str!("page/table.js"),
    include_str!("page/lanes.js"),
    include_str!("page/graph.js"),
    include_str!("page/panes.js"),
    include_str!("page/main.js"),
];

/// Makes the numbers by which a browser tells our scripts and styles from what others may have smuggled in.
#[derive(Debug, Default)]
pub(crate) struct Nonces {
    /// Its keys are random, and a hash with secret keys cannot be guessed.
    keys: RandomState,
    next: AtomicU64,
}

impl Nonces {
    fn next(&self) -> String {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let half = |part: u8| self.keys.hash_one((number, part));
        format!("{:016x}{:016x}", half(0), half(1))
    }
}

pub(crate) fn response(nonces: &Nonces) -> Response {
    let nonce = nonces.next();
    let text = HTML
        .replace("NONCE", &nonce)
        .replacen("/* STYLE */", STYLE, 1)
        .replacen("/* SCRIPT */", &SCRIPTS.concat(), 1);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    Response::new("text/html; charset=utf-8", Body::Text(text))
        .field("Content-Security-Policy", &policy)
        .field("X-Frame-Options", "DENY")
}
