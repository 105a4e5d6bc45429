//! What a hook is told, and that nothing is evaluated without one. One test, since there is one hook.
#![cfg(feature = "enabled")]

use std::fmt;
use std::sync::Mutex;
use tress_chaos::{
    Hook, Kind, Site, assert_always, assert_sometimes, buggify, install, reachable, sites,
    unreached,
};

static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn tell(text: String) {
    TOLD.lock().unwrap().push(text);
}

fn told() -> Vec<String> {
    std::mem::take(&mut *TOLD.lock().unwrap())
}

fn violated(site: &'static Site, details: fmt::Arguments<'_>) {
    tell(format!("{} is violated: {details}", site.message()));
}

static HOOK: Hook = Hook {
    buggify: |site, probability| {
        tell(format!("{:?} {probability}", site.kind()));
        probability > 0.5
    },
    met: |site, holds| tell(format!("{:?} {:?} {holds}", site.kind(), site.message())),
    violated,
};

/// Counts how often it is evaluated.
fn evaluate(value: bool) -> bool {
    tell(format!("evaluates {value}"));
    value
}

fn generic<T: PartialEq>(a: &T, b: &T) {
    assert_sometimes!(evaluate(a == b), "two are the same");
}

fn all() {
    generic(&1, &2);
    generic(&"a", &"a");
    let number = 7;
    assert_always!(evaluate(true), "holds", number);
    assert_always!(evaluate(false), "does not hold", number, "x".len());
    reachable!("is reached");
    unreached!("is not reached", number);
    unreached!("neither");
}

/// Nothing calls it.
#[allow(dead_code)]
fn never_called<T>(_: T) {
    reachable!("a generic function that nothing calls");
}

#[test]
fn a_hook_is_told_of_all_sites() {
    all();
    assert!(!buggify!() && !buggify!(1.0));
    assert!(told().is_empty(), "nothing is evaluated without a hook");
    assert!(sites().iter().all(|site| site.number().is_none()));

    install(&HOOK);
    assert!(!buggify!() && buggify!(0.75));
    assert_eq!(told(), ["Buggify 0.25", "Buggify 0.75"]);
    all();
    let expected = [
        "evaluates false",
        "Sometimes \"two are the same\" false",
        "evaluates true",
        "Sometimes \"two are the same\" true",
        "evaluates true",
        "Always \"holds\" true",
        "evaluates false",
        "Always \"does not hold\" false",
        "does not hold is violated: number = 7; \"x\".len() = 1; ",
        "Reachable \"is reached\" true",
        "Unreached \"is not reached\" false",
        "is not reached is violated: number = 7; ",
        "Unreached \"neither\" false",
        "neither is violated: ",
    ];
    assert_eq!(told(), expected);
}

#[cfg(target_os = "linux")]
#[test]
fn all_sites_are_known() {
    let mut known: Vec<_> = sites()
        .iter()
        .map(|site| (site.kind(), site.message(), site.line()))
        .collect();
    known.sort_by_key(|(_, _, line)| *line);
    let messages: Vec<_> = known
        .iter()
        .map(|(_, message, _)| *message)
        .filter(|message| !message.is_empty())
        .collect();
    let expected = [
        "two are the same",
        "holds",
        "does not hold",
        "is reached",
        "is not reached",
        "neither",
        "a generic function that nothing calls",
    ];
    assert_eq!(messages, expected);
    assert_eq!(
        known
            .iter()
            .filter(|(kind, ..)| *kind == Kind::Buggify)
            .count(),
        4
    );
    assert!(
        sites()
            .iter()
            .all(|site| site.file().ends_with("hook.rs") && site.column() > 0)
    );
}
