//! `HashScheme`: the hash of leaves and nodes of Merkle trees on the device, and the transcript that belongs to it.

use std::fmt::Debug;

use openvm_metal_common::{
    CommandStream, DeviceElem, DeviceProfile, Grid, MetalError, MetalSlice, MetalSliceMut,
};
use openvm_stark_backend::{FiatShamirTranscript, StarkProtocolConfig, SystemParams};

use crate::{
    memory::DIGEST,
    params::{MerkleAbsorbParams, MerkleLeafParams, MerkleSubtreeParams},
    prelude::{EF, F},
};

/// A protocol configuration over BabyBear and its extension of degree 4 whose hash has kernels.
///
/// Phases of a proof know the hash by this trait alone. The kernels of a scheme take the same parameters as those of `metal/hash`.
pub trait HashScheme: StarkProtocolConfig<F = F, EF = EF> {
    /// Node of a tree in device memory, of 32 bytes.
    type Node: DeviceElem + Debug + Default + PartialEq;
    /// Transcript of the engine, which grinds on the device.
    type Transcript: FiatShamirTranscript<Self> + Debug + 'static;

    /// Columns of the base field that one permutation absorbs.
    const RATE: usize;

    /// The configuration with its constants.
    fn with_params(params: SystemParams) -> Self;

    /// A transcript that has observed nothing.
    fn transcript() -> Self::Transcript;

    /// The same transcript, grinding on the device of a stream.
    fn on_stream(transcript: Self::Transcript, stream: CommandStream) -> Self::Transcript;

    /// A digest as kernels see it.
    fn node(digest: &Self::Digest) -> Self::Node;

    /// The digest of a node.
    fn digest(node: &Self::Node) -> Self::Digest;

    /// The digests of nodes that were read as words.
    #[doc(hidden)]
    fn digests(words: &[F]) -> Vec<Self::Digest>;

    /// Largest layer, log2 of its nodes, whose permutations are on several lanes by [`subtree_spread`](Self::subtree_spread).
    #[doc(hidden)]
    fn log_spread(_profile: &DeviceProfile) -> u32 {
        0
    }

    #[doc(hidden)]
    fn leaves_base(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, F>,
        nodes: MetalSliceMut<'_, Self::Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError>;

    #[doc(hidden)]
    fn leaves_ext(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, EF>,
        nodes: MetalSliceMut<'_, Self::Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError>;

    /// Absorbs whole blocks of columns; `states` has the capacity of each row's sponge.
    #[doc(hidden)]
    fn absorb(
        s: &CommandStream,
        grid: Grid,
        columns: MetalSlice<'_, F>,
        states: MetalSliceMut<'_, Self::Node>,
        p: &MerkleAbsorbParams,
    ) -> Result<(), MetalError>;

    #[doc(hidden)]
    fn leaves_resumed(
        s: &CommandStream,
        grid: Grid,
        columns: MetalSlice<'_, F>,
        states: MetalSlice<'_, Self::Node>,
        nodes: MetalSliceMut<'_, Self::Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError>;

    #[doc(hidden)]
    fn fold(
        s: &CommandStream,
        grid: Grid,
        below: MetalSlice<'_, Self::Node>,
        above: MetalSliceMut<'_, Self::Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError>;

    #[doc(hidden)]
    fn subtree(
        s: &CommandStream,
        grid: Grid,
        layers: MetalSliceMut<'_, Self::Node>,
        p: &MerkleSubtreeParams,
    ) -> Result<(), MetalError>;

    /// Does the work of [`subtree`](Self::subtree) with each permutation on several lanes; called where [`log_spread`](Self::log_spread) says so.
    #[doc(hidden)]
    fn subtree_spread(
        s: &CommandStream,
        grid: Grid,
        layers: MetalSliceMut<'_, Self::Node>,
        p: &MerkleSubtreeParams,
    ) -> Result<(), MetalError> {
        Self::subtree(s, grid, layers, p)
    }
}

/// Bytes of a node. Memory is planned with one number for all schemes.
pub(super) const fn check_node<SC: HashScheme>() {
    assert!(size_of::<SC::Node>() as u64 == DIGEST, "a node of 32 bytes");
}
