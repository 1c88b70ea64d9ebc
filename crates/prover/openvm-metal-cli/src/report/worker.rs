//! The process of one section: it runs the items, and tells about each before and after.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Instant;

use openvm_metal_common::{MetalBuffer, MetalContext};

use super::event::{Event, Outcome};
use crate::error::CliError;
use crate::selftest::panic_text;

/// Exit status of a worker that cannot go on after an item, but another one could.
pub const RESTART: i32 = 75;

/// Failure of an item.
pub enum Problem {
    /// It is wrong, or the device refused it.
    Failed(String),
    /// It cannot be done here.
    Skipped(String),
}

impl<E: std::fmt::Display> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Takes what a section finds.
pub struct Worker {
    /// Items that an earlier process has done, which this one leaves out.
    skip: usize,
    /// Items so far.
    items: usize,
    /// The device that must still work after an item failed.
    context: Option<MetalContext>,
}

impl Worker {
    /// The worker of a process that begins with item number `skip`.
    pub fn new(skip: usize) -> Self {
        Self {
            skip,
            items: 0,
            context: None,
        }
    }

    /// True if an earlier process has begun this section.
    pub fn is_restarted(&self) -> bool {
        self.skip > 0
    }

    /// From now on items need this device.
    pub fn watch(&mut self, context: &MetalContext) {
        self.context = Some(context.clone());
    }

    /// Tells a fact. A section that was restarted tells it again.
    pub fn fact(&self, name: &str, value: impl std::fmt::Display) {
        Event::Fact {
            name: name.to_owned(),
            value: value.to_string(),
        }
        .send();
    }

    /// Tells something for programs.
    pub fn data(&self, name: &str, value: &impl serde::Serialize) {
        if let Ok(value) = serde_json::to_value(value) {
            let name = name.to_owned();
            Event::Data { name, value }.send();
        }
    }

    /// Does one item and tells how it ended. A panic ends this item, not the section. If the device is lost or the
    /// item panicked, the process ends, so that the next item has a new one.
    pub fn item(&mut self, name: &str, work: impl FnOnce() -> Result<String, Problem>) {
        let number = self.items;
        self.items += 1;
        if number < self.skip {
            return;
        }
        Event::Begin {
            item: name.to_owned(),
        }
        .send();
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(work));
        let panicked = outcome.is_err();
        let (outcome, detail) = match outcome {
            Ok(Ok(detail)) => (Outcome::Passed, detail),
            Ok(Err(Problem::Failed(why))) => (Outcome::Failed, why),
            Ok(Err(Problem::Skipped(why))) => (Outcome::Skipped, why),
            Err(panic) => {
                let text = format!("panicked: {}", panic_text(&*panic));
                (Outcome::Failed, text)
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        Event::End {
            outcome,
            detail,
            seconds,
        }
        .send();
        if panicked || outcome.is_bad() && !self.device_works() {
            std::process::exit(RESTART);
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

/// Runs a section to its end and tells why if that is early.
pub fn finish(outcome: Result<(), CliError>) {
    match outcome {
        Ok(()) => Event::Done.send(),
        Err(error) => {
            let error = match error.hint() {
                Some(hint) => format!("{error} ({hint})"),
                None => error.to_string(),
            };
            Event::Stopped { error }.send();
        }
    }
}
