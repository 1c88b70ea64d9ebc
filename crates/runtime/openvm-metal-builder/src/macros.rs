//! The macros by which the targets differ: all of them, as data.
//!
//! A unit is preprocessed once, with the values of the column `apple`; that text is embedded for Apple GPUs, read by
//! every rule of the lint, and compiled for the other targets too. It is preprocessed again only for vectors of threads,
//! and where a unit asks a macro whose value differs.

/// A macro that has its own value on some target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetMacro {
    /// The name.
    pub name: &'static str,
    /// Meaning of the macro.
    pub what: &'static str,
    /// Value or text on Apple GPUs.
    pub apple: &'static str,
    /// On CPUs, one thread at a time.
    pub cpu: &'static str,
    /// On CPUs, a vector of threads at a time.
    pub lanes: &'static str,
    /// On NVIDIA GPUs.
    pub nvidia: &'static str,
    /// True for a number that may stand in `#if`; the others come with `lanes.h`.
    pub condition: bool,
}

/// Every macro of kernels that is not the same on all targets. `docs/guide/write-a-kernel.md` has a table of them.
pub const TARGET_MACROS: &[TargetMacro] = &[
    TargetMacro {
        name: "LANE_WIDTH",
        what: "threads that a value of lane type belongs to",
        apple: "1",
        cpu: "1",
        lanes: "4, 8 or 16",
        nvidia: "1",
        condition: true,
    },
    TargetMacro {
        name: "MSL_HOST",
        what: "1 where the platform's mathematics library is linked, and `double` exists",
        apple: "0",
        cpu: "1",
        lanes: "1",
        nvidia: "0",
        condition: true,
    },
    TargetMacro {
        name: "MSL_PTX",
        what: "1 on NVIDIA GPUs, where `double` exists without a mathematics library, and `msl_mul_wide(int, int)` gives \
               all 64 bits in one instruction",
        apple: "0",
        cpu: "0",
        lanes: "0",
        nvidia: "1",
        condition: true,
    },
    TargetMacro {
        name: "MSL_UNROLL",
        what: "before a loop: all rounds one after another",
        apple: "_Pragma(\"clang loop unroll(full)\")",
        cpu: "the same; g++: `GCC unroll 64`",
        lanes: "the same; g++: `GCC unroll 64`",
        nvidia: "the same",
        condition: false,
    },
    TargetMacro {
        name: "MSL_ROLLED",
        what: "before a loop: a loop stays one",
        apple: "_Pragma(\"clang loop unroll(disable)\")",
        cpu: "the same; g++: `GCC unroll 1`",
        lanes: "the same; g++: `GCC unroll 1`",
        nvidia: "the same",
        condition: false,
    },
    TargetMacro {
        name: "MSL_LARGE",
        what: "before a large function: `OPENVM_METAL_NOINLINE=1` keeps it apart on Apple",
        apple: "__attribute__((always_inline))",
        cpu: "nothing",
        lanes: "nothing",
        nvidia: "nothing",
        condition: false,
    },
    TargetMacro {
        name: "LANE_MULTIPLE",
        what:
            "`LANE_MULTIPLE(n);` runs the version without vectors if n is no multiple of the lanes",
        apple: "nothing",
        cpu: "nothing",
        lanes: "a test and a return",
        nvidia: "nothing",
        condition: false,
    },
    TargetMacro {
        name: "LANE_GUARD",
        what: "`LANE_GUARD(i, n) ...` for the threads with i < n",
        apple: "if (i < n)",
        cpu: "if (i < n)",
        lanes: "nothing",
        nvidia: "if (i < n)",
        condition: false,
    },
    TargetMacro {
        name: "LANE_LEADER",
        what: "the thread, or vector, of a threadgroup that stores uniform results",
        apple: "tid == 0",
        cpu: "tid == 0",
        lanes: "true",
        nvidia: "tid == 0",
        condition: false,
    },
];

/// The macro of that name in [`TARGET_MACROS`].
pub fn target_macro(name: &str) -> Option<&'static TargetMacro> {
    TARGET_MACROS.iter().find(|m| m.name == name)
}

/// True if Apple's compiler predefines the macro, so that a file may ask for it.
pub fn is_predefined(name: &str) -> bool {
    matches!(
        name,
        "__METAL__" | "__METAL_VERSION__" | "__METAL_MACOS__" | "__METAL_IOS__"
    ) || name.starts_with("__HAVE_")
}

/// Values of the macros that may stand in `#if`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Values {
    /// `LANE_WIDTH`
    pub lane_width: u32,
    /// `MSL_HOST`
    pub host: bool,
    /// `MSL_PTX`
    pub ptx: bool,
}

impl Values {
    /// Macros of Apple GPUs.
    pub const APPLE: Self = Self {
        lane_width: 1,
        host: false,
        ptx: false,
    };

    /// Options of the preprocessor: these values, and what Apple's compiler predefines at this language version.
    pub fn defines(self, metal_version: u32) -> Vec<String> {
        let mut out = vec![
            format!("-D__METAL_VERSION__={metal_version}"),
            "-D__METAL__=1".into(),
            "-D__METAL_MACOS__=1".into(),
            "-D__HAVE_INT64__=1".into(),
        ];
        if metal_version >= 310 {
            out.push("-D__HAVE_BFLOAT__=1".into());
        }
        out.push(format!("-DLANE_WIDTH={}", self.lane_width));
        out.push(format!("-DMSL_HOST={}", u8::from(self.host)));
        out.push(format!("-DMSL_PTX={}", u8::from(self.ptx)));
        out
    }

    /// Part of the names of files that depend on the values.
    pub fn tag(self) -> String {
        match self {
            Self::APPLE => "apple".into(),
            Self {
                lane_width: 1, ptx, ..
            } => if ptx { "ptx" } else { "host" }.into(),
            Self { lane_width, .. } => format!("lanes{lane_width}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `UPDATE=1` writes the table into the page; without it the page must hold it.
    #[test]
    fn the_page_holds_the_table_of_macros() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../../docs/guide/write-a-kernel.md");
        let before = std::fs::read_to_string(&path).expect("a page");
        let mut table = String::from("| macro | meaning | Apple GPU | CPU, one thread | CPU, vectors | NVIDIA GPU |\n|---|---|---|---|---|---|\n");
        for m in TARGET_MACROS {
            let cells = [m.apple, m.cpu, m.lanes, m.nvidia].map(cell).join(" | ");
            table += &format!("| `{}` | {} | {cells} |\n", m.name, m.what);
        }
        let (start, end) = ("<!-- generated: macros -->\n", "<!-- end -->");
        let (head, rest) = before.split_once(start).expect("the start of the table");
        let (_, tail) = rest.split_once(end).expect("the end of the table");
        let after = format!("{head}{start}{table}{end}{tail}");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &after).expect("a page that can be written");
        } else {
            assert!(
                before == after,
                "the table of {} is not TARGET_MACROS: UPDATE=1 cargo test -p openvm-metal-builder --lib macros",
                path.display()
            );
        }
    }

    fn cell(text: &str) -> String {
        match text.starts_with('_') {
            true => format!("`{text}`"),
            false => text.into(),
        }
    }

    #[test]
    fn values_are_those_of_the_list() {
        for m in TARGET_MACROS.iter().filter(|m| m.condition) {
            let apple = Values::APPLE.defines(300);
            assert!(
                apple.contains(&format!("-D{}={}", m.name, m.apple)),
                "{m:?}"
            );
        }
    }
}
