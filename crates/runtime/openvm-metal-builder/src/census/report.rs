//! Result of a census, for people and for programs.

use std::{collections::BTreeMap, fmt};

use serde::Serialize;

use super::{keys::Place, proofs::Proofs, Unit};
use crate::error::Finding;

/// A key of some units.
#[derive(Clone, Debug, Serialize)]
pub struct Key {
    /// The construct.
    pub key: String,
    /// `source place` of what proves it, if anything does.
    pub proof: Option<String>,
    /// Units that have it.
    pub units: usize,
    /// File where it stands first.
    pub file: String,
    /// Line there.
    pub line: u32,
}

/// A broken rule.
#[derive(Clone, Debug, Serialize)]
pub struct Broken {
    /// Original file.
    pub file: String,
    /// Original line.
    pub line: u32,
    /// Name of the rule.
    pub rule: String,
    /// Description of the fault.
    pub message: String,
    /// Remedy.
    pub remedy: String,
}

/// The census of some units.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Names of the units.
    pub units: Vec<String>,
    /// All keys, in order.
    pub keys: Vec<Key>,
    /// Rules that they break; a key without proof breaks the rule `census`.
    pub findings: Vec<Broken>,
}

/// Remedy for a key without proof.
pub const REMEDY: &str = "write it in a form that has a proof, or prove it: find the construct in public Metal code that Apple's compiler accepts, or in \
                          the specification, and add key, source and place to census/proofs.tsv (docs/reference/census.md)";

impl Report {
    /// Puts the units together; with `all`, the keys of units that do not parse too.
    pub fn new<'a>(
        units: impl IntoIterator<Item = (&'a str, &'a Unit)>,
        proofs: &Proofs,
        all: bool,
    ) -> Self {
        let mut out = Self::default();
        let mut keys: BTreeMap<&str, (usize, &Place)> = BTreeMap::new();
        for (name, unit) in units {
            out.units.push(name.into());
            out.findings.extend(unit.findings.iter().map(broken));
            // What does not parse has other keys than it seems.
            if unit.findings.iter().any(|f| f.rule == "flat-parse") && !all {
                continue;
            }
            for (k, place) in &unit.keys {
                keys.entry(k).or_insert((0, place)).0 += 1;
            }
        }
        for (key, (units, (file, line))) in keys {
            let proof = proofs.keys.get(key);
            if proof.is_none() {
                out.findings.push(Broken {
                    file: file.clone(),
                    line: *line,
                    rule: "census".into(),
                    message: format!("nothing shows that Apple's compiler accepts `{key}`"),
                    remedy: REMEDY.into(),
                });
            }
            out.keys.push(Key {
                key: key.into(),
                proof: proof.map(|p| format!("{} {}", p.source, p.place)),
                units,
                file: file.clone(),
                line: *line,
            });
        }
        // Headers are in many units.
        out.findings.sort_by(|a, b| {
            (&a.file, a.line, &a.rule, &a.message).cmp(&(&b.file, b.line, &b.rule, &b.message))
        });
        out.findings.dedup_by(|a, b| {
            (&a.file, a.line, &a.rule, &a.message) == (&b.file, b.line, &b.rule, &b.message)
        });
        out
    }

    /// Keys with a proof.
    pub fn proven(&self) -> usize {
        self.keys.iter().filter(|k| k.proof.is_some()).count()
    }

    /// Formats the report as JSON.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

fn broken(f: &Finding) -> Broken {
    Broken {
        file: f.file.clone(),
        line: f.line,
        rule: f.rule.into(),
        message: f.message.clone(),
        remedy: f.remedy.into(),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for b in &self.findings {
            writeln!(
                f,
                "{}:{}: {} [{}]; {}",
                b.file, b.line, b.message, b.rule, b.remedy
            )?;
        }
        write!(
            f,
            "{} units, {} keys, {} proven, {} findings",
            self.units.len(),
            self.keys.len(),
            self.proven(),
            self.findings.len()
        )
    }
}
