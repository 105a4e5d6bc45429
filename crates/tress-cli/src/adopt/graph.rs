//! The graph that cargo resolved: which tokio each package gets, and why one does not get the facade.

use super::Refusal;
use super::facade::Known;
use super::lock::Lock;
use semver::{Version, VersionReq};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

/// The output of `cargo metadata`, as far as it is read here.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    packages: Vec<Package>,
    resolve: Option<Resolve>,
    pub(crate) workspace_root: PathBuf,
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    name: String,
    pub(crate) version: Version,
    source: Option<String>,
    dependencies: Vec<Dependency>,
    #[serde(default)]
    targets: Vec<Target>,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    source: Option<String>,
    req: String,
    rename: Option<String>,
    kind: Option<String>,
    #[serde(default)]
    features: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
}

impl Package {
    /// Returns whether this is tress under Tokio's name.
    pub(crate) fn is_facade(&self) -> bool {
        self.name == "tokio"
            && !self.source.as_deref().is_some_and(is_registry)
            && self
                .dependencies
                .iter()
                .any(|dependency| dependency.name == "tress")
    }

    /// Returns what it asks for under the name tokio; the tests of what comes from elsewhere are not built.
    fn wishes(&self) -> impl Iterator<Item = &Dependency> {
        let is_built =
            |wish: &&Dependency| self.source.is_none() || wish.kind.as_deref() != Some("dev");
        self.dependencies
            .iter()
            .filter(|wish| wish.name == "tokio")
            .filter(is_built)
    }

    fn called(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

impl Metadata {
    /// Returns every package named tokio that is linked.
    pub(crate) fn tokios(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| package.name == "tokio")
    }

    /// Returns the names of the packages by their ids.
    pub(crate) fn names(&self) -> HashMap<String, String> {
        self.packages
            .iter()
            .map(|package| (package.id.clone(), package.name.clone()))
            .collect()
    }

    /// Returns what can be said of the packages that get a tokio other than the facade: which one, what it asks for,
    /// and what to do.
    pub(crate) fn obstacles(&self, facade: &Known) -> Vec<String> {
        let mut said = BTreeSet::new();
        for tokio in self.tokios().filter(|tokio| !tokio.is_facade()) {
            for user in self.users(tokio) {
                said.extend(
                    user.wishes()
                        .filter_map(|wish| obstacle(user, wish, tokio, facade)),
                );
            }
        }
        said.into_iter().collect()
    }

    fn users<'a>(&'a self, tokio: &'a Package) -> impl Iterator<Item = &'a Package> {
        let nodes = self.resolve.iter().flat_map(|resolve| &resolve.nodes);
        let ids: BTreeSet<&str> = nodes
            .filter(|node| node.dependencies.contains(&tokio.id))
            .map(|node| node.id.as_str())
            .collect();
        self.packages
            .iter()
            .filter(move |package| ids.contains(package.id.as_str()))
    }

    /// Returns what the user should know although nothing is wrong.
    pub(crate) fn notes(&self, lock: &Lock) -> Vec<String> {
        let mut notes = BTreeSet::new();
        for package in &self.packages {
            for wish in package.wishes() {
                if let Some(name) = &wish.rename {
                    notes.insert(format!(
                        "{} calls tokio `{name}`; it gets the facade, too",
                        package.called()
                    ));
                }
            }
            let is_lib =
                |target: &Target| target.name == "tokio" && target.kind.iter().any(|k| k == "lib");
            if package.name != "tokio" && package.targets.iter().any(is_lib) {
                notes.insert(format!(
                    "{} has a library named tokio of its own, which the patch does not replace",
                    package.called()
                ));
            }
        }
        for (version, source) in lock.tokios() {
            let is_linked = self
                .tokios()
                .any(|tokio| tokio.version.to_string() == *version);
            if source.is_some() && !is_linked {
                notes.insert(format!(
                    "the lock file also has tokio {version}, which is not linked here: it is for another system or a \
                     feature that is off"
                ));
            }
        }
        notes.into_iter().collect()
    }
}

/// Checks that the facade is linked, and no other tokio; returns it.
///
/// # Errors
/// Refuses with the packages that stand against it, and what to do.
pub(crate) fn verify<'a>(
    graph: &'a Metadata,
    lock: &Lock,
    known: &Known,
) -> Result<&'a Package, Refusal> {
    let facade = graph.tokios().find(|tokio| tokio.is_facade());
    let others: Vec<String> = graph
        .tokios()
        .filter(|tokio| !tokio.is_facade())
        .map(|tokio| tokio.version.to_string())
        .collect();
    if let (Some(facade), true) = (facade, others.is_empty()) {
        return Ok(facade);
    }
    let known = Known {
        version: facade
            .map(|facade| facade.version.clone())
            .or_else(|| known.version.clone())
            .or_else(|| lock.unused_patch()),
        features: facade
            .map(|facade| facade.features.keys().cloned().collect())
            .or_else(|| known.features.clone()),
    };
    let what = match facade {
        Some(_) => format!("tokio {} is linked besides the facade", others.join(", ")),
        None => format!(
            "the patch is not used: tokio {} is linked",
            others.join(", ")
        ),
    };
    Err(Refusal::new(with_reasons(&what, graph.obstacles(&known))))
}

