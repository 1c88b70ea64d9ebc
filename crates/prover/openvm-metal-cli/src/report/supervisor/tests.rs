//! Sections played by shell scripts.

use super::*;

const BEGIN: &str = r#"{"event":"begin","item":"NAME"}"#;
const END: &str = r#"{"event":"end","outcome":"passed","detail":"fine","seconds":0.5}"#;
const DONE: &str = r#"{"event":"done"}"#;

fn begin(name: &str) -> String {
    BEGIN.replace("NAME", name)
}

/// Runs shell scripts, one for each process: `echo` of each line, but those in front of which stands `$`.
fn follow_scripts(scripts: &[&[&str]], seconds: f64) -> SectionReport {
    let mut report = SectionReport::default();
    let limits = Limits {
        section: Duration::from_secs_f64(4.0 * seconds),
        item: Duration::from_secs_f64(seconds),
    };
    let process = std::cell::Cell::new(0);
    let command = |_| {
        let lines = scripts[process.get().min(scripts.len() - 1)];
        process.set(process.get() + 1);
        let script = lines.iter().map(|line| match line.strip_prefix('$') {
            Some(code) => format!("{code}\n"),
            None => format!("echo '{line}'\n"),
        });
        let mut command = Command::new("sh");
        command.arg("-c").arg(script.collect::<String>());
        command
    };
    let mut seen = 0;
    run(&mut report, limits, command, |_| seen += 1);
    assert!(seen > 1, "{seen} calls");
    report
}

fn outcomes(report: &SectionReport) -> Vec<(&str, Option<Outcome>)> {
    let items = report.items.iter();
    items
        .map(|item| (item.name.as_str(), item.outcome))
        .collect()
}

#[test]
fn section_completes() {
    let fact = r#"{"event":"fact","name":"chip","value":"M9"}"#;
    let data = r#"{"event":"data","name":"x","value":[1]}"#;
    let lines = [
        fact,
        data,
        &begin("a"),
        END,
        "stray",
        "$echo warned >&2",
        DONE,
    ];
    let report = follow_scripts(&[&lines], 20.0);
    assert_eq!((report.status, &report.error), (Status::Complete, &None));
    assert_eq!(outcomes(&report), [("a", Some(Outcome::Passed))]);
    assert_eq!(report.items[0].detail, "fine");
    assert_eq!(report.facts[0].value, "M9");
    assert_eq!(report.data["x"], serde_json::json!([1]));
    let mut log = report.log.clone();
    log.sort();
    assert_eq!(log, ["stray", "warned"]);
    assert_eq!((report.count(), report.restarts), ((1, 0), 0));
}

#[test]
fn crash_costs_one_item() {
    let first = [&begin("a"), END, &begin("b"), "$kill -SEGV $$"];
    let second = [&begin("c"), END, DONE];
    let report = follow_scripts(&[&first.map(|l| l), &second.map(|l| l)], 20.0);
    assert_eq!(report.status, Status::Complete);
    assert_eq!(
        outcomes(&report),
        [
            ("a", Some(Outcome::Passed)),
            ("b", Some(Outcome::Crashed)),
            ("c", Some(Outcome::Passed))
        ]
    );
    assert!(report.items[1].detail.contains("signal 11"));
    assert_eq!((report.count(), report.restarts), ((3, 1), 1));
}

#[test]
fn lost_device_gets_another_process() {
    let failed = END.replace("passed", "failed");
    let restart = format!("$exit {RESTART}");
    let first = [&begin("a"), failed.as_str(), &restart];
    let report = follow_scripts(&[&first, &[&begin("b"), END, DONE]], 20.0);
    assert_eq!(report.status, Status::Complete);
    assert_eq!(report.items[0].outcome, Some(Outcome::Failed));
    assert_eq!(report.items[1].outcome, Some(Outcome::Passed));
}

#[test]
fn hang_costs_one_item() {
    let first = [&begin("a"), "$sleep 60"];
    let report = follow_scripts(&[&first, &[&begin("b"), END, DONE]], 0.5);
    assert_eq!(report.status, Status::Complete, "{:?}", report.error);
    assert_eq!(report.items[0].outcome, Some(Outcome::TimedOut));
    assert_eq!(report.items[1].outcome, Some(Outcome::Passed));
    let silent = follow_scripts(&[&["$sleep 60"]], 0.3);
    assert_eq!(silent.status, Status::Stopped);
    assert!(silent.error.unwrap_or_default().contains("stopped after"));
}

