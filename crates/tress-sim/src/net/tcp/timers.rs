//! What a connection does when it hears nothing.

use super::super::{Cx, Event, Kind, Net, SocketId};
use super::send::Sender;
use super::{State, Tcp};
use crate::time::Time;
use std::time::Duration;

/// The times of a connection. One event is scheduled for the earliest of them.
#[derive(Debug)]
pub(super) struct Timers {
    /// When its handshake began.
    started: Time,
    heard: Time,
    /// When what was sent is sent again, or there is a probe.
    resend: Option<Time>,
    /// Since when there is no progress though something was sent.
    waits_since: Option<Time>,
    /// Time-outs in a row without any answer.
    unanswered: u32,
    /// How often the time-out has been doubled.
    doubled: u32,
    timeout: Duration,
    /// The mean time until an answer comes, and how much it varies.
    mean: Option<Duration>,
    variation: Duration,
    /// The number whose acknowledgement is timed, and when it was sent.
    timed: Option<(u64, Time)>,
    /// Probes without an answer since something was heard.
    probes: u32,
    /// When the connection ends, whatever happens.
    end: Option<Time>,
    /// The time of the event that was scheduled last.
    scheduled: Option<Time>,
}

/// The time-out before anything is known.
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);
/// The least time-out beyond the mean time of an answer.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a host looks for another one that does not exist.
const NO_ROUTE_AFTER: Duration = Duration::from_secs(3);
/// Time-outs in a row after which a connection is given up: about a quarter of an hour.
const TRIES: u32 = 15;
const TRIES_TO_CONNECT: u32 = 6;
const TRIES_TO_ACCEPT: u32 = 5;
const TRIES_OF_ORPHANS: u32 = 8;

const KEEP_IDLE: Duration = Duration::from_secs(7200);
const KEEP_INTERVAL: Duration = Duration::from_secs(75);
const KEEP_COUNT: u32 = 9;

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            started: Time::START,
            heard: Time::START,
            resend: None,
            waits_since: None,
            unanswered: 0,
            doubled: 0,
            timeout: FIRST_TIMEOUT,
            mean: None,
            variation: Duration::ZERO,
            timed: None,
            probes: 0,
            end: None,
            scheduled: None,
        }
    }
}

impl Timers {
    pub(super) fn begin(&mut self, now: Time) {
        (self.started, self.heard) = (now, now);
    }

    pub(super) fn heard(&mut self, now: Time) {
        self.heard = self.heard.max(now);
        self.probes = 0;
    }

    pub(super) fn set_end(&mut self, end: Time) {
        self.end = Some(end);
    }

    pub(super) fn is_backing_off(&self) -> bool {
        self.doubled > 0
    }

    /// Times the acknowledgement of a number, unless another one is.
    pub(super) fn time(&mut self, now: Time, number: u64) {
        if self.doubled == 0 {
            self.timed.get_or_insert((number, now));
        }
    }

    /// What was timed was sent twice: nobody knows which of them is acknowledged.
    pub(super) fn is_resent(&mut self) {
        self.timed = None;
    }

    /// Something was answered. A probe that was is no failure.
    pub(super) fn unanswered_is_answered(&mut self, is_in_flight: bool) {
        if !is_in_flight {
            self.unanswered = 0;
            self.waits_since = None;
        }
    }

    /// Something was acknowledged that was not before.
    #[inline]
    pub(super) fn progress(&mut self, cx: &Cx, sender: &Sender) {
        if let Some((number, sent)) = self.timed {
            if sender.acknowledged >= number {
                self.timed = None;
                self.measured(cx.now.since(sent));
            }
        }
        (self.unanswered, self.doubled) = (0, 0);
        (self.resend, self.waits_since) = (None, None);
        if sender.is_in_flight() {
            self.start_resend(cx, sender);
        }
    }

    /// Learns how long an answer takes, as RFC 6298 has it.
    fn measured(&mut self, took: Duration) {
        match self.mean {
            None => {
                self.mean = Some(took);
                self.variation = took / 2;
            }
            Some(mean) => {
                self.variation = (3 * self.variation + mean.abs_diff(took)) / 4;
                self.mean = Some((7 * mean + took) / 8);
            }
        }
        let mean = self.mean.unwrap_or(took);
        self.timeout = (mean + (4 * self.variation).max(LEAST_TIMEOUT)).min(LONGEST_TIMEOUT);
    }

    #[inline]
    pub(super) fn ensure_resend(&mut self, cx: &Cx, sender: &Sender) {
        if self.resend.is_none() {
            self.start_resend(cx, sender);
        }
    }

