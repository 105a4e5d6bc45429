//! Nothing to say about any of this. It also shows that `::tress` is what the expansion looks for.
#![deny(warnings)]

mod tress {}

#[tress_macros::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    #![allow(unused_variables)]
    fn item() -> u8 {
        1
    }
    let unused = item();
    one_line();
    tail_temporary();
    "12".parse::<u8>()?;
    Err("text")?;
    Ok(())
}

#[tress_macros::main(flavor = "local", start_paused = true, name = "n", unhandled_panic = "ignore")]
async fn one_line() { main().unwrap() }

#[tress_macros::main(flavor = "current_thread")]
async fn tail_temporary() -> usize {
    // The guard outlives nothing that it borrows, in any edition.
    let cell = std::cell::RefCell::new(vec![1]);
    let length = cell.borrow().len();
    length
}
