//! Metal libraries, made with a script in the place of Apple's `xcrun`.
#![cfg(unix)]

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use openvm_metal_builder::{
    target_metallib::{AppleTools, MetallibChoice, VARIABLE},
    BuildError, Builder,
};

/// Writes down how it is called; "compiles" to the source with a line before it. It refuses what the tools do: options that they do
/// not have, a language version and a system that were not asked for, a file that is not there or not of their kind; and sources
/// that contain the word `refuse_me`.
const XCRUN: &str = r#"#!/bin/sh
echo "$*" >> "$FAKE_XCRUN_LOG"
[ "$1 $2" = "-sdk macosx" ] || exit 9
shift 2
case "$1 $2" in
  "metal --version") [ -z "$FAKE_XCRUN_MISSING" ] || { echo "missing Metal Toolchain" >&2; exit 1; }
    echo "Apple metal version 32023.1 (fake)"; exit 0 ;;
esac
tool=$1; shift
wrong() { echo "$tool: error: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case "$tool $1" in
    "metal -o" | "metallib -o") [ -z "$out" ] || wrong "two outputs"; out=$2; shift ;;
    "metal -std=metal3.0") std=1 ;;
    "metal -mmacosx-version-min=13.0") system=1 ;;
    "metal -fno-fast-math") exact=1 ;;
    "metal -c") compile=1 ;;
    "metal -O2") ;;
    *" -"*) wrong "unknown argument: '$1'" ;;
    "metal "*.metal | "metallib "*.air) [ -z "$in" ] || wrong "two inputs"; in=$1 ;;
    *) wrong "'$1' is no input" ;;
  esac
  shift
done
[ -f "$in" ] || wrong "no such file: '$in'"
case "$tool$std$system$exact$compile:$out" in
  metal1111:*.air) ;;
  metallib:*) [ "$(head -n 1 "$in")" = "made by metal" ] || wrong "'$in' is no object" ;;
  *) wrong "an option is missing" ;;
esac
if grep -q refuse_me "$in"; then echo "$in:3: error: fake refusal" >&2; exit 1; fi
{ echo "made by $tool"; cat "$in"; } > "$out"
"#;

struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metallib");
        let _ = fs::remove_dir_all(&path);
        for folder in ["bin", "out", "crate/metal/deep"] {
            fs::create_dir_all(path.join(folder)).expect("a folder");
        }
        let script = path.join("bin/xcrun");
        fs::write(&script, XCRUN).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("a mode");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The calls since the last one.
    fn calls(&self) -> Vec<String> {
        let text = fs::read_to_string(self.file("log")).unwrap_or_default();
        let _ = fs::remove_file(self.file("log"));
        text.lines().map(String::from).collect()
    }
}

const KERNEL: &str = "#include <metal_stdlib>
using namespace metal;
/// Cost: 0 products, 4 bytes per thread.
/// Lengths: out n.
kernel void NAME(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = gid;
}
";

