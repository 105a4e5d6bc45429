//! Medians, percentiles and ratios.

use crate::case::higher_is_better;

/// The median; sorts the values. They must be finite, and there must be one.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        (values[middle - 1] + values[middle]) / 2.0
    }
}

/// The smallest of the sorted values that at least this share of them does not exceed.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// How many times better `value` is than `base`, whichever way the metric runs.
pub fn ratio(metric: &str, value: f64, base: f64) -> f64 {
    if higher_is_better(metric) {
        value / base
    } else {
        base / value
    }
}

/// The repetitions of one runtime in one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Summary {
    pub fn of(values: &[f64]) -> Self {
        let mut values = values.to_vec();
        let median = median(&mut values);
        Summary {
            median,
            min: values[0],
            max: values[values.len() - 1],
        }
    }
}

/// A runtime against the base peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The ratio of the two medians.
    pub ratio: f64,
    /// The worst and the best ratio within a repetition.
    pub min: f64,
    pub max: f64,
}

impl Comparison {
    /// Compares repetition by repetition; both slices are in the order of the repetitions.
    pub fn of(metric: &str, values: &[f64], base: &[f64]) -> Self {
        let pairs = values
            .iter()
            .zip(base)
            .map(|(value, base)| ratio(metric, *value, *base));
        let paired = Summary::of(&pairs.collect::<Vec<_>>());
        let (value, base) = (Summary::of(values).median, Summary::of(base).median);
        Comparison {
            ratio: ratio(metric, value, base),
            min: paired.min,
            max: paired.max,
        }
    }

    /// As the base peer against itself: by what factor two equal things differed here, 1 or more.
    pub fn noise(&self) -> f64 {
        self.ratio.max(1.0 / self.ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_and_even_counts() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.99), 198.0);
        assert_eq!(percentile(&values, 0.5), 100.0);
        assert_eq!(percentile(&values, 0.0), 1.0);
        assert_eq!(percentile(&values, 1.0), 200.0);
        assert_eq!(percentile(&[5.0], 0.99), 5.0);
    }

    #[test]
    fn a_ratio_above_one_is_better_whichever_way_the_metric_runs() {
        assert_eq!(ratio("ns/op", 50.0, 100.0), 2.0);
        assert_eq!(ratio("ops/s", 50.0, 100.0), 0.5);
    }

    #[test]
    fn a_summary_does_not_depend_on_the_order() {
        let summary = Summary {
            median: 2.0,
            min: 1.0,
            max: 9.0,
        };
        assert_eq!(Summary::of(&[9.0, 1.0, 2.0]), summary);
        assert_eq!(Summary::of(&[1.0, 2.0, 9.0]), summary);
    }

    #[test]
    fn comparisons_pair_the_repetitions() {
        // Both runtimes slow down together: the pairs agree although the values do not.
        let compared = Comparison::of("ns", &[10.0, 20.0, 40.0], &[20.0, 40.0, 80.0]);
        assert_eq!(
            compared,
            Comparison {
                ratio: 2.0,
                min: 2.0,
                max: 2.0
            }
        );
        let compared = Comparison::of("ns", &[10.0, 10.0, 10.0], &[5.0, 20.0, 10.0]);
        assert_eq!(
            compared,
            Comparison {
                ratio: 1.0,
                min: 0.5,
                max: 2.0
            }
        );
    }

    #[test]
    fn noise_is_a_factor_in_either_direction() {
        let floor = |ratio| {
            Comparison {
                ratio,
                min: ratio,
                max: ratio,
            }
            .noise()
        };
        assert_eq!(floor(1.25), 1.25);
        assert_eq!(floor(0.8), 1.25);
        assert_eq!(floor(1.0), 1.0);
    }
}
