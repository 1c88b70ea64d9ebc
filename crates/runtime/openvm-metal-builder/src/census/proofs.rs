//! Constructs that Apple's compiler is known to accept, with their proofs.

use std::collections::BTreeMap;

/// A proof for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Key of the source in [`Proofs::sources`].
    pub source: String,
    /// Place in the source: a file and line, or a section.
    pub place: String,
    /// Further facts.
    pub note: String,
}

/// The table of proofs.
#[derive(Clone, Debug, Default)]
pub struct Proofs {
    /// Proof by key.
    pub keys: BTreeMap<String, Proof>,
    /// Description of each source.
    pub sources: BTreeMap<String, String>,
}

const PROOFS: &str = include_str!("../../census/proofs.tsv");
const SOURCES: &str = include_str!("../../census/sources.tsv");

impl Proofs {
    /// The table that comes with this crate.
    pub fn built_in() -> Self {
        Self::read(PROOFS, SOURCES)
    }

    /// Reads lines of `key, source, place, note` and of `source, description`, columns parted by tabs; `#` begins a comment.
    pub fn read(proofs: &str, sources: &str) -> Self {
        let rows = |text: &str| -> Vec<Vec<String>> {
            let lines = text
                .lines()
                .filter(|l| !l.is_empty() && !l.starts_with('#'));
            lines
                .map(|l| l.split('\t').map(|c| c.trim().to_string()).collect())
                .collect()
        };
        let cell = |row: &[String], i: usize| row.get(i).cloned().unwrap_or_default();
        let proof = |row: Vec<String>| {
            let proof = Proof {
                source: cell(&row, 1),
                place: cell(&row, 2),
                note: cell(&row, 3),
            };
            (cell(&row, 0), proof)
        };
        Self {
            keys: rows(proofs).into_iter().map(proof).collect(),
            sources: rows(sources)
                .into_iter()
                .map(|r| (cell(&r, 0), cell(&r, 1)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_proof_names_a_source_and_a_place() {
        let p = Proofs::built_in();
        for (key, proof) in &p.keys {
            assert!(key.contains(": "), "{key}: not `group: what`");
            assert!(
                p.sources.contains_key(&proof.source),
                "{key}: no source `{}`",
                proof.source
            );
            assert!(!proof.place.is_empty(), "{key}: no place");
        }
        let used = |s: &String| p.keys.values().any(|k| k.source == *s);
        assert!(p.sources.keys().all(used), "a source that proves nothing");
    }

    #[test]
    fn keys_stand_once_and_in_order() {
        let keys: Vec<&str> = PROOFS
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'))
            .map(|l| l.split('\t').next().unwrap_or(""))
            .collect();
        assert!(
            keys.windows(2).all(|w| w[0] < w[1]),
            "sort the table, and leave out what stands twice"
        );
    }
}
