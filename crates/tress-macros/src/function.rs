//! Finds the parts of a function in its tokens.
//!
//! This knows only as much of the grammar as is needed to remove `async` and to wrap the body:
//!
//! ```text
//! #[attribute]* visibility? const? async unsafe? (extern "ABI"?)?
//! fn name <generics>? (parameters) (-> type)? (where …)? { body }
//! ```
//!
//! Everything else is passed on unchanged, and the compiler reports what is wrong with it.

use std::ops::Range;

use proc_macro::Delimiter;

use crate::Attribute;
use crate::diagnostic::Diagnostic;
use crate::token::{Kind, Token, flatten};

/// The parts of a function, as positions in the list of its tokens.
#[derive(Debug)]
pub(crate) struct Function {
    /// The first token after the attributes.
    pub(crate) head: usize,
    /// Tokens that must not be in the expansion, in ascending order.
    pub(crate) dropped: Vec<usize>,
    pub(crate) name: usize,
    /// The return type without its arrow; `None` if there is no arrow.
    pub(crate) output: Option<Range<usize>>,
    pub(crate) output_kind: Output,
    /// The group in braces; the last token.
    pub(crate) body: usize,
}

/// How the return type can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// It can be named anywhere in the function.
    Nameable,
    /// It contains `impl`, or it is `!`, which are types in the signature only.
    SignatureOnly,
}

/// Finds the parts of the function that `attribute` stands on.
///
/// Errors that leave a function to work with are appended to `errors`. `Err` is returned for tokens that
/// are not a function.
pub(crate) fn parse<S: Copy>(
    attribute: Attribute,
    tokens: &[Token<S>],
    errors: &mut Vec<Diagnostic<S>>,
) -> Result<Function, Diagnostic<S>> {
    let this = attribute.name();
    let mut dropped = Vec::new();
    let head = attributes(attribute, tokens, &mut dropped, errors);
    let fn_keyword = qualifiers(this, tokens, head, &mut dropped, errors)?;
    let name = fn_keyword + 1;
    let not_a_function =
        || Diagnostic::new(tokens[fn_keyword].span, "this function could not be parsed");
    if !matches!(
        tokens.get(name),
        Some(Token {
            kind: Kind::Ident(_),
            ..
        })
    ) {
        return Err(not_a_function());
    }

    let parameters = parameters(this, tokens, name + 1, errors).ok_or_else(not_a_function)?;

    let body = tokens.len() - 1;
    if body <= parameters || !is_body(&tokens[body]) {
        return Err(Diagnostic::new(
            tokens[body].span,
            format!("`#[tress::{this}]` needs a function with a body"),
        ));
    }
    let output = output(tokens, parameters + 1..body);
    let output_kind = match &output {
        Some(range) => output_kind(&tokens[range.clone()]),
        None => Output::Nameable,
    };
    Ok(Function {
        head,
        dropped,
        name,
        output,
        output_kind,
        body,
    })
}

/// Checks the attributes of the function, and returns the position behind them.
fn attributes<S: Copy>(
    attribute: Attribute,
    tokens: &[Token<S>],
    dropped: &mut Vec<usize>,
    errors: &mut Vec<Diagnostic<S>>,
) -> usize {
    let mut at = 0;
    while let [hash, content, ..] = &tokens[at..] {
        let (true, Some(content)) = (hash.is_punct('#'), content.group(Delimiter::Bracket)) else {
            break;
        };
        if last_segment(content).as_deref() == Some(attribute.name()) {
            let message = match attribute {
                Attribute::Main => "a second `main` attribute: remove one of the two",
                Attribute::Test => {
                    "a second `test` attribute: remove it, \
                     `#[tress::test]` adds the `#[test]` it needs"
                }
            };
            errors.push(Diagnostic::new(hash.span, message));
            dropped.extend([at, at + 1]);
        }
        at += 2;
    }
    at
}

