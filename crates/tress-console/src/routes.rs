//! Which path gives what. Paths are a fixed table: none names a file.

use crate::page;
use crate::request::Request;
use crate::response::{Body, Response, Status};
use crate::server::Shared;
use crate::tasks::TaskFilter;

/// Number of tasks of an answer, unless the request has a limit.
const DEFAULT_TASKS: usize = 200;
/// Maximum number of tasks of an answer.
const MOST_TASKS: usize = 10_000;
/// What a trace has, unless the request says how many seconds.
const TRACE_SECONDS: u64 = 30;

pub(crate) enum Answer {
    Whole(Response),
    /// One that is large, and made when it is its turn.
    Large(Box<dyn FnOnce(&Shared) -> Response + Send>),
    /// The connection becomes a stream of events.
    Events,
}

pub(crate) fn answer(request: &Request, shared: &Shared) -> Answer {
    let source = &shared.source;
    Answer::Whole(match request.path.as_str() {
        "/" => page::response(&shared.nonces),
        "/api/snapshot" => {
            or_internal(source.snapshot(), |text| Response::json(Body::Shared(text)))
        }
        "/api/tasks" => match filter(request) {
            Some(filter) => or_internal(source.tasks(&filter), json),
            None => Response::refusal(Status::BadRequest),
        },
        "/metrics" => or_internal(source.metrics(), |text| {
            Response::new("text/plain; version=0.0.4; charset=utf-8", Body::Text(text))
        }),
        "/api/trace" => {
            let Ok(seconds) = number(request, "seconds", TRACE_SECONDS) else {
                return Answer::Whole(Response::refusal(Status::BadRequest));
            };
            let runtime = request.query("runtime").map(|text| text.parse());
            let Ok(runtime) = runtime.transpose() else {
                return Answer::Whole(Response::refusal(Status::BadRequest));
            };
            return Answer::Large(Box::new(move |shared| trace(shared, runtime, seconds)));
        }
        "/api/dump" => return Answer::Large(Box::new(dump)),
        "/api/events" => return Answer::Events,
        path => match path.strip_prefix("/api/task/").map(str::parse) {
            Some(Ok(id)) => or_internal(source.task(id), |task| match task {
                Some(text) => json(text),
                None => Response::refusal(Status::NotFound),
            }),
            _ => Response::refusal(Status::NotFound),
        },
    })
}

fn json(text: String) -> Response {
    Response::json(Body::Text(text))
}

/// Foreign code has panicked while the answer was made, if there is none.
fn or_internal<T>(made: Option<T>, respond: impl FnOnce(T) -> Response) -> Response {
    made.map_or_else(|| Response::refusal(Status::Internal), respond)
}

fn trace(shared: &Shared, runtime: Option<u64>, seconds: u64) -> Response {
    let file = "attachment; filename=\"trace.pftrace\"";
    or_internal(shared.source.trace(runtime, seconds), |trace| match trace {
        Some(bytes) => Response::new("application/octet-stream", Body::Bytes(bytes))
            .field("Content-Disposition", file),
        None => Response::refusal(Status::NotFound),
    })
}

fn dump(shared: &Shared) -> Response {
    or_internal(shared.source.dump(), |dump| {
        Response::new("text/plain; charset=utf-8", Body::Bytes(dump))
    })
}

/// Returns a number of the query, or `default` if it is not there or empty. Fails if it is none.
fn number<T: std::str::FromStr>(request: &Request, name: &str, default: T) -> Result<T, T::Err> {
    match request.query(name).filter(|text| !text.is_empty()) {
        Some(text) => text.parse(),
        None => Ok(default),
    }
}

/// Returns which tasks are asked for; `None` if the query makes no sense.
fn filter(request: &Request) -> Option<TaskFilter> {
    let word = |name| request.query(name).filter(|text| !text.is_empty());
    Some(TaskFilter {
        runtime: match word("runtime") {
            Some(text) => Some(text.parse().ok()?),
            None => None,
        },
        site: word("site"),
        state: word("state"),
        text: word("q").map(|text| text.to_lowercase()),
        offset: number(request, "offset", 0).ok()?,
        limit: number(request, "limit", DEFAULT_TASKS)
            .ok()?
            .min(MOST_TASKS),
    })
}
