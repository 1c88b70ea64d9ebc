//! Circles that are still to be undone.

/// The circles of a crate.
pub struct Known {
    pub name: &'static str,
    /// Files relative to `src`, sorted.
    pub files: &'static [&'static [&'static str]],
    /// Modules below the root, sorted.
    pub modules: &'static [&'static [&'static str]],
}

pub const KNOWN: &[Known] = &[
    Known {
        name: "hologram-backends",
        files: &[],
        modules: &[&["backend", "intrinsics"], &["isa", "program"]],
    },
    Known {
        name: "hologram-core",
        files: &[&["buffer.rs", "executor.rs"], &["device.rs", "error.rs"]],
        modules: &[
            &["buffer", "executor"],
            &["device", "error"],
            &["ops", "strided"],
        ],
    },
    Known {
        name: "hologram-kernels",
        files: &[&[
            "host/dispatch.rs",
            "host/half/gemm.rs",
            "host/half/mod.rs",
            "host/mod.rs",
            "host/zip.rs",
        ]],
        modules: &[],
    },
];
