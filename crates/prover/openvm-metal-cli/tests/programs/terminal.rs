//! The terminal of a user: text of guests, progress, tables, hints.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, ErrorKind, Read},
    os::fd::FromRawFd,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use serde_json::{json, Value};

use crate::{
    interrupts::with_interrupts,
    riscv::{addi, hint_random, jal, lui, print, reveal, sw, terminate, TEXT},
    support::{command, elf, fails, guest, json, run, succeeds, text, Folder},
};

/// Registers of the programs below.
const ADDRESS: u32 = 6;
const LENGTH: u32 = 7;
const WORD: u32 = 8;

/// Sets a register.
fn li(register: u32, value: u32) -> [u32; 2] {
    let low = (value << 20) as i32 >> 20;
    let high = value.wrapping_sub(low as u32) >> 12;
    [lui(register, high), addi(register, register, low)]
}

/// Prints bytes.
fn say(bytes: &[u8]) -> Vec<u32> {
    let mut code = li(ADDRESS, 0x0030_0000).to_vec();
    for (index, part) in bytes.chunks(4).enumerate() {
        let mut word = [0; 4];
        word[..part.len()].copy_from_slice(part);
        code.extend(li(WORD, u32::from_le_bytes(word)));
        code.push(sw(WORD, ADDRESS, 4 * index as i32));
    }
    code.extend(li(LENGTH, bytes.len() as u32));
    code.push(print(ADDRESS, LENGTH));
    code
}

/// An ELF with one segment of code, which starts it.
pub fn program(folder: &Folder, name: &str, code: &[u32]) -> String {
    let bytes = 4 * code.len() as u32;
    let mut file = b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    let word = |file: &mut Vec<u8>, values: &[u32]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    half(&mut file, &[2, 243]);
    word(&mut file, &[1, TEXT, 52, 0, 0]);
    half(&mut file, &[52, 32, 1, 0, 0, 0]);
    word(&mut file, &[1, 84, TEXT, TEXT, bytes, bytes, 5, 4]);
    word(&mut file, code);
    let path = folder.file(name);
    fs::write(&path, file).expect("a file");
    path
}

