//! One value: oneshot and watch.

use super::tokio;
use crate::world::{Fut, Out, World};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use tokio::sync::{oneshot, watch};

type Shared<T> = Rc<RefCell<T>>;
type Sender = Shared<Option<oneshot::Sender<u32>>>;
type Receiver = Shared<oneshot::Receiver<u32>>;
/// With the number of its channel.
type Named<T> = (u32, T);

struct Program {
    world: World<()>,
    next: u32,
    senders: Vec<Named<Sender>>,
    receivers: Vec<Named<Receiver>>,
    /// Which futures await them.
    awaits: Vec<Named<usize>>,
    watched: Vec<watch::Sender<u32>>,
    watching: Vec<Shared<watch::Receiver<u32>>>,
}

pub fn run(seed: u64) -> Vec<String> {
    let (watched, watching) = watch::channel(0);
    let mut program = Program {
        world: World::new(seed),
        next: 0,
        senders: Vec::new(),
        receivers: Vec::new(),
        awaits: Vec::new(),
        watched: vec![watched],
        watching: vec![Rc::new(RefCell::new(watching))],
    };
    let about = program.world.rng.below(3);
    let steps = 20 + program.world.rng.below(100);
    for _ in 0..steps {
        if program.world.step() {
            continue;
        }
        match about {
            0 => program.oneshot(),
            _ => program.watch(),
        }
        program.world.note_wakes();
    }
    let Program {
        world,
        senders,
        receivers,
        watched,
        watching,
        ..
    } = program;
    if seed % 2 == 0 {
        drop((senders, watched));
        drop((receivers, watching));
    } else {
        drop((receivers, watching));
        drop((senders, watched));
    }
    world.finish()
}

fn any<T: Clone>(world: &mut World<()>, all: &[T]) -> Option<T> {
    match all.len() {
        0 => None,
        len => Some(all[world.rng.below(len)].clone()),
    }
}

impl Program {
    fn oneshot(&mut self) {
        self.next += 1;
        let value = self.next;
        let sender = any(&mut self.world, &self.senders);
        let receiver = any(&mut self.world, &self.receivers);
        match self.world.rng.below(14) {
            0..3 => {
                let (sender, receiver) = oneshot::channel();
                self.senders
                    .push((value, Rc::new(RefCell::new(Some(sender)))));
                self.receivers
                    .push((value, Rc::new(RefCell::new(receiver))));
                self.world.say(format_args!("channel {value}"));
            }
            3..5 => {
                let Some((of, receiver)) = receiver else {
                    return;
                };
                let future: Fut<()> = Box::pin(async move {
                    let result = poll_fn(|cx| match receiver.try_borrow_mut() {
                        // Polling one that has returned is a mistake.
                        Ok(receiver) if receiver.is_terminated() => None.into_poll(),
                        Ok(mut receiver) => Pin::new(&mut *receiver).poll(cx).map(Some),
                        Err(_) => None.into_poll(),
                    })
                    .await;
                    Out::text(format_args!("{result:?}"))
                });
                let number = self.world.start(format_args!("await {of}"), future);
                self.awaits.push((of, number));
            }
            5..7 => {
                let Some((of, sender)) = sender else { return };
                let taken = match sender.try_borrow_mut() {
                    Ok(mut sender) => sender.take(),
                    Err(_) => None,
                };
                let text = match taken {
                    None => "none".to_string(),
                    Some(sender) => format!("{:?}", sender.send(value)),
                };
                self.world.say(format_args!("send {value} to {of}: {text}"));
            }
            7 => {
                let Some((of, sender)) = sender else { return };
                let taken = match sender.try_borrow_mut() {
                    Ok(mut sender) => sender.take(),
                    Err(_) => None,
                };
                self.world
                    .say(format_args!("drop sender {of}: {}", taken.is_some()));
            }
            8..10 => {
                let Some((of, sender)) = sender else { return };
                let future: Fut<()> = Box::pin(async move {
                    let Ok(mut sender) = sender.try_borrow_mut() else {
                        return Out::text("busy");
                    };
                    match &mut *sender {
                        None => Out::text("none"),
                        Some(sender) => {
                            sender.closed().await;
                            Out::text("closed")
                        }
                    }
                });
                self.world.start(format_args!("closed {of}"), future);
            }
            10 => {
                let Some((of, receiver)) = receiver else {
                    return;
                };
                let mut receiver = receiver.borrow_mut();
                receiver.close();
                self.world.say(format_args!("close {of}"));
                // It is ready from now on. The end of its sender need not, but may, wake who polled it
                // before.
                for (_, number) in self.awaits.iter().filter(|(other, _)| *other == of) {
                    self.world.excuse(*number);
                }
            }
            11 if !self.receivers.is_empty() => {
                let at = self.world.rng.below(self.receivers.len());
                drop(receiver);
                let (of, receiver) = self.receivers.swap_remove(at);
                drop(receiver);
                self.world.say(format_args!("let go of receiver {of}"));
            }
            12 => {
                let Some((of, receiver)) = receiver else {
                    return;
                };
                let mut receiver = receiver.borrow_mut();
                let text = if receiver.is_terminated() {
                    "is terminated".to_string()
                } else {
                    format!(
                        "{} {:?} {}",
                        receiver.is_empty(),
                        receiver.try_recv(),
                        receiver.is_terminated()
                    )
                };
                self.world.say(format_args!("try_recv {of}: {text}"));
            }
            _ => {
                let Some((of, sender)) = sender else { return };
                let text = match sender.try_borrow() {
                    Ok(sender) => format!("{:?}", sender.as_ref().map(|s| s.is_closed())),
                    Err(_) => "busy".into(),
                };
                self.world.say(format_args!("is_closed {of}: {text}"));
            }
        }
    }

