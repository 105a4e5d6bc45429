use crate::attach::Target;
use clap::Args;
use std::net::SocketAddr;

/// Options of `tress console`.
#[derive(Args, Debug, PartialEq, Eq)]
pub(crate) struct Console {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Where tokio-console can attach
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6669")]
    pub(crate) grpc: SocketAddr,
}
