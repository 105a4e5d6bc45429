//! Queues: mpsc, bounded and not, and broadcast.

use super::tokio;
use crate::world::{Fut, Out, World};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::sync::{broadcast, mpsc};

enum Held {
    Permit(mpsc::OwnedPermit<u32>),
}

/// A receiver has one user at a time: a pending future holds on to it.
type Shared<T> = Rc<RefCell<T>>;

struct Program {
    world: World<Held>,
    next: u32,
    bounded: Vec<mpsc::Sender<u32>>,
    bounded_weak: Vec<mpsc::WeakSender<u32>>,
    bounded_rx: Option<Shared<mpsc::Receiver<u32>>>,
    unbounded: Vec<mpsc::UnboundedSender<u32>>,
    unbounded_weak: Vec<mpsc::WeakUnboundedSender<u32>>,
    unbounded_rx: Option<Shared<mpsc::UnboundedReceiver<u32>>>,
    broadcast: Vec<broadcast::Sender<u32>>,
    broadcast_weak: Vec<broadcast::WeakSender<u32>>,
    broadcast_rx: Vec<Shared<broadcast::Receiver<u32>>>,
}

pub fn run(seed: u64) -> Vec<String> {
    let mut world = World::new(seed);
    let (bounded, bounded_rx) = mpsc::channel(1 + world.rng.below(4));
    let (unbounded, unbounded_rx) = mpsc::unbounded_channel();
    let (broadcast, broadcast_rx) = broadcast::channel(1 + world.rng.below(6));
    let mut program = Program {
        world,
        next: 0,
        bounded: vec![bounded],
        bounded_weak: Vec::new(),
        bounded_rx: Some(Rc::new(RefCell::new(bounded_rx))),
        unbounded: vec![unbounded],
        unbounded_weak: Vec::new(),
        unbounded_rx: Some(Rc::new(RefCell::new(unbounded_rx))),
        broadcast: vec![broadcast],
        broadcast_weak: Vec::new(),
        broadcast_rx: vec![Rc::new(RefCell::new(broadcast_rx))],
    };
    let about = program.world.rng.below(4);
    let steps = 20 + program.world.rng.below(120);
    for _ in 0..steps {
        if program.world.step() {
            continue;
        }
        match about {
            0 | 1 => program.bounded(),
            2 => program.unbounded(),
            _ => program.broadcast(),
        }
        program.world.note_wakes();
    }
    let Program {
        world,
        bounded,
        bounded_rx,
        unbounded,
        unbounded_rx,
        broadcast,
        broadcast_rx,
        ..
    } = program;
    // The receivers first, or the senders.
    if seed % 2 == 0 {
        drop((bounded_rx, unbounded_rx, broadcast_rx));
        drop((bounded, unbounded, broadcast));
    } else {
        drop((bounded, unbounded, broadcast));
        drop((bounded_rx, unbounded_rx, broadcast_rx));
    }
    world.finish()
}

/// What it is, in words that are not the crates' own.
fn kind<T>(error: &mpsc::error::TrySendError<T>) -> &'static str {
    match error {
        mpsc::error::TrySendError::Full(_) => "full",
        mpsc::error::TrySendError::Closed(_) => "closed",
    }
}

fn any<'a, T>(world: &mut World<Held>, all: &'a [T]) -> Option<&'a T> {
    match all.len() {
        0 => None,
        len => Some(&all[world.rng.below(len)]),
    }
}

