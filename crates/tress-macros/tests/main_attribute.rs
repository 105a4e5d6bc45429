//! `#[tress::main]` on functions of every shape, against a runtime that writes down how it was
//! built.
#![deny(warnings)]

mod fake;

use std::error::Error;
use std::fmt;
use std::future::{poll_fn, ready};
use std::rc::Rc;
use std::task::Poll;

use fake::runtime::calls;

/// Is pending once.
async fn pause() {
    let mut polled = false;
    poll_fn(|_| {
        if std::mem::replace(&mut polled, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused")
    }
}

impl Error for Refused {}

mod arguments {
    use super::calls;

    #[tress_macros::main(crate = "crate::fake")]
    async fn by_default() -> String {
        calls()
    }

    #[tress_macros::main(crate = "super::fake", flavor = "multi_thread", worker_threads = 3)]
    async fn multi_thread() -> String {
        calls()
    }

    #[tress_macros::main(flavor = "current_thread", start_paused = true, crate = "crate::fake")]
    async fn current_thread() -> String {
        calls()
    }

    #[tress_macros::main(flavor = "local", start_paused = false, crate = "crate::fake")]
    async fn local() -> String {
        calls()
    }

    #[tress_macros::main(
        unhandled_panic = "shutdown_runtime",
        name = r#"it's "me""#,
        worker_threads = 0x10,
        crate = "crate :: fake"
    )]
    async fn everything() -> String {
        calls()
    }

    #[tress_macros::main(unhandled_panic = "ignore", crate = "crate::fake")]
    async fn ignore() -> String {
        calls()
    }

    #[test]
    fn reach_the_builder() {
        assert_eq!(by_default(), "multi_thread enable_all build");
        assert_eq!(
            multi_thread(),
            "multi_thread enable_all worker_threads(3) build"
        );
        assert_eq!(
            current_thread(),
            "current_thread enable_all start_paused(true) build"
        );
        assert_eq!(
            local(),
            "current_thread enable_all start_paused(false) build_local"
        );
        assert_eq!(
            everything(),
            "multi_thread enable_all worker_threads(16) name(it's \"me\") \
             unhandled_panic(ShutdownRuntime) build"
        );
        assert_eq!(
            ignore(),
            "multi_thread enable_all unhandled_panic(Ignore) build"
        );
    }

    #[test]
    fn the_path_may_start_at_an_import() {
        use super::fake as other;

        #[tress_macros::main(crate = "other")]
        async fn inner() -> String {
            calls()
        }

        assert_eq!(inner(), "multi_thread enable_all build");
    }
}

mod outputs {
    use super::*;

    #[tress_macros::main(crate = "crate::fake")]
    async fn unit() {
        pause().await;
    }

    #[tress_macros::main(crate = "crate::fake")]
    async fn early() -> Option<u32> {
        pause().await;
        if calls().contains("build") {
            return Some(1);
        }
        None
    }

    #[tress_macros::main(crate = "crate::fake")]
    async fn early_unit() {
        if calls().contains("build") {
            return;
        }
        unreachable!();
    }

    #[tress_macros::main(crate = "crate::fake")]
    async fn question_mark() -> Result<u32, Box<dyn Error + Send + Sync>> {
        let number: u32 = "12".parse()?;
        ready(Err(Refused)).await?;
        Ok(number)
    }

    /// Both values only become the declared type by a coercion.
    #[tress_macros::main(crate = "crate::fake")]
    async fn coercion() -> Result<&'static [u8], Box<dyn Error>> {
        if calls().is_empty() {
            return Ok(&[1, 2]);
        }
        Err(Box::new(Refused))
    }

    #[tress_macros::main(crate = "crate::fake")]
    async fn opaque() -> impl Iterator<Item = u8> {
        pause().await;
        [3, 4].into_iter()
    }

    #[tress_macros::main(crate = "crate::fake")]
    async fn never() -> ! {
        pause().await;
        panic!("the end")
    }

    #[tress_macros::main(crate = "crate::fake")]
    async fn only_a_loop() -> ! {
        loop {
            pause().await;
            if calls().contains("build") {
                panic!("the end")
            }
        }
    }

    /// Neither is the body `Send`, nor what it returns.
    #[tress_macros::main(crate = "crate::fake")]
    async fn not_send() -> Rc<u8> {
        let value = Rc::new(5);
        pause().await;
        value
    }

    #[tress_macros::main(crate = "crate::fake")]
    async fn function_pointer() -> fn(u8) -> u8 {
        |x| x + 1
    }

    #[test]
    fn arrive() {
        unit();
        assert_eq!(early(), Some(1));
        early_unit();
        assert_eq!(question_mark().unwrap_err().to_string(), "refused");
        assert_eq!(coercion().unwrap_err().to_string(), "refused");
        assert_eq!(opaque().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(*not_send(), 5);
        assert_eq!(function_pointer()(1), 2);
    }

    #[test]
    #[should_panic(expected = "the end")]
    fn never_comes_back() {
        never();
    }

    #[test]
    #[should_panic(expected = "the end")]
    fn loops_until_it_panics() {
        only_a_loop();
    }
}

