//! Runs a program on real channels and on the specification side by side.

use crate::chan_support::Dice;
use crate::spec::{Cause, Kind, Outcome, Spec, Want};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use tress::channel::error::{RecvError, SendError, TryRecvError, TrySendError};
use tress::channel::{self, Overflow, OwnedPermit, Receiver, Select, Sender};

/// Numbers stand for whichever of those that there are; a step that nobody is there for does nothing.
#[derive(Clone, Debug)]
pub enum Step {
    TrySend(usize),
    TryRecv(usize),
    TryReserve(usize),
    SendReserved(usize),
    DropPermit(usize),
    Begin(Vec<(usize, Wanted)>),
    Poll(usize),
    /// Only those that have been woken.
    PollWoken(usize),
    GiveUp(usize),
    CloneSender(usize),
    CloneReceiver(usize),
    DropSender(usize),
    DropReceiver(usize),
    CloseBySender(usize, Cause),
    CloseByReceiver(usize, Cause),
    Settle,
}

#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    Send,
    Recv,
    RecvMany(usize),
    Reserve,
    SeeTheEnd,
}

impl Step {
    pub fn random(dice: &mut Dice) -> Step {
        let at = dice.below(2);
        let any = dice.below(8);
        match dice.below(40) {
            0..=2 => Step::TrySend(at),
            3..=5 => Step::TryRecv(at),
            6..=7 => Step::TryReserve(at),
            8 => Step::SendReserved(any),
            9 => Step::DropPermit(any),
            10..=14 => Step::Begin(vec![(at, Wanted::random(dice))]),
            15..=20 => {
                let count = 1 + dice.below(3);
                let clause = |_| {
                    let wanted = [Wanted::Send, Wanted::Recv][dice.below(2)];
                    (dice.below(2), wanted)
                };
                Step::Begin((0..count).map(clause).collect())
            }
            21..=25 => Step::Poll(any),
            26..=29 => Step::PollWoken(any),
            30..=32 => Step::GiveUp(any),
            33 => Step::CloneSender(at),
            34 => Step::CloneReceiver(at),
            35 => Step::DropSender(at),
            36 => Step::DropReceiver(at),
            37 => {
                let cause = [None, Some(1), Some(2)][dice.below(3)];
                [
                    Step::CloseBySender(at, cause),
                    Step::CloseByReceiver(at, cause),
                ][dice.below(2)]
                .clone()
            }
            _ => Step::Settle,
        }
    }
}

impl Wanted {
    fn random(dice: &mut Dice) -> Wanted {
        match dice.below(10) {
            0..=2 => Wanted::Send,
            3..=5 => Wanted::Recv,
            6 => Wanted::RecvMany(dice.below(4)),
            7..=8 => Wanted::Reserve,
            _ => Wanted::SeeTheEnd,
        }
    }
}

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A clause with its own handle.
enum Clause {
    Send(Sender<u32>, u32),
    Recv(Receiver<u32>),
}

type Ended = ((usize, Outcome), Option<OwnedPermit<u32>>);

struct Waits {
    id: usize,
    future: Pin<Box<dyn Future<Output = Ended>>>,
    wakes: Arc<Wakes>,
}

struct Ends {
    senders: Vec<Sender<u32>>,
    receivers: Vec<Receiver<u32>>,
    undelivered: Arc<Mutex<Vec<u32>>>,
}

pub struct Machine {
    spec: Spec,
    ends: Vec<Ends>,
    waits: Vec<Waits>,
    permits: Vec<(usize, OwnedPermit<u32>)>,
    /// Messages and waits are numbered.
    next: u32,
}

