//! A worker that is stuck in a poll: the sockets and timers on its own driver are served all the same.
//!
//! The stuck poll ends only when it has seen everything happen that would be held up if it were not.
//! The delays are printed, and are no part of what is asserted: `--nocapture` shows them.
#![cfg(all(not(loom), unix))]

mod net_support;

use net_support::kinds::{Kind, Tcp, Unix};
use net_support::{alone, multi_thread, on_each_backend};
use std::future::{Future, poll_fn};
use std::io::{Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};
use tress::io::{AsyncReadExt, AsyncWriteExt, ReadBuf};
use tress::runtime::Runtime;
use tress::time::Sleep;

const CONNECTIONS: usize = 4;
/// One after the other on each connection. At 20 ms each they take a second.
const ROUND_TRIPS: usize = 50;
/// One after the other, all of them in the wheel of the stuck worker.
const TIMERS: usize = 100;
const BETWEEN_TIMERS: Duration = Duration::from_millis(5);
/// When the stuck poll gives up, and the test fails.
const GIVE_UP: Duration = Duration::from_secs(30);

/// What has happened while the worker was stuck, and how late.
#[derive(Default)]
struct Log {
    round_trips: AtomicUsize,
    timers: AtomicUsize,
    round_trip_times: Mutex<Vec<Duration>>,
    timer_delays: Mutex<Vec<Duration>>,
}

impl Log {
    fn is_complete(&self) -> bool {
        self.round_trips.load(Ordering::Acquire) == CONNECTIONS * ROUND_TRIPS
            && self.timers.load(Ordering::Acquire) == TIMERS
    }

    fn report(&self, what: &str) {
        for (of, times) in [
            ("round trips", &self.round_trip_times),
            ("timers", &self.timer_delays),
        ] {
            let mut times = times.lock().unwrap();
            times.sort();
            let at = |percent| times[(times.len() - 1) * percent / 100];
            let (median, late, worst) = (at(50), at(99), at(100));
            eprintln!("{what}, {of}: median {median:?}, 99 % {late:?}, worst {worst:?}");
        }
    }
}

/// Polls a read once: it finds nothing, and the stream is registered with the driver of this worker.
fn register<S: tress::io::AsyncRead + Unpin>(stream: &mut S, cx: &mut std::task::Context<'_>) {
    let mut byte = [0; 1];
    let read = Pin::new(stream).poll_read(cx, &mut ReadBuf::new(&mut byte));
    assert!(read.is_pending());
}

async fn echo<S: AsyncReadExt + AsyncWriteExt + Unpin>(mut stream: S) {
    let mut byte = [0; 1];
    while stream.read(&mut byte).await.unwrap() == 1 {
        stream.write_all(&byte).await.unwrap();
    }
}

async fn note(timer: Pin<Box<Sleep>>, log: Arc<Log>) {
    let due = timer.deadline();
    timer.await;
    let delay = tress::time::Instant::now() - due;
    log.timer_delays.lock().unwrap().push(delay);
    log.timers.fetch_add(1, Ordering::AcqRel);
}

/// A client on a thread of its own: nothing holds it up but the server.
fn client(mut stream: impl Read + Write, log: &Log) {
    let mut byte = [7; 1];
    for _ in 0..ROUND_TRIPS {
        let start = Instant::now();
        stream.write_all(&byte).unwrap();
        stream.read_exact(&mut byte).unwrap();
        log.round_trip_times.lock().unwrap().push(start.elapsed());
        log.round_trips.fetch_add(1, Ordering::AcqRel);
    }
}

/// Registers streams and timers on one worker, and then blocks that worker by calling `wait` until all
/// is done.
fn get_stuck<K: Kind>(rt: &Runtime, log: &Arc<Log>, wait: fn()) {
    let listener = rt.block_on(K::bind());
    let address = K::address(&listener);
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|_| K::connect_blocking(&address).unwrap())
        .collect();
    let mut streams: Vec<K::Stream> = rt.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..CONNECTIONS {
            streams.push(K::accept(&listener).await.unwrap());
        }
        streams
    });
    let (ready, is_ready) = std::sync::mpsc::channel();
    let done = log.clone();
    let stuck = rt.spawn(poll_fn(move |cx| {
        // All in one poll: on one worker.
        for mut stream in streams.drain(..) {
            register(&mut stream, cx);
            drop(tress::spawn(echo(stream)));
        }
        for n in 1..=TIMERS {
            let mut timer = Box::pin(tress::time::sleep(BETWEEN_TIMERS * n as u32));
            assert!(timer.as_mut().poll(cx).is_pending());
            drop(tress::spawn(note(timer, done.clone())));
        }
        ready.send(()).unwrap();
        let start = Instant::now();
        while !done.is_complete() && start.elapsed() < GIVE_UP {
            wait();
        }
        Poll::Ready(done.is_complete())
    }));
    is_ready.recv().unwrap();
    std::thread::scope(|scope| {
        for stream in clients {
            scope.spawn(|| client(stream, log));
        }
    });
    assert!(rt.block_on(stuck).unwrap(), "held up by a stuck poll");
}

fn sockets_and_timers<K: Kind>(wait: fn(), how: &str) {
    on_each_backend(|backend| {
        let rt = multi_thread(backend, 2);
        let log = Arc::new(Log::default());
        get_stuck::<K>(&rt, &log, wait);
        log.report(&format!("{backend:?}, {}, {how}", K::NAME));
        assert!(
            rt.metrics().io().adoptions > 0,
            "its driver was not adopted"
        );
    });
}

/// Asleep in a system call, as a blocking file operation or a lock would be.
fn sleep() {
    std::thread::sleep(Duration::from_millis(100));
}

/// At work, as a long computation would be.
fn compute() {
    for _ in 0..1000 {
        std::hint::spin_loop();
    }
}

#[test]
fn a_worker_asleep_in_a_poll_holds_neither_sockets_nor_timers() {
    let _alone = alone();
    sockets_and_timers::<Tcp>(sleep, "asleep");
    sockets_and_timers::<Unix>(sleep, "asleep");
}

#[test]
fn a_worker_at_work_in_a_poll_holds_neither_sockets_nor_timers() {
    let _alone = alone();
    sockets_and_timers::<Tcp>(compute, "at work");
    sockets_and_timers::<Unix>(compute, "at work");
}
