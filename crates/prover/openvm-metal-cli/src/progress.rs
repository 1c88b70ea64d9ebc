//! Line of progress on standard error: the work at hand, and the prover's stage.
//!
//! Stages are the tracing spans that the prover opens; a layer of the subscriber follows them.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tracing::{
    field::{Field, Visit},
    span::{Attributes, Id},
    Subscriber,
};
use tracing_subscriber::{layer::Context, registry::LookupSpan, Layer};

/// The line on the terminal, if there is one.
static LINE: Mutex<Option<Line>> = Mutex::new(None);

/// A line of progress.
struct Line {
    bar: ProgressBar,
    /// Work at hand.
    work: String,
    /// Stage of the proof that is made; empty between proofs.
    stage: &'static str,
}

impl Line {
    fn show(&self) {
        let (work, stage) = (&self.work, self.stage);
        let text = match work.as_str() {
            "" => stage.to_owned(),
            _ if work.ends_with(stage) => work.clone(),
            _ => format!("{work} ({stage})"),
        };
        self.bar.set_message(text);
    }
}

fn with_line(work: impl FnOnce(&mut Option<Line>)) {
    work(&mut LINE.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Owner of the line, which is removed with it.
pub struct Progress;

impl Progress {
    /// Begins a line with elapsed time and stage, invisible if `hidden`.
    pub fn start(hidden: bool) -> Self {
        let bar = match hidden {
            true => ProgressBar::hidden(),
            false => ProgressBar::new_spinner(),
        };
        if let Ok(style) = ProgressStyle::with_template("{elapsed} {wide_msg}") {
            bar.set_style(style);
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        Self::on(bar)
    }

    /// Shows work and stages on this line.
    pub fn on(bar: ProgressBar) -> Self {
        let (work, stage) = (String::new(), "");
        with_line(|line| *line = Some(Line { bar, work, stage }));
        Self
    }

    /// Names the work at hand.
    pub fn work(&self, text: &str) {
        with_line(|line| {
            if let Some(line) = line {
                line.work = text.to_owned();
                line.show();
            }
        });
    }
}

/// Writes below no line of progress: it is redrawn after the text.
pub fn suspended<T>(write: impl FnOnce() -> T) -> T {
    // A clone, because the text may be about the line's own work.
    let mut bar = None;
    with_line(|line| bar = line.as_ref().map(|line| line.bar.clone()));
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        with_line(|line| {
            if let Some(line) = line.take() {
                line.bar.finish_and_clear();
            }
        });
    }
}

/// Follows the spans named `stage`.
pub struct StageLayer;

/// The `path` of a stage.
struct Path(String);

impl Visit for Path {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "path" {
            self.0 = format!("{value:?}");
        }
    }
}

/// Mark of a span whose stage is shown.
struct Named;

fn show_stage(name: &'static str) {
    with_line(|line| {
        if let Some(line) = line {
            line.stage = name;
            line.show();
        }
    });
}

/// Name of an outermost stage for users.
fn name(path: &str) -> Option<&'static str> {
    match path {
        "stacked_commit" => Some("commitment"),
        "prover.rap_constraints" => Some("constraints"),
        "prover.openings" => Some("openings"),
        _ => None,
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for StageLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() != "stage" {
            return;
        }
        let mut path = Path(String::new());
        attributes.record(&mut path);
        let Some(name) = name(&path.0) else { return };
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Named);
        }
        show_stage(name);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id);
        if span.is_some_and(|span| span.extensions().get::<Named>().is_some()) {
            show_stage("");
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    /// Catches a line that names the stage or the work alone while a segment of half a minute is proved.
    #[test]
    fn line_names_work_and_stage() {
        let bar = ProgressBar::hidden();
        let progress = Progress::on(bar.clone());
        let subscriber = tracing_subscriber::registry().with(StageLayer);
        tracing::subscriber::with_default(subscriber, || {
            progress.work("segment 1 of 1");
            assert_eq!(bar.message(), "segment 1 of 1");
            let path = "prover.openings";
            let stage = tracing::info_span!("stage", %path).entered();
            let path = "prover.openings/prover.openings.whir";
            drop(tracing::info_span!("stage", %path).entered());
            assert_eq!(bar.message(), "segment 1 of 1 (openings)");
            drop(stage);
            assert_eq!(bar.message(), "segment 1 of 1");
        });
    }
}
