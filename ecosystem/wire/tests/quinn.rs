//! quinn: QUIC over UDP sockets.

use harness::{Peer, announce, crowd, run, serve_as_peer, within};
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, ServerConfig, TransportConfig, VarInt,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

const _: () = tokio::__tress;

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Makes a server that echoes streams and datagrams, and the certificate to trust.
fn server() -> (Endpoint, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_string()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).unwrap();
    (Endpoint::server(config, loopback()).unwrap(), certificate)
}

async fn serve(endpoint: Endpoint) {
    let mut connections = tokio::task::JoinSet::new();
    while let Some(incoming) = endpoint.accept().await {
        connections.spawn(async move {
            let connection = incoming.await.unwrap();
            tokio::join!(echo_streams(&connection), echo_datagrams(&connection));
        });
    }
    while let Some(ended) = connections.join_next().await {
        ended.unwrap();
    }
}

async fn echo_streams(connection: &Connection) {
    let mut streams = tokio::task::JoinSet::new();
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        streams.spawn(async move {
            // A connection that ends in the middle is the client's affair.
            if tokio::io::copy(&mut receive, &mut send).await.is_ok() {
                let _ = send.finish();
                let _ = send.stopped().await;
            }
        });
    }
    while let Some(ended) = streams.join_next().await {
        ended.unwrap();
    }
}

async fn echo_datagrams(connection: &Connection) {
    while let Ok(datagram) = connection.read_datagram().await {
        if connection.send_datagram(datagram).is_err() {
            break;
        }
    }
}

fn client(certificate: CertificateDer<'static>, idle: Duration) -> Endpoint {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(idle.try_into().unwrap()));
    config.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client(loopback()).unwrap();
    endpoint.set_default_client_config(config);
    endpoint
}

async fn connect(endpoint: &Endpoint, to: SocketAddr) -> Connection {
    within("a handshake", endpoint.connect(to, "localhost").unwrap())
        .await
        .unwrap()
}

async fn echo(connection: &Connection, bytes: Vec<u8>) {
    let (mut send, mut receive) = connection.open_bi().await.unwrap();
    let sent = async {
        send.write_all(&bytes).await.unwrap();
        send.finish().unwrap();
    };
    let (got, ()) = tokio::join!(receive.read_to_end(bytes.len() + 1), sent);
    assert!(got.unwrap() == bytes);
}

async fn stop(client: Endpoint, server: Endpoint, serving: JoinHandle<()>) {
    client.close(VarInt::from_u32(0), b"done");
    within("the client's end", client.wait_idle()).await;
    server.close(VarInt::from_u32(0), b"done");
    within("the server's end", serving).await.unwrap();
    within("the server's end", server.wait_idle()).await;
}

#[test]
fn streams_under_load() {
    run(|| async {
        let (server, certificate) = server();
        let address = server.local_addr().unwrap();
        let serving = tokio::spawn(serve(server.clone()));
        let client = client(certificate, Duration::from_secs(30));
        let streams = crowd(20, |n| {
            let client = client.clone();
            async move {
                let connection = connect(&client, address).await;
                let mut count = 0;
                for round in 0..10usize {
                    count += crowd(10, |k| {
                        let connection = connection.clone();
                        async move {
                            echo(
                                &connection,
                                format!("{n}/{round}/{k}").into_bytes().repeat(50),
                            )
                            .await;
                        }
                    })
                    .await
                    .len();
                }
                connection.close(VarInt::from_u32(0), b"done");
                count
            }
        });
        assert_eq!(streams.await.into_iter().sum::<usize>(), 2000);
        stop(client, server, serving).await;
    });
}

#[test]
fn large_streams_and_datagrams() {
    run(|| async {
        let (server, certificate) = server();
        let address = server.local_addr().unwrap();
        let serving = tokio::spawn(serve(server.clone()));
        let client = client(certificate, Duration::from_secs(30));
        let connection = connect(&client, address).await;
        let bytes: Vec<u8> = (0..4 << 20).map(|n: u32| (n % 251) as u8).collect();
        within("four mebibytes", echo(&connection, bytes)).await;
        for n in 0..100 {
            // Datagrams may be lost, on loopback only for want of room: one at a time never is.
            connection.send_datagram(format!("{n}").into()).unwrap();
            let echoed = within("a datagram", connection.read_datagram())
                .await
                .unwrap();
            assert_eq!(echoed, n.to_string());
        }
        drop(connection);
        stop(client, server, serving).await;
    });
}

#[test]
#[ignore = "the process that the next test kills"]
fn peer() {
    serve_as_peer(async {
        let (server, certificate) = server();
        let file = std::env::var_os("ECO_CERTIFICATE").expect("a place for the certificate");
        std::fs::File::create(file)
            .unwrap()
            .write_all(&certificate)
            .unwrap();
        announce(server.local_addr().unwrap());
        serve(server).await;
    });
}

#[test]
fn a_killed_server_is_a_timeout() {
    run(|| async {
        let file = std::env::temp_dir().join(format!(
            "tress-ecosystem-certificate-{}",
            std::process::id()
        ));
        let mut peer = Peer::start_with("peer", &[("ECO_CERTIFICATE", file.as_os_str())]);
        let certificate = CertificateDer::from(std::fs::read(&file).unwrap());
        std::fs::remove_file(&file).unwrap();
        let client = client(certificate, Duration::from_millis(500));
        let connection = connect(&client, peer.address).await;
        echo(&connection, b"before".to_vec()).await;
        let (mut send, mut receive) = connection.open_bi().await.unwrap();
        send.write_all(b"half").await.unwrap();
        let mut half = [0; 4];
        receive.read_exact(&mut half).await.unwrap();
        peer.kill();
        let lost = within("the connection's end", connection.closed()).await;
        assert!(matches!(lost, ConnectionError::TimedOut), "{lost:?}");
        assert!(receive.read(&mut half).await.is_err());
        assert!(send.write_all(b"half").await.is_err());
        drop((connection, send, receive));
        client.close(VarInt::from_u32(0), b"done");
        within("the client's end", client.wait_idle()).await;
    });
}
