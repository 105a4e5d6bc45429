//! The report as text.

use super::libtest::Outcome;
use super::report::{Cell, Difference, Report, SideReport, Verdict};
use super::run::Side;
use std::fmt::Write;

/// The number of tests of which the output is shown; the rest are named.
const SHOWN: usize = 10;

/// Formats the whole report: the table, the differences, the verdict.
pub(crate) fn format(report: &Report) -> String {
    let mut out = table(report);
    list(&mut out, "pass on tokio and not on tress", &report.lost);
    list(&mut out, "pass on tress and not on tokio", &report.won);
    let also = if report.tokio.is_some() {
        "fail on both"
    } else {
        "fail on tress"
    };
    list(&mut out, also, &report.failed);
    if let Some(error) = &report.tress.build_error {
        let _ = writeln!(
            out,
            "\nthe build on tress fails:\n{}",
            indented(error.lines())
        );
    }
    for note in &report.notes {
        let _ = writeln!(out, "\nnote: {note}");
    }
    let _ = writeln!(out, "\n{}", verdict(report));
    out
}

fn table(report: &Report) -> String {
    let sides: Vec<(Side, &SideReport)> = [
        (Side::Tokio, report.tokio.as_ref()),
        (Side::Tress, Some(&report.tress)),
    ]
    .into_iter()
    .filter_map(|(side, report)| Some((side, report?)))
    .collect();
    let has_tests = sides.iter().any(|(_, side)| side.test_seconds.is_some());
    let line =
        |name: &str, tests: String, passed: Vec<String>, times: Vec<String>| -> Vec<String> {
            let counts = [tests].into_iter().chain(passed).filter(|_| has_tests);
            [name.to_owned()]
                .into_iter()
                .chain(counts)
                .chain(times)
                .collect()
        };
    let named = |what: &str| {
        sides
            .iter()
            .map(|(side, _)| format!("{what} on {}", side.name()))
            .collect()
    };
    let of =
        |text: &dyn Fn(&SideReport) -> String| sides.iter().map(|(_, side)| text(side)).collect();

    let mut rows = vec![line(
        "test binary",
        "tests".to_owned(),
        named("pass"),
        named("time"),
    )];
    for row in report.binaries.iter().filter(|row| row.tests > 0) {
        let cells = |text: &dyn Fn(Cell) -> Option<String>| {
            let cells = sides.iter().map(|(side, _)| row.cell(*side).and_then(text));
            cells
                .map(|text| text.unwrap_or_else(|| "-".to_owned()))
                .collect()
        };
        let passed = cells(&|cell| Some(cell.passed.to_string()));
        let times = cells(&|cell| cell.seconds.map(seconds));
        rows.push(line(&row.name, row.tests.to_string(), passed, times));
    }
    if has_tests {
        let all = report.binaries.iter().map(|row| row.tests).sum::<usize>();
        let passed = of(&|side| side.passed.to_string());
        let times = of(&|side| side.test_seconds.map_or("-".to_owned(), seconds));
        rows.push(line("all (wall clock)", all.to_string(), passed, times));
    }
    let times = of(&|side| match side.build_error {
        Some(_) => "fails".to_owned(),
        None => seconds(side.build_seconds),
    });
    let nothing = sides.iter().map(|_| String::new()).collect();
    rows.push(line("build", String::new(), nothing, times));

    let versions: Vec<String> = sides
        .iter()
        .map(|(side, report)| match side {
            Side::Tokio => format!("tokio is Tokio {}", report.version),
            Side::Tress => format!("tress is its facade for Tokio {}", report.version),
        })
        .collect();
    let empty = report.binaries.iter().filter(|row| row.tests == 0).count();
    let mut out = align(&rows);
    let _ = writeln!(out, "\n{}", versions.join("; "));
    if empty > 0 {
        let _ = writeln!(out, "test binaries that ran no test are left out: {empty}");
    }
    out
}