    pub(super) fn start_resend(&mut self, cx: &Cx, sender: &Sender) {
        let since = *self.waits_since.get_or_insert(cx.now);
        let timeout = self
            .timeout
            .saturating_mul(1 << self.doubled.min(16))
            .min(LONGEST_TIMEOUT);
        let mut due = cx.now + timeout;
        if let Some(limit) = cx.base.options.user_timeout {
            due = due.min((since + limit).max(cx.now));
        }
        self.resend = Some(due);
        self.time(cx.now, sender.most_sent);
    }

    pub(super) fn stop_resend(&mut self) {
        self.resend = None;
    }
}

impl Tcp {
    /// Returns when the next probe of an idle connection is due.
    fn next_probe(&self, cx: &Cx) -> Option<Time> {
        let options = &cx.base.options;
        let is_open = matches!(
            self.state,
            State::Established | State::CloseWait | State::FinWait2
        );
        if !options.keep_alive || !is_open || self.timers.resend.is_some() {
            return None;
        }
        let idle = options.keep_idle.unwrap_or(KEEP_IDLE);
        let interval = options.keep_interval.unwrap_or(KEEP_INTERVAL);
        Some(self.timers.heard + idle + interval * self.timers.probes)
    }

    /// Schedules an event for the earliest of all times.
    #[inline]
    pub(in super::super) fn set_timer(&mut self, cx: &mut Cx) {
        let times = [self.timers.resend, self.timers.end, self.next_probe(cx)];
        let Some(due) = times.into_iter().flatten().min() else {
            return;
        };
        if self.state != State::Closed && self.timers.scheduled.is_none_or(|other| due < other) {
            self.timers.scheduled = Some(due);
            cx.wire.schedule(due, Event::Timer(cx.base.id));
        }
    }

    fn timer(&mut self, cx: &mut Cx) {
        let now = cx.now;
        if self.timers.scheduled.is_some_and(|time| time <= now) {
            self.timers.scheduled = None;
        }
        if self.state == State::Closed {
            return;
        }
        if self.timers.end.is_some_and(|end| end <= now) {
            self.set_state(cx, State::Closed);
            return;
        }
        if self.timers.resend.is_some_and(|time| time <= now) {
            self.hears_nothing(cx);
        }
        if self.next_probe(cx).is_some_and(|time| time <= now) {
            self.keep_alive(cx);
        }
        self.set_timer(cx);
    }

    /// What was sent has not been answered in time.
    fn hears_nothing(&mut self, cx: &mut Cx) {
        let timers = &mut self.timers;
        (timers.resend, timers.timed) = (None, None);
        timers.unanswered += 1;
        let tries = match self.state {
            State::SynSent => TRIES_TO_CONNECT,
            State::SynReceived => TRIES_TO_ACCEPT,
            _ if self.is_orphan => TRIES_OF_ORPHANS,
            _ => TRIES,
        };
        let waited = timers
            .waits_since
            .map_or(Duration::ZERO, |since| cx.now.since(since));
        let limit = cx.base.options.user_timeout;
        if timers.unanswered > tries || limit.is_some_and(|limit| waited >= limit) {
            self.broken(cx, Some(libc::ETIMEDOUT));
            return;
        }
        let is_opening = matches!(self.state, State::SynSent | State::SynReceived);
        if is_opening && cx.now.since(timers.started) >= NO_ROUTE_AFTER {
            let remote = cx.base.remote.expect("is known when it begins");
            if cx.wire.host_at(cx.base.host, remote.ip()).is_none() {
                self.broken(cx, Some(libc::EHOSTUNREACH));
                return;
            }
        }
        timers.doubled += 1;
        if is_opening {
            self.send_first(cx);
        } else if self.sender.is_in_flight() {
            self.go_back(cx);
        } else if self.sender.is_stalled() {
            self.probe(cx);
            self.timers.start_resend(cx, &self.sender);
        }
    }

    /// Asks an idle connection whether it is still one.
    fn keep_alive(&mut self, cx: &mut Cx) {
        if self.timers.probes >= cx.base.options.keep_count.unwrap_or(KEEP_COUNT) {
            self.broken(cx, Some(libc::ETIMEDOUT));
            return;
        }
        self.timers.probes += 1;
        self.probe(cx);
    }
}

impl Net {
    pub(in super::super) fn tcp_timer(&mut self, now: Time, id: SocketId) {
        let socket = self.sockets.get(id.0);
        if socket.is_some_and(|socket| matches!(socket.kind, Kind::Tcp(_))) {
            let handled = self.tcp(now, id, |tcp, cx| tcp.timer(cx));
            debug_assert!(handled.is_ok(), "exists");
        }
    }
}
