//! The expansion does not silence the lints of the body, and keeps what the user allows.
#![warn(unused, unused_results)]

fn important() -> Result<(), ()> {
    Ok(())
}

#[tress_macros::main]
async fn main() {
    important(); //~ WARN unused `Result` that must be used
    let unused = 1; //~ WARN unused variable
    std::future::ready(()); //~ WARN unused `std::future::Ready` that must be used
    allowed();
    unreachable(); //~ WARN unused result of type `u8`
    one_line();
    returns(); //~ WARN unused return value of `returns` that must be used
}

#[allow(unused_must_use)]
#[tress_macros::main]
#[allow(unused_variables)]
async fn allowed() {
    important();
    let unused = 1;
}

#[tress_macros::main]
async fn unreachable() -> u8 {
    return 1;
    2 //~ WARN unreachable expression
}

#[tress_macros::main]
async fn one_line() { { () } } //~ WARN unnecessary braces

#[must_use]
#[tress_macros::main]
async fn returns() -> Option<u8> { None }

#[tress_macros::main]
async fn dead() {} //~ WARN function `dead` is never used
