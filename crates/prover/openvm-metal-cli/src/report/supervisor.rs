//! Runs a section in processes of its own, so that whatever it does to them, the report goes on.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::data::{Item, SectionReport, Status};
use super::event::{Event, Outcome};
use super::worker::RESTART;
use crate::interrupt;

/// Processes of one section after the first, at most.
const MOST_RESTARTS: usize = 12;
/// Lines of messages that are kept.
const LOG_LINES: usize = 80;
/// Longest line that is kept.
const LOG_WIDTH: usize = 2000;
/// Time between two checks of limits and Ctrl-C.
const TICK: Duration = Duration::from_millis(50);
/// Changes within this time are told together.
const PAUSE: Duration = Duration::from_secs(2);
/// Time for an ended process to be gone; one that hangs in a driver is left behind.
const LINGER: Duration = Duration::from_secs(10);

/// Limits of a section.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// For all of it.
    pub section: Duration,
    /// For one item, and for what comes before the first.
    pub item: Duration,
}

enum Message {
    Line(String),
    Log(String),
    /// One of the two pipes is closed.
    Closed,
}

/// End of one process.
enum End {
    /// The section is complete.
    Done,
    /// The section cannot go on.
    Stopped(String),
    /// The next item needs a new process.
    Restart,
    /// The process broke down.
    Broken(String),
    /// An item, or the time between two, was over its limit.
    ItemLimit,
    /// The section was over its limit.
    SectionLimit,
    /// Ctrl-C.
    Interrupted,
}

/// Runs the section whose process for the items from `n` on `command(n)` starts; `changed` is called at
/// the start, soon after each change, and at the end.
pub fn run(
    report: &mut SectionReport,
    limits: Limits,
    command: impl Fn(usize) -> std::io::Result<Command>,
    mut changed: impl FnMut(&SectionReport),
) {
    let start = Instant::now();
    report.status = Status::Running;
    changed(report);
    let (status, error) = loop {
        let begun = report.items.len();
        let end = match command(begun).and_then(|mut command| spawn(&mut command)) {
            Ok(child) => {
                let end = follow(child, report, limits, start, &mut changed);
                report.seconds = start.elapsed().as_secs_f64();
                end
            }
            Err(error) => End::Stopped(format!("its process could not be started: {error}")),
        };
        let nothing_begun = report.items.len() == begun;
        let open = report.items.iter_mut().find(|item| item.outcome.is_none());
        let close = |outcome, detail: String| {
            if let Some(item) = open {
                item.outcome = Some(outcome);
                item.detail = detail;
            }
        };
        let over = |limit: Duration| format!("stopped after {} s", limit.as_secs());
        match end {
            End::Done => break (Status::Complete, None),
            End::Stopped(why) => break (Status::Stopped, Some(why)),
            End::Interrupted => break (Status::Interrupted, None),
            End::SectionLimit => {
                close(Outcome::TimedOut, over(limits.section));
                let why = format!(
                    "the time of this section is over ({} s)",
                    limits.section.as_secs()
                );
                break (Status::Stopped, Some(why));
            }
            End::ItemLimit => close(Outcome::TimedOut, over(limits.item)),
            End::Broken(how) if nothing_begun => break (Status::Stopped, Some(how)),
            End::Broken(how) => close(Outcome::Crashed, how),
            End::Restart => {}
        }
        if nothing_begun {
            let why = format!("nothing happened for {} s", limits.item.as_secs());
            break (Status::Stopped, Some(why));
        }
        if report.restarts == MOST_RESTARTS {
            let why = format!("given up after {MOST_RESTARTS} new processes");
            break (Status::Stopped, Some(why));
        }
        report.restarts += 1;
        changed(report);
    };
    report.status = status;
    report.error = error;
    report.seconds = start.elapsed().as_secs_f64();
    changed(report);
}

