//! The process of one section: it runs the items, and tells about each before and after.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Instant;

use openvm_metal_common::{MetalBuffer, MetalContext};

use super::data::{Event, Outcome};
use crate::{ending, selftest::panic_text};

/// Exit status of a process that cannot go on after an item: another one can.
pub const RESTART: u8 = 75;
/// Exit status of a process that was for one item: the next goes on.
pub const NEXT: u8 = 76;

/// Failure of an item.
pub enum Problem {
    /// A wrong result, or a refusal of the device.
    Failed(String),
    /// No test here.
    Skipped(String),
}

impl<E: std::fmt::Display> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Sender of a section's results.
pub struct Worker {
    /// Items that an earlier process has done: they are left out.
    skip: usize,
    /// Items that this process does at most.
    most: usize,
    /// Items so far.
    items: usize,
    /// The device that must still work after an item failed.
    context: Option<MetalContext>,
}

impl Worker {
    /// The worker of a process that does `most` items from number `skip` on.
    pub fn new(skip: usize, most: Option<usize>) -> Self {
        Self {
            skip,
            most: most.unwrap_or(usize::MAX),
            items: 0,
            context: None,
        }
    }

    /// True if an earlier process has begun this section.
    pub fn is_restarted(&self) -> bool {
        self.skip > 0
    }

    /// Names the device of all items that follow.
    pub fn watch(&mut self, context: &MetalContext) {
        self.context = Some(context.clone());
    }

    /// Tells a fact.
    pub fn fact(&self, name: &str, value: impl std::fmt::Display) {
        let (name, value) = (name.to_owned(), value.to_string());
        Event::Fact { name, value }.send();
    }

    /// Tells a value for programs.
    pub fn data(&self, name: &str, value: &impl serde::Serialize) {
        if let Ok(value) = serde_json::to_value(value) {
            let name = name.to_owned();
            Event::Data { name, value }.send();
        }
    }

    /// Does one item and tells how it ended. A panic ends the item, not the section. Ends the process if the device is lost or
    /// the item panicked: the next item gets a new one.
    pub fn item(&mut self, name: &str, work: impl FnOnce() -> Result<String, Problem>) {
        self.items += 1;
        if !(self.skip..self.skip.saturating_add(self.most)).contains(&(self.items - 1)) {
            return;
        }
        let item = name.to_owned();
        Event::Begin { item }.send();
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(work));
        let panicked = result.is_err();
        let (outcome, detail) = match result {
            Ok(Ok(detail)) => (Outcome::Passed, detail),
            Ok(Err(Problem::Failed(why))) => (Outcome::Failed, why),
            Ok(Err(Problem::Skipped(why))) => (Outcome::Skipped, why),
            Err(panic) => (
                Outcome::Failed,
                format!("panicked: {}", panic_text(&*panic)),
            ),
        };
        Event::End {
            outcome,
            detail,
            seconds: start.elapsed().as_secs_f64(),
        }
        .send();
        if panicked || outcome.is_bad() && !self.device_works() {
            ending::end(RESTART);
        }
    }

    /// Does one item in this process, which ends with it: the next item gets its own.
    pub fn lone_item(&mut self, name: &str, work: impl FnOnce() -> Result<String, Problem>) {
        let mine = self.items == self.skip;
        self.item(name, work);
        if mine {
            ending::end(NEXT);
        }
    }

    fn device_works(&self) -> bool {
        let Some(context) = &self.context else {
            return true;
        };
        let stream = context.stream();
        let word = MetalBuffer::<u32>::zeroed(&stream, 1);
        word.and_then(|word| word.to_host(&stream)).is_ok()
    }
}
