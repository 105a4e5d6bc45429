//! Every kind of wait is noted while it lasts, and not afterwards.

use super::support::{poll_and_drop, run, settle, wait, waits};
use std::future::{Future, pending};
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;
use tress::channel;
use tress::io::{AsyncReadExt, AsyncWriteExt};
use tress::net::{TcpListener, TcpStream, UdpSocket};
use tress::sync::{
    Barrier, CancellationToken, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast,
    mpsc, oneshot, watch,
};
use tress::task::{JoinSet, spawn, spawn_blocking};
use tress::time;

/// A long time, which no test waits for.
const LONG: Duration = Duration::from_secs(3600);

/// Checks a kind: a task that waits for `make`'s future says so, and one that has given it up does not.
async fn check<F>(expected: &str, make: impl Fn() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let task = spawn(make());
    settle().await;
    let line = wait(task.id());
    assert!(line.contains(expected), "{expected}: {line}");
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());

    let future = make();
    let task = spawn(async move {
        poll_and_drop(future).await;
        pending::<()>().await;
    });
    settle().await;
    assert_eq!(waits(task.id()), [""; 0], "{expected} was given up");
    task.abort();
}

#[test]
fn locks() {
    run(async {
        check("waits for a Mutex created at ", || async {
            let mutex = Mutex::new(());
            let _held = mutex.try_lock().unwrap();
            drop(mutex.lock().await);
        })
        .await;
        check("waits for a Mutex created at ", || async {
            let mutex = Arc::new(Mutex::const_new(()));
            let _held = mutex.clone().try_lock_owned().unwrap();
            drop(mutex.lock_owned().await);
        })
        .await;
        check("waits for a read lock of an RwLock created at ", || async {
            let lock = RwLock::new(());
            let _held = lock.try_write().unwrap();
            drop(lock.read().await);
        })
        .await;
        let write = "waits for the write lock of an RwLock created at ";
        check(write, || async {
            let lock = Arc::new(RwLock::new(()));
            let _held = lock.try_read().unwrap();
            drop(lock.clone().write_owned().await);
        })
        .await;
        check("waits for permits of a Semaphore created at ", || async {
            let semaphore = Semaphore::new(2);
            drop(semaphore.acquire_many(3).await);
        })
        .await;
        check("waits for permits of a Semaphore created at ", || async {
            let semaphore = Arc::new(Semaphore::const_new(0));
            drop(semaphore.acquire_owned().await);
        })
        .await;
    });
}

#[test]
fn values_and_events() {
    run(async {
        let cell = Arc::new(OnceCell::<()>::new());
        let maker = spawn({
            let cell = cell.clone();
            async move {
                cell.get_or_init(pending).await;
            }
        });
        settle().await;
        assert_eq!(waits(maker.id()), [""; 0]);
        check("waits for the value of a OnceCell created at ", || {
            let cell = cell.clone();
            async move {
                cell.get_or_init(pending).await;
            }
        })
        .await;
        check("waits for the value of a OnceCell created at ", || async {
            SetOnce::<()>::new().wait().await;
        })
        .await;
        check("waits for a Barrier created at ", || async {
            Barrier::new(2).wait().await;
        })
        .await;
        check("waits for a Notify created at ", || async {
            Notify::new().notified().await;
        })
        .await;
        check("waits for a Notify created at ", || async {
            Arc::new(Notify::const_new()).notified_owned().await;
        })
        .await;
        check("waits for a cancellation created at ", || async {
            CancellationToken::new().child_token().cancelled().await;
        })
        .await;
        maker.abort();
    });
}

