//! What a case is, what it is given and what it hands back.

use std::time::Duration;

/// One row of a report: a name, a metric, the targets, and the program that measures it.
pub struct Case {
    /// `group/name`, the part that the filter sees.
    pub name: &'static str,
    /// One line for `--list`.
    pub about: &'static str,
    /// The unit; [`higher_is_better`] reads the direction off it.
    pub metric: &'static str,
    /// The numbers of workers it runs with by itself, each with the target for it.
    pub variants: Vec<Variant>,
    /// The name of the case whose run measures this one, and which of its values this is. Mostly
    /// `(name, 0)`.
    pub source: (&'static str, usize),
    /// Runs it.
    pub run: fn(&Plan) -> Result<Outcome, Wrong>,
}

/// A number of workers to run with, and what tress wants to reach there.
#[derive(Clone, Copy)]
pub struct Variant {
    pub workers: usize,
    pub target: Target,
}

/// What tress wants to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// At least this ratio to the base peer.
    Ratio(f64),
    /// At most this value of the metric.
    AtMost(f64),
}

impl Target {
    /// Whether a median and its ratio reach it.
    pub fn met(self, median: f64, ratio: f64) -> bool {
        match self {
            Target::Ratio(least) => ratio >= least,
            Target::AtMost(most) => median <= most,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Ratio(least) => write!(f, ">= {least}x"),
            Target::AtMost(most) => write!(f, "<= {most}"),
        }
    }
}

impl Case {
    pub fn new(
        name: &'static str,
        metric: &'static str,
        about: &'static str,
        run: fn(&Plan) -> Result<Outcome, Wrong>,
    ) -> Self {
        Case {
            name,
            about,
            metric,
            variants: Vec::new(),
            source: (name, 0),
            run,
        }
    }

    /// Runs with `workers` workers, aiming at `target`.
    pub fn at(mut self, workers: usize, target: Target) -> Self {
        self.variants.push(Variant { workers, target });
        self
    }

    /// Takes the value with this index from the run of another case instead of running itself.
    pub fn measured_by(mut self, case: &'static str, value: usize) -> Self {
        self.source = (case, value);
        self
    }

    /// The target for a number of workers, if one is set.
    pub fn target(&self, workers: usize) -> Option<Target> {
        self.variants
            .iter()
            .find(|variant| variant.workers == workers)
            .map(|found| found.target)
    }
}

/// Whether a larger value of the metric is the better one: rates count up, everything else is a
/// cost.
pub fn higher_is_better(metric: &str) -> bool {
    metric.ends_with("/s")
}

/// How much a run is to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Worker threads of the runtime.
    pub workers: usize,
    /// How long to run before measuring.
    pub warm_up: Duration,
    /// How long to measure, for cases that repeat something small.
    pub measure: Duration,
    /// The same for servers under load: whoever finds out how many cores there are to spare needs some
    /// tenths of a second for that.
    pub load_warm_up: Duration,
    pub load: Duration,
    /// How many tasks, for cases that hold many at once.
    pub crowd: usize,
    /// How often each of a thousand tasks yields before they are joined.
    pub yields: u64,
    /// How long a runtime is left alone to count as parked.
    pub idle: Duration,
}

impl Plan {
    /// What the tables are made with.
    pub fn full(workers: usize) -> Self {
        Plan {
            workers,
            warm_up: Duration::from_millis(80),
            measure: Duration::from_millis(300),
            // D-BENCH-01
            load_warm_up: Duration::from_millis(400),
            load: Duration::from_millis(600),
            crowd: 1_000_000,
            yields: 1_000,
            idle: Duration::from_millis(6),
        }
    }

    /// Just enough for every check of every case to take part; the values mean nothing.
    #[cfg(test)]
    pub fn tiny(workers: usize) -> Self {
        Plan {
            workers,
            warm_up: Duration::from_millis(1),
            measure: Duration::from_millis(5),
            load_warm_up: Duration::from_millis(1),
            load: Duration::from_millis(5),
            crowd: 2_000,
            yields: 10,
            idle: Duration::from_millis(1),
        }
    }
}

/// What a run measured, after its checks passed.
#[derive(Debug)]
pub struct Outcome {
    /// The metric's values; one, unless other cases are `measured_by` this one.
    pub values: Vec<f64>,
    /// How many results were checked.
    pub checked: u64,
}

impl Outcome {
    pub fn new(value: f64, checked: u64) -> Self {
        Outcome {
            values: vec![value],
            checked,
        }
    }
}

/// A runtime did something else than it was asked to.
#[derive(Debug)]
pub struct Wrong(pub String);

/// Compares what ran with what should have run.
pub fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Result<(), Wrong> {
    if got == want {
        Ok(())
    } else {
        Err(Wrong(format!("{what}: got {got:?}, want {want:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_count_up_and_costs_count_down() {
        assert!(higher_is_better("ops/s"));
        for cost in ["ns/op", "ns", "B/task", "cpu s", "p99 us"] {
            assert!(!higher_is_better(cost), "{cost}");
        }
    }

    #[test]
    fn a_target_is_about_the_ratio_or_about_the_value() {
        assert!(Target::Ratio(2.0).met(1e9, 2.0));
        assert!(!Target::Ratio(2.0).met(1.0, 1.99));
        assert!(Target::AtMost(150.0).met(150.0, 0.1));
        assert!(!Target::AtMost(150.0).met(150.1, 9.0));
    }

    #[test]
    fn a_wrong_result_names_both_values() {
        assert!(expect("sum", 3, 3).is_ok());
        assert_eq!(expect("sum", 3, 4).unwrap_err().0, "sum: got 3, want 4");
    }
}
