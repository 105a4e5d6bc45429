//! How the faults of a run begin and end.

use super::Sim;
use crate::faults::{Drawn, Fault, Happened};
use crate::host::Program;
use crate::kernel::HostId;
use crate::net::{How, Latency};
use crate::runner::page::page;
use crate::time::Time;
use std::rc::Rc;
use std::time::Duration;

/// What ends a fault.
#[derive(Debug)]
pub(super) enum Undo {
    Repair(Vec<(HostId, HostId)>),
    Release(Vec<(HostId, HostId)>),
    Loss,
    Latency(Vec<(HostId, HostId)>),
    /// The machine, by its place in the list.
    Start(usize),
    /// As `Start`, unless another program runs there by then. The one that was asked to end is killed.
    Restart(usize, Rc<Program>),
    Resume(HostId),
    Speed(HostId),
}

impl Sim<'_> {
    /// When a fault begins or ends next.
    pub(super) fn next_fault(&self) -> Option<Time> {
        let begins = self.plan.as_ref().and_then(|plan| plan.next());
        let ends = self.under_way.iter().map(|(at, _)| *at).min();
        begins.into_iter().chain(ends).min()
    }

    /// Begins and ends the faults whose time has come.
    pub(super) fn change_faults(&mut self) {
        let now = self.kernel().now;
        while let Some(at) = self.under_way.iter().position(|(at, _)| *at <= now) {
            let (_, undo) = self.under_way.remove(at);
            self.undo(undo);
        }
        while let Some(plan) = self
            .plan
            .as_mut()
            .filter(|plan| plan.next().is_some_and(|at| at <= now))
        {
            if let Some(drawn) = plan.draw(now) {
                self.begin(drawn);
            }
        }
    }

    /// Ends all faults that are under way, and lets no more begin.
    pub(super) fn end_faults(&mut self) {
        self.plan = None;
        for (_, undo) in std::mem::take(&mut self.under_way) {
            self.undo(undo);
        }
    }

    fn begin(&mut self, mut drawn: Drawn) {
        let lasting = drawn.lasting;
        let Some((what, undo)) = self.do_harm(&mut drawn) else {
            return;
        };
        let now = self.kernel().now;
        if let Some(undo) = undo {
            self.under_way.push((now + lasting, undo));
        }
        let happened = Happened {
            number: drawn.number,
            at: now.elapsed(),
            kind: drawn.kind,
            lasting,
            what,
        };
        page().note_fault(&happened.to_string());
        self.happened.push(happened);
    }

    fn name(&self, host: HostId) -> &str {
        &self.kernel().hosts[host.0].name
    }

    fn names(&self, hosts: &[HostId]) -> String {
        let names: Vec<_> = hosts.iter().map(|host| self.name(*host)).collect();
        names.join(" ")
    }

    /// Does what a fault does, if there is a host to which it can be done. Returns it in words, and what undoes it.
    fn do_harm(&mut self, drawn: &mut Drawn) -> Option<(String, Option<Undo>)> {
        let stream = &mut drawn.stream;
        let count = self.machines.len();
        match drawn.kind {
            Fault::Partition => {
                let all = (0..count).map(HostId);
                let (some, others): (Vec<_>, Vec<_>) = all.partition(|_| stream.happens(0.5));
                if some.is_empty() || others.is_empty() {
                    return None;
                }
                let pairs = some
                    .iter()
                    .flat_map(|&a| others.iter().flat_map(move |&b| [(a, b), (b, a)]));
                let pairs: Vec<_> = pairs.collect();
                let what = format!("{} from {}", self.names(&some), self.names(&others));
                self.each(&pairs, |sim, from, to| sim.cut(from, to));
                Some((what, Some(Undo::Repair(pairs))))
            }
            Fault::OneWay | Fault::Hold | Fault::Delay => {
                if count < 2 {
                    return None;
                }
                let from = stream.below(count);
                let to = (from + 1 + stream.below(count - 1)) % count;
                let (from, to) = (HostId(from), HostId(to));
                let both = vec![(from, to), (to, from)];
                let (one, other) = (self.name(from).to_string(), self.name(to).to_string());
                Some(match drawn.kind {
                    Fault::OneWay => {
                        self.cut(from, to);
                        (
                            format!("from {one} to {other}"),
                            Some(Undo::Repair(vec![(from, to)])),
                        )
                    }
                    Fault::Hold => {
                        self.each(&both, |sim, from, to| sim.kernel_mut().net.hold(from, to));
                        (
                            format!("between {one} and {other}"),
                            Some(Undo::Release(both)),
                        )
                    }
                    _ => {
                        let min = stream.between(Duration::from_millis(50), Duration::from_secs(2));
                        let latency = Latency::Uniform { min, max: min * 2 };
                        self.each(&both, |sim, from, to| {
                            sim.kernel_mut().net.overrides(from, to).latency = Some(latency);
                        });
                        let what = format!("between {one} and {other}, {min:?} to {:?}", min * 2);
                        (what, Some(Undo::Latency(both)))
                    }
                })
            }
            Fault::Loss => {
                let loss = 0.01 + 0.3 * stream.fraction();
                let link = &mut self.kernel_mut().net.config.link;
                link.loss = loss;
                link.duplication = if stream.happens(0.5) { 0.05 } else { 0.0 };
                link.reordering = if stream.happens(0.5) { 0.1 } else { 0.0 };
                let (duplication, reordering) = (link.duplication, link.reordering);
                let what =
                    format!("{loss:.2} lost, {duplication} twice, {reordering} out of order");
                Some((what, Some(Undo::Loss)))
            }
            Fault::Crash | Fault::Kill | Fault::Terminate => {
                let up = |at: &usize| {
                    let machine = &self.machines[*at];
                    !machine.is_client && !machine.program.has_ended()
                };
                let hosts: Vec<_> = (0..count).filter(up).collect();
                let at = *hosts.get(stream.below(hosts.len().max(1)))?;
                let undo = match drawn.kind {
                    Fault::Terminate => {
                        let program = self.machines[at].program.clone();
                        self.send(at, libc::SIGTERM);
                        Undo::Restart(at, program)
                    }
                    Fault::Crash => {
                        self.end(at, How::PowerLoss);
                        Undo::Start(at)
                    }
                    _ => {
                        self.end(at, How::Kill);
                        Undo::Start(at)
                    }
                };
                Some((self.name(self.machines[at].id).to_string(), Some(undo)))
            }
            Fault::Pause => {
                let host = HostId(stream.below(count.max(1)));
                let state = self.kernel_mut().hosts.get_mut(host.0)?;
                state.is_paused = true;
                Some((self.name(host).to_string(), Some(Undo::Resume(host))))
            }
            Fault::Clock => {
                let host = HostId(stream.below(count.max(1)));
                let seconds =
                    (stream.fraction() - 0.5) * if stream.happens(0.2) { 7200.0 } else { 60.0 };
                let now = self.kernel().now;
                let state = self.kernel_mut().hosts.get_mut(host.0)?;
                state.clock_offset += (seconds * 1e9) as i128;
                let error = Duration::from_nanos(state.clock_error(now).unsigned_abs() as u64);
                Some((
                    format!("{} by {seconds:.3} s, {error:?} off now", self.name(host)),
                    None,
                ))
            }
            Fault::Slow => {
                let host = HostId(stream.below(count.max(1)));
                let slowness = 2 << stream.below(8);
                self.kernel_mut().hosts.get_mut(host.0)?.slowness = slowness;
                Some((
                    format!("{} {slowness} times", self.name(host)),
                    Some(Undo::Speed(host)),
                ))
            }
        }
    }

    fn cut(&mut self, from: HostId, to: HostId) {
        let kernel = self.kernel_mut();
        let now = kernel.now;
        kernel.net.cut(now, from, to);
    }

    /// Does something to each link, and hands on what follows from it.
    fn each(&mut self, links: &[(HostId, HostId)], mut act: impl FnMut(&mut Self, HostId, HostId)) {
        for &(from, to) in links {
            act(self, from, to);
        }
        self.kernel_mut().settle();
    }

    fn undo(&mut self, undo: Undo) {
        let now = self.kernel().now;
        match undo {
            Undo::Repair(links) => {
                self.each(&links, |sim, from, to| {
                    sim.kernel_mut().net.repair_oneway(from, to)
                });
            }
            Undo::Release(links) => {
                self.each(&links, |sim, from, to| {
                    sim.kernel_mut().net.release(now, from, to)
                });
            }
            Undo::Latency(links) => self.each(&links, |sim, from, to| {
                sim.kernel_mut().net.overrides(from, to).latency = None;
            }),
            Undo::Loss => {
                let link = &mut self.kernel_mut().net.config.link;
                (link.loss, link.duplication, link.reordering) = self.usual_loss;
            }
            Undo::Start(at) => self.start_again(at),
            Undo::Restart(at, program) => {
                if Rc::ptr_eq(&self.machines[at].program, &program) {
                    self.end(at, How::Kill);
                    self.start_again(at);
                }
            }
            Undo::Resume(host) => self.resume_host(host),
            Undo::Speed(host) => self.kernel_mut().hosts[host.0].slowness = 1,
        }
    }
}
