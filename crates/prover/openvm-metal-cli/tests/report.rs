//! `openvm-metal report` as a user runs it: both files, whatever happens to the sections.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

#[cfg(unix)]
#[path = "cli/interrupts.rs"]
mod interrupts;

/// A folder of one test, removed at the end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::with_prefix("openvm-metal-report-").expect("a folder"))
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openvm-metal"));
        command
            .arg("report")
            .args(args)
            .current_dir(&self.0)
            .env_remove("OPENVM_METAL_DEVICE")
            .env_remove("OPENVM_METAL_MEMORY_BUDGET");
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap_or_default()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.read("openvm-metal-report.json")).expect("JSON")
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder");
        let names = entries.map(|e| e.expect("entry").file_name().to_string_lossy().into_owned());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

fn text(output: &Output) -> String {
    let bytes = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn cpu_report_is_complete() {
    let folder = Folder::new();
    let args = [
        "--device", "cpu", "--only", "machine", "--only", "device", "--only", "kernels",
    ];
    let output = folder.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(
        text(&output).contains("attach openvm-metal-report.md"),
        "{}",
        text(&output)
    );
    assert_eq!(
        folder.names(),
        ["openvm-metal-report.json", "openvm-metal-report.md"]
    );
    let json = folder.json();
    assert_eq!(json["format"], 1);
    assert_eq!(json["complete"], true);
    assert_eq!(json["device"], "cpu");
    let sections = json["sections"].as_array().expect("sections");
    assert_eq!(sections.len(), 3);
    for section in sections {
        assert_eq!(section["status"], "complete", "{section}");
        assert_eq!(section["restarts"], 0, "{section}");
    }
    assert_eq!(sections[2]["items"][0]["outcome"], "passed");
    let kernels = sections[1]["items"].as_array().expect("items");
    assert!(kernels.len() > 10);
    for unit in kernels {
        let name = unit["item"]
            .as_str()
            .or(unit["name"].as_str())
            .expect("a name");
        let large_tiles = ["ntt/tall", "ntt/tall_ext", "commit/encode"];
        let large_tiles = large_tiles.iter().any(|unit| name.ends_with(unit));
        let outcome = if large_tiles { "skipped" } else { "passed" };
        assert_eq!(unit["outcome"], outcome, "{unit}");
    }
    let markdown = folder.read("openvm-metal-report.md");
    for part in [
        "# openvm-metal report",
        "items passed",
        "Next: ",
        "- chip: ",
        "- system: ",
        "hash/merkle",
    ] {
        assert!(markdown.contains(part), "{part} is not in\n{markdown}");
    }
}

/// Hologram's part of the report is made by the command beside this one, whatever that command is.
#[cfg(unix)]
#[test]
fn hologram_section_needs_its_command() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let program = folder.0.path().join("openvm-metal");
    std::fs::hard_link(env!("CARGO_BIN_EXE_openvm-metal"), &program)
        .or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_openvm-metal"), &program).map(drop))
        .expect("a copy");
    let section = |script: Option<&str>| {
        let hologram = folder.0.path().join("hologram");
        if let Some(script) = script {
            std::fs::write(&hologram, format!("#!/bin/sh\n{script}\n")).expect("a script");
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&hologram, mode).expect("a mode");
        }
        let args = [
            "report", "--device", "cpu", "--only", "hologram", "--seed", "7",
        ];
        let mut command = Command::new(&program);
        let command = command.args(args).args(["--programs", "5"]);
        let output = command.current_dir(&folder.0).env("PATH", "").output();
        let code = output.expect("the binary runs").status.code();
        (code, folder.json()["sections"][0].clone())
    };
    for script in [
        None,
        Some("echo \"error: unexpected argument\" >&2; exit 2"),
    ] {
        let (code, section) = section(script);
        assert_eq!(code, Some(0), "{section}");
        assert_eq!(section["items"][0]["outcome"], "skipped", "{section}");
        let detail = section["items"][0]["detail"].to_string();
        let reason = match script {
            None => "not installed beside",
            Some(_) => "not of this version",
        };
        assert!(detail.contains(reason), "{detail}");
    }
    let (code, section) = section(Some(
        r#"echo '{"event":"fact","name":"hologram","value":"'"$*"'"}'
           case "$*" in *"--from 0"*) echo '{"event":"begin","item":"a"}'; kill -SEGV $$;; esac
           echo '{"event":"begin","item":"b"}'
           echo '{"event":"end","outcome":"passed","detail":"","seconds":1}'
           echo '{"event":"done"}'"#,
    ));
    assert_eq!(code, Some(1), "{section}");
    assert_eq!(section["status"], "complete", "{section}");
    assert_eq!(section["items"][0]["outcome"], "crashed", "{section}");
    assert_eq!(section["items"][1]["outcome"], "passed", "{section}");
    assert_eq!(
        section["facts"][0]["value"],
        "selftest --events --programs 5 --device cpu --from 1 --seed 7"
    );
}

