//! Current phase of a proof, on standard error while it is made.
//!
//! The phases are the tracing spans that the prover opens; a layer of the subscriber follows them.

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
static LINE: Mutex<Option<ProgressBar>> = Mutex::new(None);

fn with_line(work: impl FnOnce(&mut Option<ProgressBar>)) {
    work(&mut LINE.lock().unwrap_or_else(PoisonError::into_inner));
}

/// Shows the phase while it lives; nothing if standard error is no terminal.
pub struct Progress;

impl Progress {
    /// Begins a line, invisible if `hidden`.
    pub fn start(hidden: bool) -> Self {
        let bar = match hidden {
            true => ProgressBar::hidden(),
            false => ProgressBar::new_spinner(),
        };
        if let Ok(style) = ProgressStyle::with_template("{elapsed} {msg}") {
            bar.set_style(style);
        }
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_secs(1));
        }
        with_line(|line| *line = Some(bar));
        Self
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        with_line(|line| {
            if let Some(bar) = line.take() {
                bar.finish_and_clear();
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

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for StageLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if attributes.metadata().name() != "stage" {
            return;
        }
        let mut path = Path(String::new());
        attributes.record(&mut path);
        with_line(|line| {
            if let Some(bar) = line {
                let name = path.0.rsplit('/').next().unwrap_or_default();
                bar.set_message(name.to_owned());
                bar.tick();
            }
        });
    }
}
