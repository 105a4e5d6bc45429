//! A process that has no runtime but the console's own.

mod support;

use support::{get, start};

#[test]
fn a_process_without_a_runtime_has_a_console() {
    let console = start();
    assert_eq!(get(&console, "/").status, 200);
    assert_eq!(get(&console, "/metrics").text(), "");
    assert_eq!(get(&console, "/api/dump").text(), "");
    assert_eq!(get(&console, "/api/trace").status, 404);
    assert_eq!(get(&console, "/api/tasks").json()["total"], 0);
    let snapshot = get(&console, "/api/snapshot").json();
    assert_eq!(snapshot["runtimes"].as_array().unwrap().len(), 0);
    assert_eq!(snapshot["findings"].as_array().unwrap().len(), 0);
}
