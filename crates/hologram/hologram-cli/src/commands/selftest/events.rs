//! The self test as events: one JSON object a line, so that the process that reads them knows the test at which this process
//! ends or hangs.

use std::time::Instant;

use openvm_metal_common::{MetalBuffer, MetalContext};
use serde_json::{json, Value};

use super::report::{caught, Outcome};
use super::sections::Item;
use crate::commands::put;
use crate::error::Result;

/// Exit status after a test that leaves the process or its device unusable: another process can go on with the next test.
const RESTART: i32 = 75;

/// Runs the items and prints their events.
///
/// # Errors
/// Standard output that cannot be written.
pub fn run<'a>(context: &MetalContext, items: impl Iterator<Item = Item<'a>>) -> Result<()> {
    fact("hologram", env!("CARGO_PKG_VERSION"))?;
    fact("device", &context.info().to_string())?;
    for item in items {
        let name = format!("{}/{}", item.section.name(), item.name);
        print(&json!({"event": "begin", "item": name}))?;
        let start = Instant::now();
        let (outcome, panicked) = caught(item.run);
        let is_failure = outcome.is_failure();
        let (outcome, detail) = match outcome {
            Outcome::Passed(detail) | Outcome::Tolerated(detail) => ("passed", detail),
            Outcome::Failed(detail) => ("failed", detail),
            Outcome::Skipped(detail) => ("skipped", detail),
        };
        let seconds = start.elapsed().as_secs_f64();
        print(&json!({"event": "end", "outcome": outcome, "detail": detail, "seconds": seconds}))?;
        if panicked || is_failure && !works(context) {
            std::process::exit(RESTART);
        }
    }
    print(&json!({"event": "done"}))
}

fn fact(name: &str, value: &str) -> Result<()> {
    print(&json!({"event": "fact", "name": name, "value": value}))
}

fn print(event: &Value) -> Result<()> {
    put(None, format!("{event}\n").as_bytes())
}

/// True if the device still copies a word.
fn works(context: &MetalContext) -> bool {
    let stream = context.stream();
    let word = MetalBuffer::<u32>::zeroed(&stream, 1);
    word.and_then(|word| word.to_host(&stream)).is_ok()
}