#[test]
fn channels_of_sync() {
    run(async {
        check(
            "waits for a value from a oneshot channel created at ",
            || async {
                let (_tx, rx) = oneshot::channel::<()>();
                rx.await.unwrap();
            },
        )
        .await;
        check(
            "waits for a oneshot channel to be closed created at ",
            || async {
                let (mut tx, _rx) = oneshot::channel::<()>();
                tx.closed().await;
            },
        )
        .await;
        check("waits for a message from a channel created at ", || async {
            let (_tx, mut rx) = mpsc::channel::<()>(1);
            rx.recv().await;
        })
        .await;
        check("waits for a message from a channel created at ", || async {
            let (_tx, mut rx) = mpsc::unbounded_channel::<()>();
            rx.recv_many(&mut Vec::new(), 4).await;
        })
        .await;
        check("waits for room in a channel created at ", || async {
            let (tx, _rx) = mpsc::channel(1);
            tx.try_send(()).unwrap();
            tx.send(()).await.unwrap();
        })
        .await;
        check("waits for room in a channel created at ", || async {
            let (tx, _rx) = mpsc::channel::<()>(2);
            let _one = tx.try_reserve().unwrap();
            drop(tx.reserve_many(2).await);
        })
        .await;
        check("waits for a channel to be closed created at ", || async {
            let (tx, _rx) = mpsc::unbounded_channel::<()>();
            tx.closed().await;
        })
        .await;
        check(
            "waits for a message from a broadcast channel created at ",
            || async {
                let (_tx, mut rx) = broadcast::channel::<()>(1);
                rx.recv().await.unwrap();
            },
        )
        .await;
        check(
            "waits for a change of a watch channel created at ",
            || async {
                let (_tx, mut rx) = watch::channel(0);
                rx.wait_for(|n| *n == 1).await.unwrap();
            },
        )
        .await;
        check(
            "waits for a watch channel to be closed created at ",
            || async {
                let (tx, _rx) = watch::channel(0);
                tx.closed().await;
            },
        )
        .await;
    });
}

#[test]
fn channels_with_many_receivers() {
    run(async {
        for capacity in [0, 1, 3000] {
            check(
                "waits for a message from a channel created at ",
                move || async move {
                    let (_tx, rx) = channel::bounded::<()>(capacity);
                    rx.recv().await.unwrap();
                },
            )
            .await;
            check(
                "waits for room in a channel created at ",
                move || async move {
                    let (tx, _rx) = channel::bounded(capacity);
                    for _ in 0..capacity {
                        tx.try_send(()).unwrap();
                    }
                    tx.send(()).await.unwrap();
                },
            )
            .await;
            check(
                "waits for a channel to be closed created at ",
                move || async move {
                    let (tx, _rx) = channel::bounded::<()>(capacity);
                    tx.closed().await;
                },
            )
            .await;
        }
        check("waits for a message from a channel created at ", || async {
            let (_tx, rx) = channel::unbounded::<()>();
            rx.recv().await.unwrap();
        })
        .await;
    });
}

#[test]
fn a_select_waits_for_all_of_its_clauses() {
    run(async {
        let select = || async {
            let (_one, first) = channel::unbounded::<()>();
            let (second, _two) = channel::bounded::<()>(0);
            let (_three, third) = channel::bounded::<()>(0);
            channel::Select::new()
                .recv(&first, |_| ())
                .send(&second, (), |_| ())
                .recv(&third, |_| ())
                .wait()
                .await;
        };
        let task = spawn(select());
        settle().await;
        let mut lines: Vec<_> = waits(task.id())
            .iter()
            .map(|line| line.split(" created").next().unwrap().to_owned())
            .collect();
        lines.sort();
        let receives = "waits for a message from a channel";
        assert_eq!(lines, [receives, receives, "waits for room in a channel"]);
        task.abort();
        let task = spawn(async move {
            poll_and_drop(select()).await;
            pending::<()>().await;
        });
        settle().await;
        assert_eq!(waits(task.id()), [""; 0]);
    });
}

#[test]
fn timers() {
    run(async {
        check("waits for a timer for ", || time::sleep(LONG)).await;
        check("waits for a timer for ", || async {
            let mut interval = time::interval(LONG);
            interval.tick().await;
            interval.tick().await;
        })
        .await;
        check("waits for a timer for ", || async {
            let _ = time::timeout(LONG, pending::<()>()).await;
        })
        .await;
        check("waits for a timer for ", || time::sleep(Duration::MAX)).await;
    });
}

