//! `#[tress_sim::test]`: a test that is run with many seeds.
//!
//! ```text
//! #[::core::prelude::v1::test]
//! fn name() {
//!     fn name() -> Type { …the body as it was… }
//!     ::tress_sim::runner::run(::tress_sim::runner::Test { … }, name)
//! }
//! ```

use proc_macro::{Delimiter, Span, TokenStream, TokenTree};

use crate::args::{is_path, parse_integer, string};
use crate::diagnostic::{Diagnostic, alternatives};
use crate::expand::{braces, code, compile_error, trees_of};
use crate::token::{Kind, Token, flatten, mirror};

/// Number of seeds, unless the attribute says how many.
const SEEDS: u64 = 100;

const NAMES: [&str; 3] = ["seeds", "sometimes", "crate"];

/// What may become of places that no seed has reached, and the variant for it.
const SOMETIMES: [(&str, &str); 3] = [
    ("note", "Note"),
    ("require", "Require"),
    ("ignore", "Ignore"),
];

pub(crate) fn expand(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let settings = Settings::parse(&mirror(args), &mut errors);
    let trees = trees_of(item);
    let item = match Function::parse(&mirror(trees.iter().cloned()), &mut errors) {
        Ok(function) if errors.is_empty() => rebuild(&settings, &function, &trees),
        Ok(_) => trees.into_iter().collect(),
        Err(fatal) => {
            errors.push(fatal);
            trees.into_iter().collect()
        }
    };
    errors.iter().map(compile_error).chain([item]).collect()
}

fn rebuild(settings: &Settings, function: &Function, trees: &[TokenTree]) -> TokenStream {
    let site = Span::mixed_site();
    let name = trees[function.name].to_string();
    let body = &trees[trees.len() - 1];
    let mut inner: TokenStream = trees[function.keyword..].iter().cloned().collect();
    inner.extend(code(&call(settings, &name, function.should_panic), site));
    let mut out = code("#[::core::prelude::v1::test]", site);
    out.extend(trees[..=function.name].iter().cloned());
    out.extend(code("()", site));
    out.extend(braces(body.span(), inner));
    out
}

/// Returns the call that runs the function of that name.
fn call(settings: &Settings, name: &str, should_panic: bool) -> String {
    let Settings {
        seeds,
        sometimes,
        krate,
    } = settings;
    let text = name.trim_start_matches("r#");
    format!(
        "{krate}::runner::run({krate}::runner::Test {{ \
         name: ::core::concat!(::core::module_path!(), \"::{text}\"), \
         seeds: {seeds}, \
         sometimes: {krate}::runner::Sometimes::{sometimes}, \
         should_panic: {should_panic}, \
         file: ::core::file!(), \
         package: ::core::option_env!(\"CARGO_PKG_NAME\"), \
         manifest: ::core::option_env!(\"CARGO_MANIFEST_DIR\"), \
         }}, {name})"
    )
}

/// The arguments of the attribute.
#[derive(Debug, PartialEq, Eq)]
struct Settings {
    seeds: u64,
    /// A variant of `tress_sim::runner::Sometimes`.
    sometimes: &'static str,
    krate: String,
}

impl Settings {
    fn parse<S: Copy>(tokens: &[Token<S>], errors: &mut Vec<Diagnostic<S>>) -> Settings {
        let mut settings = Settings {
            seeds: SEEDS,
            sometimes: "Note",
            krate: "::tress_sim".to_owned(),
        };
        let tokens = flatten(tokens);
        let mut seen = Vec::new();
        for argument in tokens.split(|token| token.is_punct(',')) {
            // Nothing between two commas is left to the compiler, as is what follows the last one.
            let Some(first) = argument.first() else {
                continue;
            };
            let error = match argument {
                [
                    Token {
                        kind: Kind::Ident(name),
                        ..
                    },
                    equals,
                    value,
                ] if equals.is_punct('=') => {
                    let is_second = seen.contains(name);
                    seen.push(name.clone());
                    match is_second {
                        true => Err((
                            first.span,
                            format!("a second `{name}`: remove one of the two"),
                        )),
                        false => settings.value(name, value).map_err(|message| {
                            let span = if NAMES.contains(&name.as_str()) {
                                value.span
                            } else {
                                first.span
                            };
                            (span, message)
                        }),
                    }
                }
                _ => {
                    let message = format!("expected {}, as in `seeds = 200`", alternatives(NAMES));
                    Err((first.span, message))
                }
            };
            if let Err((span, message)) = error {
                errors.push(Diagnostic::new(span, message));
            }
        }
        settings
    }

    fn value<S>(&mut self, name: &str, value: &Token<S>) -> Result<(), String> {
        match name {
            "seeds" => {
                let number = match &value.kind {
                    Kind::Literal(text) => parse_integer(text).filter(|number| *number > 0),
                    _ => None,
                };
                let number = number.ok_or(
                    "`seeds` expects an integer literal of at least 1, as in `seeds = 200`",
                )?;
                self.seeds = number as u64;
            }
            "sometimes" => {
                let word = string(value);
                let found = SOMETIMES.iter().find(|(choice, _)| Some(*choice) == word);
                let expected = || alternatives(SOMETIMES.map(|(choice, _)| choice));
                let found = found.ok_or_else(|| {
                    format!("`sometimes` expects one of {}, in quotes", expected())
                })?;
                self.sometimes = found.1;
            }
            "crate" => {
                let path = string(value).filter(|path| is_path(path));
                let path = path.ok_or(
                    "`crate` expects a path in a string literal, as in `crate = \"::tress_sim\"`",
                )?;
                self.krate = path.trim().to_owned();
            }
            _ => {
                return Err(format!(
                    "unknown argument `{name}`: expected {}",
                    alternatives(NAMES)
                ));
            }
        }
        Ok(())
    }
}

