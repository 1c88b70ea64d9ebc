//! The tree: from the proofs of all segments to one proof.

use openvm_sdk::config::AggregationTreeConfig;
use openvm_stark_backend::proof::Proof;

use super::{
    layer::{Below, Layer},
    AggregationKeys,
};
use crate::{
    engine::SdkEngine,
    error::{SdkError, Stage},
    prelude::SC,
    progress::{Event, Progress},
};

/// One more internal-recursive node over the last one makes the proof smaller.
const WRAPPING_LAYERS: usize = 1;

/// One proof in place of many.
pub struct Aggregated {
    /// The proof of the last internal-recursive node.
    pub proof: Proof<SC>,
    /// Number of internal-recursive layers, the wrapping ones included.
    pub internal_recursive_layers: u32,
}

/// Aggregates the proofs of all segments, which are in order, as OpenVM's SDK does: leaves, one
/// internal-for-leaf layer, internal-recursive layers until one node is left, and one more over it.
///
/// # Errors
/// What the device refuses.
pub fn aggregate<E: SdkEngine>(
    keys: &AggregationKeys<E>,
    tree: &AggregationTreeConfig,
    segments: &[Proof<SC>],
    progress: &dyn Progress,
) -> Result<Aggregated, SdkError> {
    let (leaf, internal) = (tree.num_children_leaf, tree.num_children_internal);
    let recursive = &keys.internal_recursive;
    let leaves = layer(&keys.leaf, "leaf", segments, leaf, Below::App, progress)?;
    let for_leaf = &keys.internal_for_leaf;
    let mut nodes = layer(
        for_leaf,
        "internal_for_leaf",
        &leaves,
        internal,
        Below::Layer,
        progress,
    )?;
    let mut depth = 0;
    while depth == 0 || nodes.len() > 1 {
        let below = if depth == 0 { Below::Layer } else { Below::Own };
        let name = format!("internal_recursive.{depth}");
        nodes = layer(recursive, &name, &nodes, internal, below, progress)?;
        depth += 1;
    }
    for _ in 0..WRAPPING_LAYERS {
        let name = format!("internal_recursive.{depth}");
        nodes = layer(recursive, &name, &nodes, 1, Below::Own, progress)?;
        depth += 1;
    }
    let proof = nodes.pop().ok_or_else(|| SdkError::Panicked {
        stage: Stage::AggregationKeygen,
        message: "there are no proofs to aggregate".into(),
    })?;
    Ok(Aggregated {
        proof,
        internal_recursive_layers: depth,
    })
}

/// All nodes of a layer, each over up to `children` proofs in order.
fn layer<E: SdkEngine, const N: usize>(
    layer: &Layer<E, N>,
    name: &str,
    proofs: &[Proof<SC>],
    children: usize,
    below: Below,
    progress: &dyn Progress,
) -> Result<Vec<Proof<SC>>, SdkError> {
    let nodes = proofs.len().div_ceil(children);
    let node = |(node, proofs): (usize, &[Proof<SC>])| {
        let stage = Stage::Aggregate {
            layer: name.to_owned(),
            node,
        };
        let ctx = layer.traces(proofs, below, &stage)?;
        let proof = layer.prove(ctx, &stage)?;
        progress.event(Event::NodeProved {
            layer: name,
            node,
            nodes,
        });
        Ok(proof)
    };
    proofs.chunks(children).enumerate().map(node).collect()
}
