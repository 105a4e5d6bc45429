//! Listeners that pause because there are no descriptors left.

use super::runtimes;
use crate::child;
use crate::wakers::reacting;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tress::net::TcpListener;

/// A listener that pauses is polled by the very waker that it clones, drops or wakes.
#[test]
fn a_waker_polls_a_listener_that_pauses() {
    child::passes("streams::pauses::pausing", "");
}

#[test]
fn pausing() {
    if child::case().is_none() {
        return;
    }
    for rt in runtimes() {
        rt.block_on(async {
            let listener = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
            let address = listener.local_addr().unwrap();
            let clients = [(); 2].map(|()| std::net::TcpStream::connect(address).unwrap());
            let before = limit_descriptors(None);
            // The lowest that is free, so none is.
            let free = std::fs::File::open("/dev/null").unwrap().as_raw_fd();
            limit_descriptors(Some(free as libc::rlim_t));
            let accept = |waker: &Waker| listener.poll_accept(&mut Context::from_waker(waker));
            let error = std::future::poll_fn(|cx| listener.poll_accept(cx)).await;
            assert_eq!(error.unwrap_err().raw_os_error(), Some(libc::EMFILE));
            for _ in 0..3 {
                let again = listener.clone();
                let meddles = reacting(Arc::new(move |_| {
                    let _ = again.poll_accept(&mut Context::from_waker(Waker::noop()));
                }));
                assert!(matches!(
                    accept(&meddles),
                    Poll::Pending | Poll::Ready(Err(_))
                ));
            }
            limit_descriptors(Some(before));
            // It hears of the end of the pause all the same.
            let (_accepted, _) = std::future::poll_fn(|cx| listener.poll_accept(cx))
                .await
                .unwrap();
            drop(clients);
        });
    }
}

/// Changes the limit of this process, which is a child. Returns what it is.
fn limit_descriptors(to: Option<libc::rlim_t>) -> libc::rlim_t {
    // SAFETY: the structures are ours for the calls.
    unsafe {
        let mut limit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        if let Some(to) = to {
            limit.rlim_cur = to;
            assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
        }
        limit.rlim_cur
    }
}
