//! Progress of a proof: a line on a terminal, and a line for each thing done.

use std::{
    collections::BTreeSet,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc, Mutex, MutexGuard, PoisonError,
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use openvm_metal_sdk::{Event, Progress};

use crate::{progress::Progress as LineOwner, table};

/// Instructions of segments that are cut wherever metering looks.
const SHORT_SEGMENT: u64 = 2000;

/// Steps of a job, in order. Those up to the segments can take most of the time of a small program.
const STEPS: [&str; 6] = [
    "application keys",
    "device and program commitment",
    "aggregation keys",
    "segments",
    "aggregation",
    "verification",
];

/// Shows the SDK's events on standard error.
pub struct Bar {
    line: ProgressBar,
    shown: LineOwner,
    /// True if the job has no aggregation.
    is_app: bool,
    /// True if lines name the device.
    names_devices: AtomicBool,
    state: Mutex<State>,
    /// Estimated end of the work that is named.
    end: Arc<Mutex<Option<Instant>>>,
}

/// Work done so far.
#[derive(Default)]
struct State {
    /// When the first segment was cut: its proof begins while later ones are executed.
    proving: Option<Instant>,
    /// Segments so far.
    segments: usize,
    /// All segments are cut.
    ended: bool,
    executed: u64,
    /// Instructions that were proved here.
    proved: u64,
    /// Segments that were proved here, and those that were found.
    made: usize,
    found: usize,
    /// Segments whose traces are on a device. Devices prove them in this order.
    traced: BTreeSet<usize>,
    /// Nodes of the aggregation, and those that are there.
    nodes: usize,
    nodes_done: usize,
    /// The last segment's proof, and the nodes that were there then.
    aggregating: Option<(Instant, usize)>,
    /// Rate of proofs and expected end of the current work, as of the last segment or node.
    rate: String,
    end: Option<Instant>,
}

/// Things that are said about an event.
#[derive(Default)]
struct Said {
    /// Lines that stay.
    done: Vec<String>,
    /// Current work.
    now: Option<String>,
}

impl State {
    fn name(&self, segment: usize) -> String {
        let more = if self.ended { "" } else { " or more" };
        format!("segment {} of {}{more}", segment + 1, self.segments)
    }

    fn segments_done(&self) -> usize {
        self.made + self.found
    }

    fn are_all_proved(&self) -> bool {
        self.ended && self.segments_done() >= self.segments
    }

    /// The rate of proofs.
    fn speed(&self, now: Instant) -> String {
        let since = self.proving.map(|start| now.duration_since(start));
        speed(self.proved, since.unwrap_or_default())
    }

    /// Current work: the segment that a device proves, or the node.
    fn now(&self) -> String {
        if self.are_all_proved() {
            return match self.nodes {
                0 => "all segments are proved".to_owned(),
                nodes if self.nodes_done >= nodes => "verifying".to_owned(),
                nodes => format!("aggregating: node {} of {nodes}", self.nodes_done + 1),
            };
        }
        let rate = &self.rate;
        match self.traced.first() {
            Some(&segment) => format!("{}: proving{rate}", self.name(segment)),
            None => format!(
                "{} of {} segments proved{rate}",
                self.segments_done(),
                self.segments
            ),
        }
    }

    /// The time that what is done now still takes: the other segments if a device proves them, or the other nodes. Unknown before
    /// the first of them.
    fn left(&self, now: Instant) -> Option<Duration> {
        let mean = |since: Instant, done: usize| {
            let done = u32::try_from(done).ok().filter(|&done| done > 0)?;
            Some(now.duration_since(since) / done)
        };
        let (mean, left) = match self.aggregating {
            Some((since, before)) => (
                mean(since, self.nodes_done - before)?,
                self.nodes - self.nodes_done,
            ),
            None if self.ended => (
                mean(self.proving?, self.made)?,
                self.segments.saturating_sub(self.segments_done()),
            ),
            None => return None,
        };
        Some(mean * u32::try_from(left).ok()?)
    }

    /// Takes an event that happened `now`. `on` is the end of a line about a device.
    fn take(&mut self, event: Event<'_>, now: Instant, on: impl Fn(&str) -> String) -> Said {
        let mut said = Said::default();
        let before = self.segments_done() + self.nodes_done;
        match event {
            Event::SegmentExecuted {
                segment,
                instructions,
            } => {
                self.executed += instructions;
                self.segments = segment + 1;
                self.proving.get_or_insert(now);
                if self.traced.is_empty() {
                    said.now = Some(format!(
                        "executing: {} {}, {} instructions",
                        segment + 1,
                        table::plural(segment as u64 + 1, "segment"),
                        table::count(self.executed)
                    ));
                    return said;
                }
            }
            Event::Executed {
                segments,
                instructions,
            } => {
                self.segments = segments;
                self.ended = true;
                self.proving.get_or_insert(now);
                said.done.push(format!(
                    "executed {} instructions in {segments} {}",
                    table::count(instructions),
                    table::plural(segments as u64, "segment")
                ));
                if segments > 1 && instructions / (segments as u64) < SHORT_SEGMENT {
                    said.done.push(
                        "segments are short: a larger --segment-max-memory makes fewer of them, and a faster proof"
                            .into(),
                    );
                }
            }
            Event::NodesCounted { nodes } => self.nodes = nodes,
            Event::SegmentTraced { segment, .. } => {
                self.traced.insert(segment);
            }
            Event::SegmentResumed {
                segment,
                instructions,
            } => {
                self.found += 1;
                said.done.push(format!(
                    "{}: {} instructions, proved before",
                    self.name(segment),
                    table::count(instructions)
                ));
            }
            Event::SetAside { file, to, reason } => said.done.push(format!(
                "{} {reason}: renamed to {}, and proved again",
                file.display(),
                to.display()
            )),
            Event::SegmentRefused {
                segment,
                device,
                reason,
                excluded,
            } => {
                self.traced.remove(&segment);
                said.done
                    .push(refused(&self.name(segment), device, reason, excluded));
            }
            Event::NodeRefused {
                layer,
                node,
                device,
                reason,
                excluded,
            } => {
                let name = format!("aggregation layer {layer}: node {}", node + 1);
                said.done.push(refused(&name, device, reason, excluded));
            }
            Event::SegmentProved {
                segment,
                instructions,
                device,
            } => {
                self.traced.remove(&segment);
                self.made += 1;
                self.proved += instructions;
                said.done.push(format!(
                    "{}: {} instructions proved{} ({} so far)",
                    self.name(segment),
                    table::count(instructions),
                    on(device),
                    self.speed(now)
                ));
            }
            Event::NodeResumed { layer, node, .. } => {
                self.nodes_done += 1;
                said.done.push(format!(
                    "aggregation layer {layer}: node {}, proved before{}",
                    node + 1,
                    self.of_nodes()
                ));
            }
            Event::NodeProved {
                layer,
                node,
                device,
                ..
            } => {
                self.nodes_done += 1;
                said.done.push(format!(
                    "aggregation layer {layer}: node {} proved{}{}",
                    node + 1,
                    on(device),
                    self.of_nodes()
                ));
            }
            Event::InputUnread(unread) => said.done.push(format!("warning: {unread}")),
            Event::Verified => said.done.push("accepted by OpenVM's verifier".into()),
            _ => return said,
        }
        if self.are_all_proved() {
            let done = self.nodes_done;
            self.aggregating.get_or_insert((now, done));
        }
        if self.segments_done() + self.nodes_done > before {
            self.end = self.left(now).map(|left| now + left);
            if self.made > 0 {
                self.rate = format!(", {} so far", self.speed(now));
            }
        }
        said.now = Some(self.now());
        said
    }

    fn of_nodes(&self) -> String {
        match self.nodes {
            0 => String::new(),
            nodes => format!(" ({} of {nodes} nodes)", self.nodes_done),
        }
    }
}

fn refused(what: &str, device: &str, reason: &str, excluded: bool) -> String {
    format!(
        "{what}: wrong proof from {device} ({reason}); it is proved again{}",
        match excluded {
            true => format!(", without {device} from now on"),
            false => String::new(),
        }
    )
}

/// A step with its number among the steps of the job.
fn step(name: &str, is_app: bool) -> String {
    let skipped = |step: &&&str| is_app && step.starts_with("aggregation");
    let steps = || STEPS.iter().filter(|step| !skipped(step));
    match steps().position(|step| *step == name) {
        Some(at) => format!("step {} of {}: {name}", at + 1, steps().count()),
        None => name.to_owned(),
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bar {
    /// Begins the line of an application's proof, or of an aggregated one. If standard error is no terminal there is no line, only the
    /// results.
    pub fn new(is_app: bool) -> Self {
        let line = ProgressBar::new_spinner();
        let end = Arc::new(Mutex::new(None));
        let shown = end.clone();
        let time = move |state: &ProgressState, to: &mut dyn std::fmt::Write| {
            let _ = to.write_str(&table::rough(state.elapsed()));
            let end: Option<Instant> = *lock(&shown);
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if let Some(left) = left.filter(|left| !left.is_zero()) {
                let _ = write!(to, ", about {} left", table::rough(left));
            }
        };
        if let Ok(style) = ProgressStyle::with_template("[{time}] {wide_msg}") {
            line.set_style(style.with_key("time", time));
        }
        if !line.is_hidden() {
            line.enable_steady_tick(Duration::from_millis(500));
        }
        let shown = LineOwner::on(line.clone());
        Self {
            line,
            shown,
            is_app,
            names_devices: AtomicBool::new(false),
            state: Mutex::default(),
            end,
        }
    }

    /// The line on the terminal.
    pub fn line(&self) -> &ProgressBar {
        &self.line
    }

    /// Names the work at hand.
    pub fn phase(&self, text: &str) {
        self.shown.work(text);
    }

    /// Names the step at hand, and the number of steps.
    pub fn step(&self, name: &str) {
        self.phase(&step(name, self.is_app));
    }

    /// Number of the devices: lines name the device if there are several.
    pub fn set_devices(&self, devices: usize) {
        self.names_devices.store(devices > 1, Ordering::Relaxed);
    }

    /// Removes the line.
    pub fn finish(self) {}

    fn done(&self, text: &str) {
        if self.line.is_hidden() {
            table::note(text);
        } else {
            self.line.println(text);
        }
    }
}

impl Progress for Bar {
    fn event(&self, event: Event<'_>) {
        if let Event::Preparing { work } = event {
            return self.step(work);
        }
        let on = |device: &str| match self.names_devices.load(Ordering::Relaxed) {
            true => format!(" on {device}"),
            false => String::new(),
        };
        let now = Instant::now();
        // Lines of several threads stay in the order of their events.
        let mut state = lock(&self.state);
        let said = state.take(event, now, on);
        *lock(&self.end) = state.end;
        for line in said.done {
            self.done(&line);
        }
        if let Some(text) = said.now {
            self.phase(&text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_numbered_by_the_kind_of_proof() {
        assert_eq!(step("segments", false), "step 4 of 6: segments");
        assert_eq!(step("segments", true), "step 3 of 4: segments");
        assert_eq!(step("aggregation keys", true), "aggregation keys");
        assert_eq!(step("checking constraints", false), "checking constraints");
    }

    /// Catches a line that names the segment traced last in place of the one that is proved, nodes without their number, and
    /// estimates that count what was found as made.
    #[test]
    fn line_names_segment_and_node() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut state = State::default();
        let mut take = |seconds, event| {
            let said = state.take(event, at(seconds), |_| String::new());
            let left = state
                .end
                .map(|end| end.duration_since(at(seconds)).as_secs());
            (said.now.unwrap_or_default(), said.done.join("\n"), left)
        };
        let instructions = 1000;
        for segment in 0..3 {
            let executed = Event::SegmentExecuted {
                segment,
                instructions,
            };
            let (now, ..) = take(0, executed);
            assert!(now.starts_with("executing"), "{now}");
        }
        let device = "cpu";
        for segment in [1, 2] {
            take(
                0,
                Event::SegmentTraced {
                    segment,
                    instructions,
                },
            );
        }
        let (now, _, left) = take(
            1,
            Event::SegmentResumed {
                segment: 0,
                instructions,
            },
        );
        assert_eq!(now, "segment 2 of 3 or more: proving");
        assert_eq!(left, None);
        take(
            1,
            Event::Executed {
                segments: 3,
                instructions: 3000,
            },
        );
        take(1, Event::NodesCounted { nodes: 5 });
        let proved = |segment| Event::SegmentProved {
            segment,
            instructions,
            device,
        };
        let (now, done, left) = take(10, proved(1));
        assert!(now.starts_with("segment 3 of 3: proving, 100.00 "), "{now}");
        assert!(
            done.starts_with("segment 2 of 3: 1,000 instructions proved ("),
            "{done}"
        );
        assert_eq!(
            left,
            Some(10),
            "one of three was made here in ten seconds, one is left"
        );
        let node = |node| Event::NodeProved {
            layer: "leaf",
            node,
            nodes: None,
            device,
        };
        take(12, node(0));
        let (now, _, left) = take(20, proved(2));
        assert_eq!((now.as_str(), left), ("aggregating: node 2 of 5", None));
        let (now, done, left) = take(24, node(1));
        assert_eq!(now, "aggregating: node 3 of 5");
        assert_eq!(done, "aggregation layer leaf: node 2 proved (2 of 5 nodes)");
        assert_eq!(left, Some(12));
    }
}