/// Catches a guest that ends because what it prints is no UTF-8, bytes that are lost on their way to a file, and a prompt that sticks to
/// the last line.
#[test]
fn guest_output_keeps_its_bytes() {
    let folder = Folder::new();
    let code = [say(b"a\xff\nlast \xe2\x82"), vec![terminate(0)]].concat();
    let path = program(&folder, "print.elf", &code);
    for mode in ["pure", "meter"] {
        let output = run(&["run", &path, "--toy", "--device", "cpu", "--mode", mode]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let expected = b"a\xff\nlast \xe2\x82\n";
        assert_eq!(&output.stdout[..expected.len()], expected, "{mode}");
        assert!(
            text(&output.stdout[expected.len()..]).contains("\npublic values 0x") || mode == "pure"
        );
    }
    let output = run(&["run", &path, "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    assert!(report["seconds"].is_f64());
    let expected = b"guest: a\xff\nguest: last \xe2\x82\n";
    let said = &output.stderr;
    let found = said.windows(expected.len()).filter(|part| part == expected);
    assert_eq!(found.count(), 1, "{}", text(said));
}

/// Catches a panic, an error or a message where `| head` takes no more.
#[test]
fn closed_pipe_ends_quietly() {
    let folder = Folder::new();
    let line = say(b"line\n");
    let back = -4 * line.len() as i32;
    let path = program(&folder, "loop.elf", &[line, vec![jal(0, back)]].concat());
    fs::write(
        folder.file("openvm.toml"),
        "[app_vm_config.rv32i]\n[app_vm_config.rv32m]\n[app_vm_config.io]\n",
    )
    .expect("a file");
    let mut child = command(&["run", &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut first = String::new();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    lines.read_line(&mut first).expect("a line");
    drop(lines);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(first, "line\n");
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(1), String::new())
    );
    // A full disk is said.
    let mut command = command(&["run", &path]);
    let full = File::options()
        .write(true)
        .open("/dev/full")
        .expect("a device");
    let output = command.stdout(full).output().expect("the binary runs");
    let said = text(&output.stderr);
    assert!(
        said.contains("what the guest prints cannot be written: No space left"),
        "{said}"
    );
    assert!(!said.contains("panicked"), "{said}");
}

/// Catches an abort of the process (status 134) where a guest asks for more random words than memory holds, and a bound that
/// refuses what is usual.
#[test]
fn random_hints_are_bounded() {
    let folder = Folder::new();
    let hints = |name: &str, words: u32| {
        let code = [&li(WORD, words)[..], &[hint_random(WORD), terminate(0)]].concat();
        program(&folder, name, &code)
    };
    let reason = "asks for 4294967295 words of random hints at once, 16777216 are the most";
    fails(&["run", &hints("most.elf", u32::MAX)], 1, reason);
    fails(
        &["run", &hints("more.elf", (1 << 24) + 1)],
        1,
        "16777217 words",
    );
    succeeds(&["run", &hints("few.elf", 1 << 16)]);
}

/// Catches a print of more bytes than memory has that allocates them, or says what the guest did not do.
#[test]
fn oversized_prints_are_refused() {
    let folder = Folder::new();
    for (address, length) in [(0x0030_0000, u32::MAX), (u32::MAX, 2), (0x2000_0000, 1)] {
        let code = [
            &li(ADDRESS, address)[..],
            &li(LENGTH, length),
            &[print(ADDRESS, LENGTH), terminate(0)],
        ];
        let path = program(&folder, "outside.elf", &code.concat());
        fails(&["run", &path], 1, &format!("{address:#010x}"));
    }
}

#[test]
fn typed_values_in_and_out() {
    let fibonacci = elf("fibonacci");
    let expected = json(&[
        "run",
        &fibonacci,
        "--input",
        "0x01e803000000000000",
        "--json",
    ]);
    let folder = Folder::new();
    let file = folder.file("input.json");
    let list = r#"{"input": [{"u64": 1000}]}"#;
    fs::write(&file, list).expect("a file");
    for input in [list, &file] {
        let found = json(&["run", &fibonacci, "--input", input, "--json"]);
        assert_eq!(found["public_values"], expected["public_values"], "{input}");
    }
    // The last ones: of the guest and its host program alike.
    let words = json(&[
        "run",
        &fibonacci,
        "--input",
        list,
        "--json",
        "--output-type",
        "u32",
    ]);
    let hex = expected["public_values"].as_str().expect("text");
    let first = u32::from_str_radix(&hex[2..10], 16)
        .expect("digits")
        .swap_bytes();
    assert_eq!(words["output"][0], json!(first));
    assert_eq!(words["output"].as_array().map(Vec::len), Some(8));
    for (input, message) in [
        ("missing.json", "missing.json: no such file"),
        ("0x015", "not an even number of hexadecimal digits"),
        (r#"{"input": ["hello"]}"#, "value 0: not an even number"),
        (
            r#"{"input": [{"u64": -1}]}"#,
            "value 0: -1 is not a value of this type: u64",
        ),
        (
            r#"{"input": [{"Vec<u8": 1}]}"#,
            "value 0: Vec<u8: no such type",
        ),
    ] {
        fails(&["run", &fibonacci, "--input", input], 2, message);
    }
}

/// Catches text and progress for each pass, of --check too, progress that --json silences, times under no stage, sizes of another file, and times that
/// are no numbers.
#[test]
fn progress_is_printed_once() {
    let folder = Folder::new();
    let code = [
        say(b"once"),
        vec![addi(9, 0, 5), reveal(9, 0), terminate(0)],
    ]
    .concat();
    let path = program(&folder, "once.elf", &code);
    let proof = folder.file("once.proof");
    let args = [
        "prove",
        "stark",
        &path,
        "--toy",
        "--device",
        "cpu",
        "--json",
        "--check",
        "--proof",
        &proof,
        "--vk",
        &folder.file("once.vk"),
    ];
    let output = run(&args);
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("guest: once\n").count(), 1, "{said}");
    assert_eq!(said.matches("executed ").count(), 1, "{said}");
    for line in [
        "holds on the traces of 1 segment (",
        "instructions in 1 segment\n",
        "segment 1 of 1: ",
        "(4 of 4 nodes)",
        "accepted by OpenVM's verifier",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON alone");
    // A reader keeps one of two fields of a name.
    let json = text(&output.stdout);
    let fields = json.lines().filter(|line| line.starts_with("  \"")).count();
    assert_eq!(
        report.as_object().map(|fields| fields.len()),
        Some(fields),
        "{json}"
    );
    let time = |name: &str| {
        report[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {report}"))
    };
    let stages: f64 = ["keys", "program_commitment", "app", "tree", "verify"]
        .map(time)
        .iter()
        .sum();
    let total = time("total");
    assert!(
        (total - stages).abs() <= 0.02 * total,
        "{stages} of {total}"
    );
    let bytes = fs::metadata(&proof).expect("a file").len();
    assert_eq!(report["proof_file_bytes"], json!(bytes));
    for other in ["execution", "preflight", "prove", "aggregate"] {
        assert!(time(other) <= total, "{other}");
    }
    assert!(report["devices"][0]["busy"].is_f64());
    assert_eq!(
        report["public_values"].as_str().map(|text| &text[..10]),
        Some("0x05000000")
    );
}

/// Runs a command on a terminal of so many columns and returns what it shows.
fn on_terminal(columns: u16, args: &[&str], status: i32) -> String {
    let size = libc::winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let (mut ours, mut its) = (-1, -1);
    let none = std::ptr::null_mut();
    // SAFETY: two descriptors are written, and the size, one `winsize`, is read.
    let opened = unsafe {
        libc::openpty(
            &mut ours,
            &mut its,
            none,
            none.cast(),
            (&raw const size).cast_mut(),
        )
    };
    assert_eq!(opened, 0, "no terminal");
    // Commands of other tests that begin now must not hold this terminal.
    for descriptor in [ours, its] {
        // SAFETY: the descriptor was opened above.
        let kept = unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        assert_eq!(kept, 0, "a descriptor");
    }
    // SAFETY: as above.
    let waits = unsafe { libc::fcntl(ours, libc::F_SETFL, libc::O_RDWR | libc::O_NONBLOCK) };
    assert_eq!(waits, 0, "a descriptor");
    // SAFETY: both descriptors were opened above and belong to nobody else.
    let (mut ours, its) = unsafe { (File::from_raw_fd(ours), File::from_raw_fd(its)) };
    let stream = || Stdio::from(its.try_clone().expect("a descriptor"));
    let mut command: Command = command(args);
    command.stdin(stream()).stdout(stream()).stderr(stream());
    let mut child = command.spawn().expect("the binary runs");
    // The command holds copies.
    drop((command, its));
    let mut shown = Vec::new();
    let mut part = [0; 4096];
    let mut ended = None;
    loop {
        match ours.read(&mut part) {
            Ok(length @ 1..) => shown.extend_from_slice(&part[..length]),
            // A command that began between `openpty` and `fcntl` can hold the terminal: what is there after the end is the rest.
            Err(error) if error.kind() == ErrorKind::WouldBlock && ended.is_none() => {
                ended = child.try_wait().expect("its state");
                if ended.is_none() {
                    thread::sleep(Duration::from_millis(5));
                }
            }
            // The end of a terminal is an error on Linux.
            _ => break,
        }
    }
    let ended = ended.unwrap_or_else(|| child.wait().expect("it ends"));
    assert_eq!(ended.code(), Some(status), "{}", text(&shown));
    text(&shown)
}

/// Catches tables of one letter a line where a terminal says that it has no columns, and text of a guest that a terminal cannot show.
#[test]
fn narrow_terminal_keeps_words_whole() {
    let fibonacci = elf("fibonacci");
    let input = guest("fibonacci", "input.json");
    for columns in [0, 1, 20, 80] {
        let args = [
            "run", &fibonacci, "--input", &input, "--mode", "segment", "--toy", "--device", "cpu",
        ];
        let shown = on_terminal(columns, &args, 0);
        for word in ["segment", "instructions", "cells"] {
            assert!(shown.contains(word), "{columns} columns: {shown}");
        }
    }
    let folder = Folder::new();
    let code = [say(b"a\xffb"), vec![terminate(0)]].concat();
    let path = program(&folder, "print.elf", &code);
    let shown = on_terminal(80, &["run", &path], 0);
    assert!(shown.contains("a\u{fffd}b\r\npublic values"), "{shown}");
    // A guest and a file's name that would clear the terminal, and the same on standard error above a progress bar.
    let code = [say(b"a\x1b[2J\tb\xc2\x9b1mc\n"), vec![terminate(0)]].concat();
    let path = program(&folder, "print\u{1b}[2J.elf", &code);
    let shown = on_terminal(80, &["run", &path], 0);
    assert!(
        shown.contains("a\u{fffd}[2J\tb\u{fffd}1mc\r\n"),
        "{shown:?}"
    );
    assert!(shown.contains("print\u{fffd}[2J.openvm.toml"), "{shown:?}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
    let shown = on_terminal(
        80,
        &[
            "prove",
            "app",
            &path,
            "--dev",
            "--device",
            "cpu",
            "--proof",
            "/dev/null",
        ],
        0,
    );
    assert!(
        shown.contains("guest: a\u{fffd}[2J\tb\u{fffd}1mc"),
        "{shown:?}"
    );
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
    // An argument in the parser's own message, which is coloured.
    let shown = on_terminal(80, &["verify", "stark", "a", "--no\u{1b}[2Jne"], 2);
    assert!(shown.contains("--no\u{fffd}[2Jne"), "{shown:?}");
    assert!(!shown.contains("\u{1b}[2J"), "{shown:?}");
}

/// Catches a command that ends by Ctrl-C although it was started to ignore it, as behind `&` of a script.
#[test]
fn ignored_interrupts_stay_ignored() {
    let folder = Folder::new();
    let line = say(b"line\n");
    let back = -4 * line.len() as i32;
    let path = program(&folder, "loop.elf", &[line, vec![jal(0, back)]].concat());
    for (is_ignored, status) in [(true, 1), (false, 130)] {
        let trap = if is_ignored { "trap '' INT; " } else { "" };
        let mut child = with_interrupts(&mut Command::new("sh"))
            .args(["-c", &format!("{trap}exec \"$0\" run \"$1\"")])
            .args([env!("CARGO_BIN_EXE_openvm-metal"), &path])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        // The command has its handlers once it prints, and waits while nobody reads on.
        let mut first = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        lines.read_line(&mut first).expect("a line");
        for _ in 0..2 {
            // SAFETY: the signal goes to a process that nobody has waited for.
            let sent = unsafe { libc::kill(child.id() as i32, libc::SIGINT) };
            assert_eq!(sent, 0);
        }
        thread::sleep(Duration::from_millis(300));
        let ended = child.try_wait().expect("its state");
        assert_eq!(ended.is_none(), is_ignored, "{ended:?}");
        drop(lines);
        let ended = child.wait().expect("it ends");
        assert_eq!(ended.code(), Some(status));
    }
}

#[test]
fn cluster_help_without_the_package() {
    let output = command(&["cluster", "--help"])
        .env("PATH", "")
        .output()
        .expect("the binary runs");
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        shown.contains("cluster nodes") && shown.contains("pip install"),
        "{shown}"
    );
    let output = command(&["cluster", "prove"])
        .env("PATH", "")
        .output()
        .expect("the binary runs");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("is not installed") && !said.contains("--ray"),
        "{said}"
    );
}
