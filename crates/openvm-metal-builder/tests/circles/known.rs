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
            "host/element.rs",
            "host/gemm.rs",
            "host/half/convert.rs",
            "host/half/gemm.rs",
            "host/half/mod.rs",
            "host/loss.rs",
            "host/map.rs",
            "host/math.rs",
            "host/math_single.rs",
            "host/mod.rs",
            "host/parallel.rs",
            "host/reduce.rs",
            "host/rows.rs",
            "host/unary.rs",
            "host/vector.rs",
            "host/zip.rs",
        ]],
        modules: &[],
    },
    Known {
        name: "mach-o-check",
        files: &[&["image.rs", "signature.rs"]],
        modules: &[&["image", "signature"]],
    },
    Known {
        name: "openvm-metal-builder",
        files: &[
            &[
                "census/keys/mod.rs",
                "census/keys/tokens.rs",
                "census/mod.rs",
                "census/report.rs",
                "census/rules.rs",
            ],
            &[
                "clauses/expression.rs",
                "clauses/mod.rs",
                "clauses/parse.rs",
                "clauses/text.rs",
                "rewrite.rs",
                "scan/declaration.rs",
                "scan/kind.rs",
                "scan/mod.rs",
                "scan/template.rs",
                "signature.rs",
                "slices.rs",
            ],
        ],
        modules: &[&["clauses", "rewrite", "scan", "signature", "slices"]],
    },
    Known {
        name: "openvm-metal-sdk",
        files: &[&["builder.rs", "sdk.rs"]],
        modules: &[&["builder", "sdk"]],
    },
];
