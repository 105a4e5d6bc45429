//! Tokens as the parsers see them.
//!
//! The types of `proc_macro` only work while the compiler runs the macro. The parsers therefore
//! read a mirror of the tokens that is generic over the span: the compiler's in an expansion, a
//! byte offset in the unit tests.

use proc_macro::{Delimiter, Span, TokenTree};

/// One token tree and the place it came from.
#[derive(Debug, Clone)]
pub(crate) struct Token<S> {
    pub(crate) kind: Kind<S>,
    pub(crate) span: S,
}

#[derive(Debug, Clone)]
pub(crate) enum Kind<S> {
    Ident(String),
    Punct(char),
    /// The literal as written, with its quotes, prefix and suffix.
    Literal(String),
    /// The contents of braces are left out: only function bodies have them, and no parser looks
    /// inside.
    Group(Delimiter, Vec<Token<S>>),
}

impl<S> Token<S> {
    pub(crate) fn is_ident(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Ident(text) if text == name)
    }

    pub(crate) fn is_punct(&self, punct: char) -> bool {
        matches!(&self.kind, Kind::Punct(c) if *c == punct)
    }

    /// Returns the contents if this is a group with this delimiter.
    pub(crate) fn group(&self, delimiter: Delimiter) -> Option<&[Token<S>]> {
        match &self.kind {
            Kind::Group(d, contents) if *d == delimiter => Some(contents),
            _ => None,
        }
    }
}

/// Mirrors the compiler's tokens one to one: equal positions in both lists are the same token.
pub(crate) fn mirror(trees: impl IntoIterator<Item = TokenTree>) -> Vec<Token<Span>> {
    let token = |tree| match tree {
        TokenTree::Ident(ident) => Token {
            span: ident.span(),
            kind: Kind::Ident(ident.to_string()),
        },
        TokenTree::Punct(punct) => Token {
            span: punct.span(),
            kind: Kind::Punct(punct.as_char()),
        },
        TokenTree::Literal(literal) => Token {
            span: literal.span(),
            kind: Kind::Literal(literal.to_string()),
        },
        TokenTree::Group(group) => {
            let contents = match group.delimiter() {
                Delimiter::Brace => Vec::new(),
                _ => mirror(group.stream()),
            };
            Token {
                span: group.span(),
                kind: Kind::Group(group.delimiter(), contents),
            }
        }
    };
    trees.into_iter().map(token).collect()
}

/// Replaces the groups without delimiters, which `macro_rules!` puts around `$value:literal` and
/// the like, by what is in them.
pub(crate) fn flatten<S: Copy>(tokens: &[Token<S>]) -> Vec<Token<S>> {
    let mut flat = Vec::new();
    for token in tokens {
        match token.group(Delimiter::None) {
            Some(contents) => flat.extend(flatten(contents)),
            None => flat.push(token.clone()),
        }
    }
    flat
}
