//! Signals: many listeners, several runtimes, coalescing, and what cannot be listened for.
#![cfg(all(unix, not(loom)))]

use std::sync::atomic::{AtomicI32, Ordering};
use std::task::{Context, Poll, Waker};
use tress::runtime::{Builder, IoBackend, Runtime};
use tress::signal::unix::{Signal, SignalKind, signal};

fn runtimes() -> Vec<Runtime> {
    [IoBackend::Auto, IoBackend::Readiness]
        .into_iter()
        .flat_map(|backend| {
            [Builder::new_current_thread(), Builder::new_multi_thread()]
                .map(|mut builder| builder.enable_all().io_backend(backend).build().unwrap())
        })
        .collect()
}

fn send(kind: SignalKind) {
    // To this thread: it is handled before the call returns.
    // SAFETY: the signal has a handler.
    let sent = unsafe { libc::raise(kind.as_raw_value()) };
    assert_eq!(sent, 0);
}

fn poll(signal: &mut Signal) -> Poll<Option<()>> {
    signal.poll_recv(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn every_listener_of_every_runtime_hears_it() {
    let kind = SignalKind::user_defined1();
    let runtimes = runtimes();
    let listeners: Vec<_> = runtimes
        .iter()
        .map(|runtime| runtime.block_on(async { [signal(kind).unwrap(), signal(kind).unwrap()] }))
        .collect();
    send(kind);
    for (runtime, mut pair) in runtimes.iter().zip(listeners) {
        runtime.block_on(async {
            for listener in &mut pair {
                assert_eq!(listener.recv().await, Some(()));
            }
        });
    }
}

#[test]
fn a_dropped_wait_takes_nothing_and_signals_coalesce() {
    let kind = SignalKind::user_defined2();
    for runtime in runtimes() {
        runtime.block_on(async {
            let mut listener = signal(kind).unwrap();
            assert!(poll(&mut listener).is_pending());
            for _ in 0..1000 {
                send(kind);
            }
            assert_eq!(listener.recv().await, Some(()));
            assert!(poll(&mut listener).is_pending());
            send(kind);
            assert_eq!(listener.recv().await, Some(()));
        });
    }
}

#[test]
fn the_handler_outlives_the_listeners() {
    let kind = SignalKind::alarm();
    for runtime in runtimes() {
        runtime.block_on(async {
            drop(signal(kind).unwrap());
            send(kind);
            // It is kept for the next listener, once.
            let mut listener = signal(kind).unwrap();
            assert_eq!(listener.recv().await, Some(()));
            assert!(poll(&mut listener).is_pending());
            assert!(poll(&mut signal(kind).unwrap()).is_pending());
        });
    }
}

static PLAIN: AtomicI32 = AtomicI32::new(0);
static INFORMED: AtomicI32 = AtomicI32::new(0);

extern "C" fn plain(signal: libc::c_int) {
    PLAIN.fetch_add(signal, Ordering::SeqCst);
}

extern "C" fn informed(signal: libc::c_int, info: *mut libc::siginfo_t, state: *mut libc::c_void) {
    // SAFETY: as the system promises.
    let told = unsafe { (*info).si_signo };
    assert!(told == signal && !state.is_null());
    INFORMED.fetch_add(signal, Ordering::SeqCst);
}

/// Whoever was there first goes on hearing, in the form that was asked for.
#[test]
fn an_earlier_handler_is_called_too() {
    let (hangup, quit) = (SignalKind::hangup(), SignalKind::quit());
    // SAFETY: handlers that count, of the kinds that the flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = plain as *const () as usize;
        assert_eq!(
            libc::sigaction(libc::SIGHUP, &action, std::ptr::null_mut()),
            0
        );
        action.sa_sigaction = informed as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(
            libc::sigaction(libc::SIGQUIT, &action, std::ptr::null_mut()),
            0
        );
    }
    Runtime::new().unwrap().block_on(async {
        for round in 1..=2 {
            let (mut hangups, mut quits) = (signal(hangup).unwrap(), signal(quit).unwrap());
            send(hangup);
            send(quit);
            assert_eq!(hangups.recv().await, Some(()));
            assert_eq!(quits.recv().await, Some(()));
            assert_eq!(PLAIN.load(Ordering::SeqCst), round * libc::SIGHUP);
            assert_eq!(INFORMED.load(Ordering::SeqCst), round * libc::SIGQUIT);
        }
        // Rust's programs ignore this one: there is nothing to call.
        let mut pipe = signal(SignalKind::pipe()).unwrap();
        send(SignalKind::pipe());
        assert_eq!(pipe.recv().await, Some(()));
    });
}

/// Those that a thread had blocked reach it in one moment. Handlers within handlers would need more than the
/// stack that there is for them.
#[cfg(target_os = "linux")]
#[test]
fn many_signals_may_come_at_once() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // qemu has no more.
        let numbers = libc::SIGRTMIN()..=libc::SIGRTMAX().min(libc::SIGRTMIN() + 27);
        let mut listeners = Vec::new();
        for number in numbers.clone() {
            listeners.push(signal(SignalKind::from_raw(number)).unwrap());
        }
        std::thread::spawn(move || {
            // SAFETY: all zero is a valid set; the signals are handled, and the thread is this one.
            unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                for number in numbers.clone() {
                    libc::sigaddset(&raw mut set, number);
                }
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
                for number in numbers {
                    libc::pthread_kill(libc::pthread_self(), number);
                }
                libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            }
        })
        .join()
        .unwrap();
        for listener in &mut listeners {
            listener.recv().await;
        }
    });
}

