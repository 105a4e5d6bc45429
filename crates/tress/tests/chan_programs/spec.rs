//! What channels do, said as plainly as possible: queues, lines of those who wait, and rules by which
//! they change. No atomics, no wake-ups, no pointers: whoever can go on does so when it is polled.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tress::channel::Overflow;

/// How a channel ended: by whom it was closed first, and why.
pub type Cause = Option<u32>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The message comes back if the channel is closed.
    Sent(Result<(), (u32, Cause)>),
    Received(Result<u32, Cause>),
    ReceivedMany(Result<Vec<u32>, Cause>),
    Reserved(Result<(), Cause>),
    SawTheEnd,
    /// There is no place, or no message.
    NotNow,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Rendezvous,
    Bounded(usize, Overflow),
    Unbounded,
}

/// What somebody who waits wants of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    Send(u32),
    Recv,
    RecvMany(usize),
    Reserve,
    SeeTheEnd,
}

/// How far it has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Outside,
    InLine,
    /// It has the place, the promise, or has met somebody.
    Served,
    Told,
}

#[derive(Clone, Debug)]
struct Clause {
    channel: usize,
    want: Want,
    place: Place,
    /// A message that was put into a receiver's hand.
    hand: Option<u32>,
}

/// One of several clauses that wait together.
type Party = (usize, usize);

#[derive(Clone, Debug)]
pub struct Channel {
    kind: Kind,
    /// In a rendezvous, what is kept for the next receiver.
    pub queue: VecDeque<u32>,
    pub end: Option<Cause>,
    gone: bool,
    pub senders: usize,
    pub receivers: usize,
    /// Places that are promised: to permits, and to those in line who do not know yet.
    reserved: usize,
    /// Messages in hands.
    hands: usize,
    givers: Vec<Party>,
    takers: Vec<Party>,
    hopeful: Vec<Party>,
    pub undelivered: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub channels: Vec<Channel>,
    waiting: BTreeMap<usize, Vec<Clause>>,
}

/// A select takes one message, however many of its clauses wait for one.
fn distinct<'a>(parties: impl Iterator<Item = &'a Party>) -> usize {
    parties.map(|(id, _)| id).collect::<BTreeSet<_>>().len()
}

impl Channel {
    fn cause(&self) -> Cause {
        self.end.flatten()
    }

    fn is_full(&self) -> bool {
        match self.kind {
            Kind::Bounded(places, _) => self.queue.len() + self.reserved >= places,
            Kind::Unbounded => false,
            Kind::Rendezvous => true,
        }
    }

    fn reserves(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Bounded(_, Overflow::DropOldest | Overflow::DropLatest)
        )
    }

    fn is_over(&self) -> bool {
        self.end.is_some() && self.reserved == 0 && self.hands == 0 && self.queue.is_empty()
    }
}

impl Spec {
    pub fn add(&mut self, kind: Kind) {
        self.channels.push(Channel {
            kind,
            queue: VecDeque::new(),
            end: None,
            gone: false,
            senders: 1,
            receivers: 1,
            reserved: 0,
            hands: 0,
            givers: Vec::new(),
            takers: Vec::new(),
            hopeful: Vec::new(),
            undelivered: Vec::new(),
        });
    }

    /// Somebody begins to wait, with a handle of its own for each clause.
    pub fn begin(&mut self, id: usize, wants: &[(usize, Want)]) {
        for (channel, want) in wants {
            self.handle(*channel, want, 1);
        }
        let clauses = wants.iter().map(|(channel, want)| Clause {
            channel: *channel,
            want: want.clone(),
            place: Place::Outside,
            hand: None,
        });
        self.waiting.insert(id, clauses.collect());
    }

    /// What it waits for, and of which channels.
    pub fn wants(&self, id: usize) -> Vec<(usize, Want)> {
        let clauses = self.waiting[&id].iter();
        clauses
            .map(|clause| (clause.channel, clause.want.clone()))
            .collect()
    }

    fn handle(&mut self, channel: usize, want: &Want, add: isize) {
        let channel = &mut self.channels[channel];
        let count = match want {
            Want::Recv | Want::RecvMany(_) => &mut channel.receivers,
            _ => &mut channel.senders,
        };
        *count = count.checked_add_signed(add).unwrap();
    }

    /// Its clause that happens, and how.
    pub fn poll(&mut self, id: usize) -> Option<(usize, Outcome)> {
        let count = self.waiting[&id].len();
        let met = (0..count).find(|&nth| self.is_met((id, nth)));
        let order = met.map_or(0..count, |nth| nth..nth + 1);
        for nth in order {
            if let Some(outcome) = self.try_clause((id, nth)) {
                self.leave(id, Some(nth), outcome == Outcome::Reserved(Ok(())));
                return Some((nth, outcome));
            }
        }
        for nth in 0..count {
            self.get_in_line((id, nth));
        }
        None
    }

