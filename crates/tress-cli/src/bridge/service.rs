//! The service that tokio-console talks to.

use super::tasks::{Told, metadata};
use crate::attach::model::{Detail, Process, Task, Tasks};
use crate::attach::{Client, Unreachable};
use console_api::instrument::instrument_server::Instrument;
use console_api::instrument::{
    InstrumentRequest, PauseRequest, PauseResponse, ResumeRequest, ResumeResponse, State,
    StateRequest, TaskDetailsRequest, Temporality, Update,
};
use console_api::tasks::task_details::PollTimesHistogram;
use console_api::tasks::{DurationHistogram, TaskDetails};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};
use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::{ReceiverStream, WatchStream};
use tokio_stream::{Stream, StreamExt};
use tonic::{Request, Response, Status};

/// Time between two updates.
const PERIOD: Duration = Duration::from_secs(1);
/// Tasks that are asked for at a time.
const PAGE: usize = 10_000;
/// Maximum number of tasks that are told of.
const MOST: usize = 200_000;
/// Updates that wait for a slow console.
const AHEAD: usize = 2;
/// The longest time of a histogram: a minute, in nanoseconds.
const LONGEST: u64 = 60_000_000_000;

type Updates<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

pub(super) struct Bridge {
    client: Client,
    paused: Arc<watch::Sender<bool>>,
}

impl Bridge {
    pub(super) fn new(client: Client) -> Bridge {
        Bridge {
            client,
            paused: Arc::new(watch::Sender::new(false)),
        }
    }
}

fn status(error: Unreachable) -> Status {
    Status::unavailable(error.to_string())
}

/// Asks for all tasks, page by page.
async fn all_tasks(client: &Client) -> Result<Tasks, Unreachable> {
    let mut all = Tasks::default();
    loop {
        let offset = all.tasks.len();
        let page: Tasks = client
            .get_json(&format!("/api/tasks?offset={offset}&limit={PAGE}"))
            .await?;
        let is_empty = page.tasks.is_empty();
        all.total = page.total;
        all.tasks.extend(page.tasks);
        // The console may give fewer at a time than were asked for.
        let wanted = usize::try_from(all.total).unwrap_or(MOST).min(MOST);
        if is_empty || all.tasks.len() >= wanted {
            break;
        }
    }
    complete(&mut all.tasks, &client.get_json("/api/snapshot").await?);
    Ok(all)
}

/// Adds what is known from elsewhere. Single tasks are not timed: the time that one was busy is estimated as its polls, each
/// as long as half of those of its site.
fn complete(tasks: &mut [Task], process: &Process) {
    let sites = process.runtimes.iter().flat_map(|runtime| &runtime.sites);
    let medians: HashMap<(&str, Option<&str>), u64> = sites
        .filter_map(|site| Some(((&*site.site, site.name.as_deref()), site.poll_p50?)))
        .collect();
    let lost: HashSet<u64> = process
        .findings
        .iter()
        .filter(|finding| finding.kind == "lost_wake")
        .filter_map(|finding| finding.task)
        .collect();
    for task in tasks {
        task.is_lost = lost.contains(&task.id);
        let median = medians.get(&(&*task.site, task.name.as_deref()));
        task.busy_ns = median.map(|median| median.saturating_mul(task.polls.unwrap_or(0)));
    }
}

#[tonic::async_trait]
impl Instrument for Bridge {
    type WatchUpdatesStream = Updates<Update>;
    type WatchTaskDetailsStream = Updates<TaskDetails>;
    type WatchStateStream = Updates<State>;

