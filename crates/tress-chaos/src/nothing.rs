//! The macros without the feature `enabled`. Arguments are still checked by the compiler, and not evaluated.

/// Returns false.
#[macro_export]
macro_rules! buggify {
    () => {
        false
    };
    ($probability:expr $(,)?) => {{
        let _ = || -> f64 { $probability };
        false
    }};
}

/// Does nothing.
#[macro_export]
macro_rules! assert_always {
    ($condition:expr, $message:literal $(, $detail:expr)* $(,)?) => {{
        let _ = || -> bool {
            $(let _ = &$detail;)*
            $condition
        };
    }};
}

/// Does nothing.
#[macro_export]
macro_rules! assert_sometimes {
    ($condition:expr, $message:literal $(,)?) => {{
        let _ = || -> bool { $condition };
    }};
}

/// Does nothing.
#[macro_export]
macro_rules! reachable {
    ($message:literal $(,)?) => {};
}

/// Does nothing.
#[macro_export]
macro_rules! unreached {
    ($message:literal $(, $detail:expr)* $(,)?) => {{
        let _ = || {
            $(let _ = &$detail;)*
        };
    }};
}
