//! `HashScheme` of root proofs.

use openvm_metal_common::{CommandStream, Grid, MetalError, MetalSlice, MetalSliceMut};
use openvm_stark_backend::SystemParams;
use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::{
    BabyBearBn254Poseidon2Config, Digest, BABY_BEAR_RATE,
};

use super::{Bn254Node, MultiFieldTranscriptMetal};
use crate::{
    hash::HashScheme,
    kernels,
    params::{MerkleAbsorbParams, MerkleLeafParams, MerkleSubtreeParams},
    prelude::{words_of, EF, F},
};

impl HashScheme for BabyBearBn254Poseidon2Config {
    type Node = Bn254Node;
    type Transcript = MultiFieldTranscriptMetal;

    const RATE: usize = BABY_BEAR_RATE;

    fn with_params(params: SystemParams) -> Self {
        Self::default_from_params(params)
    }

    fn transcript() -> MultiFieldTranscriptMetal {
        MultiFieldTranscriptMetal::default()
    }

    fn on_stream(
        transcript: MultiFieldTranscriptMetal,
        stream: CommandStream,
    ) -> MultiFieldTranscriptMetal {
        transcript.with_stream(stream)
    }

    fn node([element]: &Digest) -> Bn254Node {
        (*element).into()
    }

    fn digest(node: &Bn254Node) -> Digest {
        [(*node).into()]
    }

    fn digests(words: &[F]) -> Vec<Digest> {
        let words = words_of(words);
        let (nodes, _) = words.as_chunks();
        nodes
            .iter()
            .map(|&words| Self::digest(&Bn254Node(words)))
            .collect()
    }

    fn leaves_base(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, F>,
        nodes: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_leaves_base(s, grid, matrix, nodes, p)
    }

    fn leaves_ext(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, EF>,
        nodes: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_leaves_ext(s, grid, matrix, nodes, p)
    }

    fn absorb(
        s: &CommandStream,
        grid: Grid,
        columns: MetalSlice<'_, F>,
        states: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleAbsorbParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_absorb(s, grid, columns, states, p)
    }

    fn leaves_resumed(
        s: &CommandStream,
        grid: Grid,
        columns: MetalSlice<'_, F>,
        states: MetalSlice<'_, Bn254Node>,
        nodes: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_leaves_resumed(s, grid, columns, states, nodes, p)
    }

    fn fold(
        s: &CommandStream,
        grid: Grid,
        below: MetalSlice<'_, Bn254Node>,
        above: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_fold(s, grid, below, above, p)
    }

    fn subtree(
        s: &CommandStream,
        grid: Grid,
        layers: MetalSliceMut<'_, Bn254Node>,
        p: &MerkleSubtreeParams,
    ) -> Result<(), MetalError> {
        kernels::bn254_subtree(s, grid, layers, p)
    }
}