impl Program {
    fn value(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn bounded(&mut self) {
        let value = self.value();
        let sender = any(&mut self.world, &self.bounded).cloned();
        match self.world.rng.below(28) {
            0..4 => {
                let Some(sender) = sender else { return };
                let future: Fut<Held> = Box::pin(async move {
                    match sender.send(value).await {
                        Ok(()) => Out::text("sent"),
                        Err(_) => Out::text("closed"),
                    }
                });
                self.world.start(format_args!("send {value}"), future);
            }
            4..6 => {
                let Some(sender) = sender else { return };
                let future: Fut<Held> = Box::pin(async move {
                    match sender.reserve_owned().await {
                        Ok(permit) => Out::held("permit", Held::Permit(permit)),
                        Err(_) => Out::text("closed"),
                    }
                });
                self.world.start("reserve", future);
            }
            6 => {
                let Some(sender) = sender else { return };
                let n = self.world.rng.below(4);
                let future: Fut<Held> = Box::pin(async move {
                    match sender.reserve_many(n).await {
                        Ok(mut permits) => {
                            let count = permits.len();
                            // One is used, the rest go back.
                            if let Some(permit) = permits.next() {
                                permit.send(value);
                            }
                            Out::text(format_args!("{count} permits"))
                        }
                        Err(_) => Out::text("closed"),
                    }
                });
                self.world
                    .start(format_args!("reserve {n}, send {value}"), future);
            }
            7..9 => {
                let Some(sender) = sender else { return };
                let text = match sender.try_send(value) {
                    Ok(()) => "sent",
                    Err(error) => kind(&error),
                };
                self.world.say(format_args!("try send: {text}"));
            }
            9 => {
                let Some(sender) = sender else { return };
                match sender.try_reserve_owned() {
                    Ok(permit) => {
                        self.world.say("try reserve: permit");
                        self.world.held.push(Held::Permit(permit));
                    }
                    Err(error) => self
                        .world
                        .say(format_args!("try reserve: {}", kind(&error))),
                }
            }
            10 => {
                let Some(sender) = sender else { return };
                let n = self.world.rng.below(4);
                let text = match sender.try_reserve_many(n) {
                    Ok(permits) => format!("{} permits", permits.len()),
                    Err(error) => kind(&error).to_string(),
                };
                self.world.say(format_args!("try reserve {n}: {text}"));
            }
            11..13 => match self.world.take_held() {
                Some(Held::Permit(permit)) => match self.world.rng.below(3) {
                    0 => {
                        self.world.say("release a permit");
                        drop(permit.release());
                    }
                    _ => {
                        drop(permit.send(value));
                        self.world.say(format_args!("send {value} by permit"));
                    }
                },
                None => {}
            },
            13..17 => {
                let Some(receiver) = self.bounded_rx.clone() else {
                    return;
                };
                if receiver.try_borrow_mut().is_err() {
                    return;
                }
                let many = self.world.rng.one_in(3);
                let limit = self.world.rng.below(4);
                let future: Fut<Held> = Box::pin(async move {
                    let Ok(mut receiver) = receiver.try_borrow_mut() else {
                        return Out::text("busy");
                    };
                    if many {
                        let mut values = Vec::new();
                        let count = receiver.recv_many(&mut values, limit).await;
                        Out::text(format_args!("{count}: {values:?}"))
                    } else {
                        Out::text(format_args!("{:?}", receiver.recv().await))
                    }
                });
                self.world
                    .start(format_args!("recv {many} {limit}"), future);
            }
            17 => self.with_bounded_rx("try_recv", |rx| format!("{:?}", rx.try_recv())),
            18 if self.world.rng.one_in(2) => self.with_bounded_rx("close", |rx| {
                rx.close();
                String::new()
            }),
            19 => self.with_bounded_rx("look", |rx| {
                format!(
                    "{} {} {} {} {} {} {}",
                    rx.len(),
                    rx.is_empty(),
                    rx.is_closed(),
                    rx.capacity(),
                    rx.max_capacity(),
                    rx.sender_strong_count(),
                    rx.sender_weak_count()
                )
            }),
            20 if self.world.rng.one_in(4) => {
                self.bounded_rx = None;
                self.world.say("let go of the receiver");
            }
            21 => {
                self.bounded.extend(sender);
                self.world.say("clone a sender");
            }
            22 if !self.bounded.is_empty() => {
                let at = self.world.rng.below(self.bounded.len());
                drop(sender);
                drop(self.bounded.swap_remove(at));
                self.world.say("drop a sender");
            }
            23 => {
                let weak = sender.map(|sender| sender.downgrade());
                self.world
                    .say(format_args!("downgrade: {}", weak.is_some()));
                self.bounded_weak.extend(weak);
            }
            24 => {
                let weak = any(&mut self.world, &self.bounded_weak);
                let strong = weak.map(|weak| weak.upgrade());
                let text = strong.as_ref().map(Option::is_some);
                self.world.say(format_args!("upgrade: {text:?}"));
                self.bounded.extend(strong.flatten());
            }
            25 => {
                let Some(sender) = sender else { return };
                let future: Fut<Held> = Box::pin(async move {
                    sender.closed().await;
                    Out::text("closed")
                });
                self.world.start("closed", future);
            }
            _ => {
                let Some(sender) = sender else { return };
                // Once the receiver is gone nobody counts the places of what it left behind; Tokio does.
                let capacity = match &self.bounded_rx {
                    Some(_) => sender.capacity().to_string(),
                    None => "any".to_string(),
                };
                self.world.say(format_args!(
                    "sender: {capacity} {} {} {} {}",
                    sender.max_capacity(),
                    sender.is_closed(),
                    sender.strong_count(),
                    sender.weak_count()
                ));
            }
        }
    }

    fn with_bounded_rx(&mut self, name: &str, f: impl FnOnce(&mut mpsc::Receiver<u32>) -> String) {
        let text = match &self.bounded_rx {
            None => "gone".to_string(),
            Some(receiver) => match receiver.try_borrow_mut() {
                Ok(mut receiver) => f(&mut receiver),
                Err(_) => "busy".to_string(),
            },
        };
        self.world.say(format_args!("{name}: {text}"));
    }

    fn unbounded(&mut self) {
        let value = self.value();
        let sender = any(&mut self.world, &self.unbounded).cloned();
        match self.world.rng.below(18) {
            0..4 => {
                let Some(sender) = sender else { return };
                let result = sender.send(value).map_err(|_| "closed");
                self.world.say(format_args!("send {value}: {result:?}"));
            }
            4..8 => {
                let Some(receiver) = self.unbounded_rx.clone() else {
                    return;
                };
                if receiver.try_borrow_mut().is_err() {
                    return;
                }
                let many = self.world.rng.one_in(3);
                let limit = self.world.rng.below(4);
                let future: Fut<Held> = Box::pin(async move {
                    let Ok(mut receiver) = receiver.try_borrow_mut() else {
                        return Out::text("busy");
                    };
                    if many {
                        let mut values = Vec::new();
                        let count = receiver.recv_many(&mut values, limit).await;
                        Out::text(format_args!("{count}: {values:?}"))
                    } else {
                        Out::text(format_args!("{:?}", receiver.recv().await))
                    }
                });
                self.world
                    .start(format_args!("recv {many} {limit}"), future);
            }
            8 => self.with_unbounded_rx("try_recv", |rx| format!("{:?}", rx.try_recv())),
            9 if self.world.rng.one_in(2) => self.with_unbounded_rx("close", |rx| {
                rx.close();
                String::new()
            }),
            10 => self.with_unbounded_rx("look", |rx| {
                format!(
                    "{} {} {} {} {}",
                    rx.len(),
                    rx.is_empty(),
                    rx.is_closed(),
                    rx.sender_strong_count(),
                    rx.sender_weak_count()
                )
            }),
            11 if self.world.rng.one_in(4) => {
                self.unbounded_rx = None;
                self.world.say("let go of the receiver");
            }
            12 => {
                self.unbounded.extend(sender);
                self.world.say("clone a sender");
            }
            13 if !self.unbounded.is_empty() => {
                let at = self.world.rng.below(self.unbounded.len());
                drop(sender);
                drop(self.unbounded.swap_remove(at));
                self.world.say("drop a sender");
            }
            14 => {
                let weak = sender.map(|sender| sender.downgrade());
                self.world
                    .say(format_args!("downgrade: {}", weak.is_some()));
                self.unbounded_weak.extend(weak);
            }
            15 => {
                let weak = any(&mut self.world, &self.unbounded_weak);
                let strong = weak.map(|weak| weak.upgrade());
                let text = strong.as_ref().map(Option::is_some);
                self.world.say(format_args!("upgrade: {text:?}"));
                self.unbounded.extend(strong.flatten());
            }
            16 => {
                let Some(sender) = sender else { return };
                let future: Fut<Held> = Box::pin(async move {
                    sender.closed().await;
                    Out::text("closed")
                });
                self.world.start("closed", future);
            }
            _ => {
                let Some(sender) = sender else { return };
                self.world.say(format_args!(
                    "sender: {} {} {}",
                    sender.is_closed(),
                    sender.strong_count(),
                    sender.weak_count()
                ));
            }
        }
    }

    fn with_unbounded_rx(
        &mut self,
        name: &str,
        f: impl FnOnce(&mut mpsc::UnboundedReceiver<u32>) -> String,
    ) {
        let text = match &self.unbounded_rx {
            None => "gone".to_string(),
            Some(receiver) => match receiver.try_borrow_mut() {
                Ok(mut receiver) => f(&mut receiver),
                Err(_) => "busy".to_string(),
            },
        };
        self.world.say(format_args!("{name}: {text}"));
    }

    fn broadcast(&mut self) {
        let value = self.value();
        let sender = any(&mut self.world, &self.broadcast).cloned();
        let receiver = any(&mut self.world, &self.broadcast_rx).cloned();
        match self.world.rng.below(24) {
            0..6 => {
                let Some(sender) = sender else { return };
                let result = sender.send(value).map_err(|_| "closed");
                self.world.say(format_args!("send {value}: {result:?}"));
            }
            6..11 => {
                let Some(receiver) = receiver else { return };
                if receiver.try_borrow_mut().is_err() {
                    return;
                }
                let future: Fut<Held> = Box::pin(async move {
                    let Ok(mut receiver) = receiver.try_borrow_mut() else {
                        return Out::text("busy");
                    };
                    Out::text(format_args!("{:?}", receiver.recv().await))
                });
                self.world.start("recv", future);
            }
            11..13 => {
                let Some(receiver) = receiver else { return };
                let text = match receiver.try_borrow_mut() {
                    Ok(mut receiver) => format!("{:?}", receiver.try_recv()),
                    Err(_) => "busy".into(),
                };
                self.world.say(format_args!("try_recv: {text}"));
            }
            13 => {
                let Some(receiver) = receiver else { return };
                let text = match receiver.try_borrow_mut() {
                    Ok(receiver) => format!(
                        "{} {} {} {} {}",
                        receiver.len(),
                        receiver.is_empty(),
                        receiver.is_closed(),
                        receiver.sender_strong_count(),
                        receiver.sender_weak_count()
                    ),
                    Err(_) => "busy".into(),
                };
                self.world.say(format_args!("look: {text}"));
            }
            14 | 15 => {
                let Some(sender) = sender else { return };
                let receiver = sender.subscribe();
                self.broadcast_rx.push(Rc::new(RefCell::new(receiver)));
                self.world.say("subscribe");
            }
            16 => {
                let Some(receiver) = receiver else { return };
                let again = receiver.try_borrow_mut().map(|rx| rx.resubscribe());
                self.world
                    .say(format_args!("resubscribe: {}", again.is_ok()));
                self.broadcast_rx
                    .extend(again.ok().map(|rx| Rc::new(RefCell::new(rx))));
            }
            17 if !self.broadcast_rx.is_empty() => {
                let at = self.world.rng.below(self.broadcast_rx.len());
                drop(receiver);
                drop(self.broadcast_rx.swap_remove(at));
                self.world.say("let go of a receiver");
            }
            18 => {
                self.broadcast.extend(sender);
                self.world.say("clone a sender");
            }
            19 if !self.broadcast.is_empty() && self.world.rng.one_in(2) => {
                let at = self.world.rng.below(self.broadcast.len());
                drop(sender);
                drop(self.broadcast.swap_remove(at));
                self.world.say("drop a sender");
            }
            20 => {
                let Some(sender) = sender else { return };
                let future: Fut<Held> = Box::pin(async move {
                    sender.closed().await;
                    Out::text("closed")
                });
                self.world.start("closed", future);
            }
            21 => {
                let weak = sender.map(|sender| sender.downgrade());
                self.world
                    .say(format_args!("downgrade: {}", weak.is_some()));
                self.broadcast_weak.extend(weak);
            }
            22 => {
                let weak = any(&mut self.world, &self.broadcast_weak);
                let strong = weak.map(|weak| weak.upgrade());
                let text = strong.as_ref().map(Option::is_some);
                self.world.say(format_args!("upgrade: {text:?}"));
                self.broadcast.extend(strong.flatten());
            }
            _ => {
                let Some(sender) = sender else { return };
                self.world.say(format_args!(
                    "sender: {} {} {} {} {}",
                    sender.len(),
                    sender.is_empty(),
                    sender.receiver_count(),
                    sender.strong_count(),
                    sender.weak_count()
                ));
            }
        }
    }
}
