//! Commitments to an executable, from its initial memory without a tree of all guest memory.

use std::collections::BTreeMap;

use openvm_circuit::{
    arch::{hasher::poseidon2::vm_poseidon2_hasher, MemoryConfig},
    system::program::trace::compute_exe_commit,
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use super::{
    hash::Digest,
    memory::{InitialMemoryError, MemoryTree},
};

/// The root of the memory tree before the first instruction. `init_memory` maps
/// `(address space, byte)` to a value, as in `VmExe`.
pub fn initial_memory_root(
    config: &MemoryConfig,
    init_memory: &BTreeMap<(u32, u32), u8>,
) -> Result<Digest, InitialMemoryError> {
    Ok(*MemoryTree::from_initial_memory(config, init_memory)?.root())
}

/// OpenVM's commitment to an executable: `compute_exe_commit_from_mem_config` with a sparse tree.
pub fn exe_commit(
    program_commit: &Digest,
    config: &MemoryConfig,
    init_memory: &BTreeMap<(u32, u32), u8>,
    pc_start: u32,
) -> Result<Digest, InitialMemoryError> {
    let root = initial_memory_root(config, init_memory)?;
    let hasher = vm_poseidon2_hasher();
    Ok(compute_exe_commit(
        &hasher,
        program_commit,
        &root,
        F::from_u32(pc_start),
    ))
}
