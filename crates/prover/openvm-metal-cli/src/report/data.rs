//! The report as data: what the JSON file holds.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::event::Outcome;

/// The whole report.
#[derive(Serialize)]
pub struct Report {
    /// Version of this format.
    pub format: u32,
    /// Version of `openvm-metal`.
    pub version: &'static str,
    /// Commit that it was built from, if the build was told.
    pub commit: &'static str,
    /// The device that was asked for.
    pub device: String,
    /// Seed of all random inputs.
    pub seed: u64,
    /// Seconds since 1970 at the start.
    pub started: u64,
    /// True once every section has ended.
    pub complete: bool,
    /// The sections, in order.
    pub sections: Vec<SectionReport>,
}

/// Status of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The turn has not come.
    Waiting,
    /// It is being done.
    Running,
    /// It came to its end.
    Complete,
    /// It could not be done, or not to its end.
    Stopped,
    /// Ctrl-C.
    Interrupted,
}

/// One section.
#[derive(Clone, Debug, Serialize)]
pub struct SectionReport {
    /// Short name, as `--only` takes it.
    pub name: &'static str,
    /// Title of the section.
    pub title: &'static str,
    /// Status of the section.
    pub status: Status,
    /// Reason why it was stopped, if it was.
    pub error: Option<String>,
    /// Seconds that it took.
    pub seconds: f64,
    /// Processes that were started after the first: each for items that the one before could not do any more.
    pub restarts: usize,
    /// Facts of the section.
    pub facts: Vec<Fact>,
    /// The same for programs.
    pub data: BTreeMap<String, Value>,
    /// Items of the section.
    pub items: Vec<Item>,
    /// The last lines of its messages.
    pub log: Vec<String>,
}

/// Something that was found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Name of the fact.
    pub name: String,
    /// Value of the fact.
    pub value: String,
}

/// Something that was tried.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// The name.
    pub name: String,
    /// Outcome of the item; absent while it runs.
    pub outcome: Option<Outcome>,
    /// Details of the item.
    pub detail: String,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Report {
    /// Items that ended, and those of them that should have ended otherwise. A section that stopped counts as one more.
    pub fn count(&self) -> (usize, usize) {
        let counts = self.sections.iter().map(SectionReport::count);
        counts.fold((0, 0), |(all, bad), (a, b)| (all + a, bad + b))
    }

    /// A fact of any section.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let facts = self.sections.iter().flat_map(|section| &section.facts);
        let mut named = facts.filter(|fact| fact.name == name);
        named.next().map(|fact| fact.value.as_str())
    }
}

impl SectionReport {
    /// A section before its turn.
    pub fn new(name: &'static str, title: &'static str) -> Self {
        Self {
            name,
            title,
            status: Status::Waiting,
            error: None,
            seconds: 0.0,
            restarts: 0,
            facts: Vec::new(),
            data: BTreeMap::new(),
            items: Vec::new(),
            log: Vec::new(),
        }
    }

    /// Takes a fact; a later one of the same name takes the place of the first.
    pub fn add_fact(&mut self, name: String, value: String) {
        match self.facts.iter_mut().find(|fact| fact.name == name) {
            Some(fact) => fact.value = value,
            None => self.facts.push(Fact { name, value }),
        }
    }

    /// Items that ended, and bad ones; a section that stopped is a bad one more.
    pub fn count(&self) -> (usize, usize) {
        let ended = self.items.iter().filter_map(|item| item.outcome);
        let bad = ended.clone().filter(|outcome| outcome.is_bad()).count();
        let stopped = usize::from(self.status == Status::Stopped);
        (ended.count() + stopped, bad + stopped)
    }
}
