//! A service under load, with its console, and a fault to be found in it.

mod args;
mod fault;
mod load;
mod screen;
mod service;

pub(crate) use args::{Demo, Fault};

use crate::fail;
use load::Load;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tress::runtime::{Builder, Runtime};
use tress::trace::{Finding, Thresholds};
use tress_console::Console;

/// How long a shutdown may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs the demonstration.
pub(crate) fn run(options: &Demo) -> ExitCode {
    match demonstrate(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error.to_string()),
    }
}

fn demonstrate(options: &Demo) -> io::Result<()> {
    let (tell, found) = mpsc::channel();
    let rt = service_runtime(options, tell)?;
    let listener = service::listen(options.port)?;
    let address = listener.local_addr()?;
    let console = start_console(options)?;
    let stop = CancellationToken::new();
    let service = rt.spawn(service::serve(listener, stop.clone()));
    let load = Load::start(address, options.connections)?;
    greet(options, address, &console);
    let planted = fault::Planted::default();
    let shown = screen::watch(options, &rt, &load, &found, || {
        if let Some(fault) = options.fault {
            planted.plant(fault, &rt);
        }
    });
    let summary = load.stop();
    // A fault must not keep the service from ending.
    planted.remove();
    stop.cancel();
    let drained = rt.block_on(async { tress::time::timeout(PATIENCE, service).await });
    drop(console);
    let report = rt.shutdown_timeout(PATIENCE);
    shown?;
    println!("{summary}");
    match drained {
        Ok(Ok(Ok(()))) if report.is_clean() => {
            println!("The service finished its requests, and {report}.");
            Ok(())
        }
        Ok(Ok(Err(error))) => Err(error),
        Ok(Err(error)) => Err(io::Error::other(error)),
        Ok(Ok(Ok(()))) | Err(_) => Err(io::Error::other(format!(
            "the service did not stop in good order: {report}"
        ))),
    }
}

/// Builds the runtime of the service. It looks for what is wrong, and tells what it has found.
fn service_runtime(options: &Demo, tell: mpsc::Sender<Finding>) -> io::Result<Runtime> {
    let mut thresholds = Thresholds::default();
    // A newcomer should not have to wait.
    thresholds.stuck = Duration::from_secs(3);
    thresholds.leak_window = Duration::from_secs(1);
    thresholds.leak_tasks = 200;
    thresholds.queue = 5000;
    Builder::new_multi_thread()
        .worker_threads(options.workers)
        .name("service")
        .enable_all()
        .sight(true)
        .sight_thresholds(thresholds)
        // Nobody looks any more at the end.
        .on_finding(move |finding| drop(tell.send(finding.clone())))
        .build()
}

fn start_console(options: &Demo) -> io::Result<Console> {
    Console::builder()
        .address(format!("127.0.0.1:{}", options.console_port))
        .next_free_port(true)
        .start()
}

fn greet(options: &Demo, address: SocketAddr, console: &Console) {
    let console = console.local_addr();
    println!(
        "A service on axum at http://{address}, and {} connections that use it.",
        options.connections
    );
    println!(
        "Its console is at http://{console}; in another terminal: tress top {console}, tress doctor {console}"
    );
    match options.fault {
        None => {
            println!("Try --fault deadlock, slow-poll, leak, convoy or starve, and see it found.\n")
        }
        Some(fault) => println!("A fault comes soon: {}.\n", fault.describe()),
    }
}

impl Fault {
    fn describe(self) -> &'static str {
        match self {
            Fault::Deadlock => "two tasks that take two locks in different orders",
            Fault::SlowPoll => "a task that blocks its worker",
            Fault::Leak => "tasks that are spawned and never end",
            Fault::Convoy => "many tasks that want the same lock",
            Fault::Starve => "more ready tasks than the workers can run",
        }
    }
}
