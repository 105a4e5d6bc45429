//! The console's events, raised by the system itself.
#![cfg(all(windows, not(loom)))]

use tress::future::poll_once;
use tress::runtime::Runtime;
use tress::shutdown::Shutdown;
use tress::signal::windows::{ctrl_break, ctrl_c};

const CTRL_C_EVENT: u32 = 0;
const CTRL_BREAK_EVENT: u32 = 1;

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GenerateConsoleCtrlEvent(event: u32, group: u32) -> i32;
    fn SetConsoleCtrlHandler(handler: *const (), add: i32) -> i32;
}

fn raise(event: u32) {
    // SAFETY: the event is handled. Whoever started us may have turned Ctrl-C off for us.
    let raised = unsafe {
        SetConsoleCtrlHandler(std::ptr::null(), 0);
        GenerateConsoleCtrlEvent(event, 0)
    };
    assert_ne!(raised, 0, "{}", std::io::Error::last_os_error());
}

/// One test: the events are the whole process's.
#[test]
fn events_of_the_console_are_heard() {
    Runtime::new().unwrap().block_on(async {
        let (mut c, mut other, mut breaks) =
            (ctrl_c().unwrap(), ctrl_c().unwrap(), ctrl_break().unwrap());
        assert!(poll_once(c.recv()).await.is_none());
        raise(CTRL_C_EVENT);
        assert_eq!(c.recv().await, Some(()));
        assert_eq!(other.recv().await, Some(()));
        assert!(poll_once(breaks.recv()).await.is_none());
        raise(CTRL_BREAK_EVENT);
        assert_eq!(breaks.recv().await, Some(()));

        let shutdown = Shutdown::new();
        let mut listening = std::pin::pin!(shutdown.trigger_on_signals());
        assert!(poll_once(&mut listening).await.is_none());
        raise(CTRL_C_EVENT);
        listening.await.unwrap();
        assert!(shutdown.is_shutdown());
    });
}