#[test]
fn tasks() {
    run(async {
        let target = spawn(pending::<()>());
        let number = target.id();
        let expected = format!("waits for the end of a task, task {number} spawned at ");
        let joins = spawn(target);
        settle().await;
        assert!(wait(joins.id()).contains(&expected), "{}", wait(joins.id()));
        joins.abort();

        check("waits for the end of a task, task ", || async {
            let mut set = JoinSet::new();
            set.spawn(pending::<()>());
            set.join_next().await.unwrap().unwrap();
        })
        .await;
        let task = spawn(async {
            let mut set = JoinSet::new();
            for _ in 0..20 {
                set.spawn(pending::<()>());
            }
            set.join_next().await.unwrap().unwrap();
        });
        settle().await;
        let lines = waits(task.id());
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert_eq!(lines[3], "waits for 17 more");
        task.abort();

        let (go, wait_to_go) = std::sync::mpsc::channel::<()>();
        let blocking = spawn_blocking(move || wait_to_go.recv().unwrap());
        let number = blocking.id();
        let joins = spawn(blocking);
        settle().await;
        let line = wait(joins.id());
        assert!(line.contains(&format!("task {number} ")), "{line}");
        go.send(()).unwrap();
        joins.await.unwrap().unwrap();
    });
}

#[test]
fn sockets_and_pipes() {
    run(async {
        check("waits for input for ", || async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            listener.accept().await.unwrap();
        })
        .await;
        check("waits for input for ", || async {
            let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            socket.recv(&mut [0]).await.unwrap();
        })
        .await;
        let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = listener.local_addr().unwrap();
        let far = std::net::TcpStream::connect(address).unwrap();
        let (mut near, _) = listener.accept().await.unwrap();
        let task = spawn(async move {
            near.read_exact(&mut [0; 2]).await.unwrap();
        });
        settle().await;
        let line = wait(task.id());
        assert!(line.contains("waits for input for "), "{line}");
        task.abort();
        drop(far);

        let far = std::net::TcpStream::connect(address).unwrap();
        let (near, _) = listener.accept().await.unwrap();
        let task = spawn(write_for_ever(near));
        // More than the buffers of the system hold.
        while !waits(task.id())
            .iter()
            .any(|line| line.contains("room for output"))
        {
            settle().await;
        }
        assert!(wait(task.id()).contains("waits for room for output for "));
        task.abort();
        drop(far);

        let (mut near, _far) = tress::io::duplex(1);
        let task = spawn(async move { near.read_u8().await.unwrap() });
        settle().await;
        let line = wait(task.id());
        assert!(line.contains("waits for input for "), "{line}");
        task.abort();
    });
}

async fn write_for_ever(mut to: TcpStream) {
    loop {
        to.write_all(&[0; 1 << 16]).await.unwrap();
    }
}

#[cfg(unix)]
#[test]
fn signals_and_children() {
    use tress::process::Command;
    use tress::signal::unix::{SignalKind, signal};

    run(async {
        check("waits for a signal for ", || async {
            let mut hangup = signal(SignalKind::hangup()).unwrap();
            hangup.recv().await;
        })
        .await;
        let mut child = Command::new("sleep")
            .arg("3600")
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let task = spawn(async move { child.wait().await });
        settle().await;
        let line = wait(task.id());
        let expected = ["waits for the end of a child process", "waits for a signal"];
        assert!(expected.iter().any(|kind| line.contains(kind)), "{line}");
        task.abort();
    });
}

#[cfg(all(unix, feature = "coroutine"))]
#[test]
fn coroutines() {
    run(async {
        let task = tress::coroutine::spawn(tress::coroutine::park);
        settle().await;
        let line = wait(task.id());
        assert!(
            line.contains("waits for a wake-up of a coroutine"),
            "{line}"
        );
        task.abort();
        let task = tress::coroutine::spawn(|| tress::coroutine::sleep(LONG));
        settle().await;
        assert!(wait(task.id()).contains("waits for a timer for "));
        task.abort();
    });
}

/// Returns the line after that of the call, as the dump has it.
#[track_caller]
fn next_line() -> String {
    let here = Location::caller();
    format!("{}:{}:", here.file(), here.line() + 1)
}