/// A unit that never ends to compile and one that kills its process are a row each; work that needs them is left out by name.
#[test]
fn bad_units_cost_themselves_alone() {
    let folder = Folder::new();
    // A unit that hangs takes the whole limit, which is also that of a check.
    let mut command = folder.command(&[
        "--device",
        "cpu",
        "--item-limit",
        "20",
        "--only",
        "kernels",
        "--only",
        "device",
        "--only",
        "proof",
    ]);
    let output = command
        .env(
            "OPENVM_METAL_TEST_COMPILE",
            "openings/contract=abort,gkr/gkr=hang",
        )
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let json = folder.json();
    assert_eq!(json["complete"], true);
    let items = |section: usize| {
        let section = &json["sections"][section];
        assert_eq!(section["status"], "complete", "{section}");
        section["items"].as_array().expect("items").clone()
    };
    let bad = |items: &[Value]| -> Vec<(String, String)> {
        let word = |value: &Value| value.as_str().expect("a word").to_owned();
        let all = items.iter();
        let all = all.map(|item| (word(&item["name"]), word(&item["outcome"])));
        all.filter(|(_, outcome)| outcome != "passed" && outcome != "skipped")
            .collect()
    };
    let lost = [("gkr/gkr", "timed_out"), ("openings/contract", "crashed")];
    let lost = lost.map(|(unit, how)| (format!("openvm_metal_backend/{unit}"), how.to_owned()));
    assert_eq!(bad(&items(0)), lost);
    assert!(items(0).len() > 20);
    assert_eq!(bad(&items(1)), []);
    let proofs = items(2);
    assert_eq!(bad(&proofs), []);
    let left_out = |item: &Value, unit: &str| {
        let detail = item["detail"].as_str().unwrap_or_default();
        item["outcome"] == "skipped" && detail.contains(&format!("unit '{unit}' is left out"))
    };
    for item in &proofs {
        let named = left_out(item, "gkr/gkr") || left_out(item, "openings/contract");
        assert!(named, "{item}");
    }
}

/// Failures do not end a report, and what a machine has no memory for is no failure.
#[test]
fn lack_of_memory_is_no_failure() {
    let folder = Folder::new();
    let mut command = folder.command(&["--device", "cpu", "--only", "proof", "--only", "machine"]);
    let output = command
        .env("OPENVM_METAL_MEMORY_BUDGET", "1M")
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let items = folder.json()["sections"][1]["items"].clone();
    for item in items.as_array().expect("items") {
        assert_eq!(item["outcome"], "skipped", "{item}");
        assert!(
            item["detail"]
                .as_str()
                .is_some_and(|d| d.contains("1048576")),
            "{item}"
        );
    }
    let mut command = folder.command(&["--device", "cpu", "--only", "proof", "--only", "machine"]);
    let output = command
        .env("OPENVM_METAL_WAIT_TIMEOUT", "soon")
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let json = folder.json();
    assert_eq!(
        json["sections"][0]["status"], "complete",
        "other sections go on"
    );
    assert_eq!(json["sections"][1]["status"], "stopped");
    let error = json["sections"][1]["error"].as_str().expect("an error");
    assert!(
        error.contains("OPENVM_METAL_WAIT_TIMEOUT='soon'"),
        "{error}"
    );
    assert!(folder.read("openvm-metal-report.md").contains("STOPPED"));
}

