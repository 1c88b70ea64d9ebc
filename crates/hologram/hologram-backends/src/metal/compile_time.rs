//! Estimated compile time of a kernel, from the parts of its source.

use super::effort::Effort;
use crate::translate::Plan;

/// Functions that kernels call and do not inline.
const FAR: [&str; 9] = [
    "hg_exp_",
    "hg_log_",
    "hg_log2_",
    "hg_log10_",
    "hg_sin_",
    "hg_cos_",
    "hg_tan_",
    "hg_tanh_",
    "hg_pow_",
];

/// About how many seconds of processor time a compiler takes for a plan's kernel, alone in its unit for the processor: clang 19 on a server's core,
/// mostly within a factor of two of what was measured where that is over a second. Compilers take longer
/// than in proportion: the terms of second order are what long programs cost.
///
/// Cost: a look at each byte of the text for each of some twenty words.
pub fn compile_seconds(plan: &Plan, effort: Effort) -> f64 {
    let count = |word: &str| plan.text.matches(word).count() as f64;
    let far: f64 = FAR.iter().map(|name| count(name)).sum();
    let statements = (count(";\n") - far).max(0.0);
    let tests = count("hg_fault");
    // What behind them goes on at a place that is known only when the kernel runs.
    let returns = count("sp += 1u;") + count("st = 1u;");
    let loops = count("for (;;)");
    let accesses = match plan.vectors {
        true => count("hg_ld") + count("hg_st"),
        false => 0.0,
    };
    // First and second order of each.
    let terms = match effort {
        Effort::Usual => [
            (statements, 5e-4, 1e-7),
            (far, 2e-4, 0.0),
            (tests, 2.3e-3, 6e-7),
            (accesses, 1e-3, 2e-6),
            (returns, 0.0, 2.5e-5),
            (loops, 0.0, 1e-4),
        ],
        Effort::Least => [
            (statements, 1e-4, 0.0),
            (far, 1e-4, 0.0),
            (tests, 6e-4, 0.0),
            (accesses, 1e-4, 0.0),
            (returns, 0.0, 0.0),
            (loops, 0.0, 0.0),
        ],
    };
    let seconds: f64 = terms.iter().map(|(n, a, b)| a * n + b * n * n).sum();
    0.4 + seconds
}
