//! Report of the self test, as text while it runs or as JSON in the end.

use std::io::IsTerminal;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

use openvm_metal_common::{DeviceInfo, MetalContext};
use serde::Serialize;

use super::sections::{Item, Section};
use crate::commands::put;
use crate::error::Result;

/// Result of an item, with details in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "details", rename_all = "lowercase")]
pub enum Outcome {
    /// All as it must be.
    Passed(String),
    /// All as the device promises, which is less than on others: what.
    Tolerated(String),
    /// Wrong results, or an error.
    Failed(String),
    /// Nothing was tested: why.
    Skipped(String),
}

impl Outcome {
    /// True if it failed.
    pub const fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_))
    }
}

#[derive(Serialize)]
struct Line {
    section: &'static str,
    item: String,
    #[serde(flatten)]
    outcome: Outcome,
    seconds: f64,
}

/// Results so far.
#[derive(Serialize)]
pub struct Report<'a> {
    version: &'static str,
    device: &'a DeviceInfo,
    seed: u64,
    seconds: f64,
    items: Vec<Line>,
    #[serde(skip)]
    json: bool,
    #[serde(skip)]
    terminal: bool,
}

impl<'a> Report<'a> {
    /// Makes an empty report.
    pub fn new(context: &'a MetalContext, seed: u64, json: bool) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            device: context.info(),
            seed,
            seconds: 0.0,
            items: Vec::new(),
            json,
            terminal: std::io::stderr().is_terminal(),
        }
    }

    /// Items whose outcome is so.
    pub fn count(&self, so: impl Fn(&Outcome) -> bool) -> usize {
        self.items.iter().filter(|line| so(&line.outcome)).count()
    }

    fn say(&self, text: &str) -> Result<()> {
        match self.json {
            true => Ok(()),
            false => put(None, format!("{text}\n").as_bytes()),
        }
    }

    /// Says what is tested.
    pub fn head(&self) -> Result<()> {
        self.say(&format!("device: {}", self.device))
    }

    /// Runs an item. A panic is its failure.
    pub fn run(&mut self, item: Item<'_>) -> Result<()> {
        let progress = self.terminal && !self.json;
        if progress {
            eprint!("\r\x1b[K{}: {}", item.section.name(), item.name);
        }
        let start = Instant::now();
        let (outcome, _) = caught(item.run);
        if progress {
            eprint!("\r\x1b[K");
        }
        let line = Line {
            section: item.section.name(),
            item: item.name,
            outcome,
            seconds: start.elapsed().as_secs_f64(),
        };
        match &line.outcome {
            Outcome::Failed(what) => {
                self.say(&format!("FAILED {}/{}: {what}", line.section, line.item))?;
            }
            Outcome::Tolerated(what) => {
                self.say(&format!("tolerated {}/{}: {what}", line.section, line.item))?;
            }
            Outcome::Passed(_) | Outcome::Skipped(_) => {}
        }
        self.items.push(line);
        Ok(())
    }

    /// Sums a section up.
    pub fn end_section(&self, section: Section) -> Result<()> {
        let lines = self.items.iter().filter(|l| l.section == section.name());
        let (mut passed, mut failed, mut seconds, mut skipped) = (0, 0, 0.0, Vec::new());
        for line in lines {
            seconds += line.seconds;
            match &line.outcome {
                Outcome::Passed(_) | Outcome::Tolerated(_) => passed += 1,
                Outcome::Failed(_) => failed += 1,
                Outcome::Skipped(why) => skipped.push(why.as_str()),
            }
        }
        let mut text = format!(
            "{:<13} {passed} passed, {failed} failed, {:.1} s",
            section.name(),
            seconds
        );
        if let Some(why) = skipped.first() {
            text.push_str(&format!("; {} skipped: {why}", skipped.len()));
        }
        self.say(&text)
    }

    /// The last words, or the JSON.
    pub fn end(&mut self, time: Duration) -> Result<()> {
        self.seconds = time.as_secs_f64();
        if self.json {
            let text = serde_json::to_string_pretty(&self).map_err(std::io::Error::from)?;
            return put(None, format!("{text}\n").as_bytes());
        }
        let passed = self.count(|o| matches!(o, Outcome::Passed(_) | Outcome::Tolerated(_)));
        let skipped = self.count(|o| matches!(o, Outcome::Skipped(_)));
        let failed = self.count(Outcome::is_failure);
        self.say(&format!(
            "hologram {}: {passed} passed, {failed} failed, {skipped} skipped, {:.0} s",
            self.version, self.seconds
        ))?;
        if failed > 0 {
            return Ok(());
        }
        self.say("next: `hologram run PROGRAM --buffer x.npy` runs a program, `hologram fuzz` tries more of them")
    }
}

/// Outcome of an item and whether it panicked, which is a failure.
pub fn caught(run: impl FnOnce() -> Outcome) -> (Outcome, bool) {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(outcome) => (outcome, false),
        Err(panic) => (
            Outcome::Failed(format!("panicked: {}", words(&*panic))),
            true,
        ),
    }
}

fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
