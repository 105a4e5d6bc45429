use std::fmt::Write as _;

/// A collection of named numbers, which a [`Section`](crate::trace::Section) adds to the metrics of a
/// runtime.
///
/// # Examples
/// ```
/// let mut samples = tress::runtime::Samples::default();
/// samples.counter("jobs_total", "Jobs done.", &[("queue", "mail")], 7.0);
/// samples.gauge("jobs_waiting", "Jobs that wait.", &[("queue", "mail")], 2.0);
/// assert!(samples.to_prometheus().contains("jobs_total{queue=\"mail\"} 7\n"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Samples {
    families: Vec<Family>,
}

#[derive(Debug, Clone)]
struct Family {
    name: String,
    help: &'static str,
    kind: Kind,
    samples: Vec<(Vec<(String, String)>, f64)>,
}

/// Whether a number only grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
}

impl Samples {
    /// Adds a number that only grows.
    ///
    /// By Prometheus's convention its name ends in `_total`. Characters other than letters, digits and
    /// underscores become underscores, in the name and in those of labels.
    ///
    /// # Examples
    /// ```
    /// let mut samples = tress::runtime::Samples::default();
    /// samples.counter("jobs_total", "Jobs done.", &[], 7.0);
    /// assert!(samples.to_prometheus().ends_with("jobs_total 7\n"));
    /// ```
    pub fn counter(
        &mut self,
        name: &str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) -> &mut Self {
        self.add(Kind::Counter, name, help, labels, value)
    }

    /// Adds a number that goes up and down.
    ///
    /// For names see [`counter`](Samples::counter).
    ///
    /// # Examples
    /// ```
    /// let mut samples = tress::runtime::Samples::default();
    /// samples.gauge("jobs_waiting", "Jobs that wait.", &[("queue", "mail")], 2.0);
    /// assert!(samples.to_prometheus().ends_with("jobs_waiting{queue=\"mail\"} 2\n"));
    /// ```
    pub fn gauge(
        &mut self,
        name: &str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) -> &mut Self {
        self.add(Kind::Gauge, name, help, labels, value)
    }

    /// Adds a sample. Samples of one name are kept together, as the text format requires: also those whose names only
    /// become the same when they are made valid.
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        name: &str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) -> &mut Self {
        let name = valid_name(name);
        let labels = labels
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        match self.families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.samples.push((labels, value)),
            None => self.families.push(Family {
                name,
                help,
                kind,
                samples: vec![(labels, value)],
            }),
        }
        self
    }

    /// Returns everything in Prometheus's text format, version 0.0.4.
    ///
    /// # Examples
    /// ```
    /// let mut samples = tress::runtime::Samples::default();
    /// samples.gauge("jobs_waiting", "Jobs that wait.", &[], 2.0);
    /// assert_eq!(
    ///     samples.to_prometheus(),
    ///     "# HELP jobs_waiting Jobs that wait.\n# TYPE jobs_waiting gauge\njobs_waiting 2\n"
    /// );
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut text = String::new();
        for family in &self.families {
            let name = &family.name;
            let kind = match family.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
            };
            // Writing to a string does not fail.
            let _ = writeln!(text, "# HELP {name} {}", escaped(family.help, false));
            let _ = writeln!(text, "# TYPE {name} {kind}");
            for (labels, value) in &family.samples {
                text.push_str(name);
                for (n, (label, value)) in labels.iter().enumerate() {
                    let open = if n == 0 { '{' } else { ',' };
                    let (label, value) = (valid_name(label), escaped(value, true));
                    let _ = write!(text, "{open}{label}=\"{value}\"");
                }
                let close = if labels.is_empty() { "" } else { "}" };
                let _ = writeln!(text, "{close} {value}");
            }
        }
        text
    }

    /// Calls `f` with the name, the labels and the value of each sample.
    pub(crate) fn for_each(&self, mut f: impl FnMut(&str, &[(String, String)], f64)) {
        for family in &self.families {
            for (labels, value) in &family.samples {
                f(&family.name, labels, *value);
            }
        }
    }
}

/// Replaces what may not be in a name: letters, digits and underscores may, but a digit not first.
fn valid_name(name: &str) -> String {
    let valid = |(at, c): (usize, char)| {
        let good = c.is_ascii_alphabetic() || c == '_' || (at > 0 && c.is_ascii_digit());
        if good { c } else { '_' }
    };
    match name {
        "" => "_".to_owned(),
        name => name.chars().enumerate().map(valid).collect(),
    }
}

fn escaped(text: &str, quotes: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out
}
