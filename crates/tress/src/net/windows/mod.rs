//! Types that only Windows has: [named pipes](named_pipe).

pub mod named_pipe;
