//! Commitments that are kept from process to process, by the leaves of their Merkle trees.

use openvm_metal_common::Execution;

use crate::{
    backend::Transported,
    commit::{stacked_commit_from_leaves, CommitParams},
    device::MetalDevice,
    error::MetalProverError,
    hash::HashScheme,
    matrix::MetalMatrix,
    memory_plan::kept_codewords,
    prelude::F,
    stacked::StackedPcsDataMetal,
};

impl<SC: HashScheme> MetalDevice<SC> {
    /// True if reading the leaves of a commitment from a disk is quicker than hashing the rows: on CPUs. A GPU hashes
    /// faster than leaves are read.
    pub fn hashes_slowly(&self) -> bool {
        let profile = self.stream().map(|s| s.context().device_profile());
        profile.is_ok_and(|profile| profile.execution == Execution::MultiCore)
    }

    /// The digests of the leaves of a commitment: `2^k_whir` rows of the codewords each.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn leaves(
        &self,
        data: &Transported<StackedPcsDataMetal<SC>>,
    ) -> Result<Vec<SC::Digest>, MetalProverError> {
        Ok(data.checked()?.tree.leaves_to_host(self.stream()?)?)
    }

    /// The commitment to `traces`, sorted by falling height, whose [`leaves`](Self::leaves) are known: the rows are not hashed but for a sample. The root
    /// is that of the given leaves; nothing if the sample shows that they are not those of the traces.
    ///
    /// # Errors
    /// Errors of a commitment.
    #[allow(clippy::type_complexity)]
    pub fn commit_from_leaves(
        &self,
        traces: &[&MetalMatrix<F>],
        leaves: &[SC::Digest],
    ) -> Result<Option<(SC::Digest, Transported<StackedPcsDataMetal<SC>>)>, MetalProverError> {
        let mut params = CommitParams::from(self.params());
        let config = self.prover_config();
        let (s, hasher) = (self.stream()?, self.config().hasher());
        params.memory_budget = config.memory_budget;
        params.kept = kept_codewords(config, s.context().device_profile(), params, traces);
        let made = stacked_commit_from_leaves(s, params, traces, leaves, hasher)?;
        Ok(made.map(|(root, data)| (root, Transported::ok(data))))
    }
}
