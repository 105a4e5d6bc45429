//! Hosts in the dump and the metrics of their runtime.

use tress::runtime::Handle;
use tress_actor::{Cx, Host};

fn dump(runtime: &Handle) -> String {
    let mut dump = Vec::new();
    runtime.debug_dump(&mut dump).unwrap();
    String::from_utf8(dump).unwrap()
}

#[tress::test]
async fn the_runtime_tells_of_its_hosts() {
    let host = Host::builder("told").start().unwrap();
    let wait = |mut cx: Cx<()>| async move { while cx.recv().await.is_some() {} };
    let pid = host.future(wait).name("visible").spawn().unwrap();
    let runtime = host.runtime().clone();
    let text = dump(&runtime);
    assert!(text.contains("processes of local@told:"), "{text}");
    assert!(text.contains("\"visible\""), "{text}");
    let metrics = runtime.metrics().to_prometheus();
    let line = "tress_host_processes{node=\"local\",host=\"told\"} 1\n";
    assert!(metrics.contains(line), "{metrics}");
    host.terminate(pid).unwrap();
    drop(host);
    // The process holds the host until it is over.
    while runtime.metrics().to_prometheus().contains("tress_host_") {
        tress::task::yield_now().await;
    }
    assert!(!dump(&runtime).contains("processes of"));
}
