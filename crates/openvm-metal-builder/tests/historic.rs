//! What once stood in our kernels and would not have compiled on Apple, or would have vanished there, put back one by one:
//! each is found, with the name of its rule and the line.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openvm_metal_builder::Toolchain;

/// A place in a kernel file, what stood there before, and what must be found.
struct Row {
    /// File below `crates/`.
    file: &'static str,
    /// The unit that has it, beside the file's own folder's parent.
    unit: &'static str,
    now: &'static str,
    before: &'static str,
    rule: &'static str,
}

const BACKEND: &str = "openvm-metal-backend/metal";
const HOLOGRAM: &str = "hologram-kernels/metal";

const ROWS: &[Row] = &[
    // Macros of loops without the header that has them.
    Row {
        file: "hologram-kernels/metal/elements.h",
        unit: "map.metal",
        now: "#include <lanes.h>\n",
        before: "",
        rule: "target-macro",
    },
    // Positions of two widths in one kernel.
    Row {
        file: "openvm-metal-backend/metal/commit/gather.metal",
        unit: "commit/gather.metal",
        now: "uint2 threads [[threads_per_threadgroup]]",
        before: "uint threads [[threads_per_threadgroup]]",
        rule: "position-width",
    },
    // A macro of the shim, which Apple's text does not have: the strided gather vanished.
    Row {
        file: "openvm-metal-backend/metal/commit/gather.metal",
        unit: "commit/gather.metal",
        now: "#if LANE_WIDTH == 1",
        before: "#if MSL_LANES == 1",
        rule: "target-macro",
    },
    // Floats whose products and sums may be contracted.
    Row {
        file: "hologram-kernels/metal/elements.h",
        unit: "zip.metal",
        now: "#pragma METAL fp contract(off)\n",
        before: "",
        rule: "contraction",
    },
    // A suffix of a type that Metal does not have.
    Row {
        file: "openvm-metal-backend/metal/commit/gather.metal",
        unit: "commit/gather.metal",
        now: "(1ul << job.log_stride)",
        before: "(1ull << job.log_stride)",
        rule: "literal-suffix",
    },
    // Processors asked for by name.
    Row {
        file: "hologram-kernels/metal/math.h",
        unit: "map.metal",
        now: "#if MSL_HOST && !SOFT_MATH\n#define",
        before: "#if defined(MSL_HOST) && !SOFT_MATH\n#define",
        rule: "target-macro",
    },
    // A header that is there on one target only.
    Row {
        file: "hologram-kernels/metal/math.h",
        unit: "map.metal",
        now: "#include \"math_wide.h\"\n",
        before: "#if MSL_PTX\n#include \"math_wide.h\"\n#endif\n",
        rule: "conditional-include",
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

#[test]
fn historic_forms_are_found_where_they_stood() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("historic");
    let _ = fs::remove_dir_all(&scratch);
    for kernels in [BACKEND, HOLOGRAM] {
        copy(&crates.join(kernels), &scratch.join(kernels));
    }
    let tools = Toolchain::new(scratch.join("tools")).expect("a C++ compiler");
    for row in ROWS {
        let folder = [BACKEND, HOLOGRAM]
            .into_iter()
            .find(|f| row.file.starts_with(f));
        let root: PathBuf = scratch.join(folder.expect("a folder of kernels"));
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
