//! A certificate of our own for `localhost`.

use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::sync::Arc;

/// A certificate that signs itself, and the server that shows it.
#[derive(Debug, Clone)]
pub struct Identity {
    /// What clients are to trust.
    pub certificate: CertificateDer<'static>,
    /// What the server is configured with, for HTTP/2 and HTTP/1.
    pub server: Arc<rustls::ServerConfig>,
}

impl Identity {
    /// Makes a new key and its certificate.
    ///
    /// # Panics
    /// Panics if no key can be made.
    pub fn new() -> Identity {
        let made =
            rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut server = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .expect("a configuration");
        server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Identity {
            certificate,
            server: Arc::new(server),
        }
    }
}

impl Default for Identity {
    fn default() -> Self {
        Identity::new()
    }
}

/// Returns the cryptography that everything here uses.
pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
