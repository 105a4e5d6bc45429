//! A chart of bars: how many times as good as Tokio each runtime is, case by case.

use serde::Deserialize;
use std::fmt::Write;

const ROW: usize = 18;
const GAP: usize = 14;
const NAMES: usize = 150;
const BARS: usize = 480;
const WIDTH: usize = NAMES + BARS + 190;

#[derive(Debug, Deserialize)]
pub(super) struct Report {
    results: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    case: String,
    workers: usize,
    runtime: String,
    metric: String,
    median: f64,
    /// Above 1 is better than Tokio, whichever way the metric runs.
    ratio: f64,
}

impl Report {
    /// Draws all cases below each other. It reads well on light and dark pages.
    pub(super) fn to_svg(&self) -> String {
        let cases: Vec<&[Row]> = self
            .results
            .chunk_by(|a, b| (&a.case, a.workers) == (&b.case, b.workers))
            .collect();
        let height = |rows: &&[Row]| (rows.len() + 1) * ROW + GAP;
        let total: usize = cases.iter().map(height).sum::<usize>() + GAP;
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = write!(
            out,
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" font-family="system-ui, sans-serif" font-size="12" role="img"><title>Ratios to Tokio: longer is better</title><style>text{{fill:#222}}.base{{stroke:#888}}@media (prefers-color-scheme:dark){{text{{fill:#ddd}}}}</style>"##
        );
        let mut y = GAP;
        for rows in cases {
            draw_case(&mut out, rows, y);
            y += height(&rows);
        }
        out.push_str("</svg>\n");
        out
    }
}

fn draw_case(out: &mut String, rows: &[Row], top: usize) {
    let longest = rows
        .iter()
        .map(|row| row.ratio)
        .filter(|ratio| ratio.is_finite())
        .fold(1.0, f64::max);
    let length = |ratio: f64| {
        let ratio = if ratio.is_finite() {
            ratio.max(0.0)
        } else {
            0.0
        };
        ratio / longest * BARS as f64
    };
    let first = &rows[0];
    let _ = write!(
        out,
        r#"<text x="0" y="{}" font-weight="600">{}, {} worker{} ({})</text>"#,
        top + 12,
        escaped(&first.case),
        first.workers,
        if first.workers == 1 { "" } else { "s" },
        escaped(&first.metric)
    );
    for (n, row) in rows.iter().enumerate() {
        let y = top + (n + 1) * ROW;
        let colour = match row.runtime.as_str() {
            "tress" => "#0072b2",
            "tokio" => "#999999",
            _ => "#56b4e9",
        };
        let _ = write!(
            out,
            r#"<text x="{}" y="{}" text-anchor="end">{}</text><rect x="{NAMES}" y="{y}" width="{:.1}" height="{}" fill="{colour}"/><text x="{:.1}" y="{}">{:.2}× ({:.4})</text>"#,
            NAMES - 8,
            y + 12,
            escaped(&row.runtime),
            length(row.ratio),
            ROW - 4,
            NAMES as f64 + length(row.ratio) + 6.0,
            y + 12,
            row.ratio,
            row.median
        );
    }
    let base = NAMES as f64 + length(1.0);
    let bottom = top + (rows.len() + 1) * ROW;
    let _ = write!(
        out,
        r#"<line class="base" x1="{base:.1}" x2="{base:.1}" y1="{}" y2="{bottom}" stroke-dasharray="2 3"/>"#,
        top + ROW - 2
    );
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> Report {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_runtime_has_a_bar_and_tokio_a_line() {
        let svg = report(
            r#"{"meta":{"reps":5},"results":[
            {"case":"spawn/<one>","workers":2,"runtime":"tokio","metric":"ns/op","median":400.0,"min":1,"max":2,"ratio":1.0},
            {"case":"spawn/<one>","workers":2,"runtime":"tress","metric":"ns/op","median":100.0,"min":1,"max":2,"ratio":4.0},
            {"case":"yield/many","workers":1,"runtime":"tress","metric":"ns/op","median":10.0,"min":1,"max":2,"ratio":2.0}]}"#,
        )
        .to_svg();
        assert_eq!(svg.matches("<rect").count(), 3);
        assert_eq!(svg.matches("class=\"base\"").count(), 2);
        assert!(
            svg.contains("spawn/&lt;one&gt;, 2 workers (ns/op)"),
            "{svg}"
        );
        // The best of a case is as long as there is room, and Tokio a quarter of it.
        assert!(
            svg.contains("width=\"480.0\"") && svg.contains("width=\"120.0\""),
            "{svg}"
        );
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn odd_numbers_and_no_results_do_no_harm() {
        assert!(report(r#"{"results":[]}"#).to_svg().ends_with("</svg>\n"));
        let mut odd = report(
            r#"{"results":[{"case":"a","workers":1,"runtime":"x","metric":"m","median":0.0,"ratio":0.0}]}"#,
        );
        odd.results[0].ratio = f64::INFINITY;
        let svg = odd.to_svg();
        assert!(svg.contains("width=\"0.0\""), "{svg}");
    }
}
