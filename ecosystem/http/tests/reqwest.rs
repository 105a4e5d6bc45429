//! reqwest and rustls against a server with a certificate of its own.

use bytes::Bytes;
use eco_http::tls::{Identity, provider};
use futures_util::StreamExt;
use harness::{Peer, announce, crowd, run, serve_as_peer, within};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::body::{Frame, Incoming};
use hyper::{Request, Response, Version, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Barrier, oneshot};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

const _: () = tokio::__tress;

type Body = BoxBody<Bytes, Infallible>;

/// `/bytes` replies with a mebibyte in pieces, `/hold` never, everything else with the request's body.
async fn answer(
    request: Request<Incoming>,
    served: Arc<AtomicUsize>,
) -> Result<Response<Body>, hyper::Error> {
    served.fetch_add(1, Ordering::Relaxed);
    match request.uri().path() {
        "/bytes" => {
            let pieces = futures_util::stream::iter((0..256u32).map(|n| Ok(Frame::data(piece(n)))));
            Ok(Response::new(BodyExt::boxed(StreamBody::new(pieces))))
        }
        "/hold" => std::future::pending().await,
        _ => {
            let body = request.into_body().collect().await?.to_bytes();
            Ok(Response::new(Full::new(body).boxed()))
        }
    }
}

fn piece(n: u32) -> Bytes {
    Bytes::from(n.to_le_bytes().repeat(1024))
}

/// Serves until `stop`, then finishes what has begun.
async fn serve(
    listener: TcpListener,
    identity: Identity,
    served: Arc<AtomicUsize>,
    stop: impl Future<Output = ()>,
) {
    let acceptor = TlsAcceptor::from(identity.server);
    let graceful = GracefulShutdown::new();
    let mut connections = tokio::task::JoinSet::new();
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.unwrap().0,
            () = &mut stop => break,
        };
        let (acceptor, served, watcher) = (acceptor.clone(), served.clone(), graceful.watcher());
        connections.spawn(async move {
            // A client that does not trust the certificate ends the handshake.
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(move |request| answer(request, served.clone()));
            let builder = auto::Builder::new(TokioExecutor::new());
            let connection = builder
                .serve_connection(TokioIo::new(stream), service)
                .into_owned();
            // Its error is the client's affair.
            let _ = watcher.watch(connection).await;
        });
    }
    drop(listener);
    graceful.shutdown().await;
    while let Some(ended) = connections.join_next().await {
        ended.unwrap();
    }
}

struct Site {
    address: SocketAddr,
    identity: Identity,
    served: Arc<AtomicUsize>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Site {
    async fn start() -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let identity = Identity::new();
        let served = Arc::new(AtomicUsize::new(0));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(serve(listener, identity.clone(), served.clone(), async {
            // The sender's end means the same.
            let _ = stopped.await;
        }));
        Site {
            address,
            identity,
            served,
            stop,
            serving,
        }
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        within("the server's end", self.serving).await.unwrap();
    }
}

/// A client that trusts one certificate, or none at all.
fn client(address: SocketAddr, trusted: Option<&Identity>, protocols: &[&str]) -> reqwest::Client {
    let mut roots = rustls::RootCertStore::empty();
    if let Some(identity) = trusted {
        roots.add(identity.certificate.clone()).unwrap();
    }
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = protocols
        .iter()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy();
    builder.resolve("localhost", address).build().unwrap()
}

#[test]
fn http1_and_http2_under_load() {
    run(|| async {
        for (protocol, version) in [("http/1.1", Version::HTTP_11), ("h2", Version::HTTP_2)] {
            let site = Site::start().await;
            let client = client(site.address, Some(&site.identity), &[protocol]);
            let url = site.url("/");
            let counted = crowd(50, |n| {
                let (client, url) = (client.clone(), url.clone());
                async move {
                    for request in 0..40 {
                        let body = format!("{n}/{request}");
                        let reply = client.post(&url).body(body.clone()).send().await.unwrap();
                        assert_eq!(reply.version(), version);
                        assert_eq!(reply.text().await.unwrap(), body);
                    }
                    40
                }
            });
            assert_eq!(counted.await.into_iter().sum::<usize>(), 2000);
            assert_eq!(site.served.load(Ordering::Relaxed), 2000);
            drop(client);
            site.stop().await;
        }
    });
}

