//! Faults that kernels of the past had and Apple's compiler would have refused or removed, put back one by one:
//! each is found, with the name of its rule and the line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openvm_metal_builder::{
    census::{available, check, Input},
    Toolchain,
};

/// Rules on tokens: a place in a kernel file, what stood there before, and what must be found.
struct Row {
    /// File below `crates/`.
    file: &'static str,
    /// The unit that has it, beside the file's own folder's parent.
    unit: &'static str,
    now: &'static str,
    before: &'static str,
    rule: &'static str,
}

const BACKEND: &str = "prover/openvm-metal-backend/metal";
const HOLOGRAM: &str = "hologram/hologram-kernels/metal";

const ROWS: &[Row] = &[
    // Macros of loops without the header that has them.
    Row {
        file: "hologram/hologram-kernels/metal/elements.h",
        unit: "map.metal",
        now: "#include <lanes.h>\n",
        before: "",
        rule: "target-macro",
    },
    // Positions of two widths in one kernel.
    Row {
        file: "prover/openvm-metal-backend/metal/commit/gather.metal",
        unit: "commit/gather.metal",
        now: "uint2 threads [[threads_per_threadgroup]]",
        before: "uint threads [[threads_per_threadgroup]]",
        rule: "position-width",
    },
    // A macro of the shim, which Apple's text does not have: the strided gather vanished.
    Row {
        file: "prover/openvm-metal-backend/metal/commit/gather.metal",
        unit: "commit/gather.metal",
        now: "#if LANE_WIDTH == 1",
        before: "#if MSL_LANES == 1",
        rule: "target-macro",
    },
    // Floats whose products and sums may be contracted.
    Row {
        file: "hologram/hologram-kernels/metal/elements.h",
        unit: "zip.metal",
        now: "#pragma METAL fp contract(off)\n",
        before: "",
        rule: "contraction",
    },
    // A suffix of a type that Metal does not have.
    Row {
        file: "prover/openvm-metal-backend/metal/commit/gather.metal",
        unit: "commit/gather.metal",
        now: "(1ul << job.log_stride)",
        before: "(1ull << job.log_stride)",
        rule: "literal-suffix",
    },
    // Processors asked for by name.
    Row {
        file: "hologram/hologram-kernels/metal/math.h",
        unit: "map.metal",
        now: "#if MSL_HOST && !SOFT_MATH\ninline wide",
        before: "#if defined(MSL_HOST) && !SOFT_MATH\ninline wide",
        rule: "target-macro",
    },
    // A header that is there on one target only.
    Row {
        file: "hologram/hologram-kernels/metal/math.h",
        unit: "map.metal",
        now: "#include \"math_wide.h\"\n",
        before: "#if MSL_PTX\n#include \"math_wide.h\"\n#endif\n",
        rule: "conditional-include",
    },
];

/// Rules on clang's tree, and keys without a proof.
struct TreeRow {
    /// File below `crates/`, what stands there now (everywhere in it), and what stood there.
    changes: &'static [(&'static str, &'static str, &'static str)],
    /// The unit that has them, in the folder of kernels of the first change.
    unit: &'static str,
    rule: &'static str,
    /// Words of the message.
    says: &'static str,
    /// Place where it must be found: a file, and a part of each such line.
    at: (&'static str, &'static str),
}

