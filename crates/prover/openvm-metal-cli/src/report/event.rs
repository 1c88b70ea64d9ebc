//! Messages from a section's process to the report's process: one JSON object a line on its standard output.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Outcome of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It did what it should.
    Passed,
    /// It did something else, or was refused.
    Failed,
    /// It cannot be done here, for a reason that is no fault of the device.
    Skipped,
    /// The process ended in the middle of it.
    Crashed,
    /// It took longer than it may.
    TimedOut,
}

impl Outcome {
    /// True for a fault.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Passed | Self::Skipped)
    }

    /// In words.
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

/// One step of a section.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Something that was found out.
    Fact {
        /// Name of the fact.
        name: String,
        /// Value of the fact.
        value: String,
    },
    /// The same for programs: in the JSON file only.
    Data {
        /// Name of the fact.
        name: String,
        /// Value of the fact.
        value: Value,
    },
    /// An item begins.
    Begin {
        /// The name.
        item: String,
    },
    /// It ended.
    End {
        /// Outcome of the item.
        outcome: Outcome,
        /// Details of the item.
        detail: String,
        /// Seconds that it took.
        seconds: f64,
    },
    /// The section cannot go on.
    Stopped {
        /// Reason.
        error: String,
    },
    /// The section is complete.
    Done,
}

impl Event {
    /// Writes the line.
    pub fn send(&self) {
        let Ok(line) = serde_json::to_string(self) else {
            return;
        };
        let mut out = std::io::stdout().lock();
        // If nobody reads it, the report has ended, and so shall this process.
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            std::process::exit(1);
        }
    }

    /// Reads a line; nothing if it is no event.
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}
