//! The events are the whole process's: each test has one of its own.

use super::{Event, Heard, Place, handle, tell};
use crate::future::poll_once;
use crate::runtime::Builder;
use std::future::poll_fn;
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_SHUTDOWN_EVENT};

fn in_a_runtime(f: impl Future<Output = ()>) {
    Builder::new_current_thread().build().unwrap().block_on(f);
}

async fn heard(place: &Place) -> bool {
    poll_once(poll_fn(|cx| place.poll(cx))).await.is_some()
}

#[test]
fn each_listener_hears_and_several_events_are_one() {
    in_a_runtime(async {
        assert_eq!(tell(Event::C), Heard::Foreign);
        let (one, two) = (
            Place::listen(Event::C).unwrap(),
            Place::listen(Event::C).unwrap(),
        );
        assert!(!heard(&one).await);
        assert_eq!(tell(Event::C), Heard::Told);
        assert_eq!(tell(Event::C), Heard::Told);
        assert!(heard(&one).await && !heard(&one).await);
        assert!(heard(&two).await && !heard(&two).await);
    });
}

#[test]
fn what_comes_while_nobody_listens_is_kept_for_the_next() {
    in_a_runtime(async {
        drop(Place::listen(Event::Break).unwrap());
        // SAFETY: a number that the system uses.
        assert_eq!(unsafe { handle(CTRL_BREAK_EVENT) }, 1);
        let next = Place::listen(Event::Break).unwrap();
        assert!(heard(&next).await && !heard(&next).await);
        // Heard of, and not asked for.
        assert_eq!(tell(Event::Break), Heard::Told);
        drop(next);
        let next = Place::listen(Event::Break).unwrap();
        assert!(heard(&next).await && !heard(&next).await);
    });
}

#[test]
fn a_task_is_woken_by_the_systems_thread() {
    in_a_runtime(async {
        let place = Place::listen(Event::Close).unwrap();
        let waits = crate::spawn(async move { poll_fn(|cx| place.poll(cx)).await });
        crate::task::yield_now().await;
        let told = std::thread::spawn(|| tell(Event::Close));
        waits.await.unwrap();
        assert_eq!(told.join().unwrap(), Heard::Told);
    });
}

#[test]
fn an_end_that_nobody_listens_for_takes_its_course() {
    // SAFETY: a number that the system uses.
    assert_eq!(unsafe { handle(CTRL_SHUTDOWN_EVENT) }, 0);
    drop(Place::listen(Event::Shutdown).unwrap());
    // SAFETY: as above.
    assert_eq!(unsafe { handle(CTRL_SHUTDOWN_EVENT) }, 0);
    // SAFETY: a number that the system does not use.
    assert_eq!(unsafe { handle(77) }, 0);
}
