/// Waits for several futures, runs the code of the branch whose future completes first, and drops the
/// others.
///
/// A branch is `pattern = future => code`, or `pattern = future, if condition => code`. A last branch
/// `else => code` runs when all others are disabled. There may be at most 64 branches.
///
/// The macro proceeds as follows:
///
/// 1. It evaluates all conditions. A branch whose condition is false is disabled.
/// 2. It evaluates the future expressions of all branches, including the disabled ones. Each may be
///    anything that implements [`IntoFuture`](std::future::IntoFuture).
/// 3. It polls the futures of the enabled branches, all in the current task. When one completes and its
///    output matches the pattern, all futures are dropped and the code of the branch runs. If the output
///    does not match, the branch is disabled and the others continue.
/// 4. When all branches are disabled it runs the code of `else`.
///
/// The code runs after the futures have been dropped, so that it may use what they borrowed, and outside
/// of any closure: `.await`, `?`, `break` and `return` work.
///
/// # Fairness
///
/// Each poll starts with a random branch, so that a branch that is always ready does not starve the
/// others. With `biased;` before the first branch the branches are polled from top to bottom instead, and
/// fairness is up to you: put a branch that is always ready last.
///
/// # Panics
///
/// If all branches are disabled and there is no `else` branch.
///
/// # Cancel safety
///
/// The futures that do not complete first are dropped where they wait. Operations in branches should be
/// cancel safe, as their documentation says; or keep the future across iterations, as shown below.
///
/// # Examples
///
/// ```
/// use tress::time::{Duration, sleep};
///
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let answer = tress::select! {
///     () = sleep(Duration::from_secs(60)) => "late",
///     text = async { "early" } => text,
/// };
/// assert_eq!(answer, "early");
/// # });
/// ```
///
/// Branches in order, each at most once:
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let mut done = (false, false);
/// loop {
///     tress::select! {
///         biased;
///         () = async {}, if !done.0 => done.0 = true,
///         () = async {}, if !done.1 => {
///             assert!(done.0);
///             done.1 = true;
///         }
///         else => break,
///     }
/// }
/// assert_eq!(done, (true, true));
/// # });
/// ```
///
/// A future that is created in a branch starts anew with every iteration of a loop. To let it continue,
/// create it before the loop, [pin](crate::pin!) it and poll a reference:
///
/// ```
/// # tress::runtime::Runtime::new().unwrap().block_on(async {
/// let work = async {
///     tress::task::yield_now().await;
///     7
/// };
/// tress::pin!(work);
/// let mut turns = 0;
/// let result = loop {
///     tress::select! {
///         n = &mut work => break n,
///         () = tress::task::yield_now() => turns += 1,
///     }
/// };
/// assert_eq!(result, 7);
/// assert!(turns <= 2);
/// # });
/// ```
#[macro_export]
macro_rules! select {
    (biased; $($branches:tt)+) => {
        $crate::__tress_select! { @numbers [first 0] $($branches)+ }
    };
    (biased $(;)?) => {
        ::core::compile_error!("select! needs at least one branch")
    };
    ($($branches:tt)+) => {
        $crate::__tress_select! { @numbers [random] $($branches)+ }
    };
    () => {
        ::core::compile_error!("select! needs at least one branch")
    };
}

// One branch at a time is taken off the input and gets the next number. The first number that is not
// used is the count.
#[doc(hidden)]
#[macro_export]
macro_rules! __tress_select {
    (@numbers $order:tt $($branches:tt)+) => {
        $crate::__tress_select! { @branch $order [] [
            (0 _0) (1 _1) (2 _2) (3 _3) (4 _4) (5 _5) (6 _6) (7 _7) (8 _8) (9 _9) (10 _10)
            (11 _11) (12 _12) (13 _13) (14 _14) (15 _15) (16 _16) (17 _17) (18 _18) (19 _19)
            (20 _20) (21 _21) (22 _22) (23 _23) (24 _24) (25 _25) (26 _26) (27 _27) (28 _28)
            (29 _29) (30 _30) (31 _31) (32 _32) (33 _33) (34 _34) (35 _35) (36 _36) (37 _37)
            (38 _38) (39 _39) (40 _40) (41 _41) (42 _42) (43 _43) (44 _44) (45 _45) (46 _46)
            (47 _47) (48 _48) (49 _49) (50 _50) (51 _51) (52 _52) (53 _53) (54 _54) (55 _55)
            (56 _56) (57 _57) (58 _58) (59 _59) (60 _60) (61 _61) (62 _62) (63 _63) (64 _64)
        ] $($branches)+ }
    };

    (@branch $order:tt [] $free:tt else => $otherwise:expr $(,)?) => {
        $otherwise
    };
    (@branch $order:tt $done:tt [($count:tt $next:tt) $($free:tt)*] else => $otherwise:expr $(,)?) => {
        $crate::__tress_select! { @run $order $count $done $otherwise }
    };
    (@branch $order:tt $done:tt [($count:tt $next:tt) $($free:tt)*]) => {
        $crate::__tress_select! { @run $order $count $done
            ::core::panic!(
                "all branches of this select! are disabled: their conditions are false or their \
                 outputs did not match; add an `else` branch"
            )
        }
    };
    (@branch $order:tt $done:tt [$last:tt] $($rest:tt)+) => {
        ::core::compile_error!("select! takes at most 64 branches")
    };
    (@branch $order:tt [$($done:tt)*] [($i:tt $v:ident) $($free:tt)*]
        $pattern:pat = $future:expr, if $condition:expr => $code:block, $($rest:tt)*
    ) => {
        $crate::__tress_select! { @branch $order
            [$($done)* ($i $v $pattern = $future, if $condition => $code)] [$($free)*] $($rest)* }
    };
    (@branch $order:tt [$($done:tt)*] [($i:tt $v:ident) $($free:tt)*]
        $pattern:pat = $future:expr => $code:block, $($rest:tt)*
    ) => {
        $crate::__tress_select! { @branch $order
            [$($done)* ($i $v $pattern = $future, if true => $code)] [$($free)*] $($rest)* }
    };
    (@branch $order:tt [$($done:tt)*] [($i:tt $v:ident) $($free:tt)*]
        $pattern:pat = $future:expr, if $condition:expr => $code:block $($rest:tt)*
    ) => {
        $crate::__tress_select! { @branch $order
            [$($done)* ($i $v $pattern = $future, if $condition => $code)] [$($free)*] $($rest)* }
    };
    (@branch $order:tt [$($done:tt)*] [($i:tt $v:ident) $($free:tt)*]
        $pattern:pat = $future:expr => $code:block $($rest:tt)*
    ) => {
        $crate::__tress_select! { @branch $order
            [$($done)* ($i $v $pattern = $future, if true => $code)] [$($free)*] $($rest)* }
    };
    (@branch $order:tt [$($done:tt)*] [($i:tt $v:ident) $($free:tt)*]
        $pattern:pat = $future:expr, if $condition:expr => $code:expr $(, $($rest:tt)*)?
    ) => {
        $crate::__tress_select! { @branch $order
            [$($done)* ($i $v $pattern = $future, if $condition => $code)] [$($free)*]
            $($($rest)*)? }
    };
    (@branch $order:tt [$($done:tt)*] [($i:tt $v:ident) $($free:tt)*]
        $pattern:pat = $future:expr => $code:expr $(, $($rest:tt)*)?
    ) => {
        $crate::__tress_select! { @branch $order
            [$($done)* ($i $v $pattern = $future, if true => $code)] [$($free)*]
            $($($rest)*)? }
    };

    (@first [first $first:tt] $count:tt) => { $first };
    (@first [random] $count:tt) => { $crate::macros::support::random_start($count) };

    (@run $order:tt $count:tt
        [$(($i:tt $v:ident $pattern:pat = $future:expr, if $condition:expr => $code:expr))+]
        $otherwise:expr
    ) => {{
        #[allow(non_camel_case_types)]
        enum __TressSelected<$($v),+> { $($v($v),)+ Nothing }

        match {
            let mut disabled: u64 = 0;
            $( if !$condition { disabled |= 1 << $i; } )+
            // In a `let` of their own, so that temporaries that they borrow live as long as they do.
            let futures = ($($future,)+);
            let mut futures = ($($crate::macros::support::IntoFuture::into_future(futures.$i),)+);
            let futures = &mut futures;

            #[allow(unreachable_code, unreachable_patterns, unused_variables, unused_mut, unused_assignments)]
            let selected = $crate::macros::support::poll_fn(move |cx| {
                if $crate::macros::support::poll_budget_available(cx).is_pending() {
                    return $crate::macros::support::Poll::Pending;
                }
                let mut waiting = false;
                let mut next: u32 = $crate::__tress_select!(@first $order $count);
                for _ in 0..$count {
                    let branch = next;
                    next = if branch + 1 == $count { 0 } else { branch + 1 };
                    match branch {
                        $( $i => {
                            if disabled & (1 << $i) != 0 {
                                continue;
                            }
                            // SAFETY: the futures are dropped in place: only a reference to them
                            // remains, which nothing outside of this closure can name.
                            let future = unsafe { ::core::pin::Pin::new_unchecked(&mut futures.$i) };
                            let mut output = match $crate::macros::support::Future::poll(future, cx) {
                                $crate::macros::support::Poll::Ready(output) => output,
                                $crate::macros::support::Poll::Pending => {
                                    waiting = true;
                                    continue;
                                }
                            };
                            disabled |= 1 << $i;
                            // Checks the pattern without moving anything: a guard sees the
                            // bindings by reference, and this one never accepts.
                            let mut matches = false;
                            match output {
                                $pattern if { matches = true; false } => ::core::unreachable!(),
                                _ => {}
                            }
                            if matches {
                                return $crate::macros::support::Poll::Ready(
                                    __TressSelected::$v(output)
                                );
                            }
                        } )+
                        _ => ::core::unreachable!(),
                    }
                }
                if waiting {
                    $crate::macros::support::Poll::Pending
                } else {
                    $crate::macros::support::Poll::Ready(__TressSelected::Nothing)
                }
            })
            .await;
            selected
        } {
            $( __TressSelected::$v($pattern) => $code, )+
            __TressSelected::Nothing => $otherwise,
            #[allow(unreachable_patterns)]
            _ => ::core::unreachable!("the output was seen to match"),
        }
    }};
}
