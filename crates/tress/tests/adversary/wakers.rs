//! Wakers that use what they wait for, or panic, whenever they are cloned, woken or dropped: nothing of
//! ours may be locked then, and whoever else waits must not be forgotten.

use crate::child;
use std::cell::Cell;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use tress::channel;
use tress::sync::{
    Barrier, CancellationToken, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc,
    oneshot, watch,
};

/// What happens to a waker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    Clone,
    Wake,
    Drop,
}

pub type Reaction = dyn Fn(Event) + Send + Sync;

/// A waker that calls `reaction`, but not from within itself.
pub fn reacting(reaction: Arc<Reaction>) -> Waker {
    type Data = Arc<Reaction>;
    thread_local!(static WITHIN: Cell<bool> = const { Cell::new(false) });
    struct Out;
    impl Drop for Out {
        fn drop(&mut self) {
            WITHIN.set(false);
        }
    }
    fn react(data: &Data, event: Event) {
        if !WITHIN.replace(true) {
            let _out = Out;
            data(event);
        }
    }
    fn data(raw: *const ()) -> ManuallyDrop<Box<Data>> {
        // SAFETY: every waker of this table owns such a box.
        ManuallyDrop::new(unsafe { Box::from_raw(raw.cast_mut().cast()) })
    }
    fn raw(data: Data) -> RawWaker {
        RawWaker::new(Box::into_raw(Box::new(data)).cast_const().cast(), &VTABLE)
    }
    const VTABLE: RawWakerVTable = RawWakerVTable::new(
        |it| {
            react(&data(it), Event::Clone);
            raw(Data::clone(&data(it)))
        },
        |it| {
            let it = ManuallyDrop::into_inner(data(it));
            react(&it, Event::Wake);
        },
        |it| react(&data(it), Event::Wake),
        |it| {
            let it = ManuallyDrop::into_inner(data(it));
            react(&it, Event::Drop);
        },
    );
    // SAFETY: the functions of the table keep the contract of a waker.
    unsafe { Waker::from_raw(raw(reaction)) }
}

