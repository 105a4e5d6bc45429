//! The arguments of the attributes: from tokens to [`Settings`].

use crate::Attribute;
use crate::diagnostic::{Diagnostic, alternatives};
use crate::token::{Kind, Token, flatten};

const NAMES: [&str; 6] = [
    "flavor",
    "worker_threads",
    "start_paused",
    "name",
    "unhandled_panic",
    "crate",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavor {
    MultiThread,
    CurrentThread,
    Local,
}

const FLAVORS: [(&str, Flavor); 3] = [
    ("multi_thread", Flavor::MultiThread),
    ("current_thread", Flavor::CurrentThread),
    ("local", Flavor::Local),
];

/// The values that `unhandled_panic` accepts, and the variants of `UnhandledPanic` that they stand for.
const UNHANDLED_PANICS: [(&str, &str); 2] = [
    ("ignore", "Ignore"),
    ("shutdown_runtime", "ShutdownRuntime"),
];

/// A value and the token it was read from.
#[derive(Debug, Clone)]
pub(crate) struct Sourced<T, S> {
    pub(crate) value: T,
    pub(crate) span: S,
}

/// The settings that the arguments ask for. Arguments that were reported as wrong are left out, so that
/// the settings are always consistent.
#[derive(Debug)]
pub(crate) struct Settings<S> {
    pub(crate) flavor: Flavor,
    pub(crate) worker_threads: Option<Sourced<usize, S>>,
    pub(crate) start_paused: Option<Sourced<bool, S>>,
    /// The literal as written.
    pub(crate) name: Option<Sourced<String, S>>,
    /// A variant of `UnhandledPanic`.
    pub(crate) unhandled_panic: Option<Sourced<&'static str, S>>,
    /// A path, checked to be nothing but identifiers and `::`.
    pub(crate) krate: Option<Sourced<String, S>>,
}

/// Reads the arguments of `attribute`, and appends everything that is wrong with them to `errors`.
pub(crate) fn parse<S: Copy>(
    attribute: Attribute,
    tokens: &[Token<S>],
    errors: &mut Vec<Diagnostic<S>>,
) -> Settings<S> {
    let default_flavor = match attribute {
        Attribute::Main => Flavor::MultiThread,
        Attribute::Test => Flavor::CurrentThread,
    };
    let mut parser = Parser {
        errors,
        seen: Vec::new(),
        flavor_is_wrong: false,
        settings: Settings {
            flavor: default_flavor,
            worker_threads: None,
            start_paused: None,
            name: None,
            unhandled_panic: None,
            krate: None,
        },
    };
    let tokens = flatten(tokens);
    let mut rest = &tokens[..];
    while !rest.is_empty() {
        let end = rest
            .iter()
            .position(|token| token.is_punct(','))
            .unwrap_or(rest.len());
        match rest[..end].split_first() {
            Some((name, value)) => parser.argument(name, value),
            None => parser.error(rest[0].span, "expected an argument before this comma"),
        }
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    parser.check_flavor();
    parser.settings
}

struct Parser<'a, S> {
    errors: &'a mut Vec<Diagnostic<S>>,
    /// The arguments so far, and the spans of their names.
    seen: Vec<(&'static str, S)>,
    /// Whether `flavor` was given and could not be read: arguments are then not checked against it.
    flavor_is_wrong: bool,
    settings: Settings<S>,
}

impl<S: Copy> Parser<'_, S> {
    fn error(&mut self, span: S, message: impl Into<String>) {
        self.errors.push(Diagnostic::new(span, message));
    }

    /// Reads one argument: its name and all that follows up to the comma.
    fn argument(&mut self, name: &Token<S>, rest: &[Token<S>]) {
        let Kind::Ident(text) = &name.kind else {
            let names = alternatives(NAMES);
            return self.error(
                name.span,
                format!("expected the name of an argument: {names}"),
            );
        };
        let Some(&known) = NAMES.iter().find(|known| *known == text) else {
            return self.unknown(name.span, text);
        };
        if self.seen.iter().any(|(seen, _)| *seen == known) {
            return self.error(name.span, format!("`{known}` is given more than once"));
        }
        self.seen.push((known, name.span));

        let before = self.errors.len();
        match rest {
            [equals, value, rest @ ..] if equals.is_punct('=') => {
                self.value(known, value);
                // A wrong value explains itself; what follows it is usually part of the same
                // mistake.
                if let (Some(extra), true) = (rest.first(), self.errors.len() == before) {
                    self.error(
                        extra.span,
                        format!("expected a comma after the value of `{known}`"),
                    );
                }
            }
            _ => {
                let span = rest.first().map_or(name.span, |token| token.span);
                self.error(
                    span,
                    format!("`{known}` needs a value, as in `{}`", example(known)),
                );
            }
        }
        if known == "flavor" && self.errors.len() > before {
            self.flavor_is_wrong = true;
        }
    }

    fn unknown(&mut self, span: S, text: &str) {
        let mut message = format!(
            "unknown argument `{text}`: expected {}",
            alternatives(NAMES)
        );
        if FLAVORS.iter().any(|(flavor, _)| *flavor == text) {
            message = format!("unknown argument `{text}`: did you mean `flavor = \"{text}\"`?");
            self.flavor_is_wrong = true;
        }
        self.error(span, message);
    }

    /// Reads the value of the argument `name` into the settings.
    fn value(&mut self, name: &'static str, token: &Token<S>) {
        let span = token.span;
        let outcome = match name {
            "flavor" => one_of(name, token, &FLAVORS).map(|flavor| self.settings.flavor = flavor),
            "worker_threads" => integer(token)
                .map(|value| self.settings.worker_threads = Some(Sourced { value, span })),
            "start_paused" => boolean(token)
                .map(|value| self.settings.start_paused = Some(Sourced { value, span })),
            "name" => match &token.kind {
                Kind::Literal(text) if unquote(text).is_some() => {
                    self.settings.name = Some(Sourced {
                        value: text.clone(),
                        span,
                    });
                    Ok(())
                }
                _ => Err(format!(
                    "`name` expects a string literal, as in `{}`",
                    example(name)
                )),
            },
            "unhandled_panic" => one_of(name, token, &UNHANDLED_PANICS)
                .map(|value| self.settings.unhandled_panic = Some(Sourced { value, span })),
            "crate" => path(token).map(|value| self.settings.krate = Some(Sourced { value, span })),
            _ => unreachable!("`{name}` is in NAMES and not here"),
        };
        if let Err(message) = outcome {
            self.error(span, message);
        }
    }

    /// Reports the arguments that the flavour does not allow.
    fn check_flavor(&mut self) {
        if self.flavor_is_wrong {
            self.settings.worker_threads = None;
            self.settings.start_paused = None;
            return;
        }
        let multi_thread = self.settings.flavor == Flavor::MultiThread;
        if !multi_thread && self.settings.worker_threads.take().is_some() {
            let message = "`worker_threads` needs the flavor with workers: \
                           add `flavor = \"multi_thread\"`, or remove it";
            self.error(self.name_span("worker_threads"), message);
        }
        if multi_thread && self.settings.start_paused.take().is_some() {
            let message = "`start_paused` needs a flavor with a single thread: \
                           add `flavor = \"current_thread\"` or `flavor = \"local\"`, or remove it";
            self.error(self.name_span("start_paused"), message);
        }
    }

    fn name_span(&self, name: &str) -> S {
        self.seen
            .iter()
            .find(|(seen, _)| *seen == name)
            .expect("only called for arguments that are there")
            .1
    }
}

fn example(name: &str) -> &'static str {
    match name {
        "flavor" => "flavor = \"current_thread\"",
        "worker_threads" => "worker_threads = 4",
        "start_paused" => "start_paused = true",
        "name" => "name = \"my-runtime\"",
        "unhandled_panic" => "unhandled_panic = \"shutdown_runtime\"",
        _ => "crate = \"::tress\"",
    }
}

