//! `Baseline`: the circuits, the memory and the program that a proof is compared with.

use serde::{Deserialize, Serialize};

use crate::{commitment::Commitment, hash::hash_slice, prelude::Digest};

/// The commitment to the circuit in which every aggregated proof with OpenVM 2.0's default parameters
/// ends, whatever the program and its extensions: the internal-recursive circuit, as a baseline names it.
pub const OPENVM_CIRCUIT: OpenvmCircuit = OpenvmCircuit {
    cached_commit: "0x0077ff0c720c495f2998c5b9ba87414db004a29787bb43f6fffa76049b75fd17",
    vk_pre_hash: "0x0082a0cb4bdde6422848a41c7e000b67072ef65d2742389ef0392c4705ad7b1d",
};

/// A commitment to a circuit as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenvmCircuit {
    /// The commitment to the constraints of the key that the circuit verifies, here its own.
    pub cached_commit: &'static str,
    /// The hash of that key.
    pub vk_pre_hash: &'static str,
}

/// Memory and number of public values of OpenVM's default configuration.
pub const DEFAULT_SHAPE: (MemoryDimensions, usize) = (
    MemoryDimensions {
        addr_space_height: 3,
        address_height: 26,
    },
    32,
);

/// Heights of the tree over a virtual machine's memory. Fields are those of OpenVM's baselines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryDimensions {
    /// Levels above the address spaces.
    pub addr_space_height: usize,
    /// Levels of one address space, down to 8 bytes.
    pub address_height: usize,
}

impl MemoryDimensions {
    /// Levels above a leaf. Nothing if no virtual machine has so many.
    pub(crate) fn levels(&self) -> Option<usize> {
        let plausible = self.addr_space_height <= 30 && self.address_height <= 30;
        plausible.then_some(self.addr_space_height + self.address_height)
    }
}

/// The commitment to a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CircuitCommit<D = Digest> {
    /// The commitment to the constraints of the key that the circuit verifies.
    pub cached_commit: D,
    /// The hash of that key.
    pub vk_pre_hash: D,
}

/// OpenVM's verification baseline: what a proof of one program on one virtual machine is compared with. Made by
/// `openvm-metal commit`. Digests are `D`: [`Digest`] in keys' files, [`Commitment`] in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Baseline<D = Digest> {
    /// The commitment to the program: its code, its initial memory and its entry point.
    pub app_exe_commit: D,
    /// The memory, which says where the public values are.
    pub memory_dimensions: MemoryDimensions,
    /// Number of public values, in bytes.
    pub num_user_pvs: usize,
    /// The application's circuit.
    pub app_vk_commit: CircuitCommit<D>,
    /// The leaves' circuit.
    pub leaf_vk_commit: CircuitCommit<D>,
    /// The circuit of the first internal layer.
    pub internal_for_leaf_vk_commit: CircuitCommit<D>,
    /// The circuit of the layers above, the last one's, too.
    pub internal_recursive_vk_commit: CircuitCommit<D>,
    /// The circuit of deferred computations, if the virtual machine has any.
    pub expected_def_hook_commit: Option<D>,
}

impl<D: Copy> Baseline<D> {
    /// The same with digests of another form.
    fn map<E>(&self, form: impl Fn(D) -> E) -> Baseline<E> {
        let circuit = |commit: &CircuitCommit<D>| CircuitCommit {
            cached_commit: form(commit.cached_commit),
            vk_pre_hash: form(commit.vk_pre_hash),
        };
        Baseline {
            app_exe_commit: form(self.app_exe_commit),
            memory_dimensions: self.memory_dimensions,
            num_user_pvs: self.num_user_pvs,
            app_vk_commit: circuit(&self.app_vk_commit),
            leaf_vk_commit: circuit(&self.leaf_vk_commit),
            internal_for_leaf_vk_commit: circuit(&self.internal_for_leaf_vk_commit),
            internal_recursive_vk_commit: circuit(&self.internal_recursive_vk_commit),
            expected_def_hook_commit: self.expected_def_hook_commit.map(&form),
        }
    }
}

impl From<Baseline<Commitment>> for Baseline {
    fn from(baseline: Baseline<Commitment>) -> Self {
        baseline.map(|commitment| commitment.digest())
    }
}

impl From<Baseline> for Baseline<Commitment> {
    fn from(baseline: Baseline) -> Self {
        baseline.map(Commitment::from)
    }
}

impl Baseline {
    /// True if the baseline names [`OPENVM_CIRCUIT`], and memory and public values of OpenVM's default shape:
    /// the shape says where the public values lie, and no commitment covers it. Then a proof that is verified
    /// against it is a proof of OpenVM's own circuit, and the commitments to the program and to the virtual
    /// machine are left to compare.
    pub fn is_openvm_circuit(&self) -> bool {
        let circuit = &self.internal_recursive_vk_commit;
        (self.memory_dimensions, self.num_user_pvs) == DEFAULT_SHAPE
            && Commitment::from(circuit.cached_commit).to_string() == OPENVM_CIRCUIT.cached_commit
            && Commitment::from(circuit.vk_pre_hash).to_string() == OPENVM_CIRCUIT.vk_pre_hash
    }

    /// The commitment to the virtual machine: a hash of the commitments to the verifying
    /// keys of the application, the leaves and the internal-for-leaf nodes, as OpenVM's SDK computes it.
    pub fn app_vm_commit(&self) -> Commitment {
        let commits = [
            &self.app_vk_commit,
            &self.leaf_vk_commit,
            &self.internal_for_leaf_vk_commit,
        ];
        let parts: Vec<_> = commits
            .iter()
            .flat_map(|commit| commit.cached_commit.into_iter().chain(commit.vk_pre_hash))
            .collect();
        hash_slice(&parts).into()
    }
}
