//! Tables for people, JSON for programs.

use std::fmt::Write;

use serde::Serialize;

use crate::case::{Case, higher_is_better};
use crate::compare::{BASE_AGAIN, Table};
use crate::machine::Meta;
use crate::runtime::{BASE, OURS};

/// CPUs that others may keep busy without being mentioned.
const QUIET: f64 = 0.1;

const STRING: &str = "writing to a string does not fail";

/// Four significant digits, or all digits before the point.
fn number(value: f64) -> String {
    let digits = if value.abs() >= 1.0 {
        value.abs().log10() as usize + 1
    } else {
        1
    };
    format!("{value:.*}", 4usize.saturating_sub(digits))
}

/// A table as text.
pub fn text(table: &Table) -> String {
    let better = if higher_is_better(table.metric) {
        "higher"
    } else {
        "lower"
    };
    let plural = if table.workers == 1 { "" } else { "s" };
    let mut text = format!(
        "{}, {} worker{plural}: {} ({better} is better)",
        table.case, table.workers, table.metric
    );
    if table.others > QUIET {
        write!(
            text,
            "  NOT QUIET: others kept {:.1} CPUs busy",
            table.others
        )
        .expect(STRING);
    }
    text.push('\n');
    let mut line = |cells: [&str; 7]| {
        let [runtime, median, spread, ratio, paired, noise, target] = cells;
        let line = format!(
            "  {runtime:<15} {median:>10} {spread:>21} {ratio:>9} {paired:>13} {noise:>18}  {target}"
        );
        writeln!(text, "{}", line.trim_end()).expect(STRING);
    };
    let vs = format!("vs {BASE}");
    line([
        "", "median", "min..max", &vs, "paired", BASE_AGAIN, "target",
    ]);
    let noise = table.noise();
    let noise = format!("{:.2} ({:.2}..{:.2})", noise.ratio, noise.min, noise.max);
    for row in table.rows.iter().filter(|row| row.runtime != BASE_AGAIN) {
        let (summary, compared) = (row.summary, row.comparison);
        let target = match table.target {
            Some(target) if row.runtime == OURS => {
                let met = target.met(summary.median, compared.ratio);
                format!("{target} {}", if met { "met" } else { "NOT MET" })
            }
            Some(target) if row.runtime == BASE => format!("{target}"),
            _ => String::new(),
        };
        line([
            row.runtime,
            &number(summary.median),
            &format!("{}..{}", number(summary.min), number(summary.max)),
            &format!("{:.2}x", compared.ratio),
            &format!("{:.2}..{:.2}", compared.min, compared.max),
            &noise,
            &target,
        ]);
    }
    text
}

/// The cases as text, one line each.
pub fn list<'a>(selected: impl Iterator<Item = (&'a Case, usize)>) -> String {
    let mut text = String::new();
    for (case, workers) in selected {
        let target = case
            .target(workers)
            .map(|target| target.to_string())
            .unwrap_or_default();
        writeln!(
            text,
            "{:<26} {workers} worker{}  {:<7} {target:<9} {}",
            case.name,
            if workers == 1 { " " } else { "s" },
            case.metric,
            case.about
        )
        .expect(STRING);
    }
    text
}

#[derive(Serialize)]
struct Report<'a> {
    meta: &'a Meta,
    results: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    case: &'a str,
    workers: usize,
    runtime: &'a str,
    metric: &'a str,
    median: f64,
    min: f64,
    max: f64,
    ratio: f64,
}

/// All tables as JSON.
pub fn json(meta: &Meta, tables: &[Table]) -> String {
    let mut results = Vec::new();
    for table in tables {
        results.extend(table.rows.iter().map(|row| Entry {
            case: table.case,
            workers: table.workers,
            runtime: row.runtime,
            metric: table.metric,
            median: row.summary.median,
            min: row.summary.min,
            max: row.summary.max,
            ratio: row.comparison.ratio,
        }));
    }
    let report = Report { meta, results };
    serde_json::to_string_pretty(&report).expect("a report is JSON") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Outcome, Target::Ratio};
    use crate::compare::Measured;

    fn table() -> Table {
        let case = Case::new("group/case", "ns/op", "about", |_| Ok(Outcome::new(1.0, 1)));
        let value = |runtime: &str| Ok(vec![if runtime == "tress" { 50.0 } else { 100.0 }]);
        let measured = Measured::run(&["tress", "tokio", "smol"], 3, value).unwrap();
        measured.table(&case.at(2, Ratio(2.5)), 2).unwrap()
    }

    #[test]
    fn numbers_keep_four_digits() {
        for (value, text) in [
            (0.01234, "0.012"),
            (1.0, "1.000"),
            (41.26, "41.26"),
            (40_123.4, "40123"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn a_table_says_whether_the_target_is_met() {
        let text = text(&Table {
            others: 0.0,
            ..table()
        });
        let ours = text.lines().find(|line| line.contains("tress")).unwrap();
        assert!(
            ours.contains("2.00x") && ours.ends_with(">= 2.5x NOT MET"),
            "{text}"
        );
        assert!(
            text.starts_with("group/case, 2 workers: ns/op (lower is better)\n"),
            "{text}"
        );
        assert_eq!(
            text.lines().count(),
            5,
            "a title, a head and three runtimes:\n{text}"
        );
    }

    #[test]
    fn a_table_made_on_a_busy_machine_says_so() {
        let text = text(&Table {
            others: 0.94,
            ..table()
        });
        assert!(
            text.lines()
                .next()
                .unwrap()
                .ends_with("others kept 0.9 CPUs busy"),
            "{text}"
        );
    }

    #[test]
    fn json_has_the_agreed_shape() {
        let json: serde_json::Value =
            serde_json::from_str(&json(&Meta::new(3), &[table()])).unwrap();
        let meta = json["meta"].as_object().unwrap();
        for key in [
            "date", "kernel", "cpu", "cores", "rustc", "reps", "versions",
        ] {
            assert!(meta.contains_key(key), "{key}");
        }
        let results = json["results"].as_array().unwrap();
        assert_eq!(results.len(), 4);
        let first = serde_json::json!({
            "case": "group/case", "workers": 2, "runtime": "tress", "metric": "ns/op",
            "median": 50.0, "min": 50.0, "max": 50.0, "ratio": 2.0,
        });
        assert_eq!(results[0], first);
        assert_eq!(results[3]["runtime"], "tokio/tokio");
    }

    #[test]
    fn the_list_has_a_line_for_every_variant() {
        let case = Case::new("a/b", "ns/op", "does things", |_| Ok(Outcome::new(1.0, 1)));
        let case = case.at(2, Ratio(2.5)).at(1, Ratio(4.0));
        let list = list([(&case, 2), (&case, 1), (&case, 8)].into_iter());
        let lines: Vec<_> = list.lines().collect();
        assert!(
            lines[0].contains("2 workers") && lines[0].contains(">= 2.5x"),
            "{list}"
        );
        assert!(
            lines[1].contains("1 worker ") && lines[1].contains(">= 4x"),
            "{list}"
        );
        assert!(
            lines[2].contains("8 workers") && lines[2].ends_with("does things"),
            "{list}"
        );
    }
}