/// Returns the meaning of a string literal that must be one of a few words.
fn one_of<T: Copy, S>(name: &str, token: &Token<S>, choices: &[(&str, T)]) -> Result<T, String> {
    let quoted: Vec<String> = choices
        .iter()
        .map(|(word, _)| format!("\"{word}\""))
        .collect();
    let expected = alternatives(quoted.iter().map(String::as_str));
    let Some(word) = string(token) else {
        return Err(format!("`{name}` expects a string literal: {expected}"));
    };
    match choices.iter().find(|(choice, _)| *choice == word) {
        Some((_, meaning)) => Ok(*meaning),
        None => Err(format!(
            "`{name}` cannot be \"{word}\": expected {expected}"
        )),
    }
}

fn boolean<S>(token: &Token<S>) -> Result<bool, String> {
    match &token.kind {
        Kind::Ident(text) if text == "true" => Ok(true),
        Kind::Ident(text) if text == "false" => Ok(false),
        _ => Err("`start_paused` expects `true` or `false`, without quotes".into()),
    }
}

fn integer<S>(token: &Token<S>) -> Result<usize, String> {
    let parsed = match &token.kind {
        Kind::Literal(text) => parse_integer(text),
        _ => None,
    };
    match parsed {
        Some(0) => Err("`worker_threads` must be at least 1".into()),
        Some(number) => Ok(number),
        None => Err(format!(
            "`worker_threads` expects an integer literal of at least 1, as in `{}`",
            example("worker_threads")
        )),
    }
}

