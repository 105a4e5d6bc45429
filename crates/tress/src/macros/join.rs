/// Waits for several futures to complete, and returns all of their outputs as a tuple.
///
/// The futures run concurrently in the current task, on one thread; to run them in parallel,
/// [`spawn`](crate::spawn) them. Each argument is anything that implements
/// [`IntoFuture`](std::future::IntoFuture). There may be at most 64; see
/// [`join_all`](crate::future::join_all) for any number of futures of one type.
///
/// At each poll of the task another future is polled first, so that none can use up the
/// [budget](crate::task::coop) of the others. `biased;` before the first argument keeps the order as
/// written.
///
/// `join!` waits for all futures, even if they return errors. [`try_join!`](crate::try_join) returns at
/// the first error.
///
/// # Cancel safety
///
/// Dropping the enclosing future drops all of the futures. The outputs of those that have completed are
/// lost.
///
/// # Examples
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (a, b) = tress::join!(async { 1 }, async { "two" });
/// assert_eq!((a, b), (1, "two"));
/// # });
/// ```
///
/// Polling in the order as written:
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let (first, second) = tress::join!(biased; async { 1 }, async { 2 });
/// assert_eq!((first, second), (1, 2));
/// # });
/// ```
#[macro_export]
macro_rules! join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__tress_join! { @numbers [join biased] $($future,)* }
    };
    ($($future:expr),* $(,)?) => {
        $crate::__tress_join! { @numbers [join rotating] $($future,)* }
    };
}

/// Waits for several futures to succeed, or for the first of them to fail.
///
/// Returns `Ok` with a tuple of all values, or the first `Err`, as soon as there is one; the other futures
/// are then dropped. All futures must have the same error type. Otherwise this is
/// [`join!`](crate::join), with `biased;` and the limit of 64 futures. See
/// [`try_join_all`](crate::future::try_join_all) for any number of futures of one type.
///
/// # Cancel safety
///
/// Dropping the enclosing future drops all of the futures, as does the first error. The values of those
/// that have completed are lost.
///
/// # Examples
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let both = tress::try_join!(async { Ok::<_, String>(1) }, async { Ok(2) });
/// assert_eq!(both, Ok((1, 2)));
///
/// let failed = tress::try_join!(
///     async { Err::<(), _>("no luck") },
///     std::future::pending::<Result<(), _>>(),
/// );
/// assert_eq!(failed, Err("no luck"));
/// # });
/// ```
#[macro_export]
macro_rules! try_join {
    (biased; $($future:expr),* $(,)?) => {
        $crate::__tress_join! { @numbers [try biased] $($future,)* }
    };
    ($($future:expr),* $(,)?) => {
        $crate::__tress_join! { @numbers [try rotating] $($future,)* }
    };
}

// As in `select!`, the first number that is not used is the count.
#[doc(hidden)]
#[macro_export]
macro_rules! __tress_join {
    (@numbers [join $order:ident]) => {
        async {}.await
    };
    (@numbers [try $order:ident]) => {
        async { ::core::result::Result::Ok(()) }.await
    };
    (@numbers $kind:tt $($futures:tt)+) => {
        $crate::__tress_join! { @next $kind [] [
            (0 _0) (1 _1) (2 _2) (3 _3) (4 _4) (5 _5) (6 _6) (7 _7) (8 _8) (9 _9) (10 _10)
            (11 _11) (12 _12) (13 _13) (14 _14) (15 _15) (16 _16) (17 _17) (18 _18) (19 _19)
            (20 _20) (21 _21) (22 _22) (23 _23) (24 _24) (25 _25) (26 _26) (27 _27) (28 _28)
            (29 _29) (30 _30) (31 _31) (32 _32) (33 _33) (34 _34) (35 _35) (36 _36) (37 _37)
            (38 _38) (39 _39) (40 _40) (41 _41) (42 _42) (43 _43) (44 _44) (45 _45) (46 _46)
            (47 _47) (48 _48) (49 _49) (50 _50) (51 _51) (52 _52) (53 _53) (54 _54) (55 _55)
            (56 _56) (57 _57) (58 _58) (59 _59) (60 _60) (61 _61) (62 _62) (63 _63) (64 _64)
        ] $($futures)+ }
    };

    (@next $kind:tt $done:tt [($count:tt $next:tt) $($free:tt)*]) => {
        $crate::__tress_join! { @run $kind $count $done }
    };
    (@next $kind:tt $done:tt [$last:tt] $($rest:tt)+) => {
        ::core::compile_error!("join! and try_join! take at most 64 futures")
    };
    (@next $kind:tt [$($done:tt)*] [($i:tt $v:tt) $($free:tt)*] $future:expr, $($rest:tt)*) => {
        $crate::__tress_join! { @next $kind [$($done)* ($i $future)] [$($free)*] $($rest)* }
    };

    (@run [$kind:ident $order:ident] $count:tt [$(($i:tt $future:expr))+]) => {{
        let mut futures = ($($crate::macros::support::maybe_done($future),)+);
        let futures = &mut futures;
        #[allow(unreachable_code)]
        let outputs = $crate::__tress_join!(@poll_fn [$order] $count first next {
            let mut all_done = true;
            for _ in 0..$count {
                let turn = next;
                next = if turn + 1 == $count { 0 } else { turn + 1 };
                match turn {
                    $( $i => {
                        let future = &mut futures.$i;
                        // SAFETY: the futures are dropped in place: only a reference to them
                        // remains, which nothing outside of this closure can name.
                        let mut future = unsafe { ::core::pin::Pin::new_unchecked(future) };
                        if !future.as_mut().poll_done(cx) {
                            all_done = false;
                        } else {
                            $crate::__tress_join!(@leave_early [$kind] future);
                        }
                    } )+
                    _ => ::core::unreachable!(),
                }
            }
            if !all_done {
                return $crate::macros::support::Poll::Pending;
            }
            $crate::macros::support::Poll::Ready($crate::__tress_join!(@collect [$kind] ($(
                // SAFETY: as above.
                unsafe { ::core::pin::Pin::new_unchecked(&mut futures.$i) },
            )+)))
        } cx).await;
        outputs
    }};

    // The closure owns the number of the future that the next poll starts with; a biased one always
    // starts with the first.
    (@poll_fn [rotating] $count:tt $first:ident $next:ident $body:block $cx:ident) => {{
        let mut $first = 0usize;
        $crate::macros::support::poll_fn(move |$cx| {
            let mut $next = $first;
            $first = if $first + 1 == $count { 0 } else { $first + 1 };
            $body
        })
    }};
    (@poll_fn [biased] $count:tt $first:ident $next:ident $body:block $cx:ident) => {
        $crate::macros::support::poll_fn(move |$cx| {
            let mut $next = 0usize;
            $body
        })
    };

    (@leave_early [join] $future:ident) => {};
    (@leave_early [try] $future:ident) => {
        if let ::core::option::Option::Some(error) = $future.take_error() {
            return $crate::macros::support::Poll::Ready(::core::result::Result::Err(error));
        }
    };

    (@collect [join] ($($future:expr,)+)) => {
        ($($future.take().expect("it is done"),)+)
    };
    (@collect [try] ($($future:expr,)+)) => {
        ::core::result::Result::Ok(($($future.take_value().expect("it is done"),)+))
    };
}