    pub fn give_up(&mut self, id: usize) {
        self.leave(id, None, false);
    }

    fn clause(&mut self, (id, nth): Party) -> &mut Clause {
        &mut self.waiting.get_mut(&id).unwrap()[nth]
    }

    /// Has it met somebody in a rendezvous? Then nothing else can happen to it.
    fn is_met(&self, (id, nth): Party) -> bool {
        let clause = &self.waiting[&id][nth];
        let meets = self.channels[clause.channel].kind == Kind::Rendezvous;
        meets && clause.place == Place::Served
    }

    fn is_free(&self, (id, _): Party) -> bool {
        (0..self.waiting[&id].len()).all(|nth| !self.is_met((id, nth)))
    }

    fn try_clause(&mut self, party: Party) -> Option<Outcome> {
        let Clause {
            channel: at,
            want,
            place,
            ..
        } = self.clause(party).clone();
        let cause = self.channels[at].cause();
        match want {
            Want::Send(message) => match place {
                Place::Served if self.is_met(party) => Some(Outcome::Sent(Ok(()))),
                Place::Served => {
                    // It had the place, but closing comes first.
                    self.clause(party).place = Place::Outside;
                    self.channels[at].reserved -= 1;
                    Some(if self.channels[at].end.is_some() {
                        self.freed(at);
                        Outcome::Sent(Err((message, cause)))
                    } else {
                        self.channels[at].queue.push_back(message);
                        Outcome::Sent(Ok(()))
                    })
                }
                Place::InLine if !self.meets(at) => None,
                _ => match self.try_send_as(Some(party.0), at, message) {
                    Outcome::NotNow => None,
                    sent => Some(sent),
                },
            },
            Want::Recv => match self.take(Some(party), at) {
                Outcome::NotNow => None,
                received => Some(received),
            },
            Want::RecvMany(0) => Some(Outcome::ReceivedMany(Ok(Vec::new()))),
            Want::RecvMany(limit) => match self.take(Some(party), at) {
                Outcome::Received(Ok(first)) => {
                    // It has what it waited for, and looks for more as anybody would.
                    self.out_of_line(party);
                    let mut all = vec![first];
                    while all.len() < limit {
                        match self.take(None, at) {
                            Outcome::Received(Ok(message)) => all.push(message),
                            _ => break,
                        }
                    }
                    Some(Outcome::ReceivedMany(Ok(all)))
                }
                Outcome::Received(Err(cause)) => Some(Outcome::ReceivedMany(Err(cause))),
                _ => None,
            },
            Want::Reserve => match place {
                Place::Served if self.channels[at].end.is_some() && !self.meets(at) => {
                    self.clause(party).place = Place::Outside;
                    self.channels[at].reserved -= 1;
                    self.freed(at);
                    Some(Outcome::Reserved(Err(cause)))
                }
                Place::Served => {
                    self.clause(party).place = Place::Outside;
                    Some(Outcome::Reserved(Ok(())))
                }
                Place::InLine => None,
                _ => match self.try_reserve(at) {
                    Outcome::NotNow => None,
                    reserved => Some(reserved),
                },
            },
            Want::SeeTheEnd => self.channels[at].end.map(|_| Outcome::SawTheEnd),
        }
    }

    fn meets(&self, at: usize) -> bool {
        self.channels[at].kind == Kind::Rendezvous
    }

    pub fn try_send(&mut self, at: usize, message: u32) -> Outcome {
        self.try_send_as(None, at, message)
    }

    fn try_send_as(&mut self, id: Option<usize>, at: usize, message: u32) -> Outcome {
        let channel = &mut self.channels[at];
        if channel.end.is_some() {
            return Outcome::Sent(Err((message, channel.cause())));
        }
        match channel.kind {
            Kind::Rendezvous => {
                let unpromised = self.free_takers(id, at) > self.channels[at].reserved;
                if unpromised && self.give(id, at, message) {
                    Outcome::Sent(Ok(()))
                } else {
                    Outcome::NotNow
                }
            }
            Kind::Bounded(_, overflow) if channel.is_full() || !channel.givers.is_empty() => {
                match overflow {
                    Overflow::DropOldest => {
                        let oldest = channel.queue.pop_front().unwrap();
                        channel.undelivered.push(oldest);
                        channel.queue.push_back(message);
                    }
                    Overflow::DropLatest => channel.undelivered.push(message),
                    _ => return Outcome::NotNow,
                }
                Outcome::Sent(Ok(()))
            }
            _ => {
                channel.queue.push_back(message);
                Outcome::Sent(Ok(()))
            }
        }
    }

    pub fn try_recv(&mut self, at: usize) -> Outcome {
        self.take(None, at)
    }

