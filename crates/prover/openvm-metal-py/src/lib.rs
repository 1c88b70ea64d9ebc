#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod codec;
mod errors;
mod folder;
mod input;
mod keys;
mod plan;
mod printed;
mod program;
mod progress;
mod proof;
mod prover;
mod security;
mod verifier;
mod work;
mod worker;

#[global_allocator]
static ALLOCATOR: openvm_metal_sdk::HugePages = openvm_metal_sdk::HugePages;

/// The module `openvm_metal._openvm_metal`.
#[pyo3::pymodule]
mod _openvm_metal {
    #[pymodule_export]
    use super::folder::PyJobFolder;
    #[pymodule_export]
    use super::input::values_from_json;
    #[pymodule_export]
    use super::keys::PyKeys;
    #[pymodule_export]
    use super::plan::PyPlan;
    #[pymodule_export]
    use super::program::PyProgram;
    #[pymodule_export]
    use super::proof::{PyProof, PyVerifyingKey};
    #[pymodule_export]
    use super::prover::PyProver;
    #[pymodule_export]
    use super::verifier::{PySpan, PyVerifier};
    #[pymodule_export]
    use super::worker::PySegmentWorker;
}