    async fn watch_updates(
        &self,
        _: Request<InstrumentRequest>,
    ) -> Result<Response<Self::WatchUpdatesStream>, Status> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let client = self.client.clone();
        let mut paused = self.paused.subscribe();
        tokio::spawn(async move {
            let mut told = Told::default();
            let mut new_metadata = Some(metadata());
            let mut ticks = tress::time::interval(PERIOD);
            loop {
                ticks.tick().await;
                // It ends with the bridge.
                if paused.wait_for(|paused| !paused).await.is_err() {
                    return;
                }
                let tasks = match all_tasks(&client).await {
                    Ok(tasks) => tasks,
                    Err(error) => {
                        // The console may be gone, too.
                        let _ = sender.send(Err(status(error))).await;
                        return;
                    }
                };
                let now = SystemTime::now();
                for part in told.update(&tasks.tasks, now) {
                    let update = Update {
                        now: Some(now.into()),
                        task_update: Some(part),
                        resource_update: Some(Default::default()),
                        async_op_update: Some(Default::default()),
                        new_metadata: new_metadata.take(),
                    };
                    if sender.send(Ok(update)).await.is_err() {
                        return;
                    }
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn watch_task_details(
        &self,
        request: Request<TaskDetailsRequest>,
    ) -> Result<Response<Self::WatchTaskDetailsStream>, Status> {
        let id = request.into_inner().id;
        let id = id.ok_or_else(|| Status::invalid_argument("no task was named"))?;
        let path = format!("/api/task/{}", id.id);
        // A task that is not there is an error of the call, not of the stream.
        self.client.get(&path).await.map_err(status)?;
        let (sender, receiver) = mpsc::channel(AHEAD);
        let client = self.client.clone();
        tokio::spawn(async move {
            let mut ticks = tress::time::interval(PERIOD);
            loop {
                ticks.tick().await;
                let details = match client.get_json::<Detail>(&path).await {
                    Ok(detail) => Ok(TaskDetails {
                        task_id: Some(id),
                        now: Some(SystemTime::now().into()),
                        poll_times_histogram: histogram(&detail.poll_histogram)
                            .map(PollTimesHistogram::Histogram),
                        scheduled_times_histogram: histogram(&detail.delay_histogram),
                    }),
                    Err(error) => Err(status(error)),
                };
                let is_last = details.is_err();
                if sender.send(details).await.is_err() || is_last {
                    return;
                }
            }
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn watch_state(
        &self,
        _: Request<StateRequest>,
    ) -> Result<Response<Self::WatchStateStream>, Status> {
        let state = |paused| {
            Ok(State {
                temporality: match paused {
                    true => Temporality::Paused.into(),
                    false => Temporality::Live.into(),
                },
            })
        };
        let states = WatchStream::new(self.paused.subscribe()).map(state);
        Ok(Response::new(Box::pin(states)))
    }

    async fn pause(&self, _: Request<PauseRequest>) -> Result<Response<PauseResponse>, Status> {
        self.paused.send_replace(true);
        Ok(Response::new(PauseResponse {}))
    }

    async fn resume(&self, _: Request<ResumeRequest>) -> Result<Response<ResumeResponse>, Status> {
        self.paused.send_replace(false);
        Ok(Response::new(ResumeResponse {}))
    }
}

/// Makes a histogram of pairs of nanoseconds and counts.
fn histogram(pairs: &[(u64, u64)]) -> Option<DurationHistogram> {
    let mut histogram = Histogram::<u64>::new_with_max(LONGEST, 2).ok()?;
    for (value, count) in pairs {
        histogram.saturating_record_n(*value, *count);
    }
    let mut raw_histogram = Vec::new();
    V2Serializer::new()
        .serialize(&histogram, &mut raw_histogram)
        .ok()?;
    Some(DurationHistogram {
        raw_histogram,
        max_value: LONGEST,
        high_outliers: 0,
        highest_outlier: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn a_histogram_can_be_read_back() {
        let told = histogram(&[(1000, 3), (2_000_000, 1)]).unwrap();
        let read: Histogram<u64> = Deserializer::new()
            .deserialize(&mut &told.raw_histogram[..])
            .unwrap();
        assert_eq!(read.len(), 4);
        assert_eq!(read.count_at(1000), 3);
    }
}
