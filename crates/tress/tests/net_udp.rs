//! UDP on both backends.
#![cfg(not(loom))]

mod net_support;

use net_support::on_each_runtime;
use std::io::ErrorKind;
use tress::net::UdpSocket;
use tress::net::udp::{Datagram, ReceivedDatagram};

#[test]
fn many_at_once_keep_their_order_and_bounds() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            assert_eq!(here.send_many(&[]).await.unwrap(), 0);
            assert_eq!(there.recv_many(&mut []).await.unwrap(), 0);
            let target = there.local_addr().unwrap();
            let texts: Vec<String> = (0..40).map(|i| "x".repeat(i)).collect();
            let out: Vec<_> = texts
                .iter()
                .map(|text| Datagram {
                    bytes: text.as_bytes(),
                    target: Some(target),
                })
                .collect();
            let mut sent = 0;
            while sent < out.len() {
                let n = here.send_many(&out[sent..]).await.unwrap();
                assert!((1..=32).contains(&n));
                sent += n;
            }
            let mut next = 0;
            while next < out.len() {
                let mut space = vec![[0; 64]; 33];
                let mut places: Vec<_> = space
                    .iter_mut()
                    .map(|buf| ReceivedDatagram::new(buf))
                    .collect();
                let n = there.recv_many(&mut places).await.unwrap();
                assert!((1..=32).contains(&n));
                for place in &places[..n] {
                    assert_eq!(place.bytes(), texts[next].as_bytes());
                    assert_eq!(place.sender(), Some(here.local_addr().unwrap()));
                    next += 1;
                }
                assert!(places[n..].iter().all(|place| place.sender().is_none()));
            }
            // What does not fit is cut off, or an error; a connected socket needs no target.
            here.connect(target).await.unwrap();
            let one = Datagram {
                bytes: b"abcdef",
                target: None,
            };
            here.send_many(&[one]).await.unwrap();
            let mut short = [0; 3];
            let mut places = [ReceivedDatagram::new(&mut short)];
            let received = there.recv_many(&mut places).await;
            if cfg!(windows) {
                received.unwrap_err();
            } else {
                assert_eq!(received.unwrap(), 1);
                assert_eq!(places[0].bytes(), b"abc");
            }
        });
    });
}

#[cfg(target_os = "linux")]
#[test]
fn places_of_an_earlier_call_are_empty_again() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            here.connect(there.local_addr().unwrap()).await.unwrap();
            let mut space = [[0; 8]; 4];
            let mut places = space.each_mut().map(|buf| ReceivedDatagram::new(buf));
            for text in [b"one", b"two"] {
                here.send(text).await.unwrap();
            }
            assert_eq!(there.recv_many(&mut places).await.unwrap(), 2);
            assert_eq!(places[1].bytes(), b"two");
            here.send(b"last").await.unwrap();
            assert_eq!(there.recv_many(&mut places).await.unwrap(), 1);
            assert_eq!((places[1].bytes(), places[1].sender()), (&[][..], None));
        });
    });
}

/// What a peer that is not there answers reaches those who wait for datagrams, not only the next call.
#[cfg(target_os = "linux")]
#[test]
fn a_refusal_ends_a_wait() {
    use std::pin::pin;

    on_each_runtime(|rt| {
        rt.block_on(async {
            let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let nobody = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            here.connect(nobody.local_addr().unwrap()).await.unwrap();
            drop(nobody);
            let (mut one, mut two) = ([0; 8], [0; 8]);
            let refused = |result: std::io::Result<usize>| {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionRefused);
            };
            {
                let mut waiting = pin!(here.recv(&mut one));
                assert!(tress::future::poll_once(waiting.as_mut()).await.is_none());
                here.send(b"x").await.unwrap();
                refused(waiting.await);
            }
            let mut waiting = pin!(here.peek(&mut two));
            assert!(tress::future::poll_once(waiting.as_mut()).await.is_none());
            here.send(b"x").await.unwrap();
            refused(waiting.await);
        });
    });
}

/// Readiness is known from the first poll on, also of a socket that nobody has waited for.
#[test]
fn what_is_there_is_ready_at_once() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let there = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            there.send_to(b"x", here.local_addr().unwrap()).unwrap();
            if cfg!(unix) {
                use std::pin::pin;
                let ready = tress::future::poll_once(pin!(here.readable())).await;
                ready.expect("it is there").unwrap();
            }
            here.readable().await.unwrap();
            assert_eq!(here.try_recv(&mut [0; 8]).unwrap(), 1);
        });
    });
}

#[test]
fn looking_takes_nothing() {
    on_each_runtime(|rt| {
        rt.block_on(async {
            let here = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let there = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            let from = here.local_addr().unwrap();
            here.send_to(b"look", there.local_addr().unwrap())
                .await
                .unwrap();
            let mut buf = [0; 8];
            assert_eq!(there.peek_sender().await.unwrap(), from);
            assert_eq!(there.peek_from(&mut buf).await.unwrap(), (4, from));
            assert_eq!(there.peek(&mut buf).await.unwrap(), 4);
            assert_eq!(there.recv(&mut buf).await.unwrap(), 4);
            let error = there.try_recv(&mut buf).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
        });
    });
}