/// Appends reasons to a sentence.
pub(crate) fn with_reasons(what: &str, reasons: Vec<String>) -> String {
    if reasons.is_empty() {
        return format!(
            "{what}; `cargo tree -i tokio` shows which packages ask for it, `cargo update -p tokio` chooses anew"
        );
    }
    format!("{what}:\n    {}", reasons.join("\n    "))
}

/// Says why a package does not get the facade, if that can be seen.
fn obstacle(user: &Package, wish: &Dependency, tokio: &Package, facade: &Known) -> Option<String> {
    let who = user.called();
    let is_local = user.source.is_none();
    if let Some(source) = wish.source.as_deref().filter(|source| !is_registry(source)) {
        return Some(format!(
            "{who} takes tokio from {source}, which a patch of the registry does not replace: let it ask for `tokio = \"1\"`"
        ));
    }
    if wish.source.is_none() {
        return Some(format!(
            "{who} takes tokio from a folder, which a patch of the registry does not replace: let it ask for `tokio = \"1\"`"
        ));
    }
    let asks = format!("{who} asks for tokio {}", wish.req);
    let version = facade.version.as_ref()?;
    if !VersionReq::parse(&wish.req).is_ok_and(|wanted| wanted.matches(version)) {
        let advice = if tokio.version.major != version.major {
            "needs a release that uses Tokio 1"
        } else if tokio.version > *version {
            if is_local {
                "ask for less, or use a newer tress"
            } else {
                "hold it at an older release (`cargo update --precise`), or use a newer tress"
            }
        } else if is_local {
            "ask for `1` there"
        } else {
            "update it (`cargo update`), or replace it by one that asks for `1`"
        };
        return Some(format!("{asks}, and the facade is {version}: {advice}"));
    }
    let declared = facade.features.as_ref()?;
    let missing: Vec<&str> = wish
        .features
        .iter()
        .filter(|feature| !declared.contains(*feature))
        .map(String::as_str)
        .collect();
    (!missing.is_empty()).then(|| {
        format!(
            "{asks} with the features {}, which the facade does not have: do without, or use a newer tress",
            missing.join(", ")
        )
    })
}