#[derive(Default)]
pub struct Wakes(pub AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

type Task = Pin<Box<dyn Future<Output = ()>>>;

/// Something that two can wait for.
struct Case {
    name: &'static str,
    /// Makes one who waits.
    wait: Box<dyn Fn() -> Task>,
    /// One step that lets somebody go on; done until both have.
    step: Box<dyn FnMut()>,
    /// Uses all that can be used without waiting.
    meddle: Arc<Reaction>,
}

fn case<S: Send + Sync + 'static, F: Future + 'static>(
    name: &'static str,
    shared: S,
    wait: impl Fn(Arc<S>) -> F + 'static,
    mut step: impl FnMut(&S) + 'static,
    meddle: impl Fn(&S) + Send + Sync + 'static,
) -> Case {
    let shared = Arc::new(shared);
    let (one, two, three) = (shared.clone(), shared.clone(), shared);
    Case {
        name,
        wait: Box::new(move || {
            let future = wait(one.clone());
            Box::pin(async move {
                future.await;
            })
        }),
        step: Box::new(move || step(&two)),
        meddle: Arc::new(move |_| meddle(&three)),
    }
}

fn now<F: Future>(future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    match future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn cases() -> Vec<Case> {
    let look_at_notify = |notify: &Notify| _ = (format!("{notify:?}"), now(notify.notified()));
    let held = || {
        let mutex = Arc::new(tress::sync::Mutex::new(()));
        let guard = mutex.clone().try_lock_owned().unwrap();
        (mutex, guard)
    };
    let (mutex, mut mutex_guard) = {
        let (mutex, guard) = held();
        (mutex, Some(guard))
    };
    let rwlock = || {
        let lock = Arc::new(RwLock::new(()));
        let guard = lock.clone().try_write_owned().unwrap();
        (lock, Some(guard))
    };
    let look_at_lock = |lock: &Arc<RwLock<()>>| {
        _ = (lock.try_read(), lock.try_write(), format!("{lock:?}"));
        _ = (now(lock.read()), now(lock.write()));
    };
    let ((read, mut read_guard), (write, mut write_guard)) = (rwlock(), rwlock());
    let mut cases = vec![
        case(
            "Notify::notify_one",
            Notify::new(),
            |notify| async move { notify.notified().await },
            Notify::notify_one,
            look_at_notify,
        ),
        case(
            "Notify::notify_waiters",
            Notify::new(),
            |notify| async move { notify.notified().await },
            Notify::notify_waiters,
            look_at_notify,
        ),
        case(
            "Semaphore",
            Semaphore::new(0),
            |semaphore| async move { semaphore.acquire().await.unwrap().forget() },
            |semaphore| semaphore.add_permits(2),
            |semaphore| _ = (format!("{semaphore:?}"), now(semaphore.acquire_many(1_000))),
        ),
        case(
            "Semaphore::close",
            Semaphore::new(0),
            |semaphore| async move { assert!(semaphore.acquire().await.is_err()) },
            Semaphore::close,
            |semaphore| _ = (semaphore.is_closed(), now(semaphore.acquire())),
        ),
        case(
            "Mutex",
            mutex,
            |mutex| async move { _ = mutex.lock().await },
            move |_| _ = mutex_guard.take(),
            |mutex| _ = (mutex.try_lock(), now(mutex.lock()), format!("{mutex:?}")),
        ),
        case(
            "RwLock::read",
            read,
            |lock| async move { _ = lock.read().await },
            move |_| _ = read_guard.take(),
            look_at_lock,
        ),
        case(
            "RwLock::write",
            write,
            |lock| async move { _ = lock.write().await },
            move |_| _ = write_guard.take(),
            look_at_lock,
        ),
        case(
            "SetOnce",
            SetOnce::<u32>::new(),
            |once| async move { assert_eq!(*once.wait().await, 1) },
            |once| _ = once.set(1),
            |once| _ = (format!("{once:?}"), now(once.wait())),
        ),
        case(
            "CancellationToken",
            CancellationToken::new(),
            |token| async move { token.child_token().cancelled().await },
            CancellationToken::cancel,
            |token| _ = (token.child_token(), now(token.cancelled())),
        ),
        case(
            "watch::changed",
            watch::channel(0).0,
            |tx| async move { tx.subscribe().changed().await.unwrap() },
            |tx| tx.send_modify(|value| *value += 1),
            |tx| {
                _ = (
                    *tx.borrow(),
                    now(tx.subscribe().changed()),
                    now(tx.closed()),
                )
            },
        ),
        case(
            "broadcast",
            broadcast::channel::<String>(2).0,
            |tx| async move { _ = tx.subscribe().recv().await },
            |tx| _ = tx.send("news".into()),
            |tx| _ = (tx.len(), now(tx.subscribe().recv()), now(tx.closed())),
        ),
    ];
    let cell = Arc::new(OnceCell::<u32>::new());
    let (done, made) = oneshot::channel::<()>();
    let other = cell.clone();
    let mut making: Task = Box::pin(async move {
        let make = async || _ = made.await;
        other
            .get_or_init(async || {
                make().await;
                1
            })
            .await;
    });
    let mut poll_making = move || {
        let _ = making
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
    };
    poll_making();
    let mut done = Some(done);
    cases.push(case(
        "OnceCell",
        cell,
        |cell| async move { assert_eq!(*cell.get_or_init(async || 2).await, 1) },
        move |_| {
            if let Some(done) = done.take() {
                done.send(()).unwrap();
                poll_making();
            }
        },
        |cell| _ = (cell.get(), cell.set(3), now(cell.get_or_init(async || 3))),
    ));
    let mut arrived = Vec::new();
    cases.push(case(
        "Barrier",
        Arc::new(Barrier::new(3)),
        |barrier| async move { _ = barrier.wait().await },
        move |barrier| {
            // It stays there, so that one whose place was lost is made up for.
            let barrier = barrier.clone();
            let mut arrival: Task = Box::pin(async move { _ = barrier.wait().await });
            let polled = arrival
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            if polled.is_pending() {
                arrived.push(arrival);
            }
        },
        |barrier| _ = format!("{barrier:?}"),
    ));
    let (tx, rx) = mpsc::channel::<u32>(1);
    tx.try_send(0).unwrap();
    cases.push(case(
        "mpsc::send",
        (tx, Mutex::new(rx)),
        |ends| async move { ends.0.send(1).await.unwrap() },
        |ends| {
            _ = ends
                .1
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .try_recv()
        },
        |ends| {
            _ = (
                ends.0.capacity(),
                now(ends.0.reserve()),
                now(ends.0.closed()),
            )
        },
    ));
    for (name, capacity) in [("rendezvous", 0), ("bounded", 1)] {
        let names: [&'static str; 3] = match name {
            "rendezvous" => [
                "hand to hand: send",
                "hand to hand: recv",
                "hand to hand: end",
            ],
            _ => ["bounded: send", "bounded: recv", "bounded: end"],
        };
        let meddle = |(tx, rx): &(channel::Sender<u32>, channel::Receiver<u32>)| {
            // Takes nothing that others wait for, except when there is more.
            _ = (
                format!("{tx:?}"),
                rx.len(),
                tx.is_closed(),
                now(tx.closed()),
            );
            _ = tx.try_reserve();
        };
        let (tx, rx) = channel::bounded::<u32>(capacity);
        let _ = tx.try_send(0);
        cases.push(case(
            names[0],
            (tx, rx),
            |ends| async move { ends.0.send(1).await.unwrap() },
            |ends| _ = ends.1.try_recv(),
            meddle,
        ));
        cases.push(case(
            names[1],
            channel::bounded::<u32>(capacity),
            |ends| async move { _ = ends.1.recv().await.unwrap() },
            |ends| _ = ends.0.try_send(1),
            meddle,
        ));
        cases.push(case(
            names[2],
            channel::bounded::<u32>(capacity),
            |ends| async move { assert!(ends.1.recv().await.is_err()) },
            |ends| _ = ends.0.close(),
            meddle,
        ));
    }
    cases
}

/// One waits with strange wakers, and one behind it with an honest one: that one goes on.
fn run(case: &mut Case, reaction: Arc<Reaction>, gives_up: bool) {
    let name = case.name;
    let mut strange = Some((case.wait)());
    let poll = |strange: &mut Option<Task>, waker: &Waker| {
        let polled = catch_unwind(AssertUnwindSafe(|| {
            let task = strange.as_mut()?;
            Some(task.as_mut().poll(&mut Context::from_waker(waker)))
        }));
        if !matches!(polled, Ok(Some(Poll::Pending))) {
            let _ = catch_unwind(AssertUnwindSafe(|| _ = strange.take()));
        }
    };
    let wakers = [0, 1].map(|_| reacting(reaction.clone()));
    for waker in &wakers {
        poll(&mut strange, waker);
    }
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(wakes.clone());
    let mut honest = (case.wait)();
    let mut ready = honest
        .as_mut()
        .poll(&mut Context::from_waker(&waker))
        .is_ready();
    assert!(!ready, "{name} waits");
    for _ in 0..4 {
        let _ = catch_unwind(AssertUnwindSafe(&mut case.step));
        if gives_up {
            let _ = catch_unwind(AssertUnwindSafe(|| _ = strange.take()));
        } else {
            poll(&mut strange, &wakers[0]);
        }
        if !ready && wakes.0.swap(0, Ordering::SeqCst) != 0 {
            ready = honest
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready();
        }
    }
    assert!(ready, "{name}: the honest one was not woken");
    for waker in wakers {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(waker)));
    }
}

