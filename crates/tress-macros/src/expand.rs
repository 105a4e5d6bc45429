//! Assembles the new function around the body of the old one.
//!
//! ```text
//! fn name() -> Type {
//!     let __body = async {
//!         if let Some(__value) = Option::<Type>::None { return __value; }
//!         { const _: () = (); …the body as it was… }
//!     };
//!     let __runtime =
//!         ::tress::runtime::Builder::new_multi_thread().enable_all().build().expect("…");
//!     __runtime.block_on(__body)
//! }
//! ```
//!
//! The `if let` never runs. An async block cannot be given a return type, and without one an error
//! value could not be coerced to a `Box<dyn Error>`, and a wrong value would be reported at the
//! call of `block_on`. The first `return` of a block decides its type, so this is the first.
//!
//! The body keeps its own braces, so that `clippy::items_after_statements` does not take the items
//! in it to come after our statement. The constant keeps `unused_braces` from objecting to them.
//!
//! Generated tokens have mixed-site hygiene: the body cannot see the locals. A constant or static
//! of the same name would still be taken for a pattern, hence the underscores.

use proc_macro::{Delimiter, Group, Literal, Span, TokenStream, TokenTree};

use crate::Attribute;
use crate::args::{self, Flavor, Settings};
use crate::diagnostic::Diagnostic;
use crate::function::{self, Function, Output};
use crate::token::mirror;

pub(crate) fn expand(attribute: Attribute, args: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Vec::new();
    let settings = args::parse(attribute, &mirror(args), &mut errors);

    let trees = trees_of(item);
    let item = match function::parse(attribute, &mirror(trees.iter().cloned()), &mut errors) {
        Ok(function) => {
            let is_test = attribute == Attribute::Test && errors.is_empty();
            rebuild(is_test, &settings, &function, &trees)
        }
        Err(fatal) => {
            errors.push(fatal);
            trees.into_iter().collect()
        }
    };
    errors.iter().map(compile_error).chain([item]).collect()
}

/// Returns the tokens of the item, without the invisible group around a `$item:item` of `macro_rules!`.
pub(crate) fn trees_of(item: TokenStream) -> Vec<TokenTree> {
    let trees: Vec<TokenTree> = item.into_iter().collect();
    match &trees[..] {
        [TokenTree::Group(group)] if group.delimiter() == Delimiter::None => {
            trees_of(group.stream())
        }
        _ => trees,
    }
}

fn rebuild(
    is_test: bool,
    settings: &Settings<Span>,
    function: &Function,
    trees: &[TokenTree],
) -> TokenStream {
    let site = Span::mixed_site();
    let (inner_attributes, body) = open_body(&trees[function.body]);
    let block = new_body(settings, function, trees, &body);
    let kept = |range: std::ops::Range<usize>| {
        range
            .filter(|at| !function.dropped.contains(at))
            .map(|at| trees[at].clone())
            .collect::<Vec<_>>()
    };
    let mut out = TokenStream::new();
    if is_test {
        out.extend(code("#[::core::prelude::v1::test]", site));
    }
    out.extend(kept(0..function.head));
    out.extend(inner_attributes);
    out.extend(kept(function.head..function.body));
    out.extend(braces(body.span(), block));
    out
}

/// Returns the statements that take the place of the old body.
fn new_body(
    settings: &Settings<Span>,
    function: &Function,
    trees: &[TokenTree],
    body: &Group,
) -> TokenStream {
    let site = Span::mixed_site();
    let output: TokenStream = match &function.output {
        Some(range) => trees[range.clone()].iter().cloned().collect(),
        None => code("()", site),
    };
    // Where the compiler says "because of the return type".
    let output_span = match &function.output {
        Some(range) => trees[range.start].span(),
        None => trees[function.name].span(),
    };
    let output_span = site.located_at(output_span);

    let mut block = code("let __body = async", site);
    block.extend(match function.output_kind {
        Output::Nameable => {
            let mut typed = type_hint(output, output_span);
            typed.extend(braces(
                body.span(),
                code("const _: () = ();", site)
                    .into_iter()
                    .chain(body.stream()),
            ));
            braces(body.span(), typed)
        }
        Output::SignatureOnly => TokenTree::from(body.clone()).into(),
    });
    block.extend(code("; let __runtime =", site));
    for (source, span) in builder(settings, site) {
        block.extend(code(&source, span));
    }
    block.extend(code(";", site));
    block.extend(code("__runtime.block_on(__body)", output_span));
    block
}

/// Returns the statement that gives the async block its type.
fn type_hint(output: TokenStream, span: Span) -> TokenStream {
    let mut statement = code(
        "if let ::core::option::Option::Some(__value) = ::core::option::Option::<",
        span,
    );
    statement.extend(output);
    statement.extend(code(">::None { return __value; }", span));
    statement
}

