//! The cases on madsim.

mod count;
mod net;
mod sim;

#[cfg(not(madsim))]
compile_error!(
    "madsim needs `--cfg madsim`, which `.cargo/config.toml` sets for commands that are given in this folder"
);

include!("../../case.rs");