/// A resource is told by where its user has created it, whatever made it.
#[test]
fn what_is_waited_for_is_known_by_where_it_was_created() {
    run(async {
        let mut tasks = Vec::new();
        let mut created = |at: String, task: tress::task::JoinHandle<()>| tasks.push((at, task));

        let at = next_line();
        let mutex = Arc::new(Mutex::new(()));
        let held = mutex.clone().lock_owned().await;
        created(at, spawn(async move { drop(mutex.lock().await) }));
        let at = next_line();
        let lock = Arc::<RwLock<()>>::new(RwLock::default());
        let held_lock = lock.clone().write_owned().await;
        created(at, spawn(async move { drop(lock.read().await) }));
        let at = next_line();
        let semaphore = Semaphore::new(0);
        created(at, spawn(async move { drop(semaphore.acquire().await) }));
        let at = next_line();
        let notify = Notify::default();
        created(at, spawn(async move { notify.notified().await }));
        let at = next_line();
        let (tx, mut rx) = mpsc::unbounded_channel::<()>();
        created(at, spawn(async move { assert!(rx.recv().await.is_none()) }));
        let at = next_line();
        let (many, receiver) = channel::bounded::<()>(0);
        created(
            at,
            spawn(async move { assert!(receiver.recv().await.is_err()) }),
        );
        let at = next_line();
        let (once, value) = oneshot::channel::<()>();
        created(at, spawn(async move { assert!(value.await.is_err()) }));
        let at = next_line();
        let (changes, mut seen) = watch::channel(());
        created(
            at,
            spawn(async move { assert!(seen.changed().await.is_err()) }),
        );
        let at = next_line();
        let token = CancellationToken::new();
        created(at, spawn(async move { token.cancelled().await }));

        settle().await;
        for (at, task) in &tasks {
            let line = wait(task.id());
            assert!(line.contains(&format!(" created at {at}")), "{at}: {line}");
        }
        drop((held, held_lock, tx, many, once, changes));
    });
}

/// Returns what the dump says of a queue that was created at that place.
fn grown(at: &str) -> Option<String> {
    let dump = super::support::dump();
    let line = dump
        .lines()
        .find(|line| line.starts_with(&format!("a channel created at {at}")));
    line.map(str::to_owned)
}

#[test]
fn a_queue_without_a_limit_is_noted_while_it_is_long() {
    run(async {
        let at = next_line();
        let (tx, mut rx) = mpsc::unbounded_channel();
        (0..255).for_each(|n| tx.send(n).unwrap());
        assert_eq!(grown(&at), None);
        (0..300).for_each(|n| tx.send(n).unwrap());
        assert!(grown(&at).unwrap().contains(" had 512 messages "));
        while rx.try_recv().is_ok() {}
        assert_eq!(grown(&at), None, "empty");
        (0..300).for_each(|n| tx.send(n).unwrap());
        assert!(grown(&at).is_some());
        let task = spawn(async move { while rx.recv().await.is_some() {} });
        settle().await;
        assert_eq!(grown(&at), None, "empty again");
        (0..300).for_each(|n| tx.send(n).unwrap());
        assert!(grown(&at).is_some());
        task.abort();
        settle().await;
        assert_eq!(grown(&at), None, "dropped");

        let at = next_line();
        let (tx, rx) = channel::unbounded();
        (0..300).for_each(|n| tx.try_send(n).unwrap());
        assert!(grown(&at).unwrap().contains(" had 256 messages "));
        while rx.try_recv().is_ok() {}
        assert_eq!(grown(&at), None, "empty");
        (0..300).for_each(|n| tx.try_send(n).unwrap());
        assert!(grown(&at).is_some());
        drop(rx);
        assert_eq!(grown(&at), None, "dropped");

        let at = next_line();
        let (tx, _rx) = mpsc::channel(1000);
        (0..300).for_each(|n| tx.try_send(n).unwrap());
        assert_eq!(grown(&at), None, "it has a limit");
    });
}
