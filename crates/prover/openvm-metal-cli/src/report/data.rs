//! The report as data: the JSON file, and the events by which the process of a section tells its results.

use std::{collections::BTreeMap, io::Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ending;

/// The whole report.
#[derive(Serialize)]
pub struct Report {
    /// Version of this format.
    pub format: u32,
    /// Version of `openvm-metal`.
    pub version: &'static str,
    /// Commit of the build, or "unknown".
    pub commit: &'static str,
    /// Device that the user asked for.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun: sections before this one run.
    #[default]
    Waiting,
    /// Running in a child process.
    Running,
    /// Ended: every item has a result.
    Complete,
    /// It could not be done, or not to its end.
    Stopped,
    /// Ctrl-C.
    Interrupted,
}

/// One section.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SectionReport {
    /// Short name, as `--only` takes it.
    pub name: &'static str,
    /// Title of the section.
    pub title: &'static str,
    /// Status of the section.
    pub status: Status,
    /// Reason of a stop.
    pub error: Option<String>,
    /// Duration in seconds.
    pub seconds: f64,
    /// Processes after the first: each goes on with the items that its predecessor could not do any more.
    pub restarts: usize,
    /// Facts of the section.
    pub facts: Vec<Fact>,
    /// Values for programs.
    pub data: BTreeMap<String, Value>,
    /// Items of the section.
    pub items: Vec<Item>,
    /// The last lines of its messages.
    pub log: Vec<String>,
}

/// A fact about the machine or the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Name of the fact.
    pub name: String,
    /// Value of the fact.
    pub value: String,
}

/// One test or measurement.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Item {
    /// Name of the item.
    pub name: String,
    /// Outcome of the item; absent while it runs.
    pub outcome: Option<Outcome>,
    /// Details of the item.
    pub detail: String,
    /// Duration in seconds.
    pub seconds: f64,
}

/// Outcome of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The expected result.
    Passed,
    /// A wrong result, or a refusal.
    Failed,
    /// No test here, for a reason that is no fault of the device.
    Skipped,
    /// End of the process in the middle of the item.
    Crashed,
    /// End by the time limit.
    TimedOut,
}

impl Outcome {
    /// True for a fault.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Passed | Self::Skipped)
    }

    /// The outcome in words.
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
            Self::Crashed => "CRASHED",
            Self::TimedOut => "TIMED OUT",
        }
    }
}

/// One step of a section: a JSON object on a line of the standard output of its process. `hologram selftest --events` prints the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A fact; a later one of the same name replaces it.
    Fact { name: String, value: String },
    /// A value for programs: in the JSON file only.
    Data { name: String, value: Value },
    /// The begin of an item.
    Begin { item: String },
    /// The end of the item that began last.
    End {
        outcome: Outcome,
        detail: String,
        seconds: f64,
    },
    /// The end of the section. A process that ends without it has failed.
    Done,
}

impl Event {
    /// Writes the line. Ends the process if the report's process has ended.
    pub fn send(&self) {
        let Ok(line) = serde_json::to_string(self) else {
            return;
        };
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            ending::end(1);
        }
    }
}

impl Report {
    /// Items that ended, and the bad ones among them. A section that stopped counts as one bad item more.
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
    /// Items that ended, and the bad ones among them; a stop is one bad item more.
    pub fn count(&self) -> (usize, usize) {
        let ended = self.items.iter().filter_map(|item| item.outcome);
        let bad = ended.clone().filter(|outcome| outcome.is_bad()).count();
        let stopped = usize::from(self.status == Status::Stopped);
        (ended.count() + stopped, bad + stopped)
    }

    /// Names of items that did not come to an end.
    pub fn lost(&self) -> Vec<String> {
        let lost =
            |item: &&Item| matches!(item.outcome, Some(Outcome::Crashed | Outcome::TimedOut));
        let items = self.items.iter().filter(lost);
        items.map(|item| item.name.clone()).collect()
    }

    /// The item that runs.
    pub fn running(&mut self) -> Option<&mut Item> {
        self.items.last_mut().filter(|item| item.outcome.is_none())
    }

    /// True if the process ended before it told its version, which hologram does first.
    pub fn is_foreign(&self) -> bool {
        self.status == Status::Stopped && self.facts.is_empty() && self.items.is_empty()
    }

    /// Enters an event.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Fact { name, value } => {
                match self.facts.iter_mut().find(|fact| fact.name == name) {
                    Some(fact) => fact.value = value,
                    None => self.facts.push(Fact { name, value }),
                }
            }
            Event::Data { name, value } => {
                self.data.insert(name, value);
            }
            Event::Begin { item: name } => self.items.push(Item {
                name,
                ..Item::default()
            }),
            Event::End {
                outcome,
                detail,
                seconds,
            } => {
                if let Some(item) = self.running() {
                    (item.outcome, item.detail, item.seconds) = (Some(outcome), detail, seconds);
                }
            }
            Event::Done => self.status = Status::Complete,
        }
    }
}
