//! What the channels' types promise to the compiler.

#![allow(
    dead_code,
    reason = "the fallback trait is unused where the bound holds"
)]

use std::cell::Cell;
use std::error::Error;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;
use tress::sync::{broadcast, mpsc, oneshot, watch};

type SendOnly = Cell<u8>;
type Neither = Rc<u8>;

fn send<T: Send>() {}
fn sync<T: Sync>() {}
fn unpin<T: Unpin>() {}
fn unwind_safe<T: UnwindSafe + RefUnwindSafe>() {}
fn error<T: Error + Send + Sync>() {}
fn is_send<T: Send>(_: T) {}

/// True if the type is `Send`, and true if it is `Sync`.
macro_rules! traits {
    ($type:ty) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        trait No {
            const SEND: bool = false;
            const SYNC: bool = false;
        }
        impl<T: ?Sized> No for Probe<T> {}
        #[allow(dead_code)]
        impl<T: ?Sized + Send> Probe<T> {
            const SEND: bool = true;
        }
        #[allow(dead_code)]
        impl<T: ?Sized + Sync> Probe<T> {
            const SYNC: bool = true;
        }
        (Probe::<$type>::SEND, Probe::<$type>::SYNC)
    }};
}

macro_rules! ends {
    ($($end:ident)::+) => {
        send::<$($end)::+<SendOnly>>();
        sync::<$($end)::+<SendOnly>>();
        unpin::<$($end)::+<std::marker::PhantomPinned>>();
        unwind_safe::<$($end)::+<&'static mut Cell<u8>>>();
        assert_eq!(traits!($($end)::+<Neither>), (false, false));
    };
}

#[test]
fn ends_need_send_and_nothing_else() {
    ends!(oneshot::Sender);
    ends!(oneshot::Receiver);
    ends!(mpsc::Sender);
    ends!(mpsc::Receiver);
    ends!(mpsc::WeakSender);
    ends!(mpsc::OwnedPermit);
    ends!(mpsc::UnboundedSender);
    ends!(mpsc::UnboundedReceiver);
    ends!(mpsc::WeakUnboundedSender);
    ends!(broadcast::Sender);
    ends!(broadcast::Receiver);
    ends!(broadcast::WeakSender);
    unwind_safe::<mpsc::Permit<'_, &mut Cell<u8>>>();
    unwind_safe::<mpsc::PermitIterator<'_, &mut Cell<u8>>>();
    send::<mpsc::Permit<'_, SendOnly>>();
    send::<mpsc::PermitIterator<'_, SendOnly>>();
}

#[test]
fn a_watched_value_is_shared() {
    // Receivers on several threads look at one value.
    assert_eq!(traits!(watch::Sender<u8>), (true, true));
    assert_eq!(traits!(watch::Receiver<u8>), (true, true));
    assert_eq!(traits!(watch::Sender<SendOnly>), (false, false));
    assert_eq!(traits!(watch::Receiver<SendOnly>), (false, false));
    // A look holds a lock of the thread that took it.
    assert_eq!(traits!(watch::Ref<'_, u8>), (false, true));
}

#[test]
fn errors_are_errors() {
    error::<oneshot::error::RecvError>();
    error::<oneshot::error::TryRecvError>();
    error::<mpsc::error::SendError<u8>>();
    error::<mpsc::error::TrySendError<u8>>();
    error::<mpsc::error::SendTimeoutError<u8>>();
    error::<mpsc::error::TryRecvError>();
    error::<watch::error::SendError<u8>>();
    error::<watch::error::RecvError>();
    error::<broadcast::error::SendError<u8>>();
    error::<broadcast::error::RecvError>();
    error::<broadcast::error::TryRecvError>();
}

#[test]
fn futures_can_be_spawned() {
    let (mut tx, rx) = oneshot::channel::<SendOnly>();
    is_send(tx.closed());
    is_send(rx);

    let (tx, mut rx) = mpsc::channel::<SendOnly>(1);
    is_send(tx.send(Cell::new(1)));
    is_send(tx.reserve());
    is_send(tx.reserve_many(1));
    is_send(tx.clone().reserve_owned());
    is_send(tx.closed());
    is_send(tx.send_timeout(Cell::new(1), std::time::Duration::ZERO));
    is_send(rx.recv());
    is_send(rx.recv_many(&mut Vec::new(), 1));

    let (tx, mut rx) = watch::channel(1);
    is_send(rx.changed());
    is_send(tx.closed());

    let (tx, mut rx) = broadcast::channel::<SendOnly>(1);
    is_send(rx.recv());
    is_send(tx.closed());
}