fn spawn(command: &mut Command) -> std::io::Result<Child> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Follows a process to its end.
fn follow(
    mut child: Child,
    report: &mut SectionReport,
    limits: Limits,
    section_start: Instant,
    changed: &mut impl FnMut(&SectionReport),
) -> End {
    let (sender, messages) = mpsc::channel();
    let mut pipes = 0;
    if let Some(pipe) = child.stdout.take() {
        pipes += 1;
        forward(pipe, sender.clone(), Message::Line);
    }
    if let Some(pipe) = child.stderr.take() {
        pipes += 1;
        forward(pipe, sender, Message::Log);
    }
    let mut log = VecDeque::from(std::mem::take(&mut report.log));
    let mut last = Instant::now();
    let (mut told, mut untold) = (Instant::now(), false);
    let mut said = None;
    let end = loop {
        match messages.recv_timeout(TICK) {
            Ok(Message::Line(line)) => match Event::parse(&line) {
                Some(event) => {
                    last = Instant::now();
                    said = take(event, report).or(said);
                    untold = true;
                }
                None => keep(&mut log, line),
            },
            Ok(Message::Log(line)) => keep(&mut log, line),
            Ok(Message::Closed) => pipes -= 1,
            // Programs that it started may hold its pipes open after its end.
            Err(RecvTimeoutError::Timeout) if matches!(child.try_wait(), Ok(Some(_))) => pipes = 0,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => pipes = 0,
        }
        if untold && told.elapsed() > PAUSE {
            changed(report);
            (told, untold) = (Instant::now(), false);
        }
        if interrupt::requested() {
            break Some(End::Interrupted);
        }
        if section_start.elapsed() > limits.section {
            break Some(End::SectionLimit);
        }
        if last.elapsed() > limits.item {
            break Some(End::ItemLimit);
        }
        if pipes == 0 {
            break None;
        }
    };
    report.log = log.into();
    if end.is_some() {
        // It may have ended by itself just now.
        let _: std::io::Result<()> = child.kill();
    }
    let status = wait(&mut child);
    match (end, said, status) {
        (Some(end), ..) => end,
        (None, Some(end), _) => end,
        (None, None, Some(status)) if status.code() == Some(RESTART) => End::Restart,
        // A Ctrl-C reaches the process of the section as well, and may do so first.
        (None, None, Some(status)) if status.code() == Some(130) => End::Interrupted,
        (None, None, Some(status)) => End::Broken(describe(status)),
        (None, None, None) => End::Broken("its process closed its output and hangs".into()),
    }
}

fn forward(pipe: impl Read + Send + 'static, to: Sender<Message>, wrap: fn(String) -> Message) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(n) if n > 0) {
            let text = String::from_utf8_lossy(&line);
            if to.send(wrap(text.trim_end().to_owned())).is_err() {
                return;
            }
            line.clear();
        }
        // Nobody listens any more if this fails.
        let _ = to.send(Message::Closed);
    });
}

fn keep(log: &mut VecDeque<String>, mut line: String) {
    if line.is_empty() {
        return;
    }
    if let Some((at, _)) = line.char_indices().nth(LOG_WIDTH) {
        line.truncate(at);
    }
    if log.len() == LOG_LINES {
        log.pop_front();
    }
    log.push_back(line);
}

/// Takes what was told; gives the end if it is one.
fn take(event: Event, report: &mut SectionReport) -> Option<End> {
    match event {
        Event::Fact { name, value } => report.add_fact(name, value),
        Event::Data { name, value } => {
            report.data.insert(name, value);
        }
        Event::Begin { item } => report.items.push(Item {
            name: item,
            outcome: None,
            detail: String::new(),
            seconds: 0.0,
        }),
        Event::End {
            outcome,
            detail,
            seconds,
        } => {
            if let Some(item) = report.items.last_mut() {
                item.outcome = Some(outcome);
                item.detail = detail;
                item.seconds = seconds;
            }
        }
        Event::Stopped { error } => return Some(End::Stopped(error)),
        Event::Done => return Some(End::Done),
    }
    None
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

fn describe(status: ExitStatus) -> String {
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
    match status.code() {
        Some(code) => format!("its process ended with status {code} before it was done"),
        None => "its process ended before it was done".into(),
    }
}

#[cfg(all(test, unix))]
mod tests;