#[test]
fn some_cannot_be_listened_for() {
    Runtime::new().unwrap().block_on(async {
        for number in [
            -1,
            0,
            libc::SIGKILL,
            libc::SIGSTOP,
            libc::SIGSEGV,
            libc::SIGILL,
            10_000,
        ] {
            assert!(signal(SignalKind::from_raw(number)).is_err(), "{number}");
        }
    });
}

/// Of a runtime that lives on, with nobody to drive it if it is a current-thread one.
#[test]
fn a_listener_hears_in_another_runtime() {
    let kind = SignalKind::from_raw(libc::SIGURG);
    let runtimes = runtimes();
    for (i, first) in runtimes.iter().enumerate() {
        let mut listener = first.block_on(async { signal(kind).unwrap() });
        assert!(first.block_on(async { poll(&mut listener) }).is_pending());
        for second in runtimes.iter().skip(i).chain([first]) {
            second.block_on(async {
                assert!(poll(&mut listener).is_pending());
                send(kind);
                assert_eq!(listener.recv().await, Some(()));
                assert!(poll(&mut listener).is_pending());
            });
        }
        // Outside of all it is heard where it was heard last.
        send(kind);
        while poll(&mut listener).is_pending() {
            first.block_on(tress::task::yield_now());
        }
    }
}

#[test]
fn a_listener_outlives_its_runtime() {
    let kind = SignalKind::io();
    for (first, second) in runtimes().into_iter().zip(runtimes()) {
        let mut listener = first.block_on(async { signal(kind).unwrap() });
        assert!(first.block_on(async { poll(&mut listener) }).is_pending());
        drop(first);
        assert_eq!(poll(&mut listener), Poll::Ready(None));
        second.block_on(async {
            assert!(poll(&mut listener).is_pending());
            send(kind);
            assert_eq!(listener.recv().await, Some(()));
        });
        // One without I/O cannot help.
        drop(second);
        let third = Builder::new_current_thread().build().unwrap();
        assert_eq!(
            third.block_on(async { poll(&mut listener) }),
            Poll::Ready(None)
        );
    }
}

/// As many pipes as there are listeners at a time, not as there ever were.
#[cfg(target_os = "linux")]
#[test]
fn places_are_used_again() {
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        drop(signal(SignalKind::window_change()).unwrap());
        let before = count();
        for _ in 0..1000 {
            drop(signal(SignalKind::window_change()).unwrap());
        }
        // Other tests of this process come and go.
        assert!(count() < before + 100);
    });
}

#[test]
fn what_a_dropped_listener_has_not_taken_is_kept() {
    let kind = SignalKind::from_raw(libc::SIGVTALRM);
    let other = SignalKind::from_raw(libc::SIGPROF);
    for runtime in runtimes() {
        runtime.block_on(async {
            let listener = signal(kind).unwrap();
            send(kind);
            drop(listener);
            let mut next = signal(kind).unwrap();
            assert_eq!(next.recv().await, Some(()));
            // Another has heard of it: then there is nothing to keep.
            let unheard = signal(kind).unwrap();
            send(kind);
            drop(unheard);
            assert_eq!(next.recv().await, Some(()));
            drop(next);
            assert!(poll(&mut signal(kind).unwrap()).is_pending());
            // Nor is it heard by those who listen for something else in the same place.
            let listener = signal(kind).unwrap();
            send(kind);
            drop(listener);
            assert!(poll(&mut signal(other).unwrap()).is_pending());
            assert_eq!(signal(kind).unwrap().recv().await, Some(()));
        });
    }
}
