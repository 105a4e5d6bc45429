//! A lexer for the unit tests: just enough of Rust's tokens, with byte offsets for spans. `⟦` and
//! `⟧` stand for the invisible delimiters of `macro_rules!`.

use proc_macro::Delimiter;

use crate::token::{Kind, Token};

pub(crate) fn lex(source: &str) -> Vec<Token<usize>> {
    let mut lexer = Lexer { source, at: 0 };
    let tokens = lexer.tokens();
    assert_eq!(lexer.at, source.len(), "unbalanced: {source}");
    tokens
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    fn bump(&mut self) {
        self.at += self.peek().map_or(0, char::len_utf8);
    }

    fn skip(&mut self, matches: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&matches) {
            self.bump();
        }
    }

    /// Reads up to the end or a closing delimiter.
    fn tokens(&mut self) -> Vec<Token<usize>> {
        let mut tokens = Vec::new();
        loop {
            self.skip(char::is_whitespace);
            let span = self.at;
            let kind = match self.peek() {
                None | Some(')' | ']' | '}' | '⟧') => return tokens,
                Some('(') => self.group(Delimiter::Parenthesis),
                Some('[') => self.group(Delimiter::Bracket),
                Some('{') => self.group(Delimiter::Brace),
                Some('⟦') => self.group(Delimiter::None),
                Some('"') => self.string(),
                Some('\'') if self.source[self.at..].chars().nth(2) == Some('\'') => {
                    (0..3).for_each(|_| self.bump());
                    Kind::Literal(self.source[span..self.at].to_owned())
                }
                Some(c) if c.is_alphanumeric() || c == '_' => self.word(),
                Some(c) => {
                    self.bump();
                    Kind::Punct(c)
                }
            };
            tokens.push(Token { kind, span });
        }
    }

    fn group(&mut self, delimiter: Delimiter) -> Kind<usize> {
        self.bump();
        let contents = self.tokens();
        self.bump();
        Kind::Group(
            delimiter,
            if delimiter == Delimiter::Brace {
                Vec::new()
            } else {
                contents
            },
        )
    }

    fn string(&mut self) -> Kind<usize> {
        let start = self.at;
        self.bump();
        self.skip(|c| c != '"');
        self.bump();
        Kind::Literal(self.source[start..self.at].to_owned())
    }

    /// Reads an identifier, a number, or a string literal with a prefix.
    fn word(&mut self) -> Kind<usize> {
        let start = self.at;
        self.skip(|c| c.is_alphanumeric() || c == '_');
        let hashes =
            self.source[self.at..].len() - self.source[self.at..].trim_start_matches('#').len();
        if self.source[self.at + hashes..].starts_with('"') {
            self.at += hashes;
            self.string();
            self.at += hashes;
        } else if self.source[start..].starts_with(|c: char| c.is_ascii_digit()) {
            self.skip(|c| c.is_alphanumeric() || c == '_' || c == '.');
        } else {
            return Kind::Ident(self.source[start..self.at].to_owned());
        }
        Kind::Literal(self.source[start..self.at].to_owned())
    }
}
