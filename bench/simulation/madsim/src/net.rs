//! madsim's sockets, with the signatures of Tokio's.

use std::io::Result;
use std::net::{IpAddr, SocketAddr};

pub use madsim::net::{TcpListener, TcpStream};

pub struct UdpSocket(madsim::net::UdpSocket);

impl UdpSocket {
    pub async fn bind(address: &str) -> Result<UdpSocket> {
        madsim::net::UdpSocket::bind(address).await.map(UdpSocket)
    }

    pub async fn send_to(&self, bytes: &[u8], to: (IpAddr, u16)) -> Result<usize> {
        self.0.send_to(SocketAddr::from(to), bytes).await?;
        Ok(bytes.len())
    }

    pub async fn recv_from(&self, buffer: &mut [u8]) -> Result<(usize, SocketAddr)> {
        self.0.recv_from(buffer).await
    }
}
