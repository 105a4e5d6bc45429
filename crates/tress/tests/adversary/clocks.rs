//! Timers, shields and what differs from Tokio.