#[test]
fn section_limit_stops_the_section() {
    let folder = Folder::new();
    let output = folder.run(&[
        "--device",
        "cpu-conformance",
        "--only",
        "submissions",
        "--limit",
        "1",
    ]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let json = folder.json();
    assert_eq!(json["sections"][0]["status"], "stopped");
    let seconds = json["sections"][0]["seconds"].as_f64().expect("a number");
    assert!(seconds < 30.0, "{seconds}");
}

#[test]
fn bad_options_are_refused_before_work() {
    let folder = Folder::new();
    for (args, status, message) in [
        (
            &["--only", "nothing"][..],
            2,
            "no section matches 'nothing'",
        ),
        (&["--device", "toaster"], 2, "unknown device 'toaster'"),
        (
            &["--out", "no/such/folder/report"],
            1,
            "cannot write no/such/folder/report.md",
        ),
        (&["--limit", "0"], 2, "--limit"),
        (&["--programs", "many"], 2, "--programs"),
    ] {
        let output = folder.run(args);
        assert_eq!(
            output.status.code(),
            Some(status),
            "{args:?}: {}",
            text(&output)
        );
        assert!(
            text(&output).contains(message),
            "{args:?}: {}",
            text(&output)
        );
    }
    if !cfg!(target_vendor = "apple") {
        let output = folder.run(&["--device", "metal"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output).contains("not available"), "{}", text(&output));
    }
    assert_eq!(folder.names(), Vec::<String>::new());
    std::fs::create_dir(folder.0.path().join("taken.md")).expect("a folder");
    let output = folder.run(&["--out", "taken"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("cannot write taken.md"),
        "{}",
        text(&output)
    );
}

#[test]
fn list_names_every_section() {
    let output = Folder::new().run(&["--list"]);
    assert_eq!(output.status.code(), Some(0));
    let names: Vec<_> = text(&output)
        .lines()
        .map(|l| l.split(' ').next().map(str::to_owned))
        .collect();
    for name in [
        "machine",
        "device",
        "kernels",
        "selftest",
        "hologram",
        "proof",
        "bench",
        "submissions",
    ] {
        assert!(
            names.contains(&Some(name.into())),
            "{name} is not in {names:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_finished_sections() {
    use interrupts::with_interrupts;
    let folder = Folder::new();
    let mut command = folder.command(&[
        "--device",
        "cpu-conformance",
        "--only",
        "machine",
        "--only",
        "submissions",
    ]);
    let mut child = with_interrupts(&mut command)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let path = folder.0.path().join("openvm-metal-report.md");
    let begun =
        || std::fs::read_to_string(&path).is_ok_and(|text| text.contains("keccakf 8 | running"));
    wait_until(&mut child, begun);
    let signal = Command::new("sh")
        .args(["-c", &format!("kill -INT {}", child.id())])
        .status();
    assert!(signal.expect("sh").success());
    let start = Instant::now();
    while child.try_wait().expect("a child").is_none() {
        assert!(start.elapsed() < Duration::from_secs(20), "it did not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(child.wait().expect("a status").code(), Some(130));
    let json = folder.json();
    assert_eq!(json["complete"], false);
    assert_eq!(json["sections"][0]["status"], "complete");
    assert_eq!(json["sections"][1]["status"], "interrupted");
}

#[cfg(unix)]
fn wait_until(child: &mut Child, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "nothing was written"
        );
        assert!(child.try_wait().expect("a child").is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(50));
    }
}
