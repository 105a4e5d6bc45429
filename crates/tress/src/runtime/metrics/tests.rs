use super::*;
use crate::runtime::{Builder, Runtime};
use crate::task;
use crate::trace::Section;
use serde_json::Value;
use std::collections::HashMap;

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .name("a \"strange\"\nname\\")
        .enable_all()
        .build()
        .unwrap()
}

/// Ten tasks of one name, five of another.
fn busy(rt: &Runtime) {
    rt.block_on(async {
        let named = |name| task::Builder::new().name(name).spawn(task::yield_now());
        for _ in 0..5 {
            named("tick").unwrap().await.unwrap();
            named("tick").unwrap().await.unwrap();
            named("to\"ck").unwrap().await.unwrap();
        }
        // A task is counted as ended after its joiner was woken.
        while rt.metrics().num_alive_tasks() > 0 {
            task::yield_now().await;
        }
    });
}

/// Metric, labels, value of every sample; checks that each has a help and a type before it.
fn parse_prometheus(text: &str) -> Vec<(String, HashMap<String, String>, f64)> {
    let (mut helped, mut typed) = (Vec::new(), HashMap::new());
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!help.is_empty(), "{line}");
            assert!(!helped.contains(&name), "{name} has two helps");
            helped.push(name);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(helped.last(), Some(&name), "type follows help");
            assert_eq!(
                kind == "counter",
                name.ends_with("_total"),
                "{name} is a {kind}"
            );
            typed.insert(name, kind);
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            assert!(typed.contains_key(name), "{line} has a type");
            assert_eq!(
                helped.last(),
                Some(&name),
                "samples of one name stand together"
            );
            let labels = parse_labels(labels.strip_suffix('}').unwrap());
            samples.push((name.to_owned(), labels, value.parse().unwrap()));
        }
    }
    samples
}

fn parse_labels(mut text: &str) -> HashMap<String, String> {
    let mut labels = HashMap::new();
    while let Some((name, rest)) = text.split_once("=\"") {
        let mut value = String::new();
        let mut chars = rest.char_indices();
        let end = loop {
            match chars.next().expect("a closing quote") {
                (at, '"') => break at,
                (_, '\\') => match chars.next().expect("an escape").1 {
                    'n' => value.push('\n'),
                    c => value.push(c),
                },
                (_, c) => value.push(c),
            }
        };
        labels.insert(name.to_owned(), value);
        text = rest[end + 1..].trim_start_matches(',');
    }
    assert_eq!(text, "");
    labels
}

#[test]
fn prometheus_text_parses_and_agrees_with_the_counters() {
    let rt = runtime();
    busy(&rt);
    let samples = parse_prometheus(&rt.metrics().to_prometheus());
    let find = |metric: &str, label: &str, value: &str| {
        let all = samples.iter().filter(|(name, ..)| name == metric);
        let mut found = all.filter(|(_, labels, _)| label.is_empty() || labels[label] == value);
        found
            .next()
            .unwrap_or_else(|| panic!("{metric} of {value}"))
            .2
    };
    assert_eq!(find("tress_num_workers", "", ""), 2.0);
    assert_eq!(find("tress_spawned_total", "", ""), 15.0);
    assert_eq!(
        find("tress_task_tasks_submitted_total", "task", "tick"),
        10.0
    );
    assert_eq!(
        find("tress_task_tasks_completed_total", "task", "to\"ck"),
        5.0
    );
    assert_eq!(find("tress_task_tasks_polled_total", "task", "tick"), 20.0);
    let polled = |worker| find("tress_worker_tasks_polled_total", "worker", worker);
    assert_eq!(polled("0") + polled("1"), 30.0);
    assert_eq!(
        find(
            "tress_dispatcher_tasks_submitted_total",
            "dispatcher",
            "default"
        ),
        15.0
    );
    for (_, labels, _) in &samples {
        assert_eq!(labels["runtime"], "a \"strange\"\nname\\");
    }
}

#[test]
fn the_seeds_names_are_there() {
    let rt = runtime();
    busy(&rt);
    let json: Value = serde_json::from_str(&rt.metrics().to_json()).unwrap();
    // Seed 004 §1.6, and seed 002's per worker.
    for name in [
        "tasks_submitted",
        "tasks_completed",
        "steal_attempts",
        "steal_successes",
        "avg_run_ticks",
        "max_run_ticks",
        "inject_queue_overflows",
        "park_events",
        "unpark_events",
        "tasks_polled",
        "tasks_stolen",
        "lifo_hits",
        "global_batch_fetches",
    ] {
        for worker in json["workers"].as_array().unwrap() {
            assert!(worker[name].is_number(), "{name}: {worker}");
        }
    }
    for name in [
        "total_spawned",
        "total_polled",
        "total_stolen",
        "total_parked",
        "num_workers",
    ] {
        assert!(json["totals"][name].is_number(), "{name}");
    }
}