/// One test, because it sets the environment of the process.
#[test]
fn libraries_are_made_where_the_tools_are() {
    let place = Place::new();
    let path = env::var("PATH").expect("a path");
    let bin = place.file("bin").display().to_string();
    env::set_var("PATH", format!("{bin}:{path}"));
    env::set_var("FAKE_XCRUN_LOG", place.file("log"));

    // What is found: a machine that is no Mac is not asked unless it must.
    let find = |choice, mac| AppleTools::find(choice, mac).map(|tools| tools.map(|t| t.version));
    assert_eq!(find(MetallibChoice::Never, true).expect("nothing"), None);
    assert_eq!(
        find(MetallibChoice::IfPossible, false).expect("nothing"),
        None
    );
    assert!(place.calls().is_empty());
    let version = Some("Apple metal version 32023.1 (fake)".to_owned());
    assert_eq!(
        find(MetallibChoice::IfPossible, true).expect("found"),
        version
    );
    assert_eq!(find(MetallibChoice::Always, false).expect("found"), version);
    env::set_var("FAKE_XCRUN_MISSING", "1");
    assert_eq!(
        find(MetallibChoice::IfPossible, true).expect("no error"),
        None
    );
    let error = find(MetallibChoice::Always, true)
        .expect_err("no tools")
        .to_string();
    assert!(error.contains("missing Metal Toolchain"), "{error}");
    assert!(error.contains(VARIABLE), "{error}");
    env::remove_var("FAKE_XCRUN_MISSING");
    place.calls();

    // A whole build script.
    let source = |name: &str, text: &str| {
        fs::write(place.file("crate/metal").join(name), text).expect("a source");
    };
    source("a.metal", &KERNEL.replace("NAME", "first"));
    source("deep/b.metal", &KERNEL.replace("NAME", "second"));
    source("helpers.metal", "#include <metal_stdlib>\n");
    for (name, value) in [
        ("CARGO_MANIFEST_DIR", place.file("crate")),
        ("OUT_DIR", place.file("out")),
        ("CARGO_PKG_NAME", "some-crate".into()),
        ("CARGO_CFG_TARGET_ARCH", env::consts::ARCH.into()),
        ("CARGO_CFG_TARGET_OS", env::consts::OS.into()),
        ("TARGET", "here".into()),
        ("HOST", "here".into()),
        ("OPENVM_METAL_BUILD_PTX", "0".into()),
        ("OPENVM_METAL_BUILD_ISA", "native".into()),
    ] {
        env::set_var(name, value);
    }
    let build = |choice: &str| {
        env::set_var(VARIABLE, choice);
        let built = Builder::new("metal").build();
        built.map(|()| fs::read_to_string(place.file("out/kernels.rs")).expect("kernels.rs"))
    };
    let text = build("0").expect("a build without");
    assert!(text.contains("metallib: None") && !text.contains("include_bytes"));
    assert!(place.calls().is_empty());

    let text = build("1").expect("a build with");
    for unit in ["a", "deep_b"] {
        let name = format!("metal/{unit}/kernels.metallib");
        assert!(text.contains(&format!("/{name}")), "{text}");
        let made = fs::read_to_string(place.file("out").join(&name)).expect("a library");
        let flat = place.file(&format!("out/metal/{unit}/flat.metal"));
        let flat = fs::read_to_string(flat).expect("the source");
        assert_eq!(made, format!("made by metallib\nmade by metal\n{flat}"));
    }
    // The unit without kernels has none.
    assert_eq!(text.matches("include_bytes!").count(), 2);
    assert_eq!(text.matches("metallib: None").count(), 1);
    let calls = place.calls();
    assert_eq!(calls.len(), 5, "{calls:?}");
    let compiled = calls.iter().find(|call| call.contains(" metal -std="));
    for option in [
        "-std=metal3.0",
        "-mmacosx-version-min=13.0",
        "-fno-fast-math",
    ] {
        assert!(compiled.expect("a call").contains(option), "{calls:?}");
    }

    // Again: only the version is asked for; a unit that changed is compiled again.
    build("1").expect("the same build");
    assert_eq!(place.calls().len(), 1);
    source("a.metal", &KERNEL.replace("NAME", "changed"));
    build("1").expect("a changed build");
    assert_eq!(place.calls().len(), 3);

    // A unit that Apple's compiler refuses.
    source(
        "a.metal",
        &format!(
            "{}typedef uint refuse_me;\n",
            KERNEL.replace("NAME", "first")
        ),
    );
    let error = build("1").expect_err("a refusal");
    assert!(matches!(error, BuildError::Compile { .. }), "{error}");
    assert!(error.to_string().contains("fake refusal"), "{error}");
    let optional = AppleTools::find(MetallibChoice::IfPossible, true);
    let optional = optional.expect("no error").expect("the tools");
    let library = |unit: &str| {
        let msl = place.file(&format!("out/metal/{unit}/flat.metal"));
        optional.library(unit, &msl, &place.file(&format!("{unit}.metallib")))
    };
    assert!(!library("a").expect("a warning"));
    assert!(library("deep_b").expect("a library"));

    let error = build("maybe").expect_err("a wrong value");
    assert!(matches!(error, BuildError::Environment { variable, .. } if variable == VARIABLE));
}
