//! The metrics of several runtimes as one text.

use std::collections::HashMap;

/// Puts texts in Prometheus's format together.
///
/// A metric may have its help and type only once, and its samples stand together.
pub(crate) fn merge(texts: &[String]) -> String {
    let mut order: Vec<&str> = Vec::new();
    let mut metrics: HashMap<&str, (Vec<&str>, Vec<&str>)> = HashMap::new();
    for text in texts {
        // Samples belong to the metric of the comment above them: those of a histogram have longer names.
        let mut current = "";
        for line in text.lines().filter(|line| !line.is_empty()) {
            let mut words = line.split_whitespace();
            let about = match (words.next(), words.next(), words.next()) {
                (Some("#"), Some("HELP" | "TYPE"), name) => name,
                _ => None,
            };
            current = about.unwrap_or(current);
            let (comments, samples) = metrics.entry(current).or_insert_with(|| {
                order.push(current);
                Default::default()
            });
            if about.is_none() {
                samples.push(line);
            } else if !comments.contains(&line) {
                comments.push(line);
            }
        }
    }
    let mut merged = String::new();
    for name in order {
        let (comments, samples) = &metrics[name];
        for line in comments.iter().chain(samples) {
            merged.push_str(line);
            merged.push('\n');
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_of_two_runtimes_has_one_help() {
        let text = |runtime: u32| {
            format!(
                "# HELP a A.\n# TYPE a counter\na{{runtime=\"{runtime}\"}} 1\n\
                 # HELP b B.\n# TYPE b histogram\nb_sum{{runtime=\"{runtime}\"}} 2\n"
            )
        };
        assert_eq!(
            merge(&[text(1), text(2)]),
            "# HELP a A.\n# TYPE a counter\na{runtime=\"1\"} 1\na{runtime=\"2\"} 1\n\
             # HELP b B.\n# TYPE b histogram\nb_sum{runtime=\"1\"} 2\nb_sum{runtime=\"2\"} 2\n"
        );
        assert_eq!(merge(&[]), "");
    }
}