#[test]
fn json_parses_and_agrees_with_the_counters() {
    let rt = runtime();
    busy(&rt);
    let json: Value = serde_json::from_str(&rt.metrics().to_json()).unwrap();
    assert_eq!(json["runtime"]["name"], "a \"strange\"\nname\\");
    assert_eq!(json["runtime"]["flavor"], "multi_thread");
    assert_eq!(json["totals"]["total_spawned"], 15);
    let names = json["names"].as_array().unwrap();
    assert_eq!(names.len(), 2);
    assert_eq!(
        (&names[0]["name"], &names[1]["name"]),
        (&"tick".into(), &"to\"ck".into())
    );
    assert_eq!(names[0]["tasks_completed"], 10);
    assert_eq!(json["dispatchers"][0]["dispatcher"], "default");
    assert_eq!(json["dispatchers"][0]["tasks_completed"], 15);
}

#[test]
fn unnamed_tasks_have_no_entry() {
    let rt = runtime();
    rt.block_on(async { crate::spawn(async {}).await.unwrap() });
    assert_eq!(rt.metrics().names(), []);
}

#[test]
fn a_name_counts_tasks_that_panic_or_are_aborted_as_ended() {
    let rt = runtime();
    rt.block_on(async {
        let named = task::Builder::new().name("x");
        let stuck = named.spawn(std::future::pending::<()>()).unwrap();
        stuck.abort();
        assert!(stuck.await.unwrap_err().is_cancelled());
        let job = named.spawn_blocking(|| 3).unwrap();
        assert_eq!(job.await.unwrap(), 3);
        let bad = named.spawn(async { std::panic::panic_any(1) }).unwrap();
        assert!(bad.await.unwrap_err().is_panic());
    });
    let names = rt.metrics().names();
    assert_eq!((names[0].tasks_submitted, names[0].tasks_completed), (3, 3));
}

#[test]
fn names_beyond_the_limit_are_counted_together() {
    let rt = runtime();
    let limit = crate::identity::MAX_NAMES;
    rt.block_on(async {
        for n in 0..limit + 3 {
            let name = format!("task-{n:05}");
            let task = task::Builder::new().name(&name).spawn(async {}).unwrap();
            task.await.unwrap();
        }
    });
    let names = rt.metrics().names();
    assert_eq!(names.len(), limit + 1);
    let other = names.last().unwrap();
    assert_eq!((other.name.as_str(), other.tasks_completed), ("(other)", 3));
}

#[test]
fn views_count_for_themselves() {
    let rt = runtime();
    rt.block_on(async {
        let io = crate::dispatch::io();
        for _ in 0..4 {
            crate::dispatch::spawn_on(&io, task::yield_now())
                .await
                .unwrap();
        }
        let all = rt.metrics().dispatchers();
        assert_eq!(all[1].name, "io");
        assert_eq!((all[1].tasks_submitted, all[1].tasks_polled), (4, 8));
        // A task is counted as ended after its joiner was woken.
        while rt.metrics().dispatchers()[1].tasks_completed < 4 {
            task::yield_now().await;
        }
    });
}

struct Orders;

impl Section for Orders {
    fn name(&self) -> &str {
        "orders"
    }

    fn dump(&self, _: &mut dyn std::io::Write) -> std::io::Result<()> {
        Ok(())
    }

    fn metrics(&self, out: &mut Samples) {
        out.gauge(
            "orders open",
            "Orders that are open.",
            &[("kind", "small")],
            2.5,
        );
        out.gauge(
            "orders open",
            "Orders that are open.",
            &[("kind", "large")],
            f64::NAN,
        );
    }
}

#[test]
fn a_sections_numbers_come_and_go_with_its_guard() {
    let rt = runtime();
    let guard = rt.handle().add_section(Arc::new(Orders));
    let text = rt.metrics().to_prometheus();
    assert!(text.contains("orders_open{kind=\"small\"} 2.5\n"), "{text}");
    let json: Value = serde_json::from_str(&rt.metrics().to_json()).unwrap();
    assert_eq!(json["sections"][0]["value"], 2.5);
    assert_eq!(json["sections"][1]["value"], 0.0, "JSON has no NaN");
    drop(guard);
    assert!(!rt.metrics().to_prometheus().contains("orders_open"));
}

/// Names that are not valid, or not its own.
struct Careless;

impl Section for Careless {
    fn name(&self) -> &str {
        "careless"
    }

    fn dump(&self, _: &mut dyn std::io::Write) -> std::io::Result<()> {
        Ok(())
    }

    fn metrics(&self, out: &mut Samples) {
        for name in ["my orders", "my_orders", "", "1", "tress_num_workers"] {
            out.gauge(name, "A\nnumber.", &[("a \"kind\"", "x\n\"\\")], 1.0);
        }
    }
}

#[test]
fn a_section_with_careless_names_does_not_spoil_the_text() {
    let rt = runtime();
    let _guard = rt.handle().add_section(Arc::new(Careless));
    let samples = parse_prometheus(&rt.metrics().to_prometheus());
    let count = |metric: &str| samples.iter().filter(|(name, ..)| name == metric).count();
    assert_eq!(count("my_orders"), 2);
    assert_eq!(count("_"), 2);
    assert_eq!(count("tress_num_workers"), 2);
    let (_, labels, _) = samples.last().unwrap();
    assert_eq!(labels["a__kind_"], "x\n\"\\");
    let json: Value = serde_json::from_str(&rt.metrics().to_json()).unwrap();
    assert_eq!(json["sections"].as_array().unwrap().len(), 5);
}
