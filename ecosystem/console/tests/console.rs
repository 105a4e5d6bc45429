//! tracing and console-subscriber: they build, start, and answer a client.

use console_api::instrument::InstrumentRequest;
use console_api::instrument::instrument_client::InstrumentClient;
use console_subscriber::ConsoleLayer;
use harness::{run, within};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_stream::wrappers::TcpListenerStream;
use tracing::instrument::WithSubscriber;
use tracing_subscriber::layer::SubscriberExt;

const _: () = tokio::__tress;

#[test]
fn the_console_answers() {
    run(|| async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (layer, server) = ConsoleLayer::builder().build();
        let subscriber = tracing_subscriber::registry().with(layer);
        // The parts of the server: what its `serve` spawns cannot be stopped.
        let parts = server.into_parts();
        let aggregating = tokio::spawn(parts.aggregator.run());
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(parts.instrument_server)
                .serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
                    // The sender's end means the same.
                    let _ = stopped.await;
                }),
        );
        async {
            let url = format!("http://{address}");
            let mut client = within("the server", InstrumentClient::connect(url))
                .await
                .unwrap();
            let mut updates = client
                .watch_updates(InstrumentRequest {})
                .await
                .unwrap()
                .into_inner();
            let update = within("an update", updates.message())
                .await
                .unwrap()
                .expect("an update");
            assert!(update.now.is_some());
            tokio::spawn(async { tracing::info!("a task") })
                .await
                .unwrap();
        }
        .with_subscriber(subscriber)
        .await;
        stop.send(()).unwrap();
        // It ends the streams of updates, and so the last connection.
        aggregating.abort();
        assert!(aggregating.await.is_err_and(|ended| ended.is_cancelled()));
        within("the server's end", serving).await.unwrap().unwrap();
    });
}

#[test]
fn spans_follow_their_futures() {
    use tracing::Instrument;
    run(|| async {
        let written = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(Shared(written.clone()))
            .finish();
        let tasks = (0..100).map(|n| {
            let work = async move {
                tokio::task::yield_now().await;
                tracing::info!(n, "said");
            };
            work.instrument(tracing::info_span!("work", of = n))
        });
        // Spans are made, and entered at each poll, under the subscriber.
        let tasks: Vec<_> = tracing::subscriber::with_default(subscriber, || {
            tasks
                .map(|task| tokio::spawn(task.with_current_subscriber()))
                .collect()
        });
        for task in tasks {
            within("a task", task).await.unwrap();
        }
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 100);
        for n in 0..100 {
            let line = format!("work{{of={n}}}: ");
            assert!(
                text.lines()
                    .any(|said| said.contains(&line) && said.ends_with(&format!("said n={n}"))),
                "{text}"
            );
        }
    });
}

/// A writer into memory.
#[derive(Clone)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl tracing_subscriber::fmt::MakeWriter<'_> for Shared {
    type Writer = Shared;

    fn make_writer(&self) -> Shared {
        self.clone()
    }
}

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
