//! A small program keeps the promise of a release; each way of breaking it is found.

use std::path::{Path, PathBuf};
use std::process::Command;

use mach_o_check::{check, Finding, Image, ImageKind, Promise, Source, Stubs};

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn hello() -> Vec<u8> {
    std::fs::read(data().join("hello")).unwrap()
}

fn stubs() -> Stubs {
    Stubs::read(&data().join("stubs")).unwrap()
}

fn promise(stubs: &Stubs) -> Promise<'_> {
    Promise {
        stubs,
        minimum: "13.0",
        python: false,
        needs: &[],
        forbidden: &[],
    }
}

fn findings(bytes: &[u8]) -> Vec<Finding> {
    let stubs = stubs();
    check(&Image::read(bytes).unwrap(), bytes, &promise(&stubs))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn set_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Offset of a load command.
fn command(bytes: &[u8], wanted: u32) -> usize {
    let mut at = 32;
    for _ in 0..word(bytes, 16) {
        if word(bytes, at) == wanted {
            return at;
        }
        at += word(bytes, at + 4) as usize;
    }
    panic!("no load command {wanted:#x}");
}

const BUILD_VERSION: u32 = 0x32;
const CODE_SIGNATURE: u32 = 0x1d;
const LOAD_DYLIB: u32 = 0xc;
const UUID: u32 = 0x1b;

/// The findings of a changed file but for the signature's, which is right to complain.
fn changed(change: impl FnOnce(&mut Vec<u8>)) -> Vec<Finding> {
    let mut bytes = hello();
    change(&mut bytes);
    let mut found = findings(&bytes);
    found.retain(|finding| !matches!(finding, Finding::Page { .. }));
    found
}

#[test]
fn a_good_program_keeps_the_promise() {
    let bytes = hello();
    assert_eq!(findings(&bytes), []);
    let image = Image::read(&bytes).unwrap();
    assert_eq!(image.kind, ImageKind::Executable);
    assert_eq!(image.builds[0].minimum, "13.0.0");
    let system = "/usr/lib/libSystem.B.dylib";
    assert_eq!(image.libraries[0].0, system);
    let [puts] = &image.imports[..] else {
        panic!("{:?}", image.imports);
    };
    assert_eq!(puts.symbol, "_puts");
    assert_eq!(puts.source, Source::Library(system.into()));
    assert_eq!(image.undefined, ["_puts"]);
    let signature = image.signature.unwrap();
    assert_eq!(signature.identifier, "hello");
    assert!(signature.ad_hoc && signature.wrong.is_empty() && signature.pages > 4);
}

#[test]
fn changed_pages_are_found() {
    for at in [40, 0x4000, 0x8000] {
        let mut bytes = hello();
        bytes[at] ^= 1;
        if let Ok(image) = Image::read(&bytes) {
            let found = check(&image, &bytes, &promise(&stubs()));
            let first = at as u32 / 4096;
            assert!(
                found.contains(&Finding::Page { count: 1, first }),
                "{found:?}"
            );
        }
    }
}

#[test]
fn other_processors_and_kinds_are_found() {
    let x86 = changed(|bytes| set_word(bytes, 4, 0x0100_0007));
    assert_eq!(x86, [Finding::Processor(0x0100_0007, 0)]);
    let arm64e = changed(|bytes| set_word(bytes, 8, 2));
    assert_eq!(arm64e, [Finding::Processor(Image::ARM64, 2)]);
    let library = changed(|bytes| set_word(bytes, 12, 6));
    assert!(matches!(library[0], Finding::Kind { .. }), "{library:?}");
    let flags = word(&hello(), 24);
    let fixed = changed(|bytes| set_word(bytes, 24, flags & !0x20_0000));
    assert_eq!(fixed, [Finding::FixedAddress]);
    let flat = changed(|bytes| set_word(bytes, 24, flags & !0x80));
    assert_eq!(flat, [Finding::FlatNamespace]);
    let bytes = hello();
    let stubs = stubs();
    let module = Promise {
        python: true,
        ..promise(&stubs)
    };
    let found = check(&Image::read(&bytes).unwrap(), &bytes, &module);
    assert!(matches!(found[..], [Finding::Kind { .. }]), "{found:?}");
}

#[test]
fn other_systems_are_found() {
    let newer = changed(|bytes| {
        let at = command(bytes, BUILD_VERSION);
        set_word(bytes, at + 12, 14 << 16);
    });
    assert!(matches!(&newer[..], [Finding::Minimum { found, .. }] if found == "14.0.0"));
    let phone = changed(|bytes| {
        let at = command(bytes, BUILD_VERSION);
        set_word(bytes, at + 8, 2);
    });
    assert_eq!(phone, [Finding::Platform(2)]);
    let none = changed(|bytes| {
        let at = command(bytes, BUILD_VERSION);
        set_word(bytes, at, 0x2a);
    });
    assert_eq!(none, [Finding::Platforms(0)]);
}

#[test]
fn unknown_libraries_and_symbols_are_found() {
    let bytes = hello();
    let image = Image::read(&bytes).unwrap();
    let mut other = Stubs::default();
    other
        .parse(r#"{"tapi_tbd_version": 5, "main_library": {"install_names": [{"name": "/usr/lib/libSystem.B.dylib"}]}}"#)
        .unwrap();
    let found = check(&image, &bytes, &promise(&other));
    assert!(matches!(&found[..], [Finding::Symbol { symbol, .. }] if symbol == "_puts"));
    let found = check(&image, &bytes, &promise(&Stubs::default()));
    assert!(matches!(
        &found[..],
        [Finding::Library(_), Finding::Symbol { .. }]
    ));
    let (needs, known) = ([String::from("Metal")], stubs());
    let needing = Promise {
        needs: &needs,
        ..promise(&known)
    };
    let found = check(&image, &bytes, &needing);
    assert_eq!(found, [Finding::LibraryMissing("Metal".into())]);
    let version = changed(|bytes| {
        let at = command(bytes, LOAD_DYLIB);
        set_word(bytes, at + 20, 2 << 16);
    });
    assert!(matches!(version[..], [Finding::LibraryVersion { .. }]));
}

#[test]
fn unexpected_and_missing_commands_are_found() {
    let found = changed(|bytes| {
        let at = command(bytes, UUID);
        set_word(bytes, at, 0x7f);
    });
    let [Finding::Command(name), Finding::CommandMissing("LC_UUID")] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(name.contains("0x7f"), "{name}");
}

#[test]
fn missing_and_wrong_signatures_are_found() {
    let unsigned = changed(|bytes| {
        let at = command(bytes, CODE_SIGNATURE);
        // LC_DATA_IN_CODE has the same form.
        set_word(bytes, at, 0x29);
    });
    assert_eq!(unsigned, [Finding::Unsigned]);
    let bytes = hello();
    let offset = word(&bytes, command(&bytes, CODE_SIGNATURE) + 8) as usize;
    // Behind the super blob and its one index entry: the code directory, whose flags are its fourth word.
    let directory = offset + word_be(&bytes, offset + 16) as usize;
    let certified = changed(|bytes| bytes[directory + 12..directory + 16].fill(0));
    assert_eq!(certified, [Finding::NotAdHoc]);
    let longer = changed(|bytes| bytes.push(0));
    assert!(matches!(longer[..], [Finding::SignatureEnd { .. }]));
    let mut weak = hello();
    weak[directory + 37] = 1;
    let error = Image::read(&weak).unwrap_err().to_string();
    assert!(error.contains("SHA-256"), "{error}");
}

fn word_be(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

#[test]
fn paths_of_the_builder_are_found() {
    let own = [String::from("/build/place")];
    for path in [
        "/home/me/file.rs",
        "/root/x",
        "/Users/me",
        "at /build/place/x",
    ] {
        let mut bytes = hello();
        // Padding between the load commands and the code.
        bytes[0x1000..0x1000 + path.len()].copy_from_slice(path.as_bytes());
        let stubs = stubs();
        let promise = Promise {
            forbidden: &own,
            ..promise(&stubs)
        };
        let found = check(&Image::read(&bytes).unwrap(), &bytes, &promise);
        let paths: Vec<_> = found
            .iter()
            .filter_map(|finding| match finding {
                Finding::Path { found, .. } => Some(found.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(paths, [path]);
    }
}

/// Every length, and every bit of the parts that are not code or padding: an error or a result, never a panic.
#[test]
fn damaged_files_are_no_panic() {
    let good = hello();
    let linkedit = word(&good, command(&good, 0x8000_0034) + 8) as usize;
    for len in (0..2048)
        .chain((2048..good.len()).step_by(257))
        .chain(linkedit..good.len())
    {
        let _ =
            Image::read(&good[..len]).map(|image| check(&image, &good[..len], &promise(&stubs())));
    }
    for at in (0..1200).chain(linkedit..good.len()) {
        for bit in 0..8 {
            let mut bytes = good.clone();
            bytes[at] ^= 1 << bit;
            if let Ok(image) = Image::read(&bytes) {
                let signed = image
                    .signature
                    .is_some_and(|s| at < s.offset as usize && s.wrong.is_empty());
                assert!(!signed, "byte {at}, bit {bit}: not found");
            }
        }
    }
    for other in [
        &b""[..],
        b"\x7fELF\x02\x01\x01",
        b"\xca\xfe\xba\xbe\0\0\0\x02",
        b"#!/bin/sh\n",
    ] {
        assert!(Image::read(other).is_err());
    }
}

#[test]
fn stubs_that_are_none_are_refused() {
    let read = |folder: PathBuf| Stubs::read(&folder).unwrap_err().to_string();
    assert!(read(data().join("nothing")).contains("cannot read"));
    assert!(read(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).contains("no .tbd file"));
    let mut stubs = Stubs::default();
    let mut parse = |text: &str| stubs.parse(text).unwrap_err();
    assert!(parse("--- !tapi-tbd").contains("line 1"));
    assert!(
        parse(r#"{"tapi_tbd_version": 4, "main_library": {"install_names": []}}"#)
            .contains("version 4")
    );
    assert!(
        parse(r#"{"tapi_tbd_version": 5, "main_library": {"install_names": []}}"#)
            .contains("one library")
    );
}

/// The stubs of releases can be read, and each names its symbols once, in order.
#[test]
fn stubs_of_releases_are_tidy() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/macos-stubs");
    let stubs = Stubs::read(&folder).unwrap();
    for (library, symbols) in [
        (
            "/usr/lib/libSystem.B.dylib",
            &["_malloc", "_pthread_create"][..],
        ),
        ("/usr/lib/libobjc.A.dylib", &["_objc_msgSend"]),
        (
            "/System/Library/Frameworks/Metal.framework/Versions/A/Metal",
            &["_MTLCreateSystemDefaultDevice"],
        ),
    ] {
        for symbol in symbols {
            assert!(stubs.has(library, symbol), "{symbol} of {library}");
        }
    }
    assert!(stubs.symbols().all(|(_, symbol)| symbol.starts_with('_')));
}

fn run(args: &[&str]) -> (Option<i32>, String) {
    let program = Command::new(env!("CARGO_BIN_EXE_mach-o-check"))
        .args(args)
        .output();
    let output = program.unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[test]
fn the_command_reports_each_file() {
    let (stubs, hello) = (data().join("stubs"), data().join("hello"));
    let (stubs, hello) = (stubs.display().to_string(), hello.display().to_string());
    let (code, text) = run(&["--stubs", &stubs, &hello]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("libSystem.B.dylib: 1 symbols") && text.contains("  ok"),
        "{text}"
    );
    let (code, text) = run(&[
        "--stubs",
        &stubs,
        "--minimum",
        "12.0",
        "--forbid",
        "hello",
        &hello,
    ]);
    assert_eq!(code, Some(1), "{text}");
    assert!(
        text.contains("runs on macOS 13.0.0 or newer, promised is 12.0"),
        "{text}"
    );
    assert!(text.contains("a folder of the machine"), "{text}");
    let (code, text) = run(&["--stubs", &stubs, &stubs]);
    assert_eq!(code, Some(1), "{text}");
    assert_eq!(run(&["--stubs", &hello, &hello]).0, Some(2));
    assert_eq!(run(&["--stubs", &stubs]).0, Some(2));
}
