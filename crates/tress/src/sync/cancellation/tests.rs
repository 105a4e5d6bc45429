use super::CancellationToken;
use crate::sys::FastRand;
use crate::wait::tests::Wakes;
use std::future::Future;
use std::task::Context;

#[test]
fn cancelling_reaches_the_whole_subtree_and_nothing_else() {
    let root = CancellationToken::new();
    let a = root.child_token();
    let a1 = a.child_token();
    let a2 = a.child_token();
    let a21 = a2.child_token();
    let b = root.child_token();
    a.cancel();
    for token in [&a, &a1, &a2, &a21] {
        assert!(token.is_cancelled());
    }
    for token in [&root, &b] {
        assert!(!token.is_cancelled());
    }
    assert!(a21.child_token().is_cancelled());
    assert!(!root.child_token().is_cancelled());
}

#[test]
fn children_of_a_dropped_token_move_up() {
    let root = CancellationToken::new();
    let middle = root.child_token();
    let leaves: Vec<_> = (0..3).map(|_| middle.child_token()).collect();
    let other = root.child_token();
    drop(middle);
    other.cancel();
    assert!(leaves.iter().all(|leaf| !leaf.is_cancelled()));
    root.cancel();
    assert!(leaves.iter().all(|leaf| leaf.is_cancelled()));
}

#[test]
fn children_outlive_a_dropped_root() {
    let root = CancellationToken::new();
    let (one, two) = (root.child_token(), root.child_token());
    let below = one.child_token();
    drop(root);
    one.cancel();
    assert!(below.is_cancelled() && !two.is_cancelled());
}

/// A chain as long as this would overflow the stack of anything that recurses.
#[test]
fn deep_trees_are_cancelled_and_dropped_without_recursion() {
    let depth = if cfg!(miri) { 200 } else { 200_000 };
    let root = CancellationToken::new();
    let mut tokens = vec![root.clone()];
    for _ in 0..depth {
        tokens.push(tokens.last().unwrap().child_token());
    }
    let kept = tokens.last().unwrap().clone();
    drop(tokens.split_off(depth / 2));
    root.cancel();
    assert!(kept.is_cancelled());
    assert!(tokens.iter().all(CancellationToken::is_cancelled));
}

/// Each makes a child and is dropped.
#[test]
fn a_chain_whose_links_are_dropped_stays_connected() {
    let root = CancellationToken::new();
    let mut last = root.child_token();
    for _ in 0..100 {
        last = last.child_token();
    }
    root.cancel();
    assert!(last.is_cancelled());
}

#[test]
fn all_waiters_of_a_tree_are_woken_once() {
    let root = CancellationToken::new();
    let tokens: Vec<_> = (0..50).map(|_| root.child_token().child_token()).collect();
    let (wakes, waker) = Wakes::new();
    let mut cx = Context::from_waker(&waker);
    let mut waiting: Vec<_> = tokens
        .iter()
        .flat_map(|token| [Box::pin(token.cancelled()), Box::pin(token.cancelled())])
        .collect();
    for future in &mut waiting {
        assert!(future.as_mut().poll(&mut cx).is_pending());
    }
    root.cancel();
    assert_eq!(wakes.take(), 100);
    for mut future in waiting {
        assert!(future.as_mut().poll(&mut cx).is_ready());
    }
}

#[test]
fn random_trees_agree_with_a_plain_one() {
    let rounds = if cfg!(miri) { 3 } else { 300 };
    for seed in 0..rounds {
        let rng = FastRand::new(seed * 11 + 3);
        // Parent by index; a dropped token's children get its parent.
        let mut tokens: Vec<Option<CancellationToken>> = vec![Some(CancellationToken::new())];
        let mut parents: Vec<Option<usize>> = vec![None];
        let mut cancelled = vec![false];
        for _ in 0..100 {
            let at = rng.below(tokens.len() as u32) as usize;
            let Some(token) = &tokens[at] else { continue };
            match rng.below(10) {
                0..6 => {
                    tokens.push(Some(token.child_token()));
                    parents.push(if cancelled[at] { None } else { Some(at) });
                    cancelled.push(cancelled[at]);
                }
                6..8 if tokens.iter().flatten().count() > 1 => {
                    tokens[at] = None;
                    for i in 0..parents.len() {
                        if parents[i] == Some(at) {
                            parents[i] = parents[at];
                        }
                    }
                }
                8 if rng.below(4) == 0 => {
                    token.cancel();
                    for (i, cancelled) in cancelled.iter_mut().enumerate() {
                        let mut ancestry = std::iter::successors(Some(i), |node| parents[*node]);
                        *cancelled |= ancestry.any(|node| node == at);
                    }
                }
                _ => {}
            }
            for (token, cancelled) in tokens.iter().zip(&cancelled) {
                if let Some(token) = token {
                    assert_eq!(token.is_cancelled(), *cancelled, "seed {seed}");
                }
            }
        }
    }
}
