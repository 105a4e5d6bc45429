//! The cases, one file per group.

mod blocking;
mod memory;
mod mix;
mod spawn;
mod timer;
mod wake;
mod yielding;

use crate::case::Case;
use crate::runtime::Rt;

/// Every case, instantiated for one runtime.
pub fn all<R: Rt>() -> Vec<Case> {
    let groups = [
        spawn::cases::<R>(),
        yielding::cases::<R>(),
        wake::cases::<R>(),
        mix::cases::<R>(),
        memory::cases::<R>(),
        timer::cases::<R>(),
        blocking::cases::<R>(),
    ];
    groups.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use crate::case::Plan;
    use crate::runtime::PEERS;

    /// Every case on every runtime, its checks included, with tiny plans: values are not looked at.
    #[test]
    fn every_case_gives_right_results_on_every_runtime() {
        for peer in PEERS {
            for case in (peer.cases)() {
                if case.source.0 != case.name {
                    continue;
                }
                for variant in &case.variants {
                    let outcome = (case.run)(&Plan::tiny(variant.workers));
                    let outcome = outcome.unwrap_or_else(|wrong| {
                        panic!("{} on {}: {}", case.name, peer.name, wrong.0)
                    });
                    assert!(
                        outcome.checked > 0,
                        "{} on {} checks nothing",
                        case.name,
                        peer.name
                    );
                }
            }
        }
    }

    #[test]
    fn names_are_unique_and_every_source_exists() {
        for peer in PEERS {
            let cases = (peer.cases)();
            for case in &cases {
                let same = |name| cases.iter().filter(|other| other.name == name).count();
                assert_eq!(same(case.name), 1, "{}", case.name);
                assert_eq!(same(case.source.0), 1, "{}", case.source.0);
                assert!(!case.variants.is_empty(), "{}", case.name);
            }
        }
    }
}