/// Returns the expression that builds the runtime, in pieces, each with the span of the argument that
/// asked for it.
fn builder<S: Copy>(settings: &Settings<S>, site: S) -> Vec<(String, S)> {
    let (krate, krate_span) = match &settings.krate {
        Some(path) => (path.value.as_str(), path.span),
        None => ("::tress", site),
    };
    let constructor = match settings.flavor {
        Flavor::MultiThread => "new_multi_thread",
        Flavor::CurrentThread | Flavor::Local => "new_current_thread",
    };
    let mut pieces = vec![
        (krate.to_owned(), krate_span),
        (
            format!("::runtime::Builder::{constructor}().enable_all()"),
            site,
        ),
    ];
    if let Some(number) = &settings.worker_threads {
        pieces.push((format!(".worker_threads({})", number.value), number.span));
    }
    if let Some(paused) = &settings.start_paused {
        pieces.push((format!(".start_paused({})", paused.value), paused.span));
    }
    if let Some(name) = &settings.name {
        pieces.push((format!(".name({})", name.value), name.span));
    }
    if let Some(action) = &settings.unhandled_panic {
        let variant = format!("{krate}::runtime::UnhandledPanic::{}", action.value);
        pieces.push((format!(".unhandled_panic({variant})"), action.span));
    }
    let build = match settings.flavor {
        Flavor::Local => ".build_local(::core::default::Default::default())",
        Flavor::MultiThread | Flavor::CurrentThread => ".build()",
    };
    pieces.push((
        format!("{build}.expect(\"the async runtime could not be started\")"),
        site,
    ));
    pieces
}

/// Removes the inner attributes from the start of a body. They are not allowed in an async block, and
/// mean the same on the function.
fn open_body(body: &TokenTree) -> (TokenStream, Group) {
    let TokenTree::Group(group) = body else {
        unreachable!("the parser found a group here")
    };
    if group.delimiter() == Delimiter::None {
        let inner = group
            .stream()
            .into_iter()
            .next()
            .expect("the parser found the body inside");
        return open_body(&inner);
    }
    let mut trees = group.stream().into_iter().peekable();
    let mut attributes = TokenStream::new();
    let is_punct =
        |tree: &TokenTree, punct| matches!(tree, TokenTree::Punct(p) if p.as_char() == punct);
    loop {
        let mut ahead = trees.clone();
        match (ahead.next(), ahead.next(), ahead.next()) {
            (Some(hash), Some(bang), Some(TokenTree::Group(content)))
                if is_punct(&hash, '#')
                    && is_punct(&bang, '!')
                    && content.delimiter() == Delimiter::Bracket =>
            {
                attributes.extend([hash, content.into()]);
                trees = ahead;
            }
            _ => break,
        }
    }
    let mut rest = Group::new(Delimiter::Brace, trees.collect());
    rest.set_span(group.span());
    (attributes, rest)
}

pub(crate) fn braces(span: Span, contents: impl IntoIterator<Item = TokenTree>) -> TokenStream {
    let mut group = Group::new(Delimiter::Brace, contents.into_iter().collect());
    group.set_span(span);
    TokenTree::from(group).into()
}

/// Parses source text into tokens that all have the same span.
pub(crate) fn code(source: &str, span: Span) -> TokenStream {
    let tokens: TokenStream = source
        .parse()
        .expect("the generated code is made of valid tokens");
    respan(tokens, span)
}

fn respan(tokens: TokenStream, span: Span) -> TokenStream {
    let respan_tree = |mut tree: TokenTree| {
        if let TokenTree::Group(group) = &tree {
            tree = Group::new(group.delimiter(), respan(group.stream(), span)).into();
        }
        tree.set_span(span);
        tree
    };
    tokens.into_iter().map(respan_tree).collect()
}

pub(crate) fn compile_error(error: &Diagnostic<Span>) -> TokenStream {
    let message = TokenTree::from(Literal::string(&error.message));
    code(
        &format!("::core::compile_error! {{ {message} }}"),
        error.span,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lex::lex;

    fn built(source: &str) -> String {
        let settings = args::parse(Attribute::Main, &lex(source), &mut Vec::new());
        let text: String = builder(&settings, 0)
            .into_iter()
            .map(|(piece, _)| piece)
            .collect();
        text.replace(".expect(\"the async runtime could not be started\")", "")
    }

    #[test]
    fn builders() {
        assert_eq!(
            built(""),
            "::tress::runtime::Builder::new_multi_thread().enable_all().build()"
        );
        assert_eq!(
            built(r#"flavor = "current_thread", start_paused = true"#),
            "::tress::runtime::Builder::new_current_thread().enable_all()\
             .start_paused(true).build()"
        );
        assert_eq!(
            built(r#"flavor = "local", crate = "crate""#),
            "crate::runtime::Builder::new_current_thread().enable_all()\
             .build_local(::core::default::Default::default())"
        );
        assert_eq!(
            built(
                r#"unhandled_panic = "ignore", name = "a\n", worker_threads = 0x10, crate = "a::b""#
            ),
            "a::b::runtime::Builder::new_multi_thread().enable_all()\
             .worker_threads(16).name(\"a\\n\")\
             .unhandled_panic(a::b::runtime::UnhandledPanic::Ignore).build()"
        );
    }

    #[test]
    fn pieces_point_at_their_arguments() {
        let source = r#"worker_threads = 2, name = "n", crate = "c""#;
        let settings = args::parse(Attribute::Main, &lex(source), &mut Vec::new());
        let span_of = |start: &str| {
            let pieces = builder(&settings, usize::MAX);
            pieces
                .into_iter()
                .find(|(piece, _)| piece.starts_with(start))
                .unwrap()
                .1
        };
        assert!(source[span_of(".worker_threads")..].starts_with('2'));
        assert!(source[span_of(".name")..].starts_with("\"n\""));
        assert!(source[span_of("c")..].starts_with("\"c\""));
        assert_eq!(span_of("::runtime"), usize::MAX);
    }
}
