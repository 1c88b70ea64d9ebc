//! A Merkle tree whose leaves are known.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};

use super::{
    layers::upper_layers,
    merkle::{MerkleCell, MerkleTreeMetal},
    scheme::HashScheme,
};
use crate::matrix::MetalMatrix;

impl<T: MerkleCell, SC: HashScheme> MerkleTreeMetal<T, SC> {
    /// The tree over a matrix whose leaves, `rows_per_query` rows each, have these digests: no row is hashed.
    ///
    /// # Errors
    /// The number of leaves is not that of the matrix, or the device fails.
    pub(crate) fn from_leaves(
        s: &CommandStream,
        matrix: MetalMatrix<T>,
        rows_per_query: usize,
        leaves: &[SC::Digest],
    ) -> Result<Self, MetalError> {
        let count = matrix.height() / rows_per_query.max(1);
        let is_whole = count.is_power_of_two() && rows_per_query.is_power_of_two();
        if !is_whole || leaves.len() != count || count * rows_per_query != matrix.height() {
            return Err(MetalError::argument_mismatch(
                "merkle_subtree",
                "leaves",
                format!("{count} digests"),
                leaves.len().to_string(),
            ));
        }
        let fill = |layers: &mut [SC::Node]| {
            for (node, leaf) in layers.iter_mut().zip(leaves) {
                *node = SC::node(leaf);
            }
        };
        let mut layers = match MetalBuffer::filled_by_host(s.context(), 2 * count - 1, fill)? {
            Some(layers) => layers,
            None => {
                let mut layers: Vec<_> = leaves.iter().map(SC::node).collect();
                layers.resize(2 * count - 1, SC::Node::default());
                MetalBuffer::from_host(s, &layers)?
            }
        };
        let (log_rows, log_stride) = (rows_per_query.trailing_zeros(), count.trailing_zeros());
        let log_spread = SC::log_spread(s.context().device_profile());
        upper_layers::<SC>(s, &mut layers, log_stride, log_spread)?;
        Ok(Self {
            width: matrix.width(),
            backing: matrix,
            layers,
            log_rows,
            log_stride,
        })
    }

    /// The digests of the leaves.
    ///
    /// # Errors
    /// Failures of the device.
    pub(crate) fn leaves_to_host(&self, s: &CommandStream) -> Result<Vec<SC::Digest>, MetalError> {
        let nodes = self.layers.slice(..self.query_stride()).to_host(s)?;
        Ok(nodes.iter().map(SC::digest).collect())
    }
}