/// Returns whether cargo means a registry by the name of a source.
pub(crate) fn is_registry(source: &str) -> bool {
    source.starts_with("registry+") || source.starts_with("sparse+")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const REGISTRY: &str = "registry+https://registry.example/index";

    fn tokio(version: &str, source: Option<&str>) -> Value {
        let inner = if source.is_none() { "tress" } else { "mio" };
        json!({ "id": format!("tokio@{version}"), "name": "tokio", "version": version, "source": source,
            "dependencies": [{ "name": inner, "source": null, "req": "*", "rename": null }],
            "features": { "rt": [] } })
    }

    fn user(name: &str, req: &str, features: &[&str]) -> Value {
        json!({ "id": name, "name": name, "version": "0.1.0", "source": null,
            "dependencies": [{ "name": "tokio", "source": REGISTRY, "req": req, "rename": null, "features": features }] })
    }

    fn graph(packages: &[Value], edges: &[(&str, &str)]) -> Metadata {
        let node = |package: &Value| {
            let id = package["id"].as_str().unwrap();
            let to: Vec<_> = edges
                .iter()
                .filter(|edge| edge.0 == id)
                .map(|edge| edge.1)
                .collect();
            json!({ "id": id, "dependencies": to })
        };
        let nodes: Vec<Value> = packages.iter().map(node).collect();
        serde_json::from_value(json!({ "packages": packages, "resolve": { "nodes": nodes },
            "workspace_root": "/w", "target_directory": "/w/target" }))
        .unwrap()
    }

    #[test]
    fn the_facade_alone_is_accepted() {
        let graph = graph(
            &[tokio("1.54.1", None), user("app", "^1.40", &["rt"])],
            &[("app", "tokio@1.54.1")],
        );
        let facade = verify(&graph, &Lock::default(), &Known::default()).unwrap();
        assert_eq!(facade.version.to_string(), "1.54.1");
        assert!(graph.notes(&Lock::default()).is_empty());
    }

    #[test]
    fn each_obstacle_is_named() {
        for (version, req, features, expected) in [
            (
                "1.40.0",
                "=1.40.0",
                &["rt"][..],
                "app 0.1.0 asks for tokio =1.40.0",
            ),
            ("1.60.0", "^1.60", &["rt"], "newer tress"),
            ("0.2.25", "^0.2", &["rt"], "uses Tokio 1"),
            ("1.54.1", "^1", &["rt", "magic"], "magic"),
        ] {
            let other = tokio(version, Some(REGISTRY));
            let edge = format!("tokio@{version}");
            let graph = graph(&[other, user("app", req, features)], &[("app", &edge)]);
            let known = Known {
                version: Some("1.54.1".parse().unwrap()),
                features: Some(["rt".to_owned()].into()),
            };
            let refusal = verify(&graph, &Lock::default(), &known)
                .unwrap_err()
                .to_string();
            assert!(refusal.contains(expected), "{refusal}");
            assert!(refusal.contains("not used"), "{refusal}");
        }
    }

    #[test]
    fn the_tests_of_dependencies_ask_for_nothing() {
        let mut dependency = user("library", "=1.0.0", &["magic"]);
        dependency["dependencies"][0]["kind"] = "dev".into();
        dependency["source"] = REGISTRY.into();
        let other = tokio("1.60.0", Some(REGISTRY));
        let graph = graph(&[other, dependency], &[("library", "tokio@1.60.0")]);
        let known = Known {
            version: Some("1.54.1".parse().unwrap()),
            features: None,
        };
        assert!(graph.obstacles(&known).is_empty());
    }

    #[test]
    fn a_second_tokio_is_refused_with_its_user() {
        let packages = [
            tokio("1.54.1", None),
            tokio("0.2.25", Some(REGISTRY)),
            user("app", "^1", &[]),
            user("old", "^0.2", &[]),
        ];
        let graph = graph(
            &packages,
            &[("app", "tokio@1.54.1"), ("old", "tokio@0.2.25")],
        );
        let refusal = verify(&graph, &Lock::default(), &Known::default())
            .unwrap_err()
            .to_string();
        assert!(
            refusal.contains("tokio 0.2.25 is linked besides"),
            "{refusal}"
        );
        assert!(
            refusal.contains("old 0.1.0 asks for tokio ^0.2"),
            "{refusal}"
        );
        assert!(!refusal.contains("app"), "{refusal}");
    }

    #[test]
    fn renames_and_namesakes_are_noted() {
        let mut renamed = user("app", "^1", &[]);
        renamed["dependencies"][0]["rename"] = "tk".into();
        let mut vendored = user("simulated", "^1", &[]);
        vendored["targets"] = json!([{ "name": "tokio", "kind": ["lib"] }]);
        let graph = graph(&[tokio("1.54.1", None), renamed, vendored], &[]);
        let notes = graph.notes(&Lock::default());
        assert_eq!(notes.len(), 2, "{notes:?}");
        assert!(notes[0].contains("`tk`"), "{notes:?}");
        assert!(notes[1].contains("simulated"), "{notes:?}");
    }
}
