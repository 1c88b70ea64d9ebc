//! Measures where the time of aggregation's nodes goes: proves a program's segments once, then every node of their
//! aggregation again and again, and prints a line of JSON for each level.
//!
//! `nodes ELF VALUE DEVICES TURNS SEGMENT_BYTES`: `VALUE` is the input in hexadecimal, `DEVICES` as `--devices` of the
//! command takes them. `ms` is the shortest time of the first node of the level; `spans` are the times of the spans that
//! it opened in that turn, those of several threads added up. Which ones: `RUST_LOG`, by default `info`.

mod support;

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    fmt::{Debug, Write},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use openvm_metal_sdk::ProveOptions;
use support::Job;
use tracing::{
    field::{Field, Visit},
    span::{Attributes, Id},
    Subscriber,
};
use tracing_subscriber::{
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
    util::SubscriberInitExt,
    EnvFilter, Layer,
};

/// Milliseconds of the spans that ended since it was taken, by name and fields.
static SPANS: Mutex<BTreeMap<String, f64>> = Mutex::new(BTreeMap::new());

fn spans() -> BTreeMap<String, f64> {
    std::mem::take(&mut *SPANS.lock().unwrap_or_else(PoisonError::into_inner))
}

fn main() -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::registry()
        .with(filter)
        .with(Times)
        .init();
    let args: Vec<String> = env::args().skip(1).collect();
    let [elf, value, devices, turns, bytes] = args.as_slice() else {
        return Err("ELF VALUE DEVICES TURNS SEGMENT_BYTES".into());
    };
    let Job { sdk, exe, input } = Job::new(elf, value, devices, bytes)?;
    let plan = sdk.plan(exe.clone(), input.clone(), &ProveOptions::default())?;
    let (app, _) = sdk.prove_app(exe, input, &ProveOptions::default())?;
    let mut below = app.per_segment;
    for level in 1..plan.levels().len() {
        let mut proofs = Vec::new();
        for index in 0..plan.levels()[level] {
            let children = &below[plan.below(level, index)?];
            proofs.push(sdk.prove_node(&plan, level, index, children)?);
        }
        let children = &below[plan.below(level, 0)?];
        let mut shortest = (f64::MAX, BTreeMap::new());
        for _ in 0..turns.parse::<usize>()? {
            spans();
            let clock = Instant::now();
            sdk.prove_node(&plan, level, 0, children)?;
            let ms = clock.elapsed().as_secs_f64() * 1e3;
            if ms < shortest.0 {
                shortest = (ms, spans());
            }
        }
        let line = serde_json::json!({
            "level": level, "nodes": proofs.len(), "children": children.len(), "ms": shortest.0, "spans": shortest.1,
        });
        println!("{line}");
        below = proofs;
    }
    Ok(())
}

/// Adds up the times of spans.
struct Times;

/// When a span was opened, and what it is called.
struct Opened(Instant, String);

/// A span's fields behind its name.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        let _ = write!(self.0, " {value:?}");
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Times {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut name = Fields(attributes.metadata().name().to_owned());
        attributes.record(&mut name);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Opened(Instant::now(), name.0));
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let extensions = span.extensions();
        let Some(Opened(at, name)) = extensions.get::<Opened>() else {
            return;
        };
        let ms = at.elapsed().as_secs_f64() * 1e3;
        let mut spans = SPANS.lock().unwrap_or_else(PoisonError::into_inner);
        *spans.entry(name.clone()).or_default() += ms;
    }
}
