//! Coroutines in a program built with `panic = "abort"`: what cannot unwind is left behind, and nothing else
//! changes. `ci/panic-abort` builds and runs it; built as usual, or where there are no coroutines, it does nothing.

#[cfg(all(unix, panic = "abort"))]
mod coroutines;

#[cfg(all(unix, panic = "abort"))]
fn main() -> std::io::Result<()> {
    coroutines::check()
}

#[cfg(not(all(unix, panic = "abort")))]
fn main() {
    println!("panics unwind here, or there are no coroutines: nothing to see");
}
