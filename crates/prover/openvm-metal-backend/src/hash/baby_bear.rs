//! `HashScheme` of application proofs and their aggregation.

use openvm_metal_common::{
    CommandStream, DeviceProfile, Grid, MetalError, MetalSlice, MetalSliceMut,
};
use openvm_stark_backend::SystemParams;
use openvm_stark_sdk::config::baby_bear_poseidon2::poseidon2_perm;

use super::{layers::log_spread, scheme::HashScheme};
use crate::{
    kernels,
    params::{MerkleAbsorbParams, MerkleLeafParams, MerkleSubtreeParams},
    prelude::{Digest, EF, F, RATE, SC},
    transcript::DuplexSpongeMetal,
};

impl HashScheme for SC {
    type Node = Digest;
    type Transcript = DuplexSpongeMetal;

    const RATE: usize = RATE;

    fn with_params(params: SystemParams) -> Self {
        Self::default_from_params(params)
    }

    fn transcript() -> DuplexSpongeMetal {
        DuplexSpongeMetal::from(poseidon2_perm().clone())
    }

    fn on_stream(transcript: DuplexSpongeMetal, stream: CommandStream) -> DuplexSpongeMetal {
        transcript.with_stream(stream)
    }

    fn node(digest: &Digest) -> Digest {
        *digest
    }

    fn digest(node: &Digest) -> Digest {
        *node
    }

    fn digests(words: &[F]) -> Vec<Digest> {
        words.as_chunks().0.to_vec()
    }

    fn log_spread(profile: &DeviceProfile) -> u32 {
        log_spread(profile)
    }

    fn leaves_base(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, F>,
        nodes: MetalSliceMut<'_, Digest>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::merkle_leaves_base(s, grid, matrix, nodes, p)
    }

    fn leaves_ext(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, EF>,
        nodes: MetalSliceMut<'_, Digest>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::merkle_leaves_ext(s, grid, matrix, nodes, p)
    }

    fn absorb(
        s: &CommandStream,
        grid: Grid,
        columns: MetalSlice<'_, F>,
        states: MetalSliceMut<'_, Digest>,
        p: &MerkleAbsorbParams,
    ) -> Result<(), MetalError> {
        kernels::merkle_absorb(s, grid, columns, states, p)
    }

    fn leaves_resumed(
        s: &CommandStream,
        grid: Grid,
        columns: MetalSlice<'_, F>,
        states: MetalSlice<'_, Digest>,
        nodes: MetalSliceMut<'_, Digest>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::merkle_leaves_resumed(s, grid, columns, states, nodes, p)
    }

    fn fold(
        s: &CommandStream,
        grid: Grid,
        below: MetalSlice<'_, Digest>,
        above: MetalSliceMut<'_, Digest>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::merkle_fold(s, grid, below, above, p)
    }

    fn subtree(
        s: &CommandStream,
        grid: Grid,
        layers: MetalSliceMut<'_, Digest>,
        p: &MerkleSubtreeParams,
    ) -> Result<(), MetalError> {
        kernels::merkle_subtree(s, grid, layers, p)
    }

    fn subtree_spread(
        s: &CommandStream,
        grid: Grid,
        layers: MetalSliceMut<'_, Digest>,
        p: &MerkleSubtreeParams,
    ) -> Result<(), MetalError> {
        kernels::merkle_subtree_spread(s, grid, layers, p)
    }
}