mod signatures {
    use super::*;

    #[tress_macros::main(crate = "crate::fake")]
    async fn generic<'a, T, F: FromIterator<fn() -> T>, const N: usize>() -> Vec<Vec<T>>
    where
        T: Clone + Default + 'a,
        Vec<fn() -> T>: PartialEq<F>,
    {
        pause().await;
        let _: F = std::iter::empty().collect();
        vec![vec![T::default(); N]]
    }

    static SIX: u8 = 6;

    /// The documentation stays.
    #[tress_macros::main(crate = "crate::fake")]
    #[allow(unused_variables)]
    #[must_use = "so does this"]
    pub(super) async unsafe extern "C" fn qualified() -> u8 {
        let unused = 1;
        let pointer = &raw const SIX;
        unsafe { *pointer }
    }

    #[deny(unused_variables)]
    #[tress_macros::main(crate = "crate::fake")]
    async fn inner_attributes() -> u8 {
        #![allow(unused_variables)]
        #![allow(clippy::let_unit_value)]
        let unused = 1;
        8
    }

    struct Wrapper<T>(T);

    impl<T: Default> Wrapper<T> {
        #[tress_macros::main(crate = "crate::fake")]
        async fn associated() -> Self {
            pause().await;
            Self(T::default())
        }
    }

    trait Run {
        fn run() -> usize;

        #[tress_macros::main(crate = "crate::fake")]
        async fn provided() -> usize {
            Self::run() + 1
        }
    }

    impl Run for u8 {
        #[tress_macros::main(crate = "crate::fake")]
        async fn run() -> usize {
            size_of::<Self>()
        }
    }

    #[test]
    fn survive() {
        assert_eq!(generic::<u8, Vec<fn() -> u8>, 2>(), [[0, 0]]);
        assert_eq!(unsafe { qualified() }, 6);
        assert_eq!(inner_attributes(), 8);
        assert_eq!(Wrapper::<u8>::associated().0, 0);
        assert_eq!(<u8 as Run>::provided(), 2);
    }

    /// The expansion does not trip over what is in scope.
    #[test]
    #[allow(non_upper_case_globals)]
    fn names_do_not_collide() {
        const body: u8 = 1;
        static runtime: u8 = 2;
        const value: u8 = 3;
        #[derive(PartialEq, Debug)]
        enum Option {
            None(u8),
        }

        #[tress_macros::main(crate = "crate::fake")]
        async fn sum() -> Option {
            Option::None(body + runtime + value)
        }

        assert_eq!(sum(), Option::None(6));
    }
}

mod macro_rules {
    use super::*;

    macro_rules! define {
        ($(#[$meta:meta])* $vis:vis fn $name:ident() -> $output:ty $body:block with $flavor:literal) => {
            #[tress_macros::main(crate = "crate::fake", flavor = $flavor)]
            $(#[$meta])*
            $vis async fn $name() -> $output $body
        };
    }

    macro_rules! pass_on {
        ($item:item) => {
            #[tress_macros::main(crate = "crate::fake")]
            $item
        };
    }

    define! {
        /// A function whose parts are fragments.
        #[inline]
        pub(super) fn fragments() -> Result<String, &'static str> { Ok(calls()) } with "local"
    }

    define!(fn private() -> String { calls() } with "current_thread");

    pass_on! {
        async fn whole() -> String { calls() }
    }

    #[test]
    fn fragments_are_looked_into() {
        assert_eq!(
            fragments().unwrap(),
            "current_thread enable_all build_local"
        );
        assert_eq!(private(), "current_thread enable_all build");
        assert_eq!(whole(), "multi_thread enable_all build");
    }
}
