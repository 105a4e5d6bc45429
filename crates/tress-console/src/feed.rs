//! The texts of the events, made once for all clients.

use crate::recorded::Sent;
use crate::server::Shared;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tress::sync::{Notify, watch};
use tress::time::sleep;

const EVERY_LANES: Duration = Duration::from_millis(250);
const EVERY_SNAPSHOT: Duration = Duration::from_secs(1);
/// What takes long is made less often: at most one part in this many of the time is spent on it.
const SHARE: u32 = 20;

type Text = Option<Arc<str>>;

/// The newest text of each kind.
#[derive(Debug)]
pub(crate) struct Feed {
    snapshots: watch::Sender<Text>,
    lanes: watch::Sender<Text>,
    /// Told when there is a new client.
    wanted: Notify,
}

/// A client's place in the feed. It keeps no text that it has not sent.
#[derive(Debug)]
pub(crate) struct Client {
    snapshots: watch::Receiver<Text>,
    lanes: watch::Receiver<Text>,
}

impl Feed {
    pub(crate) fn new() -> Feed {
        Feed {
            snapshots: watch::Sender::new(None),
            lanes: watch::Sender::new(None),
            wanted: Notify::new(),
        }
    }

    pub(crate) fn subscribe(&self) -> Client {
        let mut client = Client {
            snapshots: self.snapshots.subscribe(),
            lanes: self.lanes.subscribe(),
        };
        // The last one is at most as old as the next one is far away.
        client.snapshots.mark_changed();
        self.wanted.notify_one();
        client
    }
}

impl Client {
    /// Waits for the newest text that this client has not had.
    pub(crate) async fn next(&mut self) -> Arc<str> {
        loop {
            let text = tress::select! {
                biased;
                changed = self.snapshots.changed() => match changed {
                    Ok(()) => self.snapshots.borrow_and_update().clone(),
                    Err(_) => pending().await,
                },
                changed = self.lanes.changed() => match changed {
                    Ok(()) => self.lanes.borrow_and_update().clone(),
                    Err(_) => pending().await,
                },
            };
            if let Some(text) = text {
                return text;
            }
        }
    }
}

/// Makes texts while there are clients.
pub(crate) async fn produce(shared: Arc<Shared>) {
    let feed = &shared.feed;
    loop {
        if feed.snapshots.receiver_count() == 0 {
            feed.snapshots.send_replace(None);
            feed.lanes.send_replace(None);
            feed.wanted.notified().await;
            continue;
        }
        work(&shared).await;
    }
}

/// Returns when there is no client left.
async fn work(shared: &Shared) {
    let feed = &shared.feed;
    let mut sent = Sent::default();
    let mut next_snapshot = Instant::now();
    while feed.snapshots.receiver_count() > 0 {
        let began = Instant::now();
        if began >= next_snapshot {
            // A panic is foreign code's, and was reported by the hook; the next one may do better.
            if let Some(text) = shared.source.snapshot() {
                let event = format!("event: snapshot\ndata: {text}\n\n");
                feed.snapshots.send_replace(Some(event.into()));
            }
            next_snapshot = began + EVERY_SNAPSHOT.max(began.elapsed() * SHARE);
        }
        let drawn = Instant::now();
        if let Some(text) = shared
            .source
            .lanes(&mut sent)
            .filter(|text| !text.is_empty())
        {
            feed.lanes.send_replace(Some(text.into()));
        }
        sleep(EVERY_LANES.max(drawn.elapsed() * SHARE)).await;
    }
}
