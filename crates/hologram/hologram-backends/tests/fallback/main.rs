//! Programs that kernels cannot be: by the interpreter on a device's memory, and as whole-buffer operations.

mod operations;
mod policy;
mod support;
