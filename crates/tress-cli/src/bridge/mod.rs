//! `tress console`: lets `tokio-console` attach to a program that serves the console of tress.
//!
//! It asks the program for its tasks once a second, and tells what has changed by the protocol of tokio-console. The
//! program itself needs neither gRPC nor `tracing`.

mod args;
mod service;
mod tasks;

pub(crate) use args::Console;

use crate::attach::Client;
use console_api::instrument::instrument_server::InstrumentServer;
use service::Bridge;
use std::io;
use std::process::ExitCode;
use tokio_stream::wrappers::TcpListenerStream;

/// Serves until ctrl-c is pressed.
pub(crate) fn run(options: &Console) -> ExitCode {
    match serve(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => crate::fail(&error.to_string()),
    }
}

fn serve(options: &Console) -> io::Result<()> {
    let client = Client::new(&options.target).map_err(io::Error::other)?;
    crate::runtime()?.block_on(async {
        // A wrong address is said at once.
        client
            .get("/api/snapshot")
            .await
            .map_err(io::Error::other)?;
        let listener = tokio::net::TcpListener::bind(options.grpc)
            .await
            .map_err(|error| {
                io::Error::new(
                    error.kind(),
                    format!("cannot use {}: {error}", options.grpc),
                )
            })?;
        let address = listener.local_addr()?;
        println!(
            "{} can be seen at http://{address}: run tokio-console http://{address}",
            client.address
        );
        let bridge = Bridge::new(client);
        tonic::transport::Server::builder()
            .add_service(InstrumentServer::new(bridge))
            .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
                // Without a handler for the signal, the signal itself ends the process.
                let _ = tress::signal::ctrl_c().await;
            })
            .await
            .map_err(io::Error::other)
    })
}
