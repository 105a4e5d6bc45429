//! What only Windows has.

pub mod named_pipe;
