//! rustls, with ring's cryptography, by tokio-rustls. Keys and certificates are made by the hosts.

use eco_simulated::{Storm, is_stormy, persist};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tress_sim::{Builder, Policy, Result};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// What the clients trust, which an operator would hand them.
type Published = Arc<Mutex<Option<CertificateDer<'static>>>>;

/// Makes a key and a certificate for a day before and after now.
fn identity(name: &str, published: &Published) -> Result<ServerConfig> {
    let mut parameters = rcgen::CertificateParams::new([name.to_string()])?;
    let now = SystemTime::now();
    (parameters.not_before, parameters.not_after) = ((now - DAY).into(), (now + DAY).into());
    let key = rcgen::KeyPair::generate()?;
    let certificate = parameters.self_signed(&key)?.der().clone();
    *published.lock().unwrap() = Some(certificate.clone());
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let config = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())?;
    Ok(config)
}

/// Sends lines back, encrypted.
async fn server(published: Published) -> Result {
    let acceptor = TlsAcceptor::from(Arc::new(identity("server", &published)?));
    let listener = TcpListener::bind("0.0.0.0:443").await?;
    loop {
        let (stream, _) = listener.accept().await?;
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let stream = acceptor.accept(stream).await?;
            let (mut read, mut write) = tokio::io::split(stream);
            tokio::io::copy(&mut read, &mut write).await?;
            write.shutdown().await
        });
    }
}

fn connector(trusted: CertificateDer<'static>) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted)?;
    let config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Sends 50,000 bytes over a new connection, and gets them back.
async fn exchange(connector: &TlsConnector) -> io::Result<()> {
    let stream = TcpStream::connect("server:443").await?;
    let name = ServerName::try_from("server").expect("a name");
    let stream = connector.connect(name, stream).await?;
    let (mut read, mut write) = tokio::io::split(stream);
    let sent: Vec<u8> = (0..50_000u32).map(|at| (at % 251) as u8).collect();
    let send = async {
        write.write_all(&sent).await?;
        write.shutdown().await
    };
    let mut got = Vec::new();
    tokio::try_join!(send, read.read_to_end(&mut got))?;
    assert!(got == sent, "other bytes come back: {}", got.len());
    Ok(())
}

#[tress_sim::test(seeds = 20)]
fn what_is_encrypted_comes_back() {
    let clients = ["one", "two"];
    let storm = Storm {
        name: "rustls",
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
                    // The server makes a new key when it starts.
                    let attempt = || async {
                        let trusted = published.lock().unwrap().clone();
                        let trusted =
                            trusted.ok_or_else(|| io::Error::other("nothing to trust yet"))?;
                        exchange(
                            &connector(trusted)
                                .map_err(|error| io::Error::other(error.to_string()))?,
                        )
                        .await
                    };
                    persist(Duration::from_secs(10), attempt).await;
                    exchanges += 1;
                }
                Ok(())
            });
        }
    });
}

#[tress_sim::test(seeds = 5)]
fn a_certificate_ends_by_the_wall_clock() -> Result {
    let published = Published::default();
    let publish = published.clone();
    let mut sim = Builder::new().policy(Policy::Random).build();
    sim.host("server", move || server(publish.clone()));
    // Two days late: what the server shows has ended.
    let late = published.clone();
    sim.client("late", async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let trusted = late.lock().unwrap().clone().expect("a certificate");
        let refused = exchange(&connector(trusted)?).await.unwrap_err();
        assert!(refused.to_string().contains("expired"), "{refused}");
        Ok(())
    });
    sim.client("right", async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let trusted = published.lock().unwrap().clone().expect("a certificate");
        Ok(exchange(&connector(trusted)?).await?)
    });
    sim.set_clock_offset("late", 2.0 * DAY.as_secs_f64());
    sim.run()
}
