//! One section in child processes: a process that breaks down or hangs costs the item at hand, and another process goes on with
//! the next.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::data::{Item, Outcome, SectionReport, Status};
use super::worker::{NEXT, RESTART};
use crate::interrupt;

/// Processes of one section after the first, at most.
const MAX_RESTARTS: usize = 12;
/// Lines of messages that are kept.
const LOG_LINES: usize = 80;
/// Characters of a message that are kept.
const LOG_WIDTH: usize = 2000;
/// Time between two checks of limits and Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
/// Shortest time between two calls about changes.
const PAUSE: Duration = Duration::from_secs(2);
/// Time that a killed process is waited for: one that hangs in a driver does not end.
const LINGER: Duration = Duration::from_secs(10);

/// Limits of a section.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time of all items.
    pub section: Duration,
    /// Time of one item, and of the work before the first.
    pub item: Duration,
}

/// End of one process.
enum End {
    /// It told that the section is complete.
    Done,
    /// It asked for another process.
    Restart,
    /// It has done its only item.
    Next,
    /// It failed.
    Broken(String),
    /// It was over a limit, and was killed.
    Limit(String),
    /// Ctrl-C.
    Interrupted,
}

/// Runs a section: `command(n)` is the process for the items from `n` on. Calls `changed` at the start, soon after each change, and at
/// the end.
pub fn run(
    report: &mut SectionReport,
    limits: Limits,
    command: impl Fn(usize) -> Command,
    mut changed: impl FnMut(&SectionReport),
) {
    let start = Instant::now();
    report.status = Status::Running;
    changed(report);
    (report.status, report.error) = loop {
        let begun = report.items.len();
        let child = command(begun)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let end = match child {
            Ok(child) => follow(child, report, limits, start, &mut changed),
            Err(error) => End::Broken(format!("its process could not be started: {error}")),
        };
        report.seconds = start.elapsed().as_secs_f64();
        let nothing_begun = report.items.len() == begun;
        let (outcome, reason) = match end {
            End::Done => break (Status::Complete, None),
            End::Interrupted => break (Status::Interrupted, None),
            End::Next if !nothing_begun && start.elapsed() <= limits.section => continue,
            End::Next => (Outcome::Crashed, "its process did not begin an item".into()),
            End::Restart => (Outcome::Crashed, "its process did not begin an item".into()),
            End::Broken(reason) => (Outcome::Crashed, reason),
            End::Limit(reason) => (Outcome::TimedOut, reason),
        };
        if let Some(item) = report.running() {
            (item.outcome, item.detail) = (Some(outcome), reason.clone());
        }
        if nothing_begun || start.elapsed() > limits.section {
            break (Status::Stopped, Some(reason));
        }
        if report.restarts == MAX_RESTARTS {
            let reason = format!("given up after {MAX_RESTARTS} new processes; {reason}");
            break (Status::Stopped, Some(reason));
        }
        report.restarts += 1;
        changed(report);
    };
    changed(report);
}

/// Failed items that are done again, at most: each one twice.
const MAX_AGAIN: usize = 4;
/// Settings under which a failed item is done again, each by itself: the switches of the likeliest causes of wrong results.
pub const AGAIN: [(&str, &str); 2] = [
    ("OPENVM_METAL_ORDER", "serial"),
    ("OPENVM_METAL_NOINLINE", "1"),
];

/// Does the first failed items of a section again and writes the outcomes to them. `command(n)` is the process for item `n` alone.
pub fn again(
    report: &mut SectionReport,
    limits: Limits,
    command: impl Fn(usize) -> Command,
    mut changed: impl FnMut(&SectionReport),
) {
    let bad = |item: &Item| item.outcome.is_some_and(Outcome::is_bad);
    let failed = (0..report.items.len()).filter(|&n| bad(&report.items[n]));
    let failed: Vec<_> = failed.take(MAX_AGAIN).collect();
    for n in failed {
        for (variable, value) in AGAIN {
            if report.status == Status::Interrupted {
                return;
            }
            let mut alone = SectionReport::default();
            let process = |begun: usize| {
                let mut command = command(n + begun);
                command.env(variable, value);
                command
            };
            run(&mut alone, limits, process, |_| {});
            if alone.status == Status::Interrupted {
                report.status = Status::Interrupted;
            }
            let item = alone.items.first();
            let outcome = item.and_then(|item| Some((item.outcome?.name(), &item.detail)));
            let text = match (outcome, &alone.error) {
                (Some((outcome, detail)), _) if bad(&alone.items[0]) => {
                    format!("{outcome}: {detail}")
                }
                (Some((outcome, _)), _) => outcome.to_owned(),
                (None, Some(error)) => format!("not done: {error}"),
                (None, None) => "not done".to_owned(),
            };
            let detail = &mut report.items[n].detail;
            *detail = format!("{detail}\nagain with {variable}={value}: {text}");
            report.seconds += alone.seconds;
            changed(report);
        }
    }
}