/// What the child does.
#[test]
fn strange_wakers() {
    let count = cases().len();
    // Once: a second panic while the first one unwinds would abort.
    let panics = |at: Event| -> Arc<Reaction> {
        let first = AtomicUsize::new(0);
        Arc::new(move |event| {
            if event == at && first.fetch_add(1, Ordering::SeqCst) == 0 {
                panic!("a waker that panics");
            }
        })
    };
    type Choice<'a> = &'a dyn Fn(&Case) -> Arc<Reaction>;
    let reactions: &[Choice<'_>] = match child::case().as_deref() {
        Some("meddle") => &[&|case| case.meddle.clone()],
        Some("panic") => &[&|_| panics(Event::Clone), &|_| panics(Event::Wake), &|_| {
            panics(Event::Drop)
        }],
        _ => return,
    };
    // A process of its own, whose output nobody reads before it ends: no backtraces.
    std::panic::set_hook(Box::new(|panic| println!("{panic}")));
    for nth in 0..count {
        for reaction in reactions {
            for gives_up in [false, true] {
                let mut case = cases().swap_remove(nth);
                println!("{} gives up: {gives_up}", case.name);
                let reaction = reaction(&case);
                run(&mut case, reaction, gives_up);
            }
        }
    }
}

#[test]
fn wakers_may_use_what_they_wait_for() {
    child::passes("wakers::strange_wakers", "meddle");
}

#[test]
fn wakers_may_panic() {
    child::passes("wakers::strange_wakers", "panic");
}