    fn take(&mut self, party: Option<Party>, at: usize) -> Outcome {
        if let Some(party) = party {
            if let Some(message) = self.clause(party).hand.take() {
                self.clause(party).place = Place::Outside;
                self.channels[at].hands -= 1;
                self.conclude(at);
                return Outcome::Received(Ok(message));
            }
        }
        if let Some(message) = self.channels[at].queue.pop_front() {
            self.freed(at);
            return Outcome::Received(Ok(message));
        }
        if self.meets(at) {
            let own = party.map(|(id, _)| id);
            let givers = self.channels[at].givers.clone();
            let in_line = party.filter(|party| self.channels[at].takers.contains(party));
            let other = |giver: &&Party| {
                Some(giver.0) != own
                    && self.is_free(**giver)
                    && in_line.is_none_or(|taker| self.can_spare(at, taker, **giver))
            };
            if let Some(&giver) = givers.iter().find(other) {
                return Outcome::Received(Ok(self.serve_giver(at, giver)));
            }
        }
        if self.channels[at].is_over() {
            Outcome::Received(Err(self.channels[at].cause()))
        } else {
            Outcome::NotNow
        }
    }

    fn serve_giver(&mut self, at: usize, giver: Party) -> u32 {
        self.channels[at].givers.retain(|other| *other != giver);
        let clause = self.clause(giver);
        clause.place = Place::Served;
        let Want::Send(message) = clause.want else {
            unreachable!("givers send");
        };
        message
    }

    /// Puts a message into the hand of a receiver in line, other than that of `id`.
    fn give(&mut self, id: Option<usize>, at: usize, message: u32) -> bool {
        let takers = self.channels[at].takers.clone();
        let other = |taker: &&Party| Some(taker.0) != id && self.is_free(**taker);
        let Some(&taker) = takers.iter().find(other) else {
            return false;
        };
        self.channels[at].takers.retain(|other| *other != taker);
        self.channels[at].hands += 1;
        let clause = self.clause(taker);
        clause.place = Place::Served;
        clause.hand = Some(message);
        true
    }

    /// Receivers in line who can be met, other than those of `id`.
    fn free_takers(&self, id: Option<usize>, at: usize) -> usize {
        let other = |taker: &&Party| Some(taker.0) != id && self.is_free(**taker);
        let others = self.channels[at].takers.iter().filter(other);
        distinct(others)
    }

    /// Can all promises be kept when these two, in line, have met and gone?
    fn can_spare(&self, at: usize, taker: Party, giver: Party) -> bool {
        let other =
            |other: &&Party| other.0 != taker.0 && other.0 != giver.0 && self.is_free(**other);
        let others = self.channels[at].takers.iter().filter(other);
        distinct(others) >= self.channels[at].reserved
    }

    pub fn try_reserve(&mut self, at: usize) -> Outcome {
        let free_takers = self.free_takers(None, at);
        let channel = &mut self.channels[at];
        if channel.end.is_some() {
            return Outcome::Reserved(Err(channel.cause()));
        }
        let can = match channel.kind {
            Kind::Rendezvous => free_takers > channel.reserved,
            _ => !channel.reserves() || (!channel.is_full() && channel.givers.is_empty()),
        };
        if !can {
            return Outcome::NotNow;
        }
        if channel.reserves() {
            channel.reserved += 1;
        }
        Outcome::Reserved(Ok(()))
    }

    pub fn send_reserved(&mut self, at: usize, message: u32) -> Outcome {
        let channel = &mut self.channels[at];
        if !channel.reserves() {
            return self.try_send(at, message);
        }
        channel.reserved -= 1;
        if channel.gone {
            return Outcome::Sent(Err((message, channel.cause())));
        }
        if !self.meets(at) || !self.give(None, at, message) {
            self.channels[at].queue.push_back(message);
        }
        self.conclude(at);
        Outcome::Sent(Ok(()))
    }

    pub fn release(&mut self, at: usize) {
        if self.channels[at].reserves() {
            self.channels[at].reserved -= 1;
            self.freed(at);
        }
    }

    /// A message was taken out, or a promise taken back: others may have the place.
    fn freed(&mut self, at: usize) {
        if self.channels[at].end.is_some() {
            return self.conclude(at);
        }
        if self.meets(at) {
            return self.receiver_is_free(at);
        }
        let channel = &mut self.channels[at];
        while !channel.is_full() && !channel.givers.is_empty() {
            channel.reserved += 1;
            let first = channel.givers.remove(0);
            self.waiting.get_mut(&first.0).unwrap()[first.1].place = Place::Served;
        }
    }

