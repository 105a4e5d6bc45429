//! A trace as a tree: the functions that several backtraces begin with are printed once.

use super::symbols::{Backtrace, BacktraceSymbol};
use std::fmt;

#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
}

struct Node {
    text: String,
    calls: Tree,
}

impl Tree {
    /// Adds a backtrace.
    pub(super) fn add(&mut self, backtrace: &Backtrace) {
        let mut tree = self;
        for function in backtrace.functions() {
            let text = describe(function);
            let known = tree.nodes.iter().position(|node| node.text == text);
            let at = known.unwrap_or_else(|| {
                let calls = Tree::default();
                tree.nodes.push(Node { text, calls });
                tree.nodes.len() - 1
            });
            tree = &mut tree.nodes[at].calls;
        }
    }

    /// Writes the calls of a function, each line after `indent`.
    fn write_calls(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        let last = self.nodes.len().saturating_sub(1);
        for (at, node) in self.nodes.iter().enumerate() {
            let (branch, below) = if at == last {
                ("└╼ ", "   ")
            } else {
                ("├╼ ", "│  ")
            };
            write!(f, "\n{indent}{branch}{}", node.text)?;
            node.calls.write_calls(f, &format!("{indent}{below}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, root) in self.nodes.iter().enumerate() {
            let apart = if at == 0 { "" } else { "\n" };
            write!(f, "{apart}╼ {}", root.text)?;
            root.calls.write_calls(f, "")?;
        }
        Ok(())
    }
}

/// Returns a function's name, and the place in the source as far as it is known.
fn describe(function: &BacktraceSymbol) -> String {
    let mut text = function
        .name_plain()
        .unwrap_or("an unknown function")
        .to_owned();
    if let Some(file) = function.filename() {
        text += &format!(" at {}", file.display());
        for number in [function.lineno(), function.colno()].into_iter().flatten() {
            text += &format!(":{number}");
        }
    }
    text
}
