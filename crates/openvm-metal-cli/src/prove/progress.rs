//! How far a proof is: a line on a terminal, and a line for each thing done.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressStyle};
use openvm_metal_sdk::{Event, Progress};

use crate::table;

/// Instructions of segments that are cut wherever metering looks.
const SHORT_SEGMENT: u64 = 2000;

/// Shows the SDK's events on standard error.
pub struct Bar {
    line: ProgressBar,
    quiet: bool,
    /// Whether lines name the device.
    names_devices: bool,
    state: Mutex<State>,
}

struct State {
    /// When the first segment was cut: its proof begins while later ones are executed.
    proving: Option<Instant>,
    /// Segments so far.
    segments: usize,
    /// All segments are cut.
    ended: bool,
    executed: u64,
    proved: u64,
    done: usize,
}

impl State {
    fn name(&self, segment: usize) -> String {
        let more = if self.ended { "" } else { " or more" };
        format!("segment {} of {}{more}", segment + 1, self.segments)
    }
}

impl Bar {
    /// Of a proof on so many devices. Shows nothing if `quiet`; no line, only what is done, if standard error is no
    /// terminal.
    pub fn new(quiet: bool, devices: usize) -> Self {
        let line = match quiet {
            true => ProgressBar::hidden(),
            false => ProgressBar::new_spinner(),
        };
        if let Ok(style) = ProgressStyle::with_template("{elapsed} {msg}") {
            line.set_style(style);
        }
        if !line.is_hidden() {
            line.enable_steady_tick(Duration::from_millis(500));
        }
        let state = State {
            proving: None,
            segments: 0,
            ended: false,
            executed: 0,
            proved: 0,
            done: 0,
        };
        Self {
            line,
            quiet,
            names_devices: devices > 1,
            state: Mutex::new(state),
        }
    }

    /// What is being done now.
    pub fn phase(&self, text: &str) {
        self.line.set_message(text.to_owned());
    }

    /// Removes the line.
    pub fn finish(&self) {
        self.line.finish_and_clear();
    }

    /// The end of a line about something that was done on a device.
    fn on(&self, device: &str) -> String {
        match self.names_devices {
            true => format!(" on {device}"),
            false => String::new(),
        }
    }

    fn refused(&self, what: &str, device: &str, reason: &str, excluded: bool) {
        self.done(&format!(
            "{what}: made wrong by {device} ({reason}): it is made again{}",
            match excluded {
                true => format!(", and {device} is used no more"),
                false => String::new(),
            }
        ));
    }

    fn done(&self, text: &str) {
        if self.line.is_hidden() && !self.quiet {
            table::note(text);
        } else {
            self.line.println(text);
        }
    }
}

impl Progress for Bar {
    fn event(&self, event: Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::SegmentExecuted {
                segment,
                instructions,
            } => {
                state.executed += instructions;
                state.segments = segment + 1;
                state.proving.get_or_insert_with(Instant::now);
                self.phase(&format!(
                    "executing: {} segments, {} instructions",
                    segment + 1,
                    state.executed
                ));
            }
            Event::Executed {
                segments,
                instructions,
            } => {
                state.segments = segments;
                state.ended = true;
                state.proving.get_or_insert_with(Instant::now);
                self.done(&format!(
                    "executed {instructions} instructions in {segments} segments"
                ));
                if segments > 1 && instructions / (segments as u64) < SHORT_SEGMENT {
                    self.done(
                        "segments are short: --segment-max-memory allows hardly more than the tables that each has; \
                         with more of it there are fewer",
                    );
                }
            }
            Event::SegmentTraced { segment, .. } => {
                self.phase(&format!("{}: proving", state.name(segment)));
            }
            Event::SegmentResumed {
                segment,
                instructions,
            } => {
                state.done += 1;
                self.done(&format!(
                    "{}: {instructions} instructions, proved before",
                    state.name(segment)
                ));
            }
            Event::SetAside { file, to, reason } => self.done(&format!(
                "{} {reason}: it is {} now, and it is made again",
                file.display(),
                to.display()
            )),
            Event::SegmentRefused {
                segment,
                device,
                reason,
                excluded,
            } => self.refused(&state.name(segment), device, reason, excluded),
            Event::NodeRefused {
                layer,
                node,
                device,
                reason,
                excluded,
            } => {
                let name = format!("aggregation layer {layer}: node {}", node + 1);
                self.refused(&name, device, reason, excluded);
            }
            Event::SegmentProved {
                segment,
                instructions,
                device,
            } => {
                state.done += 1;
                state.proved += instructions;
                let since = state
                    .proving
                    .map(|start| start.elapsed())
                    .unwrap_or_default();
                let so_far = speed(state.proved, since);
                self.done(&format!(
                    "{}: {instructions} instructions proved{} ({so_far} so far)",
                    state.name(segment),
                    self.on(device)
                ));
                self.phase(&format!(
                    "{} of {} segments proved, {so_far}",
                    state.done, state.segments
                ));
            }
            Event::NodeResumed { layer, node, .. } => self.done(&format!(
                "aggregation layer {layer}: node {}, proved before",
                node + 1
            )),
            Event::NodeProved {
                layer,
                node,
                device,
                ..
            } => {
                self.done(&format!(
                    "aggregation layer {layer}: node {} proved{}",
                    node + 1,
                    self.on(device)
                ));
                self.phase("aggregating");
            }
            Event::Verified => self.done("accepted by OpenVM's verifier"),
            _ => {}
        }
    }
}

/// Instructions a second.
pub fn speed(instructions: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64().max(1e-9);
    format!(
        "{}instructions/s",
        table::rate(instructions as f64 / seconds)
    )
}
