//@ --test
//! Functions that the attributes do not go with.

#[tress_macros::main]
fn not_async() {} //~ ERROR a function with `#[tress::main]` must be async: write `async fn`, or remove the attribute

#[tress_macros::test]
fn not_async_test() { //~ ERROR a function with `#[tress::test]` must be async
    std::future::ready(()).await;
}

#[tress_macros::main]
async fn takes_arguments(x: u8) -> u8 { //~ ERROR a function with `#[tress::main]` cannot take arguments
    x
}

#[tress_macros::test]
async fn takes_arguments_test(_: u8) {} //~ ERROR a function with `#[tress::test]` cannot take arguments

struct Type;

impl Type {
    #[tress_macros::main]
    async fn takes_self(&self) -> &Self { //~ ERROR cannot take arguments
        self
    }
}

#[tress_macros::main]
const async fn constant() {} //~ ERROR remove `const`

#[tress_macros::test]
#[test] //~ ERROR a second `test` attribute: remove it
async fn two_tests() {}

#[tress_macros::test]
#[tress_macros::test] //~ ERROR a second `test` attribute: remove it
async fn two_of_ours() {}

// In this order the compiler's own `#[test]` sees the function first.
#[test]
#[tress_macros::test]
async fn the_other_order() {} //~ ERROR async functions cannot be used for tests

#[tress_macros::main]
#[tress_macros::main] //~ ERROR a second `main` attribute
async fn two_mains() {}

#[tress_macros::main]
struct NotAFunction; //~ ERROR `#[tress::main]` goes on an `async fn`, and this is none

trait Trait {
    #[tress_macros::main]
    async fn without_body(); //~ ERROR needs a function with a body
}
