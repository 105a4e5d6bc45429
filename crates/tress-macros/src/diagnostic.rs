//! What the parsers report.

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
