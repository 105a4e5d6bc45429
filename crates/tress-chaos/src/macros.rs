//! The macros, as they are with a hook.

/// Makes the site of a macro, and puts it into the table.
#[doc(hidden)]
#[macro_export]
macro_rules! __site {
    ($kind:ident, $message:expr) => {{
        static SITE: $crate::Site = $crate::Site::new(
            $crate::Kind::$kind,
            $message,
            ::core::file!(),
            ::core::line!(),
            ::core::column!(),
        );
        #[cfg(target_os = "linux")]
        #[used]
        #[unsafe(link_section = "tress_chaos_sites")]
        static ENTRY: &$crate::Site = &SITE;
        &SITE
    }};
}

/// Returns true in some simulations, some of the time: code does something that is allowed, but rare or slow.
///
/// Each place is switched on for a quarter of all runs. In those it returns true with the given probability, or a quarter.
/// Without a simulation it returns false.
///
/// # Examples
/// ```
/// # use std::time::Duration;
/// use tress_chaos::buggify;
///
/// fn timeout() -> Duration {
///     if buggify!(0.01) { Duration::ZERO } else { Duration::from_secs(5) }
/// }
/// assert_eq!(timeout(), Duration::from_secs(5));
/// ```
#[macro_export]
macro_rules! buggify {
    () => {
        $crate::buggify!(0.25)
    };
    ($probability:expr $(,)?) => {
        match $crate::hook() {
            ::core::option::Option::Some(hook) => {
                (hook.buggify)($crate::__site!(Buggify, ""), $probability)
            }
            ::core::option::Option::None => false,
        }
    };
}

/// Ends a simulation if the condition does not hold. Further arguments are shown then.
///
/// Without a simulation the condition is not evaluated.
///
/// # Examples
/// ```
/// use tress_chaos::assert_always;
///
/// let (sent, received) = (2, 1);
/// assert_always!(received <= sent, "nothing is received that was not sent", sent, received);
/// ```
#[macro_export]
macro_rules! assert_always {
    ($condition:expr, $message:literal $(, $detail:expr)* $(,)?) => {
        if let ::core::option::Option::Some(hook) = $crate::hook() {
            let site = $crate::__site!(Always, $message);
            let holds: bool = $condition;
            (hook.met)(site, holds);
            if !holds {
                (hook.violated)(site, ::core::format_args!(
                    ::core::concat!($(::core::stringify!($detail), " = {:?}; ",)* "{}"), $(&$detail,)* ""
                ));
            }
        }
    };
}

/// Says that the condition holds at least once in the runs of a simulation. One that never does is listed at their end.
///
/// A test without it may be one that never tests what it is for. Without a simulation the condition is not evaluated.
///
/// # Examples
/// ```
/// use tress_chaos::assert_sometimes;
///
/// let retries = 0;
/// assert_sometimes!(retries > 3, "a request is tried more than three times");
/// ```
#[macro_export]
macro_rules! assert_sometimes {
    ($condition:expr, $message:literal $(,)?) => {
        if let ::core::option::Option::Some(hook) = $crate::hook() {
            (hook.met)($crate::__site!(Sometimes, $message), $condition);
        }
    };
}

/// Says that runs of a simulation get here at least once. A place that none gets to is listed at their end.
///
/// # Examples
/// ```
/// fn on_timeout() {
///     tress_chaos::reachable!("a request times out");
/// }
/// # on_timeout();
/// ```
#[macro_export]
macro_rules! reachable {
    ($message:literal $(,)?) => {
        if let ::core::option::Option::Some(hook) = $crate::hook() {
            (hook.met)($crate::__site!(Reachable, $message), true);
        }
    };
}

/// Ends a simulation that gets here. Further arguments are shown then.
///
/// # Examples
/// ```
/// fn on_message(version: u32) {
///     if version > 2 {
///         tress_chaos::unreached!("a message has an unknown version", version);
///         return;
///     }
/// }
/// # on_message(3);
/// ```
#[macro_export]
macro_rules! unreached {
    ($message:literal $(, $detail:expr)* $(,)?) => {
        if let ::core::option::Option::Some(hook) = $crate::hook() {
            let site = $crate::__site!(Unreached, $message);
            (hook.met)(site, false);
            (hook.violated)(site, ::core::format_args!(
                ::core::concat!($(::core::stringify!($detail), " = {:?}; ",)* "{}"), $(&$detail,)* ""
            ));
        }
    };
}
