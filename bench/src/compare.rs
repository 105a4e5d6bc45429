//! Runs the repetitions of one measurement on all runtimes and compares what came out.

use crate::case::{Case, Target};
use crate::machine::Others;
use crate::runtime::BASE;
use crate::stats::{Comparison, Summary};

/// The base peer's second run in each repetition. Its ratio to the first is the noise floor.
pub const BASE_AGAIN: &str = "tokio/tokio";

/// What `runtime` a child has to be given to run as `entrant`.
fn runtime_of(entrant: &str) -> &str {
    if entrant == BASE_AGAIN { BASE } else { entrant }
}

/// The values of one entrant, by repetition; each repetition has as many values as the case
/// measures.
type Repetitions = Vec<Vec<f64>>;

/// All repetitions of one run, by entrant.
pub struct Measured {
    entrants: Vec<(&'static str, Repetitions)>,
    others: f64,
}

impl Measured {
    /// Runs `reps` repetitions of all `runtimes` and of the base peer again.
    ///
    /// Every repetition begins with another runtime, so that none of them always follows the same
    /// one.
    pub fn run(
        runtimes: &[&'static str],
        reps: usize,
        mut child: impl FnMut(&str) -> Result<Vec<f64>, String>,
    ) -> Result<Self, String> {
        let others = Others::watch();
        let names = runtimes.iter().copied().chain([BASE_AGAIN]);
        let mut entrants: Vec<_> = names.map(|name| (name, Repetitions::new())).collect();
        for rep in 0..reps {
            let count = entrants.len();
            for turn in 0..count {
                let (name, repetitions) = &mut entrants[(rep + turn) % count];
                let values = child(runtime_of(name)).map_err(|why| format!("{name}: {why}"))?;
                repetitions.push(values);
            }
        }
        Ok(Measured {
            entrants,
            others: others.cpus(),
        })
    }

    /// One value of every repetition of an entrant.
    fn values(&self, entrant: &str, index: usize) -> Result<Vec<f64>, String> {
        let found = self.entrants.iter().find(|(name, _)| *name == entrant);
        let (name, repetitions) = found.ok_or(format!("{entrant} did not run"))?;
        let value = |values: &Vec<f64>| values.get(index).copied();
        let values: Option<Vec<f64>> = repetitions.iter().map(value).collect();
        values.ok_or(format!("{name} measured too little"))
    }

    /// The table of a case that this run measured.
    pub fn table(&self, case: &Case, workers: usize) -> Result<Table, String> {
        let (_, index) = case.source;
        let base = self.values(BASE, index)?;
        let mut rows = Vec::new();
        for (runtime, _) in &self.entrants {
            let values = self.values(runtime, index)?;
            let comparison = Comparison::of(case.metric, &values, &base);
            rows.push(Row {
                runtime,
                summary: Summary::of(&values),
                comparison,
            });
        }
        let (case, metric, target) = (case.name, case.metric, case.target(workers));
        Ok(Table {
            case,
            workers,
            metric,
            target,
            others: self.others,
            rows,
        })
    }
}

/// The comparison of all runtimes in one case.
pub struct Table {
    pub case: &'static str,
    pub workers: usize,
    pub metric: &'static str,
    pub target: Option<Target>,
    /// CPUs that other processes kept busy meanwhile.
    pub others: f64,
    /// In the order of the report; the last one is [`BASE_AGAIN`].
    pub rows: Vec<Row>,
}

/// One runtime in one case.
pub struct Row {
    pub runtime: &'static str,
    pub summary: Summary,
    pub comparison: Comparison,
}

impl Table {
    pub fn row(&self, runtime: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.runtime == runtime)
    }

    /// The base peer against itself.
    pub fn noise(&self) -> Comparison {
        self.row(BASE_AGAIN)
            .expect("the base peer runs twice")
            .comparison
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Outcome, Target::Ratio};

    fn case(metric: &'static str) -> Case {
        Case::new("group/case", metric, "", |_| Ok(Outcome::new(1.0, 1))).at(2, Ratio(2.0))
    }

    #[test]
    fn every_repetition_begins_with_another_runtime() {
        let mut order = Vec::new();
        Measured::run(&["tress", "tokio", "smol"], 4, |runtime| {
            order.push(runtime.to_owned());
            Ok(vec![1.0])
        })
        .unwrap();
        let firsts: Vec<_> = order.chunks(4).map(|rep| rep[0].as_str()).collect();
        assert_eq!(firsts, ["tress", "tokio", "smol", "tokio"]);
        for rep in order.chunks(4) {
            let mut rep = rep.to_vec();
            rep.sort();
            assert_eq!(rep, ["smol", "tokio", "tokio", "tress"]);
        }
    }

    #[test]
    fn a_table_compares_with_the_base_peer_in_the_direction_of_the_metric() {
        let value = |runtime: &str| Ok(vec![if runtime == "tress" { 50.0 } else { 100.0 }]);
        let measured = Measured::run(&["tress", "tokio"], 3, value).unwrap();
        let cost = measured.table(&case("ns/op"), 2).unwrap();
        assert_eq!(cost.row("tress").unwrap().comparison.ratio, 2.0);
        assert_eq!(cost.row("tokio").unwrap().comparison.ratio, 1.0);
        assert_eq!(cost.noise().ratio, 1.0);
        assert_eq!(cost.target, Some(Ratio(2.0)));
        let rate = measured.table(&case("ops/s"), 4).unwrap();
        assert_eq!(rate.row("tress").unwrap().comparison.ratio, 0.5);
        assert_eq!(
            rate.target, None,
            "targets are set for certain numbers of workers"
        );
    }

    #[test]
    fn a_case_can_take_the_second_value_of_another_ones_run() {
        let value = |runtime: &str| Ok(vec![1.0, if runtime == "smol" { 4.0 } else { 8.0 }]);
        let measured = Measured::run(&["tokio", "smol"], 1, value).unwrap();
        let second = measured
            .table(&case("ns").measured_by("group/other", 1), 2)
            .unwrap();
        assert_eq!(second.row("smol").unwrap().comparison.ratio, 2.0);
        assert!(
            measured
                .table(&case("ns").measured_by("group/other", 2), 2)
                .is_err()
        );
    }

    #[test]
    fn one_failed_child_fails_the_measurement() {
        let value = |runtime: &str| {
            if runtime == "smol" {
                Err("sum: got 1, want 2".into())
            } else {
                Ok(vec![1.0])
            }
        };
        let failed = Measured::run(&["tokio", "smol"], 2, value).err().unwrap();
        assert_eq!(failed, "smol: sum: got 1, want 2");
    }
}
