//! Pictures of a run: what was recorded of it, as a page for a browser and as a trace for Perfetto.
//!
//! | module | what |
//! |---|---|
//! | `recorder` | what the kernel and the network call when something happens |
//! | `tape` | the memory that events are written to, which a run shares with the process that has started it |
//! | `event`, `code` | the events, and how they are written as bytes |
//! | `recording` | what is read from a tape: hosts, and events in their order |
//! | `html`, `json` | the page, with all that it needs in one file |
//! | `perfetto`, `proto` | the trace |

mod code;
mod event;
mod html;
mod json;
mod perfetto;
mod proto;
mod recorder;
mod recording;
mod tape;

pub(crate) use event::State;
pub(crate) use recorder::Recorder;
pub use recording::Recording;
pub(crate) use tape::{SIZE, Tape};