/// Checks that the list of parameters is empty, and returns its position; `None` if there is no list. The tokens
/// from `after_name` on may be generics.
fn parameters<S: Copy>(
    this: &str,
    tokens: &[Token<S>],
    after_name: usize,
    errors: &mut Vec<Diagnostic<S>>,
) -> Option<usize> {
    let parameters = skip_generics(tokens, after_name);
    let list = tokens.get(parameters)?.group(Delimiter::Parenthesis)?;
    if !list.is_empty() {
        let message = format!(
            "a function with `#[tress::{this}]` cannot take arguments: make the values in the body, \
             or move the body to another `async fn` and call that one from here"
        );
        errors.push(Diagnostic::new(tokens[parameters].span, message));
    }
    Some(parameters)
}

/// Checks everything between the attributes and `fn`, and returns the position of `fn`. There must be
/// an `async` to remove.
fn qualifiers<S: Copy>(
    this: &str,
    tokens: &[Token<S>],
    head: usize,
    dropped: &mut Vec<usize>,
    errors: &mut Vec<Diagnostic<S>>,
) -> Result<usize, Diagnostic<S>> {
    let mut is_async = false;
    for (at, token) in tokens.iter().enumerate().skip(head) {
        match &token.kind {
            Kind::Ident(word) => match word.as_str() {
                "async" => {
                    is_async = true;
                    dropped.push(at);
                }
                "const" => {
                    let message = "a function cannot be both `const` and `async`: remove `const`";
                    errors.push(Diagnostic::new(token.span, message));
                    dropped.push(at);
                }
                "fn" => {
                    if !is_async {
                        let message = format!(
                            "a function with `#[tress::{this}]` must be async: \
                             write `async fn`, or remove the attribute"
                        );
                        errors.push(Diagnostic::new(token.span, message));
                    }
                    return Ok(at);
                }
                "pub" | "crate" | "default" | "unsafe" | "safe" | "extern" => {}
                _ => break,
            },
            // The `(crate)` of `pub(crate)`, the ABI of `extern "C"`, and a `$vis` of
            // `macro_rules!`.
            Kind::Group(Delimiter::Parenthesis | Delimiter::None, _) | Kind::Literal(_) => {}
            Kind::Group(..) | Kind::Punct(_) => break,
        }
    }
    let Some(token) = tokens.get(head).or(tokens.first()) else {
        unreachable!("an attribute always stands on something");
    };
    Err(Diagnostic::new(
        token.span,
        format!("`#[tress::{this}]` goes on an `async fn`, and this is none"),
    ))
}

/// Returns the position after the `<…>` that may start at `at`.
fn skip_generics<S>(tokens: &[Token<S>], at: usize) -> usize {
    let mut depth = 0;
    for (offset, token) in tokens[at..].iter().enumerate() {
        // The `>` of an arrow, as in `<F: Fn() -> u8>`, closes nothing.
        let in_arrow = offset > 0 && tokens[at + offset - 1].is_punct('-');
        if token.is_punct('<') {
            depth += 1;
        } else if token.is_punct('>') && !in_arrow {
            depth -= 1;
        }
        if depth == 0 {
            return if offset == 0 { at } else { at + offset + 1 };
        }
    }
    tokens.len()
}

/// Finds the return type in the tokens between the parameters and the body.
fn output<S>(tokens: &[Token<S>], between: Range<usize>) -> Option<Range<usize>> {
    let part = &tokens[between.clone()];
    let [dash, angle, ..] = part else { return None };
    if !dash.is_punct('-') || !angle.is_punct('>') {
        return None;
    }
    // `where` is a keyword: it cannot be inside the type.
    let end = part
        .iter()
        .position(|token| token.is_ident("where"))
        .unwrap_or(part.len());
    Some(between.start + 2..between.start + end)
}

fn output_kind<S: Copy>(output: &[Token<S>]) -> Output {
    let output = flatten(output);
    let is_never = matches!(&output[..], [token] if token.is_punct('!'));
    if is_never || mentions_impl(&output) {
        Output::SignatureOnly
    } else {
        Output::Nameable
    }
}

