//! The stored ratios of tress, and what counts as a loss against them.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// `case@workers` to tress's ratio.
pub type Baseline = BTreeMap<String, f64>;

/// Where it is kept.
pub const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/baseline.json");

/// The share of a ratio that may be lost, after the noise has been taken off.
const ALLOWED_LOSS: f64 = 0.20;

/// The name of a case in the file.
pub fn key(case: &str, workers: usize) -> String {
    format!("{case}@{workers}")
}

/// How a ratio stands against the stored one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing is stored for this case.
    New,
    Kept,
    /// Below the lowest ratio that would have passed.
    Lost {
        stored: f64,
        lowest: f64,
    },
}

/// Judges `ratio` on a machine where the base peer differed from itself by the factor `noise`.
pub fn judge(stored: Option<f64>, ratio: f64, noise: f64) -> Verdict {
    let Some(stored) = stored else {
        return Verdict::New;
    };
    let lowest = stored * (1.0 - ALLOWED_LOSS) / noise;
    if ratio < lowest {
        Verdict::Lost { stored, lowest }
    } else {
        Verdict::Kept
    }
}

pub fn load(file: &Path) -> Result<Baseline, String> {
    let text = fs::read_to_string(file).map_err(|why| format!("{}: {why}", file.display()))?;
    serde_json::from_str(&text).map_err(|why| format!("{}: {why}", file.display()))
}

/// Adds `ratios` to what the file has, or begins it.
pub fn save(file: &Path, ratios: Baseline) -> Result<(), String> {
    let mut stored = match fs::metadata(file) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Baseline::new(),
        _ => load(file)?,
    };
    // Two decimals are more than a repetition reproduces, and they keep the diffs readable.
    stored.extend(
        ratios
            .into_iter()
            .map(|(key, ratio)| (key, (ratio * 100.0).round() / 100.0)),
    );
    let text = serde_json::to_string_pretty(&stored).expect("a map of numbers is JSON");
    fs::write(file, text + "\n").map_err(|why| format!("{}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_may_be_lost_and_no_more() {
        assert_eq!(judge(Some(2.0), 2.0, 1.0), Verdict::Kept);
        assert_eq!(judge(Some(2.0), 1.61, 1.0), Verdict::Kept);
        assert!(matches!(
            judge(Some(2.0), 1.59, 1.0),
            Verdict::Lost { stored: 2.0, .. }
        ));
    }

    #[test]
    fn noise_widens_what_may_be_lost() {
        assert_eq!(judge(Some(2.0), 1.5, 1.1), Verdict::Kept);
        assert!(matches!(judge(Some(2.0), 1.4, 1.1), Verdict::Lost { .. }));
    }

    #[test]
    fn a_gain_and_a_new_case_pass() {
        assert_eq!(judge(Some(2.0), 20.0, 1.0), Verdict::Kept);
        assert_eq!(judge(None, 0.1, 1.0), Verdict::New);
    }

    #[test]
    fn saving_keeps_the_cases_that_did_not_run() {
        let file = std::env::temp_dir().join(format!("bench-baseline-{}", std::process::id()));
        let one = |case, ratio| Baseline::from([(key(case, 2), ratio)]);
        save(&file, one("a/b", 1.0)).unwrap();
        save(&file, one("c/d", 2.006)).unwrap();
        save(&file, one("a/b", 3.0)).unwrap();
        let stored = load(&file).unwrap();
        fs::remove_file(&file).unwrap();
        assert_eq!(
            stored,
            Baseline::from([("a/b@2".into(), 3.0), ("c/d@2".into(), 2.01)])
        );
    }

    #[test]
    fn a_missing_or_broken_file_is_named() {
        let file = std::env::temp_dir().join("bench-baseline-that-is-not-there");
        assert!(load(&file).unwrap_err().contains("not-there"));
    }
}