const TREE_ROWS: &[TreeRow] = &[
    // Names that Apple's library has too.
    TreeRow {
        changes: &[
            ("hologram/hologram-kernels/metal/elements.h", "wrap_add(", "plus("),
            ("hologram/hologram-kernels/metal/zip.metal", "wrap_add(", "plus("),
        ],
        unit: "zip.metal",
        rule: "std-name",
        says: "`plus`",
        at: ("hologram/hologram-kernels/metal/elements.h", "inline T plus(T a"),
    },
    TreeRow {
        changes: &[
            ("hologram/hologram-kernels/metal/elements.h", "wrap_sub(", "minus("),
            ("hologram/hologram-kernels/metal/zip.metal", "wrap_sub(", "minus("),
        ],
        unit: "zip.metal",
        rule: "std-name",
        says: "`minus`",
        at: ("hologram/hologram-kernels/metal/elements.h", "inline T minus(T a"),
    },
    // A derived class.
    TreeRow {
        changes: &[(
            "hologram/hologram-kernels/metal/formats.h",
            "struct Single {\n    typedef float type;\n    typedef float real;\n    enum { exact = 1 };\n    \
             static inline float value(float x) { return x; }\n    \
             static inline float bits(float x) { return x; }\n};\n",
            "struct Single : Same<float> {};\n",
        )],
        unit: "gemm.metal",
        rule: "base-class",
        says: "`Single` has the base class `Same<float>`",
        at: ("hologram/hologram-kernels/metal/formats.h", "struct Single"),
    },
    // Constructors that objects in threadgroup memory cannot have.
    TreeRow {
        changes: &[(
            "prover/openvm-metal-backend/metal/field/baby_bear.h",
            "struct FpT {\n    U v;\n};",
            "struct FpT {\n    U v;\n    FpT() = default;\n    constexpr explicit FpT(U x) : v(x) {}\n};",
        )],
        unit: "openings/whir_round.metal",
        rule: "threadgroup-class",
        says: "declares a constructor",
        at: (
            "prover/openvm-metal-backend/metal/openings/whir_round.metal",
            "threadgroup FpExt scratch[",
        ),
    },
    // Two alignments of one class.
    TreeRow {
        changes: &[(
            "prover/openvm-metal-backend/metal/field/fp_ext.h",
            "alignas(sizeof(U) < 16 && EXT_DEGREE % 4u == 0u ? 16 : sizeof(U))",
            "alignas(16) alignas(sizeof(U))",
        )],
        unit: "openings/whir_round.metal",
        rule: "census",
        says: "`specifier: alignas twice`",
        at: (
            "prover/openvm-metal-backend/metal/field/fp_ext.h",
            "alignas(16) alignas(sizeof(U))",
        ),
    },
    // The type of a literal, which is another one here and there.
    TreeRow {
        changes: &[(
            "hologram/hologram-kernels/metal/elements.h",
            "typedef float wide;",
            "typedef decltype(1.0) wide;",
        )],
        unit: "zip.metal",
        rule: "census",
        says: "`specifier: decltype of a literal`",
        at: ("hologram/hologram-kernels/metal/elements.h", "typedef decltype("),
    },
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the kernels").flatten() {
        let path = entry.path();
        let target = to.join(entry.file_name());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// Copies of all kernels, in a folder of their own.
fn kernels(name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&scratch);
    for kernels in [BACKEND, HOLOGRAM] {
        copy(&crates.join(kernels), &scratch.join(kernels));
    }
    scratch
}

/// The folder of kernels in `scratch` that a file belongs to.
fn root(scratch: &Path, file: &str) -> PathBuf {
    let of_file = |f: &&str| file.starts_with(f);
    let folder = [BACKEND, HOLOGRAM].into_iter().find(of_file);
    scratch.join(folder.expect("a folder of kernels"))
}

#[test]
fn historic_forms_are_found_where_they_stood() {
    let scratch = kernels("historic");
    let tools = Toolchain::new(scratch.join("tools")).expect("a C++ compiler");
    for row in ROWS {
        let root = root(&scratch, row.file);
        let path = scratch.join(row.file);
        let text = fs::read_to_string(&path).expect("the file");
        assert_eq!(
            text.matches(row.now).count(),
            1,
            "{}: {}",
            row.file,
            row.now
        );
        let at = text.find(row.now).unwrap_or_default();
        let line = text[..at].matches('\n').count() as u32 + 1;
        fs::write(&path, text.replacen(row.now, row.before, 1)).expect("written");
        let found = tools
            .lint(&root, &root.join(row.unit))
            .expect("preprocessed");
        fs::write(&path, &text).expect("written");
        let hit = found.iter().find(|f| f.rule == row.rule);
        let hit = hit.unwrap_or_else(|| panic!("{} in {}: {found:#?}", row.rule, row.file));
        assert!(hit.line > 0 && !hit.remedy.is_empty(), "{hit}");
        if !row.before.is_empty() {
            assert_eq!(Path::new(&hit.file), path, "{hit}");
            assert!(
                (line..line + 2).contains(&hit.line),
                "{hit}, not line {line}"
            );
        }
    }
}

