//! Type errors are in the body, where the user wrote them.

#[tress_macros::main]
async fn wrong_tail() -> Result<u8, String> {
    Ok("text") //~ ERROR E0308
}

#[tress_macros::main]
async fn wrong_return() -> u8 {
    if true {
        return "text"; //~ ERROR E0308
    }
    1
}

#[tress_macros::main]
async fn no_tail() -> Result<(), String> { //~ ERROR E0308
    println!();
}

#[tress_macros::main]
async fn value_in_unit() {
    5 //~ ERROR E0308
}

#[tress_macros::main]
async fn question_mark_in_unit() {
    "1".parse::<u8>()?; //~ ERROR E0277
}

#[tress_macros::main]
async fn wrong_error() -> Result<(), String> {
    "1".parse::<u8>()?; //~ ERROR E0277
    Ok(())
}

#[tress_macros::main]
async fn opaque() -> impl Iterator<Item = u8> { //~ ERROR E0277
    5
}

#[tress_macros::main]
async fn missing_value() {
    missing(); //~ ERROR cannot find function `missing`
}

#[tress_macros::main(
    crate = "missing::module", //~ ERROR `missing`
)]
async fn wrong_path() {}

#[tress_macros::main]
async fn main() -> u128 { //~ ERROR E0277
    1
}
