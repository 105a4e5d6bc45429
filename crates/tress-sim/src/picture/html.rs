//! A recording as a page for a browser.
//!
//! The page is `page.html` with its style, its script and the data of the recording put in. Events are lists of numbers and texts, as
//! `page.js` reads them; it draws only those that are in sight.

use super::event::{Event, Fate, Message, State, What};
use super::json::{self, List};
use super::recording::{Recording, fate_name, kind_name, plain, shown, state_name};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::SocketAddr;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Writes the page.
///
/// # Errors
/// Any error of the writer.
pub(super) fn write(recording: &Recording, mut writer: impl Write) -> io::Result<()> {
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("a name ends");
        writer.write_all(before.as_bytes())?;
        let text = match name {
            "title" => escaped(&recording.title),
            "style" => STYLE.to_string(),
            "data" => data(recording),
            "script" => SCRIPT.to_string(),
            _ => unreachable!("the page has no {name}"),
        };
        writer.write_all(text.as_bytes())?;
        rest = after;
    }
    writer.write_all(rest.as_bytes())?;
    writer.flush()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// The data of the page.
fn data(recording: &Recording) -> String {
    let mut text = String::from("{\"title\":");
    json::string(&mut text, &recording.title);
    text += &format!(",\"seed\":\"{}\"", recording.seed);
    text += &format!(",\"leftOut\":{}", recording.left_out);
    text += &format!(",\"end\":{}", recording.end().as_nanos());
    text += ",\"verdict\":";
    json::string(&mut text, recording.verdict.as_deref().unwrap_or_default());
    text += ",\"hosts\":";
    let mut hosts = List::new(&mut text);
    for host in 0..recording.number_of_hosts() {
        hosts.text(&recording.host(host));
    }
    hosts.end();
    text += ",\"events\":";
    let mut addresses = Addresses::default();
    let mut events = List::new(&mut text);
    for event in &recording.events {
        events.list(|list| write_event(recording, event, &mut addresses, list));
    }
    events.end();
    text += ",\"addresses\":";
    let mut list = List::new(&mut text);
    for address in &addresses.all {
        list.text(&address.to_string());
    }
    list.end();
    text.push('}');
    text
}

/// Addresses of packets, each written once.
#[derive(Debug, Default)]
struct Addresses {
    places: BTreeMap<SocketAddr, usize>,
    all: Vec<SocketAddr>,
}

impl Addresses {
    fn place(&mut self, address: SocketAddr) -> u64 {
        let next = self.all.len();
        let place = *self.places.entry(address).or_insert(next);
        if place == next {
            self.all.push(address);
        }
        place as u64
    }
}

fn write_event(recording: &Recording, event: &Event, addresses: &mut Addresses, to: &mut List<'_>) {
    let time = event.time.0;
    match &event.what {
        What::Packet(message) => write_packet(time, message, addresses, to),
        What::Output {
            host,
            is_error,
            bytes,
        } => {
            let text = plain(bytes);
            to.text("line").number(time).place(*host);
            to.number(u64::from(*is_error)).text(&text);
        }
        What::State { host, state } => {
            let code = match state {
                State::Started => "up",
                State::PowerLost | State::Killed => "off",
                State::Paused => "pause",
                State::Resumed => "resume",
                State::Ended => "end",
            };
            to.text("state").number(time).place(Some(*host));
            to.text(code).text(state_name(*state));
        }
        What::Fault {
            number,
            kind,
            lasting,
            what,
        } => {
            to.text("fault").number(time).number((*number).into());
            to.text(kind);
            to.number(u64::try_from(lasting.as_nanos()).unwrap_or(u64::MAX));
            to.text(what);
            hosts_in(recording, what, to);
        }
        What::Act(text) => {
            to.text("act").number(time).text(text);
            hosts_in(recording, text, to);
        }
        What::Heal => {
            to.text("act").number(time).text("all faults end");
            to.list(|_| ());
        }
        What::Failure { host, text } => {
            to.text("failure").number(time).place(*host).text(text);
        }
    }
}

fn hosts_in(recording: &Recording, text: &str, to: &mut List<'_>) {
    to.list(|list| {
        for host in recording.hosts_in(text) {
            list.number(host as u64);
        }
    });
}

fn write_packet(time: u64, message: &Message, addresses: &mut Addresses, to: &mut List<'_>) {
    to.text("packet").number(message.sent.0).number(time);
    to.place(Some(message.from)).place(message.to);
    to.text(kind_name(message.kind))
        .number(message.length.into());
    to.text(match message.fate {
        Fate::Delivered => "",
        fate => fate_name(fate),
    });
    let flags = [message.was_held, message.is_copy, message.is_repeated];
    to.number(
        flags
            .iter()
            .rev()
            .fold(0, |all, one| all << 1 | u64::from(*one)),
    );
    to.number(addresses.place(message.source));
    to.number(addresses.place(message.destination));
    to.text(&shown(&message.bytes));
}