#[test]
fn historic_forms_that_the_tree_shows_are_found_where_they_stood() {
    let scratch = kernels("historic-tree");
    let tools = Toolchain::new(scratch.join("tools")).expect("a C++ compiler");
    if !available(tools.compiler()) {
        eprintln!("left out: only clang prints its syntax tree");
        return;
    }
    for row in TREE_ROWS {
        let mut before = Vec::new();
        for (file, now, then) in row.changes {
            let path = scratch.join(file);
            let text = fs::read_to_string(&path).expect("the file");
            assert!(text.contains(now), "{file}: {now}");
            fs::write(&path, text.replace(now, then)).expect("written");
            before.push((path, text));
        }
        let root = root(&scratch, row.changes[0].0);
        let file = root.join(row.unit);
        let report = check(&tools, &[Input::File { root, file }]).expect("clang");
        let (file, words) = row.at;
        let text = fs::read_to_string(scratch.join(file)).expect("the file");
        let lines = (1..).zip(text.lines());
        let mut expected: Vec<u32> = lines.filter(|l| l.1.contains(words)).map(|l| l.0).collect();
        assert!(!expected.is_empty(), "{file}: {words}");
        expected.retain(|&line| {
            !report.findings.iter().any(|b| {
                (b.rule.as_str(), b.line) == (row.rule, line)
                    && b.message.contains(row.says)
                    && Path::new(file).ends_with(&b.file)
                    && !b.remedy.is_empty()
            })
        });
        assert!(
            expected.is_empty(),
            "{} at {file}:{expected:?}, found\n{report}",
            row.rule
        );
        for (path, text) in before {
            fs::write(path, text).expect("written");
        }
    }
}

/// So many products of two words without a reduction make a function large.
const WIDE_PRODUCTS: usize = 8;

/// Row 11: what Apple's compiler once broke in somebody else's field can be kept apart by the switch.
#[test]
fn large_functions_of_the_field_carry_the_switch() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../crates")
        .join(BACKEND);
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("historic-large");
    let tools = Toolchain::new(scratch).expect("a C++ compiler");
    let unit = root.join("constraints/evaluate.metal");
    let text = tools.apple_text(&root, &unit).expect("preprocessed").tokens;
    let mut large = Vec::new();
    for body in (1..text.len()).filter(|&i| text.at(i) == "{" && text.at(i - 1) == ")") {
        // `NAME(PARAMETERS) { ... }` with many wide products.
        let wide = |i: &usize| matches!(text.at(*i), "fp_acc_mul" | "fp_acc_mad");
        if (body..text.matching(body)).filter(wide).count() < WIDE_PRODUCTS {
            continue;
        }
        let opens = |i: &usize| text.at(*i) == "(" && text.matching(*i) == body - 1;
        let open = (0..body).rev().find(opens).expect("a bracket");
        let ends = |i: &usize| matches!(text.at(*i), ";" | "}");
        let start = (0..open).rev().find(ends).map_or(0, |i| i + 1);
        let head = text.join(start, open);
        assert!(head.contains("always_inline"), "no MSL_LARGE: {head}");
        large.push(head);
    }
    assert_eq!(large.len(), 2, "{large:#?}");
    // The interpreter's loop calls them at several points.
    let words = text.join(0, text.len());
    assert!(words.contains("__attribute__((always_inline)) inline void constraint_points("));
}