#[test]
fn section_limit_stops_the_section() {
    let tick = format!(
        "$while sleep 0.05; do echo '{}'; echo '{END}'; done",
        begin("a")
    );
    let report = follow_scripts(&[&[&tick]], 0.3);
    assert_eq!(report.status, Status::Stopped);
    assert!(report
        .error
        .unwrap_or_default()
        .contains("time of this section"));
    assert!(report.items.len() > 2);
}

#[test]
fn crash_at_start_stops_the_section() {
    let report = follow_scripts(&[&["$exit 3"]], 20.0);
    assert_eq!(report.status, Status::Stopped);
    assert!(report
        .error
        .as_deref()
        .unwrap_or_default()
        .contains("status 3"));
    assert_eq!(report.count(), (1, 1));
    let always = follow_scripts(&[&[&begin("a"), "$exit 3"]], 20.0);
    assert_eq!(always.restarts, MAX_RESTARTS);
    assert_eq!(always.status, Status::Stopped);
    let refused = follow_scripts(&[&["$echo 'error: no device' >&2", "$exit 1"]], 20.0);
    assert_eq!(refused.error.as_deref(), Some("no device"));
}

#[test]
fn interrupt_ends_the_section() {
    let report = follow_scripts(&[&[&begin("a"), "$exit 130"]], 20.0);
    assert_eq!(report.status, Status::Interrupted);
    assert_eq!(report.count(), (0, 0));
}

#[test]
fn missing_program_stops_the_section() {
    let mut report = SectionReport::default();
    let limits = Limits {
        section: Duration::from_secs(9),
        item: Duration::from_secs(9),
    };
    let command = |_| Command::new("/no/such/program");
    run(&mut report, limits, command, |_| ());
    assert!(report
        .error
        .unwrap_or_default()
        .contains("could not be started"));
}

#[test]
fn log_is_bounded() {
    let mut log = Vec::new();
    keep(&mut log, "ä".repeat(LOG_WIDTH + 1));
    assert_eq!(log[0].chars().count(), LOG_WIDTH);
    for line in 0..=LOG_LINES {
        keep(&mut log, line.to_string());
    }
    assert_eq!(log.len(), LOG_LINES);
    assert_eq!(log[0], "1");
}

/// A process for each item is no restart, however many there are.
#[test]
fn lone_items_have_a_process_each() {
    let next = format!("$exit {NEXT}");
    let lines: Vec<[String; 3]> = (0..2 * MAX_RESTARTS)
        .map(|n| [begin(&n.to_string()), END.to_owned(), next.clone()])
        .collect();
    let mut scripts: Vec<Vec<&str>> = lines
        .iter()
        .map(|lines| lines.iter().map(String::as_str).collect())
        .collect();
    scripts.push(vec![DONE]);
    let scripts: Vec<&[&str]> = scripts.iter().map(Vec::as_slice).collect();
    let report = follow_scripts(&scripts, 20.0);
    assert_eq!((report.status, report.restarts), (Status::Complete, 0));
    assert_eq!(report.count(), (2 * MAX_RESTARTS, 0));
    let idle = follow_scripts(&[&[&next]], 20.0);
    assert_eq!(idle.status, Status::Stopped);
}

/// A failed item is done again under each setting by itself, and both outcomes are written to it.
#[test]
fn failed_items_are_done_again() {
    let failed = END.replace("passed", "failed").replace("fine", "wrong");
    let first = [&begin("a"), END, &begin("b"), failed.as_str(), DONE];
    let mut report = follow_scripts(&[&first], 20.0);
    let limits = Limits {
        section: Duration::from_secs(20),
        item: Duration::from_secs(20),
    };
    let alone = |n: usize| {
        let (begin, done) = (begin("b"), DONE);
        let script = format!(
            "echo '{begin}'; case $OPENVM_METAL_ORDER$OPENVM_METAL_NOINLINE$0 in serial{n}) echo '{END}';; *) echo '{failed}';; esac; echo '{done}'"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script, &n.to_string()]);
        command
    };
    again(&mut report, limits, alone, |_| {});
    assert_eq!(report.items[0].detail, "fine");
    assert_eq!(
        report.items[1].detail,
        "wrong\nagain with OPENVM_METAL_ORDER=serial: ok\nagain with OPENVM_METAL_NOINLINE=1: FAILED: wrong"
    );
    assert_eq!(
        report.count(),
        (2, 1),
        "the outcome stays that of the first time"
    );
}