/// The parts of the function, as positions in the list of its tokens. Its body is the last one.
#[derive(Debug, PartialEq, Eq)]
struct Function {
    /// `fn`.
    keyword: usize,
    name: usize,
    /// It has the attribute of that name.
    should_panic: bool,
}

impl Function {
    fn parse<S: Copy>(
        tokens: &[Token<S>],
        errors: &mut Vec<Diagnostic<S>>,
    ) -> Result<Function, Diagnostic<S>> {
        let mut at = 0;
        let mut should_panic = false;
        while let [hash, content, ..] = &tokens[at..] {
            let (true, Some(content)) = (hash.is_punct('#'), content.group(Delimiter::Bracket))
            else {
                break;
            };
            should_panic |= content
                .first()
                .is_some_and(|token| token.is_ident("should_panic"));
            if content.len() == 1 && content[0].is_ident("test") {
                let message = "a second `test` attribute: remove it, `#[tress_sim::test]` adds the `#[test]` it needs";
                errors.push(Diagnostic::new(hash.span, message));
            }
            at += 2;
        }
        let Some(start) = tokens.get(at).or(tokens.first()) else {
            unreachable!("an attribute always stands on something");
        };
        let not_a_function = Diagnostic::new(
            start.span,
            "`#[tress_sim::test]` goes on a `fn`, and this is none",
        );
        let keyword = tokens
            .iter()
            .skip(at)
            .position(|token| token.is_ident("fn"));
        let keyword = keyword.map(|offset| at + offset);
        let (Some(keyword), Some(body)) = (keyword, tokens.last()) else {
            return Err(not_a_function);
        };
        if let Some(token) = tokens[at..keyword]
            .iter()
            .find(|token| token.is_ident("async"))
        {
            let message = "a function with `#[tress_sim::test]` is not async: it makes a simulation, \
                           whose hosts and clients are";
            errors.push(Diagnostic::new(token.span, message));
        }
        let name = keyword + 1;
        match &tokens[name..] {
            [
                Token {
                    kind: Kind::Ident(_),
                    ..
                },
                parameters,
                ..,
            ] if parameters
                .group(Delimiter::Parenthesis)
                .is_some_and(<[_]>::is_empty) => {}
            [_, other, ..] => {
                let message =
                    "a function with `#[tress_sim::test]` has no arguments and no generics";
                errors.push(Diagnostic::new(other.span, message));
            }
            _ => return Err(not_a_function),
        }
        if body.group(Delimiter::Brace).is_none() {
            return Err(Diagnostic::new(
                body.span,
                "`#[tress_sim::test]` needs a function with a body",
            ));
        }
        Ok(Function {
            keyword,
            name,
            should_panic,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::assert_one;
    use crate::lex::lex;

    fn settings(source: &str) -> Settings {
        let mut errors = Vec::new();
        let settings = Settings::parse(&lex(source), &mut errors);
        assert!(errors.is_empty(), "{source}: {errors:?}");
        settings
    }

    #[test]
    fn arguments() {
        let given = settings(r#"seeds = 1_000, sometimes = "require", crate = "a::b","#);
        let expected = Settings {
            seeds: 1000,
            sometimes: "Require",
            krate: "a::b".to_owned(),
        };
        assert_eq!(given, expected);
        assert_eq!(settings("").seeds, SEEDS);
    }

    #[test]
    fn wrong_arguments() {
        for (source, at, words) in [
            ("seeds = 0", "0", ["seeds", "at least 1"]),
            ("seeds = \"1\"", "\"1\"", ["seeds", "integer"]),
            ("seed = 1", "seed", ["`seed`", "`seeds`"]),
            ("200", "200", ["`seeds`", "seeds = 200"]),
            (
                "sometimes = \"maybe\"",
                "\"maybe\"",
                ["`note`", "`require`"],
            ),
            ("crate = \"a-b\"", "\"a-b\"", ["path", "::tress_sim"]),
        ] {
            let mut errors = Vec::new();
            Settings::parse(&lex(source), &mut errors);
            assert_one(&errors, source, at, &words);
        }
        let mut errors = Vec::new();
        Settings::parse(&lex("seeds = 1, seeds = 2"), &mut errors);
        assert_eq!(errors.len(), 1);
    }

    #[test]
    fn functions() {
        let parse = |source| {
            let mut errors = Vec::new();
            let function = Function::parse(&lex(source), &mut errors);
            (function, errors)
        };
        let (function, errors) = parse("#[ignore] #[should_panic = \"x\"] pub fn f() -> T { }");
        assert!(errors.is_empty(), "{errors:?}");
        assert!(function.is_ok_and(|function| function.should_panic && function.name == 6));
        for (source, at, word) in [
            ("#[test] fn f() { }", "#", "second"),
            ("async fn f() { }", "async", "not async"),
            ("fn f(x: u8) { }", "(x", "arguments"),
            ("fn f<T>() { }", "<", "generics"),
        ] {
            assert_one(&parse(source).1, source, at, &[word]);
        }
        for source in ["struct S;", "fn f();", "fn"] {
            assert!(parse(source).0.is_err(), "{source}");
        }
    }

    #[test]
    fn the_call_names_the_function() {
        let call = call(&settings(r#"crate = "c""#), "r#try", true);
        assert!(
            call.starts_with("c::runner::run(c::runner::Test { name: "),
            "{call}"
        );
        assert!(
            call.contains("\"::try\"") && call.ends_with("}, r#try)"),
            "{call}"
        );
    }
}
