//! Multilinear and univariate building blocks: eq tables, powers, reductions, scans, folds.