    fn watch(&mut self) {
        self.next += 1;
        let value = self.next;
        let sender = match self.watched.len() {
            0 => None,
            len => Some(self.watched[self.world.rng.below(len)].clone()),
        };
        let receiver = any(&mut self.world, &self.watching);
        match self.world.rng.below(24) {
            0..3 => {
                let Some(sender) = sender else { return };
                let result = sender.send(value);
                self.world.say(format_args!("send {value}: {result:?}"));
            }
            3 => {
                let Some(sender) = sender else { return };
                let old = sender.send_replace(value);
                self.world.say(format_args!("replace {old} by {value}"));
            }
            4 => {
                let Some(sender) = sender else { return };
                let modified = sender.send_if_modified(|old| {
                    let odd = value % 2 == 1;
                    if odd {
                        *old = value;
                    }
                    odd
                });
                self.world.say(format_args!("modified: {modified}"));
            }
            5 => {
                let Some(sender) = sender else { return };
                sender.send_modify(|old| *old += 1);
                self.world.say("modify");
            }
            6..11 => {
                let Some(receiver) = receiver else { return };
                if receiver.try_borrow_mut().is_err() {
                    return;
                }
                let future: Fut<()> = Box::pin(async move {
                    let Ok(mut receiver) = receiver.try_borrow_mut() else {
                        return Out::text("busy");
                    };
                    Out::text(format_args!("{:?}", receiver.changed().await))
                });
                self.world.start("changed", future);
            }
            11..13 => {
                let Some(receiver) = receiver else { return };
                if receiver.try_borrow_mut().is_err() {
                    return;
                }
                let future: Fut<()> = Box::pin(async move {
                    let Ok(mut receiver) = receiver.try_borrow_mut() else {
                        return Out::text("busy");
                    };
                    let value = receiver.wait_for(|value| value % 4 == 3).await;
                    Out::text(format_args!("{:?}", value.map(|value| *value)))
                });
                self.world.start("wait_for", future);
            }
            13..16 => {
                let Some(receiver) = receiver else { return };
                let which = self.world.rng.below(4);
                let text = match receiver.try_borrow_mut() {
                    Err(_) => "busy".to_string(),
                    Ok(mut receiver) => match which {
                        0 => format!("{}", *receiver.borrow()),
                        1 => format!("{}", *receiver.borrow_and_update()),
                        2 => {
                            receiver.mark_changed();
                            "marked as changed".to_string()
                        }
                        _ => {
                            receiver.mark_unchanged();
                            "marked as unchanged".to_string()
                        }
                    },
                };
                self.world.say(format_args!("{which}: {text}"));
            }
            16 => {
                let Some(receiver) = receiver else { return };
                let text = match receiver.try_borrow_mut() {
                    Err(_) => "busy".to_string(),
                    Ok(receiver) => {
                        let has_changed = receiver.borrow().has_changed();
                        format!("{:?} {has_changed}", receiver.has_changed())
                    }
                };
                self.world.say(format_args!("has_changed: {text}"));
            }
            17 => {
                let Some(sender) = sender else { return };
                self.watching
                    .push(Rc::new(RefCell::new(sender.subscribe())));
                self.world.say("subscribe");
            }
            18 => {
                let Some(receiver) = receiver else { return };
                let clone = receiver.try_borrow().map(|receiver| receiver.clone());
                self.world.say(format_args!("clone: {}", clone.is_ok()));
                self.watching
                    .extend(clone.ok().map(|rx| Rc::new(RefCell::new(rx))));
            }
            19 if !self.watching.is_empty() => {
                let at = self.world.rng.below(self.watching.len());
                drop(receiver);
                drop(self.watching.swap_remove(at));
                self.world.say("let go of a receiver");
            }
            20 => {
                let Some(sender) = sender else { return };
                let future: Fut<()> = Box::pin(async move {
                    sender.closed().await;
                    Out::text("closed")
                });
                self.world.start("closed", future);
            }
            21 if !self.watched.is_empty() && self.world.rng.one_in(3) => {
                let at = self.world.rng.below(self.watched.len());
                drop(sender);
                drop(self.watched.swap_remove(at));
                self.world.say("drop a sender");
            }
            22 => {
                self.watched.extend(sender);
                self.world.say("clone a sender");
            }
            _ => {
                let Some(sender) = sender else { return };
                self.world.say(format_args!(
                    "sender: {} {} {} {}",
                    *sender.borrow(),
                    sender.receiver_count(),
                    sender.sender_count(),
                    sender.is_closed()
                ));
            }
        }
    }
}

trait IntoPoll: Sized {
    /// Ready with this.
    fn into_poll(self) -> std::task::Poll<Self> {
        std::task::Poll::Ready(self)
    }
}

impl<T> IntoPoll for T {}
