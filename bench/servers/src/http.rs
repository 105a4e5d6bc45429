//! An axum server for `bench/servers/run`: `/` replies with 13 bytes, `/json` with an object.
//!
//! `http WORKERS` prints its address and serves until it is killed.

use axum::Router;
use axum::routing::get;
use std::error::Error;

mod start;

fn main() -> Result<(), Box<dyn Error>> {
    start::run(async |listener| {
        let app = Router::new()
            .route("/", get(async || "Hello, World!"))
            .route(
                "/json",
                get(async || {
                    (
                        [("content-type", "application/json")],
                        r#"{"message":"Hello, World!"}"#,
                    )
                }),
            );
        axum::serve(listener, app).await
    })
}