    /// A receiver in line may be promised, or meets a sender in line.
    fn receiver_is_free(&mut self, at: usize) {
        let free_takers = self.free_takers(None, at);
        let channel = &mut self.channels[at];
        if free_takers > channel.reserved && !channel.hopeful.is_empty() {
            channel.reserved += 1;
            let first = channel.hopeful.remove(0);
            self.clause(first).place = Place::Served;
            return;
        }
        for taker in channel.takers.clone() {
            for giver in self.channels[at].givers.clone() {
                if taker.0 != giver.0
                    && self.is_free(taker)
                    && self.is_free(giver)
                    && self.can_spare(at, taker, giver)
                {
                    let message = self.serve_giver(at, giver);
                    self.channels[at].takers.retain(|other| *other != taker);
                    self.channels[at].hands += 1;
                    let clause = self.clause(taker);
                    clause.place = Place::Served;
                    clause.hand = Some(message);
                    return;
                }
            }
        }
    }

    fn get_in_line(&mut self, party: Party) {
        let Clause {
            channel: at, want, ..
        } = self.clause(party).clone();
        let meets = self.meets(at);
        if self.clause(party).place == Place::InLine {
            return;
        }
        let channel = &mut self.channels[at];
        let line = match want {
            Want::Send(_) => &mut channel.givers,
            Want::Recv | Want::RecvMany(_) if meets => &mut channel.takers,
            Want::Reserve if meets => &mut channel.hopeful,
            Want::Reserve => &mut channel.givers,
            // Nothing depends on who waits for the messages of a queue, or for the end.
            _ => return,
        };
        line.push(party);
        self.clause(party).place = Place::InLine;
        if meets && matches!(want, Want::Recv | Want::RecvMany(_)) {
            let free_takers = self.free_takers(None, at);
            let channel = &mut self.channels[at];
            if free_takers > channel.reserved
                && channel.end.is_none()
                && !channel.hopeful.is_empty()
            {
                channel.reserved += 1;
                let first = channel.hopeful.remove(0);
                self.clause(first).place = Place::Served;
            }
        }
    }

    fn out_of_line(&mut self, party: Party) {
        let at = self.clause(party).channel;
        let channel = &mut self.channels[at];
        for line in [
            &mut channel.givers,
            &mut channel.takers,
            &mut channel.hopeful,
        ] {
            line.retain(|other| *other != party);
        }
    }

    /// All its clauses are dropped; `happened` did, and has its result.
    fn leave(&mut self, id: usize, happened: Option<usize>, keeps_sender: bool) {
        for nth in 0..self.waiting[&id].len() {
            let party = (id, nth);
            self.out_of_line(party);
            if happened == Some(nth) {
                continue;
            }
            let Clause {
                channel: at,
                want,
                place,
                hand,
            } = self.clause(party).clone();
            self.clause(party).place = Place::Outside;
            self.clause(party).hand = None;
            let met = self.meets(at) && place == Place::Served;
            match want {
                Want::Send(_) if met => {}
                Want::Send(message) => {
                    self.channels[at].undelivered.push(message);
                    if place == Place::Served {
                        self.release(at);
                    }
                }
                Want::Reserve if place == Place::Served => self.release(at),
                Want::Recv | Want::RecvMany(_) => {
                    if let Some(message) = hand {
                        if !self.give(None, at, message) {
                            self.channels[at].queue.push_front(message);
                        }
                        self.channels[at].hands -= 1;
                        self.conclude(at);
                    }
                }
                _ => {}
            }
        }
        for clause in self.waiting.remove(&id).unwrap() {
            if !keeps_sender {
                self.drop_handle(clause.channel, &clause.want);
            }
        }
    }

    pub fn drop_handle(&mut self, at: usize, want: &Want) {
        self.handle(at, want, -1);
        let channel = &mut self.channels[at];
        if matches!(want, Want::Recv | Want::RecvMany(_)) {
            if channel.receivers == 0 {
                self.close(at, None, true);
                let channel = &mut self.channels[at];
                let rest = std::mem::take(&mut channel.queue);
                channel.undelivered.extend(rest);
            }
        } else if channel.senders == 0 {
            self.close(at, None, false);
        }
    }

    pub fn close(&mut self, at: usize, cause: Cause, gone: bool) -> bool {
        let channel = &mut self.channels[at];
        let first = channel.end.is_none();
        channel.end.get_or_insert(cause);
        channel.gone |= gone;
        let mut told = std::mem::take(&mut channel.givers);
        told.append(&mut channel.hopeful);
        for party in told {
            self.clause(party).place = Place::Told;
        }
        self.conclude(at);
        first
    }

    /// At the end nobody waits for messages in line any more.
    fn conclude(&mut self, at: usize) {
        let channel = &mut self.channels[at];
        let over = channel.end.is_some() && channel.reserved == 0 && channel.hands == 0;
        if over {
            for party in std::mem::take(&mut channel.takers) {
                self.clause(party).place = Place::Told;
            }
        }
    }
}