/// Reads an integer literal in any radix, without suffix or with `usize`.
pub(crate) fn parse_integer(text: &str) -> Option<usize> {
    let digits = text.replace('_', "");
    let digits = digits.strip_suffix("usize").unwrap_or(&digits);
    let (digits, radix) = match digits.get(..2) {
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        Some("0b") => (&digits[2..], 2),
        _ => (digits, 10),
    };
    usize::from_str_radix(digits, radix).ok()
}

fn path<S>(token: &Token<S>) -> Result<String, String> {
    let Some(text) = string(token) else {
        return Err(format!(
            "`crate` expects a path in a string literal, as in `{}`",
            example("crate")
        ));
    };
    if is_path(text) {
        Ok(text.trim().to_owned())
    } else {
        Err(format!(
            "`crate` expects a path, as in `{}`, and \"{text}\" is none",
            example("crate")
        ))
    }
}

/// Returns whether the text is a path without generics.
pub(crate) fn is_path(text: &str) -> bool {
    let path = text.trim();
    path.strip_prefix("::")
        .unwrap_or(path)
        .split("::")
        .all(is_identifier)
}

fn is_identifier(text: &str) -> bool {
    let text = match text.trim().strip_prefix("r#") {
        Some("crate" | "self" | "super" | "Self") => return false,
        Some(raw) => raw,
        None => text.trim(),
    };
    let starts_well = text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    starts_well && text != "_" && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Returns the text between the quotes, if the token is a string literal.
pub(crate) fn string<S>(token: &Token<S>) -> Option<&str> {
    match &token.kind {
        Kind::Literal(text) => unquote(text),
        _ => None,
    }
}

/// Returns the text between the quotes of a string literal. Escapes are left as they are: no value that
/// is compared needs one.
fn unquote(literal: &str) -> Option<&str> {
    let mut text = literal;
    if let Some(raw) = literal.strip_prefix('r') {
        text = raw.trim_matches('#');
    }
    // A byte or C string fails at its prefix, a literal with a suffix at its end.
    text.strip_prefix('"')?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::assert_one;
    use crate::lex::lex;

    fn accept(attribute: Attribute, source: &str) -> Settings<usize> {
        let mut errors = Vec::new();
        let settings = parse(attribute, &lex(source), &mut errors);
        assert!(errors.is_empty(), "{source}: {errors:?}");
        settings
    }

    #[track_caller]
    fn reject(attribute: Attribute, source: &str, at: &str, words: &[&str]) {
        let mut errors = Vec::new();
        parse(attribute, &lex(source), &mut errors);
        assert_one(&errors, source, at, words);
    }

    #[track_caller]
    fn reject_main(source: &str, at: &str, words: &[&str]) {
        reject(Attribute::Main, source, at, words);
    }

    #[test]
    fn nothing_given() {
        let main = accept(Attribute::Main, "");
        assert_eq!(main.flavor, Flavor::MultiThread);
        assert!(
            main.worker_threads.is_none() && main.start_paused.is_none() && main.krate.is_none()
        );
        assert!(main.name.is_none() && main.unhandled_panic.is_none());
        assert_eq!(accept(Attribute::Test, "").flavor, Flavor::CurrentThread);
    }

    #[test]
    fn everything_given() {
        let source = r#"
            name = "a", crate = "b::c", worker_threads = 3, unhandled_panic = "ignore",
            flavor = "multi_thread",
        "#;
        let settings = accept(Attribute::Test, source);
        assert_eq!(settings.flavor, Flavor::MultiThread);
        assert_eq!(settings.worker_threads.unwrap().value, 3);
        assert_eq!(settings.name.unwrap().value, "\"a\"");
        assert_eq!(settings.unhandled_panic.unwrap().value, "Ignore");
        assert_eq!(settings.krate.unwrap().value, "b::c");

        let settings = accept(Attribute::Main, r#"start_paused = true, flavor = "local""#);
        assert_eq!(settings.flavor, Flavor::Local);
        assert!(settings.start_paused.unwrap().value);
    }

    #[test]
    fn values_from_macro_rules() {
        let settings = accept(
            Attribute::Main,
            r#"flavor = ⟦"current_thread"⟧, start_paused = ⟦false⟧"#,
        );
        assert_eq!(settings.flavor, Flavor::CurrentThread);
        assert!(!settings.start_paused.unwrap().value);
    }

    #[test]
    fn unknown_names() {
        reject_main(
            "threads = 4",
            "threads",
            &["`threads`", "`flavor`", "`worker_threads`", "`crate`"],
        );
        reject_main(
            "current_thread",
            "current_thread",
            &["did you mean `flavor = \"current_thread\"`?"],
        );
        reject_main(
            r#""multi_thread""#,
            "\"",
            &["name of an argument", "`flavor`"],
        );
        // Nothing can be said about the pair while the flavour is in doubt.
        reject_main(
            "current_thread, start_paused = true",
            "current_thread",
            &["did you mean"],
        );
    }

    #[test]
    fn duplicates() {
        reject_main(
            r#"name = "a", name = "b""#,
            r#"name = "b""#,
            &["`name`", "more than once"],
        );
        reject_main(
            "worker_threads = 1, worker_threads = 1",
            "worker_threads = 1",
            &["more than once"],
        );
    }

    #[test]
    fn missing_values() {
        reject_main(
            "flavor",
            "flavor",
            &["needs a value", "flavor = \"current_thread\""],
        );
        reject_main("flavor =", "=", &["needs a value"]);
        reject_main(
            "worker_threads: 4",
            ":",
            &["needs a value", "worker_threads = 4"],
        );
        reject_main(
            "worker_threads(4)",
            "(4)",
            &["needs a value", "worker_threads = 4"],
        );
    }

    #[test]
    fn stray_tokens() {
        reject_main(r#", name = "a""#, ",", &["before this comma"]);
        reject_main(
            r#"name = "a",, flavor = "local""#,
            ", flavor",
            &["before this comma"],
        );
        reject_main(
            r#"name = "a" flavor = "local""#,
            "flavor",
            &["comma", "`name`"],
        );
        reject_main("worker_threads = 2 + 2", "+", &["comma"]);
    }

    #[test]
    fn flavors() {
        let all = ["\"multi_thread\"", "\"current_thread\"", "\"local\""];
        reject_main(
            r#"flavor = "threaded""#,
            "\"threaded\"",
            &[&all[..], &["\"threaded\""]].concat(),
        );
        reject_main(
            "flavor = multi_thread",
            "multi_thread",
            &[&all[..], &["string literal"]].concat(),
        );
        reject_main(r#"flavor = b"local""#, "b\"", &["string literal"]);
        reject_main(
            r#"flavor = "threaded", start_paused = true"#,
            "\"threaded\"",
            &all,
        );
        assert_eq!(
            accept(Attribute::Main, r##"flavor = r#"local"#"##).flavor,
            Flavor::Local
        );
    }

    #[test]
    fn worker_threads() {
        for (source, number) in [
            ("1", 1),
            ("4usize", 4),
            ("1_0", 10),
            ("0x1F", 31),
            ("0b11", 3),
            ("0o17", 15),
        ] {
            let settings = accept(Attribute::Main, &format!("worker_threads = {source}"));
            assert_eq!(settings.worker_threads.unwrap().value, number);
        }
        reject_main("worker_threads = 0", "0", &["at least 1"]);
        reject_main(
            "worker_threads = -1",
            "-",
            &["integer literal", "at least 1"],
        );
        for source in [
            "\"4\"",
            "1.5",
            "true",
            "N",
            "4u8",
            "99999999999999999999999",
        ] {
            reject_main(
                &format!("worker_threads = {source}"),
                source,
                &["integer literal", "at least 1"],
            );
        }
    }

    #[test]
    fn worker_threads_want_multi_thread() {
        let words = ["`worker_threads`", "`flavor = \"multi_thread\"`"];
        reject(
            Attribute::Test,
            "worker_threads = 2",
            "worker_threads",
            &words,
        );
        reject_main(
            r#"worker_threads = 2, flavor = "local""#,
            "worker_threads",
            &words,
        );
        reject_main(
            r#"flavor = "current_thread", worker_threads = 2"#,
            "worker_threads",
            &words,
        );
    }

    #[test]
    fn start_paused() {
        let words = [
            "`start_paused`",
            "`flavor = \"current_thread\"`",
            "`flavor = \"local\"`",
        ];
        reject_main("start_paused = true", "start_paused", &words);
        reject(
            Attribute::Test,
            r#"flavor = "multi_thread", start_paused = false"#,
            "start_paused",
            &words,
        );
        reject(
            Attribute::Test,
            r#"start_paused = "true""#,
            "\"true\"",
            &["`true` or `false`"],
        );
        reject(
            Attribute::Test,
            "start_paused = 1",
            "1",
            &["`true` or `false`"],
        );
    }

    #[test]
    fn name() {
        reject_main("name = a", "a", &["string literal"]);
        reject_main("name = 'a'", "'a'", &["string literal"]);
        assert_eq!(
            accept(Attribute::Main, r#"name = r"a""#)
                .name
                .unwrap()
                .value,
            "r\"a\""
        );
    }

    #[test]
    fn unhandled_panic() {
        let settings = accept(Attribute::Main, r#"unhandled_panic = "shutdown_runtime""#);
        assert_eq!(settings.unhandled_panic.unwrap().value, "ShutdownRuntime");
        reject_main(
            r#"unhandled_panic = "abort""#,
            "\"abort\"",
            &["\"ignore\"", "\"shutdown_runtime\""],
        );
        reject_main(
            "unhandled_panic = ignore",
            "ignore",
            &["string literal", "\"shutdown_runtime\""],
        );
    }

    #[test]
    fn crate_path() {
        for path in [
            "crate",
            "::a",
            "a::b_c",
            "r#mod::x",
            "self::super_x",
            "größe",
        ] {
            let settings = accept(Attribute::Main, &format!("crate = \"{path}\""));
            assert_eq!(settings.krate.unwrap().value, path);
        }
        for path in [
            "", "::", "a::", "a:b", "a<b>", "a b", "1a", "_", "a.b", "a::::b", "a;b", "r#crate",
        ] {
            reject_main(
                &format!("crate = \"{path}\""),
                "\"",
                &["path", "`crate = \"::tress\"`"],
            );
        }
        reject_main("crate = tress", "tress", &["string literal"]);
    }

    #[test]
    fn all_errors_are_reported() {
        let mut errors = Vec::new();
        let settings = parse(
            Attribute::Main,
            &lex(r#"a = 1, worker_threads = 0, name = "x", name"#),
            &mut errors,
        );
        assert_eq!(errors.len(), 3);
        assert_eq!(settings.name.unwrap().value, "\"x\"");
        assert!(settings.worker_threads.is_none());
    }
}