fn mentions_impl<S>(tokens: &[Token<S>]) -> bool {
    tokens.iter().any(|token| match &token.kind {
        Kind::Ident(word) => word == "impl",
        Kind::Group(_, contents) => mentions_impl(contents),
        Kind::Punct(_) | Kind::Literal(_) => false,
    })
}

/// Returns whether this is a group in braces, possibly inside the invisible group of a `$body:block`.
fn is_body<S>(token: &Token<S>) -> bool {
    match token.group(Delimiter::None) {
        Some([inner]) => is_body(inner),
        _ => token.group(Delimiter::Brace).is_some(),
    }
}

/// Returns the last segment of the path of an attribute: `test` for `#[core::prelude::v1::test]`.
fn last_segment<S: Copy>(attribute: &[Token<S>]) -> Option<String> {
    let mut last = None;
    for token in &flatten(attribute) {
        match &token.kind {
            Kind::Ident(word) => last = Some(word.clone()),
            Kind::Punct(':') => {}
            _ => break,
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::assert_one;
    use crate::lex::lex;

    /// Parses a function that must be right, and returns the text from `fn name` on for its parts:
    /// the name, the return type, the body.
    #[track_caller]
    fn accept(source: &str) -> (Function, Vec<Token<usize>>) {
        let tokens = lex(source);
        let mut errors = Vec::new();
        let function = parse(Attribute::Main, &tokens, &mut errors)
            .unwrap_or_else(|e| panic!("{source}: {e:?}"));
        assert!(errors.is_empty(), "{source}: {errors:?}");
        assert!(
            tokens[function.name].is_ident("f"),
            "{source}: {function:?}"
        );
        assert_eq!(function.body, tokens.len() - 1);
        assert_eq!(function.dropped.len(), 1);
        assert!(tokens[function.dropped[0]].is_ident("async"));
        (function, tokens)
    }

    #[track_caller]
    fn output_of(source: &str) -> Option<&str> {
        let (function, tokens) = accept(source);
        let range = function.output?;
        Some(source[tokens[range.start].span..tokens[range.end].span].trim())
    }

    #[track_caller]
    fn reject(attribute: Attribute, source: &str, at: &str, words: &[&str]) {
        let mut errors = Vec::new();
        if let Err(fatal) = parse(attribute, &lex(source), &mut errors) {
            errors.push(fatal);
        }
        assert_one(&errors, source, at, words);
    }

    #[test]
    fn plain() {
        let (function, _) = accept("async fn f() {}");
        assert_eq!(
            (function.head, function.name, function.output),
            (0, 2, None)
        );
        assert_eq!(function.output_kind, Output::Nameable);
    }

    #[test]
    fn attributes_and_qualifiers() {
        assert_eq!(
            accept("#[doc = \" x\"] #[allow(unused, main)] async fn f() {}")
                .0
                .head,
            4
        );
        accept("pub async fn f() {}");
        accept("pub(crate) async fn f() {}");
        accept("pub(in a::b) async unsafe extern \"C\" fn f() {}");
        accept("default async unsafe fn f() {}");
        accept("async extern fn f() {}");
        accept("⟦⟧ async fn f() {}");
        accept("⟦pub⟧ async fn f() ⟦{}⟧");
    }

    #[test]
    fn generics() {
        assert_eq!(output_of("async fn f<T>() {}"), None);
        assert_eq!(
            output_of("async fn f<'a, T: 'a, const N: usize>() -> [T; N] {}"),
            Some("[T; N]")
        );
        assert_eq!(
            output_of("async fn f<F: Fn() -> T, T>() -> T where F: 'static {}"),
            Some("T")
        );
        assert_eq!(
            output_of("async fn f<T: Into<Vec<Vec<u8>>>>() where T: Fn(u8) -> u8 {}"),
            None
        );
    }

    #[test]
    fn outputs() {
        assert_eq!(output_of("async fn f() -> () {}"), Some("()"));
        assert_eq!(
            output_of("async fn f() -> Result<(), Box<dyn Error>> {}"),
            Some("Result<(), Box<dyn Error>>")
        );
        assert_eq!(
            output_of("async fn f() -> fn(u8) -> u8 {}"),
            Some("fn(u8) -> u8")
        );
        assert_eq!(
            output_of("async fn f() -> A<{ 1 }> where A<{ 1 }>: B {}"),
            Some("A<{ 1 }>")
        );
        assert_eq!(output_of("async fn f() -> ⟦u8⟧ {}"), Some("⟦u8⟧"));
    }

    #[test]
    fn outputs_of_the_signature_only() {
        let kind = |output| {
            accept(&format!("async fn f() -> {output} where A: B {{}}"))
                .0
                .output_kind
        };
        for output in [
            "!",
            "⟦!⟧",
            "impl A",
            "Option<impl A + B>",
            "(u8, [impl A; 2])",
        ] {
            assert_eq!(kind(output), Output::SignatureOnly, "{output}");
        }
        for output in [
            "()",
            "Result<(), A>",
            "fn() -> !",
            "Box<dyn Fn() -> u8>",
            "Simpl",
        ] {
            assert_eq!(kind(output), Output::Nameable, "{output}");
        }
    }

    #[test]
    fn must_be_async() {
        let words = ["must be async", "`async fn`", "remove the attribute"];
        reject(Attribute::Main, "pub fn f() {}", "fn f", &words);
        reject(
            Attribute::Test,
            "fn f() {}",
            "fn f",
            &[&words[..], &["#[tress::test]"]].concat(),
        );
    }

    #[test]
    fn must_not_take_arguments() {
        reject(
            Attribute::Main,
            "async fn f(a: u8) {}",
            "(a",
            &["cannot take arguments", "#[tress::main]", "async fn"],
        );
        reject(
            Attribute::Test,
            "async fn f(&self) {}",
            "(&",
            &["cannot take arguments", "#[tress::test]"],
        );
    }

    #[test]
    fn must_not_be_const() {
        reject(
            Attribute::Main,
            "const async fn f() {}",
            "const",
            &["remove `const`"],
        );
    }

    #[test]
    fn must_have_a_body() {
        reject(Attribute::Main, "async fn f();", ";", &["with a body"]);
    }

    #[test]
    fn must_be_a_function() {
        reject(Attribute::Main, "struct F;", "struct", &["`async fn`"]);
        reject(Attribute::Main, "#[a] pub mod f {}", "pub", &["`async fn`"]);
        reject(
            Attribute::Test,
            "impl F { fn f() {} }",
            "impl",
            &["#[tress::test]"],
        );
        reject(Attribute::Test, "#[a]", "#", &["`async fn`"]);
        reject(Attribute::Main, "async fn", "fn", &["could not be parsed"]);
        reject(
            Attribute::Main,
            "async fn f {}",
            "fn",
            &["could not be parsed"],
        );
        reject(
            Attribute::Main,
            "async fn f<T",
            "fn",
            &["could not be parsed"],
        );
    }

    #[test]
    fn one_test_attribute_is_enough() {
        for second in [
            "#[test]",
            "#[core::prelude::v1::test]",
            "#[::other::test(a = 1)]",
            "#[⟦a::test⟧]",
        ] {
            let source = format!("#[ignore] {second} async fn f() {{}}");
            reject(
                Attribute::Test,
                &source,
                second,
                &["second `test`", "remove it"],
            );
            // It is also left out, so that its own complaints do not follow.
            let function = parse(Attribute::Test, &lex(&source), &mut Vec::new()).unwrap();
            assert_eq!(function.dropped, [2, 3, 4]);
        }
        for other in [
            "#[test_case(test)]",
            "#[cfg(test)]",
            "#[test::other]",
            "#[doc = \"test\"]",
            "#[main]",
        ] {
            let mut errors = Vec::new();
            parse(
                Attribute::Test,
                &lex(&format!("{other} async fn f() {{}}")),
                &mut errors,
            )
            .unwrap();
            assert!(errors.is_empty(), "{other}");
        }
        reject(
            Attribute::Main,
            "#[tress::main] async fn f() {}",
            "#",
            &["second `main`"],
        );
    }
}
