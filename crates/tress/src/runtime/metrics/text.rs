//! A runtime's metrics as text: JSON and Prometheus's format.

use super::RuntimeMetrics;
use super::fields::{DISPATCHER, Field, NAME, RUNTIME, WORKER};
use super::samples::Samples;
use crate::json::{self, Object};

impl RuntimeMetrics {
    /// Returns everything as JSON: an object with `runtime`, `totals`, `workers`, `dispatchers` and `names`, and
    /// `sections` for what others have [added](super::super::Handle::add_section).
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let json = rt.metrics().to_json();
    /// assert!(json.contains("\"steal_attempts\":"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let mut all = Object::begin(&mut text);
        let mut runtime = all.object("runtime");
        runtime.number("id", self.shared.id);
        match &self.shared.name {
            Some(name) => runtime.string("name", name),
            None => runtime.null("name"),
        }
        runtime.string("flavor", self.shared.flavor().as_str());
        runtime.end();
        let mut totals = all.object("totals");
        put(&mut totals, RUNTIME, self);
        totals.end();
        all.list(
            "workers",
            self.workers().enumerate(),
            |object, (index, worker)| {
                object.number("worker", index);
                put(object, WORKER, &worker);
            },
        );
        all.list("dispatchers", self.dispatchers(), |object, dispatcher| {
            object.string("dispatcher", &dispatcher.name);
            put(object, DISPATCHER, &dispatcher);
        });
        all.list("names", self.names(), |object, name| {
            object.string("name", &name.name);
            put(object, NAME, &name);
        });
        let mut rows = Vec::new();
        let mut samples = Samples::default();
        self.add_sections(&mut samples);
        samples.for_each(|name, labels, value| {
            rows.push((name.to_owned(), labels.to_vec(), value));
        });
        all.list("sections", rows, |object, (name, labels, value)| {
            object.string("metric", &name);
            for (label, value) in &labels {
                object.string(label, value);
            }
            object.number("value", json::finite(value));
        });
        all.end();
        text
    }

    /// Returns everything in Prometheus's text format (0.0.4), each name with its help and type.
    ///
    /// # Examples
    /// ```
    /// let rt = tress::runtime::Builder::new_multi_thread().worker_threads(1).name("main").build()?;
    /// rt.block_on(rt.spawn(async {})).unwrap();
    /// let text = rt.metrics().to_prometheus();
    /// assert!(text.contains("tress_worker_tasks_polled_total{runtime=\"main\",worker=\"0\"}"));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn to_prometheus(&self) -> String {
        let mut samples = Samples::default();
        let runtime = match &self.shared.name {
            Some(name) => name.clone(),
            None => self.shared.id.to_string(),
        };
        let own = ("runtime", runtime.as_str());
        sample(&mut samples, RUNTIME, self, "", &[own]);
        for (index, worker) in self.workers().enumerate() {
            let labels = [own, ("worker", &index.to_string())];
            sample(&mut samples, WORKER, &worker, "worker_", &labels);
        }
        for dispatcher in self.dispatchers() {
            let labels = [own, ("dispatcher", dispatcher.name.as_str())];
            sample(
                &mut samples,
                DISPATCHER,
                &dispatcher,
                "dispatcher_",
                &labels,
            );
        }
        for name in self.names() {
            let labels = [own, ("task", name.name.as_str())];
            sample(&mut samples, NAME, &name, "task_", &labels);
        }
        self.add_sections(&mut samples);
        samples.to_prometheus()
    }
}

fn put<T>(object: &mut Object<'_>, fields: &[Field<T>], from: &T) {
    for field in fields {
        object.number(field.name, json::finite((field.read)(from)));
    }
}

fn sample<T>(
    samples: &mut Samples,
    fields: &[Field<T>],
    from: &T,
    about: &str,
    labels: &[(&str, &str)],
) {
    for field in fields {
        let name = field.metric(about);
        samples.add(field.kind, &name, field.help, labels, (field.read)(from));
    }
}
