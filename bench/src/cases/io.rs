//! Servers under a load from outside, and files in the page cache.

use std::sync::Arc;

use crate::case::{Case, Outcome, Plan, Target::Ratio, Wrong};
use crate::load::{Kind, Load};
use crate::server::{Reading, Serve, Server, Service};

/// A case and the row of its CPU time, with the targets of both for two workers and for one.
macro_rules! with_cpu {
    ($name:literal, $metric:literal, $about:literal, $run:expr, $target:expr) => {
        [
            Case::new($name, $metric, $about, $run)
                .at(2, Ratio($target))
                .at(1, Ratio($target)),
            Case::new(
                concat!($name, "_cpu"),
                "cpu us",
                concat!("the server's CPU time for one: ", $about),
                $run,
            )
            .at(2, Ratio(1.0))
            .at(1, Ratio(1.0))
            .measured_by($name, 1),
        ]
    };
}

/// Connections that are opened and closed at the same time.
const CHURNING: usize = 16;
/// Requests a second of the paced load: a sixth of what a server can do here.
const PACED: u32 = 20_000;

pub fn cases<S: Serve>() -> Vec<Case> {
    [
        with_cpu!(
            "io/echo_1",
            "req/s",
            "64 B there and back, one connection",
            echo::<S, 64, 1>,
            4.0
        ),
        with_cpu!(
            // D-BENCH-03
            "io/echo_50",
            "req/s",
            "64 B there and back, 50 connections",
            echo::<S, 64, 50>,
            1.1
        ),
        with_cpu!(
            "io/echo_50_paced",
            "req/s",
            "64 B there and back, 20,000 requests a second over 50 connections",
            echo_paced::<S>,
            1.0
        ),
        with_cpu!(
            "io/echo_500",
            "req/s",
            "64 B there and back, 500 connections",
            echo::<S, 64, 500>,
            1.1
        ),
        with_cpu!(
            "io/echo_50_pooled",
            "req/s",
            "64 B there and back, 50 connections, reading into a pool's buffers",
            echo_pooled::<S, 50>,
            1.2
        ),
        with_cpu!(
            "io/echo_500_pooled",
            "req/s",
            "64 B there and back, 500 connections, reading into a pool's buffers",
            echo_pooled::<S, 500>,
            1.2
        ),
        with_cpu!(
            "io/echo_16k",
            "req/s",
            "16 KiB there and back, 50 connections",
            echo::<S, 16_384, 50>,
            1.1
        ),
        with_cpu!(
            "io/accept_churn",
            "req/s",
            "connect, 64 B there and back, close; 16 at a time",
            accept_churn::<S>,
            1.2
        ),
        with_cpu!(
            "io/file_read",
            "ns/op",
            "4 KiB reads of a file in the page cache, one after the other",
            file_read::<S, 1>,
            20.0
        ),
        with_cpu!(
            "io/file_read_16",
            "ns/op",
            "4 KiB reads of a file in the page cache, 16 readers",
            file_read::<S, 16>,
            15.0
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What needs I/O that can be polled.
pub fn http_cases<S: Serve>() -> Vec<Case> {
    Vec::from(with_cpu!(
        "io/http1_50",
        "req/s",
        "HTTP/1.1 requests to hyper, 50 connections with keep-alive",
        http1_50::<S>,
        1.15
    ))
}

fn echo<S: Serve, const BYTES: usize, const CONNECTIONS: usize>(
    plan: &Plan,
) -> Result<Outcome, Wrong> {
    let kind = Kind::Echo { bytes: BYTES };
    under_load::<S>(plan, Service::Echo, kind, CONNECTIONS)
}

fn echo_pooled<S: Serve, const CONNECTIONS: usize>(plan: &Plan) -> Result<Outcome, Wrong> {
    let kind = Kind::Echo { bytes: 64 };
    under_load::<S>(plan, Service::EchoPooled, kind, CONNECTIONS)
}

fn echo_paced<S: Serve>(plan: &Plan) -> Result<Outcome, Wrong> {
    let server = start::<S>(plan, Service::Echo)?;
    let kind = Kind::Echo { bytes: 64 };
    let load = Load::new(kind, 50, server.address(), plan);
    load.paced(PACED).measure()
}

fn accept_churn<S: Serve>(plan: &Plan) -> Result<Outcome, Wrong> {
    let kind = Kind::Churn { bytes: 64 };
    under_load::<S>(plan, Service::Echo, kind, CHURNING)
}

fn http1_50<S: Serve>(plan: &Plan) -> Result<Outcome, Wrong> {
    under_load::<S>(plan, Service::Http1, Kind::Http1, 50)
}

fn under_load<S: Serve>(
    plan: &Plan,
    service: Service,
    kind: Kind,
    connections: usize,
) -> Result<Outcome, Wrong> {
    let server = start::<S>(plan, service)?;
    Load::new(kind, connections, server.address(), plan).measure()
}

fn start<S: Serve>(plan: &Plan, service: Service) -> Result<Server<S>, Wrong> {
    let server = Server::<S>::start(plan.workers, service);
    server.map_err(|why| Wrong(format!("no server: {why}")))
}

fn file_read<S: Serve, const READERS: usize>(plan: &Plan) -> Result<Outcome, Wrong> {
    let reading = Reading::new().map_err(|why| Wrong(format!("no file: {why}")))?;
    let reading = Arc::new(reading);
    let readers = S::read(plan.workers, READERS, reading.clone());
    let values = reading.measure(plan);
    drop(readers);
    let checked = reading.checked()?;
    Ok(Outcome { values, checked })
}
