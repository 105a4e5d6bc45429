//! The errors that the parsers report.

/// An error, and the token it is about.
#[derive(Debug)]
pub(crate) struct Diagnostic<S> {
    pub(crate) span: S,
    pub(crate) message: String,
}

impl<S> Diagnostic<S> {
    pub(crate) fn new(span: S, message: impl Into<String>) -> Self {
        Diagnostic {
            span,
            message: message.into(),
        }
    }
}

/// Lists the alternatives of an error message: `` `a`, `b` or `c` ``.
pub(crate) fn alternatives<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// Checks that `source` was refused with one error, at the `at` in it, with all of `words` in the message.
#[cfg(test)]
#[track_caller]
pub(crate) fn assert_one(errors: &[Diagnostic<usize>], source: &str, at: &str, words: &[&str]) {
    let [error] = errors else {
        panic!("{source}: {errors:?}")
    };
    assert!(
        source[error.span..].starts_with(at),
        "{source}: at `{}`",
        &source[error.span..]
    );
    for word in words {
        assert!(
            error.message.contains(word),
            "{source}: `{word}` is not in `{}`",
            error.message
        );
    }
}

#[cfg(test)]
mod tests {
    use super::alternatives;

    #[test]
    fn lists_alternatives() {
        assert_eq!(alternatives(["a"]), "`a`");
        assert_eq!(alternatives(["a", "b"]), "`a` or `b`");
        assert_eq!(alternatives(["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
