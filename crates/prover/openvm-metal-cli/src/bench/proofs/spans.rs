//! Times of the spans that an engine opens while it proves, by the engines' own names.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};

use tracing::{
    field::{Field, Visit},
    span::{Attributes, Id},
    Subscriber,
};
use tracing_subscriber::{layer::Context, registry::LookupSpan, Layer};

/// Milliseconds by path, names joined by `/`.
pub type SpanTimes = BTreeMap<String, f64>;

/// Times that are recorded, if any are.
static RECORD: Mutex<Option<SpanTimes>> = Mutex::new(None);

fn record() -> std::sync::MutexGuard<'static, Option<SpanTimes>> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does some work and tells the times of the spans that were opened meanwhile. Spans of the same path are added
/// up; those of several threads overlap.
pub fn recorded<T>(work: impl FnOnce() -> T) -> (T, SpanTimes) {
    *record() = Some(SpanTimes::new());
    let result = work();
    let times = record().take().unwrap_or_default();
    (result, times)
}

/// Follows all spans.
pub struct SpanLayer;

/// When a span was opened, and its name.
struct Opened {
    at: Instant,
    name: String,
}

/// The last part of a stage's `path`: stages of our engine are spans named `stage`.
struct StagePath(Option<String>);

impl Visit for StagePath {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "path" {
            let path = format!("{value:?}");
            self.0 = path.rsplit('/').next().map(str::to_owned);
        }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut stage = StagePath(None);
        attributes.record(&mut stage);
        let name = stage
            .0
            .unwrap_or_else(|| attributes.metadata().name().to_owned());
        let at = Instant::now();
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Opened { at, name });
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let name = |opened: Option<&Opened>| opened.map(|opened| opened.name.clone());
        let names: Vec<String> = span
            .scope()
            .from_root()
            .filter_map(|span| name(span.extensions().get::<Opened>()))
            .collect();
        let Some(ms) = span
            .extensions()
            .get::<Opened>()
            .map(|opened| opened.at.elapsed().as_secs_f64() * 1e3)
        else {
            return;
        };
        if let Some(times) = record().as_mut() {
            *times.entry(names.join("/")).or_default() += ms;
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn spans_have_paths() {
        let subscriber = tracing_subscriber::registry().with(SpanLayer);
        let (value, times) = tracing::subscriber::with_default(subscriber, || {
            recorded(|| {
                let _outer = tracing::info_span!("prover.openings").entered();
                for _ in 0..2 {
                    let path = "prover.openings/whir";
                    let _stage = tracing::info_span!("stage", %path).entered();
                }
                7
            })
        });
        assert_eq!(value, 7);
        let paths: Vec<&str> = times.keys().map(String::as_str).collect();
        assert_eq!(paths, ["prover.openings", "prover.openings/whir"]);
        assert!(times["prover.openings"] >= times["prover.openings/whir"]);
    }
}