fn cause(cause: Option<&(dyn std::error::Error + Send + Sync + 'static)>) -> Cause {
    cause.map(|cause| cause.to_string().parse().unwrap())
}

fn sent(result: Result<(), SendError<u32>>) -> Outcome {
    Outcome::Sent(result.map_err(|error| {
        let cause = cause(error.cause());
        (error.into_inner(), cause)
    }))
}

fn received(result: Result<u32, RecvError>) -> Outcome {
    Outcome::Received(result.map_err(|error| cause(error.cause())))
}

impl Machine {
    pub fn new(kinds: [Kind; 2]) -> Machine {
        let mut spec = Spec::default();
        let ends = kinds.map(|kind| {
            spec.add(kind);
            let undelivered = Arc::<Mutex<Vec<u32>>>::default();
            let list = undelivered.clone();
            let mut builder = channel::builder()
                .on_undelivered(move |message| list.lock().unwrap().push(message));
            builder = match kind {
                Kind::Rendezvous => builder.capacity(0),
                Kind::Bounded(capacity, overflow) => builder.capacity(capacity).overflow(overflow),
                Kind::Unbounded => builder.overflow(Overflow::Suspend),
            };
            let (sender, receiver) = builder.build();
            Ends {
                senders: vec![sender],
                receivers: vec![receiver],
                undelivered,
            }
        });
        Machine {
            spec,
            ends: ends.into(),
            waits: Vec::new(),
            permits: Vec::new(),
            next: 0,
        }
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    pub fn step(&mut self, step: &Step) {
        self.take(step);
        for (ends, spec) in self.ends.iter().zip(&self.spec.channels) {
            assert_eq!(
                *ends.undelivered.lock().unwrap(),
                spec.undelivered,
                "{step:?}"
            );
            let Some(sender) = ends.senders.first() else {
                continue;
            };
            assert_eq!(sender.len(), spec.queue.len(), "length after {step:?}");
            assert_eq!(sender.is_closed(), spec.end.is_some(), "after {step:?}");
            assert_eq!(sender.sender_count(), spec.senders, "after {step:?}");
            assert_eq!(sender.receiver_count(), spec.receivers, "after {step:?}");
        }
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::TrySend(at) => {
                let message = self.number();
                let Some(sender) = self.ends[at].senders.first() else {
                    return;
                };
                let outcome = match sender.try_send(message) {
                    Err(TrySendError::Full(_)) => Outcome::NotNow,
                    Err(TrySendError::Closed(error)) => sent(Err(error)),
                    Ok(()) => sent(Ok(())),
                };
                assert_eq!(outcome, self.spec.try_send(at, message), "{step:?}");
            }
            Step::TryRecv(at) => {
                let Some(receiver) = self.ends[at].receivers.first() else {
                    return;
                };
                let outcome = match receiver.try_recv() {
                    Err(TryRecvError::Empty) => Outcome::NotNow,
                    Err(TryRecvError::Closed(error)) => received(Err(error)),
                    Ok(message) => received(Ok(message)),
                };
                assert_eq!(outcome, self.spec.try_recv(at), "{step:?}");
            }
            Step::TryReserve(at) => {
                let Some(sender) = self.ends[at].senders.first() else {
                    return;
                };
                let outcome = match sender.clone().try_reserve_owned() {
                    Err(TrySendError::Full(_)) => Outcome::NotNow,
                    Err(TrySendError::Closed(error)) => {
                        Outcome::Reserved(Err(cause(error.cause())))
                    }
                    Ok(permit) => {
                        self.permits.push((at, permit));
                        self.spec.channels[at].senders += 1;
                        Outcome::Reserved(Ok(()))
                    }
                };
                assert_eq!(outcome, self.spec.try_reserve(at), "{step:?}");
            }
            Step::SendReserved(nth) => {
                let message = self.number();
                let Some((at, permit)) = self.any_permit(nth) else {
                    return;
                };
                let outcome = sent(permit.send(message).map(drop));
                assert_eq!(outcome, self.spec.send_reserved(at, message), "{step:?}");
                self.spec.drop_handle(at, &Want::Reserve);
            }
            Step::DropPermit(nth) => {
                let Some((at, permit)) = self.any_permit(nth) else {
                    return;
                };
                drop(permit);
                self.spec.release(at);
                self.spec.drop_handle(at, &Want::Reserve);
            }
            Step::Begin(ref clauses) => self.begin(clauses),
            Step::Poll(nth) => {
                if !self.waits.is_empty() {
                    self.poll(nth % self.waits.len());
                }
            }
            Step::PollWoken(nth) => {
                let woken: Vec<_> = self.woken().collect();
                if !woken.is_empty() {
                    self.poll(woken[nth % woken.len()]);
                }
            }
            Step::GiveUp(nth) => {
                if !self.waits.is_empty() {
                    let waits = self.waits.remove(nth % self.waits.len());
                    drop(waits.future);
                    self.spec.give_up(waits.id);
                }
            }
            Step::CloneSender(at) => {
                if let Some(sender) = self.ends[at].senders.first().cloned() {
                    self.ends[at].senders.push(sender);
                    self.spec.channels[at].senders += 1;
                }
            }
            Step::CloneReceiver(at) => {
                if let Some(receiver) = self.ends[at].receivers.first().cloned() {
                    self.ends[at].receivers.push(receiver);
                    self.spec.channels[at].receivers += 1;
                }
            }
            Step::DropSender(at) => {
                if self.ends[at].senders.pop().is_some() {
                    self.spec.drop_handle(at, &Want::Reserve);
                }
            }
            Step::DropReceiver(at) => {
                if self.ends[at].receivers.pop().is_some() {
                    self.spec.drop_handle(at, &Want::Recv);
                }
            }
            Step::CloseBySender(at, cause) => {
                if let Some(sender) = self.ends[at].senders.first() {
                    let first = match cause {
                        None => sender.close(),
                        Some(cause) => sender.close_with(cause.to_string()),
                    };
                    assert_eq!(first, self.spec.close(at, cause, false), "{step:?}");
                }
            }
            Step::CloseByReceiver(at, cause) => {
                if let Some(receiver) = self.ends[at].receivers.first() {
                    let first = match cause {
                        None => receiver.close(),
                        Some(cause) => receiver.close_with(cause.to_string()),
                    };
                    assert_eq!(first, self.spec.close(at, cause, false), "{step:?}");
                }
            }
            Step::Settle => self.settle(),
        }
    }

    fn any_permit(&mut self, nth: usize) -> Option<(usize, OwnedPermit<u32>)> {
        let count = self.permits.len();
        (count != 0).then(|| self.permits.remove(nth % count))
    }

    fn begin(&mut self, clauses: &[(usize, Wanted)]) {
        let id = self.number() as usize;
        let mut wants = Vec::new();
        let mut select = Vec::new();
        let mut single: Option<Pin<Box<dyn Future<Output = Ended>>>> = None;
        for &(at, wanted) in clauses {
            let message = self.number();
            let sender = self.ends[at].senders.first().cloned();
            let receiver = self.ends[at].receivers.first().cloned();
            let want = match (wanted, sender, receiver) {
                (Wanted::Send, Some(sender), _) => {
                    select.push(Clause::Send(sender, message));
                    Want::Send(message)
                }
                (Wanted::Recv, _, Some(receiver)) => {
                    select.push(Clause::Recv(receiver));
                    Want::Recv
                }
                (Wanted::RecvMany(limit), _, Some(receiver)) => {
                    single = Some(Box::pin(async move {
                        let mut all = Vec::new();
                        let outcome = receiver.recv_many(&mut all, limit).await;
                        let outcome = outcome.map_err(|error| cause(error.cause()));
                        ((0, Outcome::ReceivedMany(outcome.map(|_| all))), None)
                    }));
                    Want::RecvMany(limit)
                }
                (Wanted::Reserve, Some(sender), _) => {
                    single = Some(Box::pin(async move {
                        match sender.reserve_owned().await {
                            Ok(permit) => ((0, Outcome::Reserved(Ok(()))), Some(permit)),
                            Err(error) => {
                                let cause = cause(error.cause());
                                ((0, Outcome::Reserved(Err(cause))), None)
                            }
                        }
                    }));
                    Want::Reserve
                }
                (Wanted::SeeTheEnd, Some(sender), _) => {
                    single = Some(Box::pin(async move {
                        sender.closed().await;
                        ((0, Outcome::SawTheEnd), None)
                    }));
                    Want::SeeTheEnd
                }
                _ => continue,
            };
            wants.push((at, want));
        }
        let future = match single {
            Some(future) => future,
            None if select.is_empty() => return,
            // By the plain operation every other time.
            None if select.len() == 1 && id % 2 == 0 => operation(select.remove(0)),
            None => selection(select),
        };
        self.spec.begin(id, &wants);
        self.waits.push(Waits {
            id,
            future,
            wakes: Arc::default(),
        });
        self.poll(self.waits.len() - 1);
    }

    fn poll(&mut self, nth: usize) {
        let waits = &mut self.waits[nth];
        let id = waits.id;
        waits.wakes.0.store(0, Ordering::SeqCst);
        let waker = Waker::from(waits.wakes.clone());
        let polled = waits.future.as_mut().poll(&mut Context::from_waker(&waker));
        let wants = self.spec.wants(id);
        let expected = self.spec.poll(id);
        match polled {
            Poll::Ready((outcome, permit)) => {
                assert_eq!(Some(outcome), expected, "{id} wants {wants:?}");
                drop(self.waits.remove(nth));
                if let (Some(permit), [(at, _)]) = (permit, wants.as_slice()) {
                    self.permits.push((*at, permit));
                }
            }
            Poll::Pending => assert_eq!(None, expected, "{id} wants {wants:?}, and waits"),
        }
    }

    fn woken(&self) -> impl Iterator<Item = usize> {
        let woken = |&nth: &usize| self.waits[nth].wakes.0.load(Ordering::SeqCst) != 0;
        (0..self.waits.len()).filter(woken)
    }

    /// Polls whoever was woken until nobody is; who waits then must be right to.
    pub fn settle(&mut self) {
        loop {
            let Some(nth) = self.woken().next() else {
                break;
            };
            self.poll(nth);
        }
        for waits in &self.waits {
            let wants = self.spec.wants(waits.id);
            let missed = self.spec.clone().poll(waits.id);
            assert_eq!(missed, None, "{} wants {wants:?}, was not woken", waits.id);
        }
    }
}

fn operation(clause: Clause) -> Pin<Box<dyn Future<Output = Ended>>> {
    match clause {
        Clause::Send(sender, message) => {
            Box::pin(async move { ((0, sent(sender.send(message).await)), None) })
        }
        Clause::Recv(receiver) => {
            Box::pin(async move { ((0, received(receiver.recv().await)), None) })
        }
    }
}

/// A select of one to three clauses, the first that can preferred.
fn selection(clauses: Vec<Clause>) -> Pin<Box<dyn Future<Output = Ended>>> {
    use Clause::{Recv, Send};
    macro_rules! build {
        ($select:expr, $nth:expr) => { $select };
        ($select:expr, $nth:expr, Send($handle:ident, $message:ident) $($rest:tt)*) => {
            build!($select.send(&$handle, $message, |result| ($nth, sent(result))), $nth + 1 $($rest)*)
        };
        ($select:expr, $nth:expr, Recv($handle:ident) $($rest:tt)*) => {
            build!($select.recv(&$handle, |result| ($nth, received(result))), $nth + 1 $($rest)*)
        };
    }
    macro_rules! by_shape {
        ($($($kind:ident($($part:ident),*)),+;)+) => {{
            let mut clauses = clauses.into_iter();
            match (clauses.next(), clauses.next(), clauses.next()) {
                $(by_shape!(@pattern $($kind($($part),*)),+) => Box::pin(async move {
                    let select = build!(Select::new().biased(), 0, $($kind($($part),*)),+);
                    (select.wait().await, None)
                }),)+
                _ => unreachable!("one to three"),
            }
        }};
        (@pattern $a:pat) => { (Some($a), None, None) };
        (@pattern $a:pat, $b:pat) => { (Some($a), Some($b), None) };
        (@pattern $a:pat, $b:pat, $c:pat) => { (Some($a), Some($b), Some($c)) };
    }
    by_shape! {
        Send(a, m);
        Recv(a);
        Send(a, m), Send(b, n);
        Send(a, m), Recv(b);
        Recv(a), Send(b, n);
        Recv(a), Recv(b);
        Send(a, m), Send(b, n), Send(c, o);
        Send(a, m), Send(b, n), Recv(c);
        Send(a, m), Recv(b), Send(c, o);
        Send(a, m), Recv(b), Recv(c);
        Recv(a), Send(b, n), Send(c, o);
        Recv(a), Send(b, n), Recv(c);
        Recv(a), Recv(b), Send(c, o);
        Recv(a), Recv(b), Recv(c);
    }
}
