//! What both servers begin with.

use std::error::Error;
use std::io::Write;
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// Serves on a free port of loopback, with as many workers as the first argument says.
///
/// # Errors
/// A missing argument, and any error of the runtime, of listening or of the server.
pub fn run(
    serve: impl AsyncFnOnce(TcpListener) -> std::io::Result<()>,
) -> Result<(), Box<dyn Error>> {
    let workers = std::env::args()
        .nth(1)
        .ok_or("the number of workers is missing")?
        .parse()?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(workers)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut out = std::io::stdout();
        // Which of the two programs this is, so that nobody compares one with itself.
        let runtime = std::any::type_name::<tokio::runtime::Handle>()
            .split("::")
            .next()
            .unwrap_or_default();
        writeln!(out, "{runtime} {}", listener.local_addr()?)?;
        out.flush()?;
        serve(listener).await?;
        Ok(())
    })
}
