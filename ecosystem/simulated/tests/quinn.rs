//! quinn on both sides: streams and datagrams of QUIC.

use bytes::Bytes;
use eco_simulated::{Storm, is_stormy, persist};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tress_sim::Result;

/// What the clients trust, which an operator would hand them.
type Published = Arc<Mutex<Option<CertificateDer<'static>>>>;

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_idle_timeout(Some(VarInt::from_u32(5000).into()));
    transport.keep_alive_interval(Some(Duration::from_secs(1)));
    Arc::new(transport)
}

fn anywhere(port: u16) -> SocketAddr {
    (Ipv4Addr::UNSPECIFIED, port).into()
}

/// Sends back what comes, on streams and in datagrams.
async fn server(published: Published) -> Result {
    let made = rcgen::generate_simple_self_signed(["server".to_string()])?;
    let certificate = made.cert.der().clone();
    *published.lock().unwrap() = Some(certificate.clone());
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![certificate], key.into())?;
    config.transport_config(transport());
    let endpoint = Endpoint::server(config, anywhere(443))?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            let datagrams = async {
                while let Ok(datagram) = connection.read_datagram().await {
                    if connection.send_datagram(datagram).is_err() {
                        break;
                    }
                }
            };
            tokio::join!(echo_streams(&connection), datagrams);
            Ok::<(), quinn::ConnectionError>(())
        });
    }
    Ok(())
}

async fn echo_streams(connection: &Connection) {
    while let Ok((mut send, mut receive)) = connection.accept_bi().await {
        tokio::spawn(async move {
            // A connection that ends in the middle is the client's affair.
            if tokio::io::copy(&mut receive, &mut send).await.is_ok() {
                let _ = send.finish();
            }
        });
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn endpoint(trusted: CertificateDer<'static>) -> std::result::Result<Endpoint, Failure> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(trusted)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    config.transport_config(transport());
    let mut endpoint = Endpoint::client(anywhere(0))?;
    endpoint.set_default_client_config(config);
    Ok(endpoint)
}

/// Streams of different lengths at the same time, each whole and in order.
async fn streams(connection: &Connection) -> std::result::Result<(), Failure> {
    let mut streams = tokio::task::JoinSet::new();
    for number in 0..5u8 {
        let connection = connection.clone();
        streams.spawn(async move {
            let (mut send, mut receive) = connection.open_bi().await?;
            let sent: Vec<u8> = (0..number as usize * 10_000)
                .map(|at| (at % 251) as u8 ^ number)
                .collect();
            let write = async {
                send.write_all(&sent).await?;
                send.finish()?;
                Ok::<(), Failure>(())
            };
            let read = async { Ok::<_, Failure>(receive.read_to_end(100_000).await?) };
            let ((), got) = tokio::try_join!(write, read)?;
            assert!(got == sent, "other bytes come back: {}", got.len());
            Ok::<(), Failure>(())
        });
    }
    while let Some(ended) = streams.join_next().await {
        ended??;
    }
    Ok(())
}

/// Datagrams, each of which may be lost, until ten have come back.
async fn datagrams(connection: &Connection) -> std::result::Result<(), Failure> {
    let mut sent = 0u32;
    let mut came = 0;
    while came < 10 {
        connection.send_datagram(Bytes::copy_from_slice(&sent.to_be_bytes()))?;
        sent += 1;
        if let Ok(datagram) =
            tokio::time::timeout(Duration::from_millis(300), connection.read_datagram()).await
        {
            let number = u32::from_be_bytes(datagram?[..].try_into()?);
            assert!(number < sent, "a datagram that was not sent: {number}");
            came += 1;
        }
    }
    Ok(())
}

/// Streams and datagrams on a new connection.
async fn exchange(published: &Published) -> std::result::Result<(), Failure> {
    let trusted = published.lock().unwrap().clone();
    // The server makes a new key when it starts.
    let endpoint = endpoint(trusted.ok_or("nothing to trust yet")?)?;
    let address = SocketAddr::from((tress_sim::lookup("server"), 443));
    let connection = endpoint.connect(address, "server")?.await?;
    streams(&connection).await?;
    datagrams(&connection).await?;
    connection.close(VarInt::from_u32(0), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn streams_and_datagrams_come_back() {
    // Once for the process; a second one is refused, which does not matter.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let clients = ["one", "two"];
    let storm = Storm {
        name: "quinn",
        servers: &["server"],
        clients: &clients,
        ..Storm::default()
    };
    storm.run(|sim| {
        let published = Published::default();
        let publish = published.clone();
        sim.host("server", move || server(publish.clone()));
        for client in clients {
            let published = published.clone();
            sim.client(client, async move {
                let mut exchanges = 0;
                while is_stormy() || exchanges < 5 {
                    persist(Duration::from_secs(15), || exchange(&published)).await;
                    exchanges += 1;
                }
                Ok(())
            });
        }
    });
}
