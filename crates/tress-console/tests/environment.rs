//! `TRESS_CONSOLE`. One test, since the environment is the process's.

mod support;

use std::env;
use std::io::ErrorKind;
use support::{Client, get};
use tress_console::from_environment;

fn set(value: &str) {
    // SAFETY: no other thread runs: consoles are dropped, which waits for their threads, before this is called.
    unsafe { env::set_var("TRESS_CONSOLE", value) };
}

#[test]
fn the_environment_starts_a_console() {
    assert!(from_environment().unwrap().is_none());
    set("");
    assert!(from_environment().unwrap().is_none());
    set("127.0.0.1:0");
    let console = from_environment().unwrap().unwrap();
    assert_eq!(get(&console, "/metrics").status, 200);
    drop(console);
    set("127.0.0.1:0,token=secret");
    let console = from_environment().unwrap().unwrap();
    assert_eq!(
        Client::new(console.local_addr()).get("/metrics").status,
        401
    );
    assert_eq!(get(&console, "/metrics?token=secret").status, 200);
    drop(console);
    for nonsense in ["1", "localhost", "127.0.0.1:0,colour=red", "0.0.0.0:0"] {
        set(nonsense);
        assert_eq!(
            from_environment().unwrap_err().kind(),
            ErrorKind::InvalidInput,
            "{nonsense}"
        );
    }
}