/// Enters the events of a process until it ends or is over a limit.
fn follow(
    mut child: Child,
    report: &mut SectionReport,
    limits: Limits,
    section_start: Instant,
    changed: &mut impl FnMut(&SectionReport),
) -> End {
    let (sender, lines) = mpsc::channel();
    forward(child.stdout.take(), sender.clone());
    forward(child.stderr.take(), sender);
    let (mut last_event, mut last_call, mut is_changed) = (Instant::now(), Instant::now(), false);
    let killed = loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => match serde_json::from_str(&line) {
                Ok(event) => {
                    last_event = Instant::now();
                    is_changed = true;
                    report.take(event);
                }
                Err(_) => keep(&mut report.log, line),
            },
            // Programs that it started may hold its pipes open after its end.
            Err(RecvTimeoutError::Timeout) if matches!(child.try_wait(), Ok(Some(_))) => {
                break None
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
        if is_changed && last_call.elapsed() > PAUSE {
            changed(report);
            (last_call, is_changed) = (Instant::now(), false);
        }
        let over = |limit: Duration| format!("stopped after {} s", limit.as_secs());
        if interrupt::requested() {
            break Some(End::Interrupted);
        } else if section_start.elapsed() > limits.section {
            let what = "the time of this section is over";
            break Some(End::Limit(format!("{what}: {}", over(limits.section))));
        } else if last_event.elapsed() > limits.item {
            break Some(End::Limit(over(limits.item)));
        }
    };
    if killed.is_some() {
        // It may have ended by itself just now.
        let _: std::io::Result<()> = child.kill();
    }
    let status = wait(&mut child);
    let code = status.and_then(|status| status.code());
    match (killed, status) {
        (Some(end), _) => end,
        (None, _) if report.status == Status::Complete => End::Done,
        (None, _) if code == Some(RESTART.into()) => End::Restart,
        (None, _) if code == Some(NEXT.into()) => End::Next,
        // A Ctrl-C reaches the process of the section as well, and may do so first.
        (None, _) if code == Some(130) => End::Interrupted,
        (None, Some(status)) => End::Broken(describe(status, &report.log)),
        (None, None) => End::Broken("its process closed its output and hangs".into()),
    }
}

/// Sends the lines of a pipe until it is closed.
fn forward(pipe: Option<impl Read + Send + 'static>, to: Sender<String>) {
    let Some(pipe) = pipe else { return };
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if to.send(text).is_err() {
                return;
            }
            line.clear();
        }
    });
}

fn keep(log: &mut Vec<String>, mut line: String) {
    if line.is_empty() {
        return;
    }
    if let Some((at, _)) = line.char_indices().nth(LOG_WIDTH) {
        line.truncate(at);
    }
    if log.len() == LOG_LINES {
        log.remove(0);
    }
    log.push(line);
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < LINGER {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(TICK / 5);
    }
    None
}

/// The end of a process in words: its error message, if it printed one.
fn describe(status: ExitStatus, log: &[String]) -> String {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        if let Some(signal) = status.signal() {
            let name = match signal {
                4 => " (illegal instruction)",
                6 => " (abort)",
                9 => " (killed, perhaps for lack of memory)",
                11 => " (invalid memory access)",
                _ => "",
            };
            return format!("its process was ended by signal {signal}{name}");
        }
    }
    let said = log
        .iter()
        .rev()
        .find_map(|line| line.strip_prefix("error: "));
    match (said, status.code()) {
        (Some(said), _) => said.to_owned(),
        (None, Some(code)) => format!("its process ended with status {code} before it was done"),
        (None, None) => "its process ended before it was done".into(),
    }
}

#[cfg(all(test, unix))]
mod tests;
