//! The report for people, as Markdown that reads well as plain text too.

use std::fmt::Write;

use super::data::{Item, Outcome, Report, SectionReport, Status};

/// Longest detail in a table; failures are shown in full below it.
const WIDTH: usize = 160;
/// Lines of messages that are shown.
const LOG_LINES: usize = 40;

/// The whole text. `json` is the name of the file beside it.
pub fn render(report: &Report, json: &str) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, report, json);
    out
}

/// The result in one line.
pub fn verdict(report: &Report) -> String {
    let (all, bad) = report.count();
    let machine = ["chip", "system"].into_iter();
    let machine = machine.filter_map(|name| report.fact(name));
    let machine: String = machine.map(|fact| format!("{fact}, ")).collect();
    let state = match bad {
        0 => format!("all {all} items passed"),
        bad => format!("{bad} of {all} items failed"),
    };
    let end = if report.complete {
        ""
    } else {
        ", not complete"
    };
    format!("{state}{end}: {machine}device {}", report.device)
}

/// Next step for the user.
pub fn next_step(report: &Report, markdown: &str, json: &str) -> String {
    let chip = report.fact("chip").unwrap_or("my machine");
    let system = report.fact("system").unwrap_or("its system");
    let what = if report.count().1 == 0 {
        "Nothing failed, which is news too"
    } else {
        "Each failure names what to look at"
    };
    format!(
        "{what}: please open an issue \"Report: {chip}, {system}\" in the repository that this program is from, and attach \
         {markdown} and {json}."
    )
}

fn write(out: &mut String, report: &Report, json: &str) -> std::fmt::Result {
    writeln!(out, "# openvm-metal report\n")?;
    writeln!(out, "**{}**\n", verdict(report))?;
    if report.complete {
        let markdown = json.replace(".json", ".md");
        writeln!(out, "Next: {}\n", next_step(report, &markdown, json))?;
    }
    writeln!(
        out,
        "openvm-metal {}, commit {}, seed {}\n",
        report.version, report.commit, report.seed
    )?;
    writeln!(out, "| section | state | items | bad | seconds |")?;
    writeln!(out, "|---|---|---|---|---|")?;
    for section in &report.sections {
        let (all, bad) = section.count();
        writeln!(
            out,
            "| {} | {} | {all} | {bad} | {:.1} |",
            section.title,
            state(section),
            section.seconds
        )?;
    }
    for section in &report.sections {
        if section.status != Status::Waiting {
            write_section(out, section)?;
        }
    }
    Ok(())
}

fn state(section: &SectionReport) -> &'static str {
    match section.status {
        Status::Waiting => "not begun",
        Status::Running => "running",
        Status::Complete if section.count().1 > 0 => "FAILED",
        Status::Complete => "ok",
        Status::Stopped => "STOPPED",
        Status::Interrupted => "interrupted",
    }
}

fn write_section(out: &mut String, section: &SectionReport) -> std::fmt::Result {
    writeln!(out, "\n## {}\n", section.title)?;
    if let Some(error) = &section.error {
        writeln!(out, "**Stopped: {}**\n", one_line(error))?;
    }
    if section.restarts > 0 {
        writeln!(
            out,
            "New processes, each after one that failed: {}\n",
            section.restarts
        )?;
    }
    for fact in &section.facts {
        let mut lines = fact.value.lines();
        writeln!(out, "- {}: {}", fact.name, lines.next().unwrap_or_default())?;
        for line in lines {
            writeln!(out, "    {line}")?;
        }
    }
    if !section.facts.is_empty() {
        writeln!(out)?;
    }
    if !section.items.is_empty() {
        writeln!(out, "| item | result | seconds | |")?;
        writeln!(out, "|---|---|---|---|")?;
        for item in &section.items {
            write_item(out, item)?;
        }
    }
    let full = |item: &&Item| {
        item.outcome.is_some_and(Outcome::is_bad) && short(&item.detail) != item.detail
    };
    for item in section.items.iter().filter(full) {
        writeln!(out, "\n`{}`:\n", item.name)?;
        block(out, item.detail.lines())?;
    }
    if !section.log.is_empty() {
        writeln!(out, "\nMessages:\n")?;
        let from = section.log.len().saturating_sub(LOG_LINES);
        block(out, section.log[from..].iter().map(String::as_str))?;
    }
    Ok(())
}

fn write_item(out: &mut String, item: &Item) -> std::fmt::Result {
    let result = item.outcome.map_or("running", Outcome::name);
    writeln!(
        out,
        "| {} | {result} | {:.2} | {} |",
        item.name,
        item.seconds,
        short(&item.detail).replace('|', "\\|")
    )
}

/// Indented lines are a block in Markdown whatever is in them.
fn block<'a>(out: &mut String, lines: impl Iterator<Item = &'a str>) -> std::fmt::Result {
    for line in lines {
        writeln!(out, "    {line}")?;
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

fn short(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{} ...", &line[..at]),
        None => line,
    }
}