#[test]
fn bodies_stream_in_both_directions() {
    run(|| async {
        let site = Site::start().await;
        let client = client(site.address, Some(&site.identity), &["h2", "http/1.1"]);
        let mut pieces = client
            .get(site.url("/bytes"))
            .send()
            .await
            .unwrap()
            .bytes_stream();
        let mut got = Vec::new();
        while let Some(bytes) = pieces.next().await {
            got.extend_from_slice(&bytes.unwrap());
        }
        let expected: Vec<u8> = (0..256).flat_map(piece).collect();
        assert_eq!(got.len(), expected.len());
        assert!(got == expected);
        let sent = futures_util::stream::iter((0..256u32).map(|n| Ok::<_, Infallible>(piece(n))));
        let reply = client
            .post(site.url("/"))
            .body(reqwest::Body::wrap_stream(sent))
            .send()
            .await;
        assert!(reply.unwrap().bytes().await.unwrap() == expected);
        drop((client, pieces));
        site.stop().await;
    });
}

#[test]
fn a_name_is_resolved_and_a_stranger_is_refused() {
    run(|| async {
        let site = Site::start().await;
        // `lookup_host` goes through the runtime's blocking threads.
        let found: Vec<_> = tokio::net::lookup_host(("localhost", site.address.port()))
            .await
            .unwrap()
            .collect();
        assert!(found.contains(&site.address), "{found:?}");
        let stranger = client(site.address, None, &["h2"]);
        let refused = stranger.get(site.url("/")).send().await.unwrap_err();
        assert!(refused.is_connect(), "{refused:?}");
        let patient = client(site.address, Some(&site.identity), &["h2"]);
        let held = patient
            .get(site.url("/hold"))
            .timeout(std::time::Duration::from_millis(50));
        assert!(
            within("the timeout", held.send())
                .await
                .unwrap_err()
                .is_timeout()
        );
        drop((stranger, patient));
        site.stop().await;
    });
}

#[test]
#[ignore = "the process that the next test kills"]
fn peer() {
    serve_as_peer(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        announce(listener.local_addr().unwrap());
        let served = Arc::new(AtomicUsize::new(0));
        serve(listener, Identity::new(), served, std::future::pending()).await;
    });
}

#[test]
fn a_killed_server_fails_its_clients() {
    run(|| async {
        let mut peer = Peer::start("peer");
        let address = peer.address;
        let ready = Arc::new(Barrier::new(21));
        let lost = crowd(20, |n| {
            let ready = ready.clone();
            async move {
                let mut tls = rustls::ClientConfig::builder_with_provider(provider())
                    .with_safe_default_protocol_versions()
                    .unwrap()
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(Anybody))
                    .with_no_client_auth();
                let protocol = if n % 2 == 0 { "h2" } else { "http/1.1" };
                tls.alpn_protocols = vec![protocol.into()];
                let builder = reqwest::Client::builder()
                    .tls_backend_preconfigured(tls)
                    .no_proxy();
                let client = builder.resolve("localhost", address).build().unwrap();
                let url = format!("https://localhost:{}", address.port());
                client.post(&url).body("1").send().await.unwrap();
                ready.wait().await;
                client.get(format!("{url}/hold")).send().await.unwrap_err()
            }
        });
        let kill = async {
            ready.wait().await;
            peer.kill();
        };
        let (lost, ()) = within("errors", async { tokio::join!(lost, kill) }).await;
        assert_eq!(lost.len(), 20);
        assert!(TcpStream::connect(address).await.is_err());
    });
}

/// Trusts everybody: the peer's certificate is made in another process.
#[derive(Debug)]
struct Anybody;

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &rustls::pki_types::CertificateDer<'_>,
        _: &[rustls::pki_types::CertificateDer<'_>],
        _: &rustls::pki_types::ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let known = provider().signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        let known = provider().signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &known)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