/// Aligns the first column to the left and the others to the right.
fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let _ = if column == 0 {
                write!(line, "{cell:<width$}")
            } else {
                write!(line, "   {cell:>width$}")
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

fn list(out: &mut String, what: &str, differences: &[Difference]) {
    if differences.is_empty() {
        return;
    }
    let _ = writeln!(out, "\ntests that {what}:");
    for (i, difference) in differences.iter().enumerate() {
        let became = match (difference.on_tokio, difference.on_tress) {
            (Some(Outcome::Ok), None) => " (did not run on tress)",
            (Some(Outcome::Ok), Some(Outcome::Ignored)) => " (ignored on tress)",
            (None, Some(Outcome::Ok)) => " (did not run on tokio)",
            _ => "",
        };
        let _ = writeln!(out, "  {}: {}{became}", difference.binary, difference.test);
        if i < SHOWN && !difference.output.is_empty() {
            let _ = writeln!(
                out,
                "{}",
                indented(difference.output.iter().map(String::as_str))
            );
        }
    }
}

fn verdict(report: &Report) -> String {
    let tress = &report.tress;
    let passed = report.tokio.as_ref().map_or(0, |side| side.passed);
    let log = format!("; the log is {}", tress.log);
    match report.verdict {
        Verdict::Same | Verdict::Passes if tress.passed + tress.failed == 0 => {
            "verdict: builds. No test was run, because there is none, or the arguments leave all out"
                .to_owned()
        }
        Verdict::Same => format!(
            "verdict: same. {} on tokio, and the same on tress",
            pass(passed)
        ),
        Verdict::Better => format!(
            "verdict: better. What passes on tokio passes on tress, and {} more",
            tests(report.won.len())
        ),
        Verdict::Worse if report.lost_tests() == 0 => {
            format!("verdict: worse. `cargo test` fails on tress, although no test does{log}")
        }
        Verdict::Worse => format!(
            "verdict: worse. {} on tokio, and {} of them not on tress{log}",
            pass(passed),
            report.lost_tests()
        ),
        Verdict::DoesNotBuild => format!("verdict: does not build on tress{log}"),
        Verdict::Builds => "verdict: builds. No test was run".to_owned(),
        Verdict::Passes => format!("verdict: passes. {} on tress", pass(tress.passed)),
        Verdict::Fails if tress.failed == 0 => {
            format!("verdict: fails. `cargo test` fails on tress, although no test does{log}")
        }
        Verdict::Fails => format!(
            "verdict: fails. {} of {} on tress{log}",
            match tress.failed {
                1 => "1 fails".to_owned(),
                n => format!("{n} fail"),
            },
            tests(tress.passed + tress.failed)
        ),
    }
}

fn pass(count: usize) -> String {
    let verb = if count == 1 { "passes" } else { "pass" };
    format!("{} {verb}", tests(count))
}

fn tests(count: usize) -> String {
    match count {
        1 => "1 test".to_owned(),
        n => format!("{n} tests"),
    }
}

fn seconds(seconds: f64) -> String {
    format!("{seconds:.2} s")
}

fn indented<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines
        .map(|line| format!("      {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::{report, run};
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let text = format(&report(&run("a=o b=o"), &run("a=o b=o")));
        let lines: Vec<&str> = text.lines().collect();
        let end = |line: usize, word: &str| lines[line].find(word).unwrap() + word.len();
        assert_eq!(end(0, "tests"), end(1, "2"), "{text}");
        assert!(
            lines[..4].iter().all(|line| line.len() == lines[0].len()),
            "{text}"
        );
        assert!(
            text.ends_with("verdict: same. 2 tests pass on tokio, and the same on tress\n"),
            "{text}"
        );
    }

    #[test]
    fn differences_are_named_with_their_output() {
        let text = format(&report(&run("a=o b=F"), &run("a=F b=o")));
        assert!(text.contains("tests that pass on tokio and not on tress:\n  app src/lib.rs: a\n      a went wrong"), "{text}");
        assert!(text.contains("app src/lib.rs: b"), "{text}");
        assert!(
            text.contains("1 test passes on tokio, and 1 of them not on tress"),
            "{text}"
        );
    }

    #[test]
    fn builds_have_no_counts() {
        let mut built = run("");
        built.test_seconds = None;
        let text = format(&Report::new(None, (&built, "1.54.1".into()), Vec::new()));
        assert!(text.contains("time on tress\nbuild"), "{text}");
        assert!(!text.contains("pass on"), "{text}");
    }

    #[test]
    fn no_tests_prove_nothing() {
        let text = format(&report(&run(""), &run("")));
        assert!(text.contains("verdict: builds. No test was run"), "{text}");
    }

    #[test]
    fn tress_alone_has_its_columns_only() {
        let report = Report::new(
            None,
            (&run("a=o"), "1.54.1".into()),
            vec!["mind this".into()],
        );
        let text = format(&report);
        assert!(!text.contains("pass on tokio"), "{text}");
        assert!(text.contains("note: mind this"), "{text}");
        assert!(
            text.contains("verdict: passes. 1 test passes on tress"),
            "{text}"
        );
    }
}
