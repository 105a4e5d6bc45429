//! The compiler adds what it has to say about the type of `main`.

#[tress_macros::main]
async fn main(arguments: Vec<String>) { //~ ERROR cannot take arguments
    //~^ ERROR E0580
    drop(arguments);
}
