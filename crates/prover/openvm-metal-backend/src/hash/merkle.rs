//! `MerkleTreeMetal`: its parts, and what is kept of it.

use openvm_metal_common::{
    CommandStream, DeviceElem, Grid, MetalBuffer, MetalError, MetalSlice, MetalSliceMut,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;
use p3_field::BasedVectorSpace;

use super::{
    layers::{leaf_layer, upper_layers, Leaves},
    scheme::{check_node, HashScheme},
};
use crate::{
    kernels,
    matrix::MetalMatrix,
    params::{MerkleLeafParams, MerkleOpenParams},
    prelude::{EF, F},
};

/// Cells of a matrix that has a Merkle tree: `F` or `EF`.
pub trait MerkleCell: DeviceElem {
    #[doc(hidden)]
    fn leaves<SC: HashScheme>(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, Self>,
        nodes: MetalSliceMut<'_, SC::Node>,
        p: &MerkleLeafParams,
    ) -> Result<(), MetalError>;

    #[doc(hidden)]
    fn rows(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, Self>,
        queries: &MetalBuffer<u32>,
        rows: &mut MetalBuffer<Self>,
        p: &MerkleOpenParams,
    ) -> Result<(), MetalError>;

    #[doc(hidden)]
    fn from_words(words: Vec<F>) -> Vec<Self>;
}

macro_rules! merkle_cell {
    ($cell:ty, $leaves:ident, $rows:ident, $from_words:expr) => {
        impl MerkleCell for $cell {
            fn leaves<SC: HashScheme>(
                s: &CommandStream,
                grid: Grid,
                matrix: MetalSlice<'_, Self>,
                nodes: MetalSliceMut<'_, SC::Node>,
                p: &MerkleLeafParams,
            ) -> Result<(), MetalError> {
                SC::$leaves(s, grid, matrix, nodes, p)
            }

            fn rows(
                s: &CommandStream,
                grid: Grid,
                matrix: MetalSlice<'_, Self>,
                queries: &MetalBuffer<u32>,
                rows: &mut MetalBuffer<Self>,
                p: &MerkleOpenParams,
            ) -> Result<(), MetalError> {
                kernels::$rows(s, grid, matrix, queries, rows, p)
            }

            fn from_words(words: Vec<F>) -> Vec<Self> {
                $from_words(words)
            }
        }
    };
}
merkle_cell!(F, leaves_base, merkle_open_base, std::convert::identity);
merkle_cell!(EF, leaves_ext, merkle_open_ext, elements);

/// Extension elements from their words.
fn elements(words: Vec<F>) -> Vec<EF> {
    let element = |w: &[F]| EF::from_basis_coefficients_fn(|c| w[c]);
    words.chunks_exact(4).map(element).collect()
}

/// A Merkle tree and the matrix below it.
pub struct MerkleTreeMetal<T, SC: HashScheme = BabyBearPoseidon2Config> {
    pub(super) backing: MetalMatrix<T>,
    /// Columns that were hashed; the backing matrix may hold fewer.
    pub(super) width: usize,
    /// Layers of `query_stride`, `query_stride / 2`, ..., 1 digests.
    pub(super) layers: MetalBuffer<SC::Node>,
    pub(super) log_rows: u32,
    pub(super) log_stride: u32,
}

impl<T: MerkleCell, SC: HashScheme> MerkleTreeMetal<T, SC> {
    /// Hashes the rows of `matrix`, `rows_per_query` of them to a leaf; the tree and its root.
    ///
    /// One dispatch for the leaves (up to three if there are so few that they leave a device of many cores
    /// idle), one for every 8 layers above, one wait. `32 * 2 * query_stride` bytes, and with two dispatches or more for the leaves 32 for each
    /// digest between them.
    ///
    /// # Errors
    /// If the height or `rows_per_query` is no power of two, if there are fewer rows than
    /// `rows_per_query`, or if the device fails.
    pub fn new(
        s: &CommandStream,
        matrix: MetalMatrix<T>,
        rows_per_query: usize,
    ) -> Result<(Self, SC::Digest), MetalError> {
        let tree = Self::encode(s, matrix, rows_per_query)?;
        let root = tree.read_root(s)?;
        Ok((tree, root))
    }

    /// Does the work of [`MerkleTreeMetal::new`] without the wait for the root.
    pub fn encode(
        s: &CommandStream,
        matrix: MetalMatrix<T>,
        rows_per_query: usize,
    ) -> Result<Self, MetalError> {
        Self::encode_with_leaves(s, matrix, rows_per_query, &|grid, matrix, digests, p| {
            T::leaves::<SC>(s, grid, matrix, digests, p)
        })
    }

    /// The root, read: one wait.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read_root(&self, s: &CommandStream) -> Result<SC::Digest, MetalError> {
        let root = self.root().to_host(s)?;
        Ok(root.first().map(SC::digest).unwrap_or_default())
    }

    /// The root, one node on the device.
    pub fn root(&self) -> MetalSlice<'_, SC::Node> {
        self.layers.slice(self.layers.len() - 1..)
    }

    /// Does the work of [`MerkleTreeMetal::encode`] with a function for the leaves.
    pub(super) fn encode_with_leaves(
        s: &CommandStream,
        matrix: MetalMatrix<T>,
        rows_per_query: usize,
        leaves: &Leaves<'_, T, SC>,
    ) -> Result<Self, MetalError> {
        const { check_node::<SC>() };
        let height = matrix.height();
        if !height.is_power_of_two() || height > 1 << 31 {
            return Err(MetalError::argument_mismatch(
                "merkle_leaves",
                "height",
                "a power of two",
                height.to_string(),
            ));
        }
        if !rows_per_query.is_power_of_two() || rows_per_query > height {
            let expected = "a power of two, at most the height";
            let actual = rows_per_query.to_string();
            return Err(MetalError::argument_mismatch(
                "merkle_leaves",
                "rows_per_query",
                expected,
                actual,
            ));
        }
        let log_rows = rows_per_query.trailing_zeros();
        let log_stride = height.trailing_zeros() - log_rows;
        let mut layers = MetalBuffer::uninit(s.context(), (2 << log_stride) - 1)?;
        leaf_layer::<T, SC>(
            s,
            &matrix,
            layers.slice_mut(0..1 << log_stride),
            [log_rows, log_stride],
            leaves,
        )?;
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

    /// Keeps the first `columns` columns of the matrix; the memory of the others is free, unless
    /// somebody shares the matrix.
    pub(crate) fn drop_columns(&mut self, columns: usize) {
        self.backing.truncate_columns(columns);
    }

    /// Says of how many columns the hashed rows are, of which the matrix below the tree has some.
    pub(crate) fn of_width(&mut self, width: usize) {
        self.width = width;
    }

    /// Number of leaves, and distance between two rows of the same leaf.
    pub fn query_stride(&self) -> usize {
        1 << self.log_stride
    }

    /// Siblings on a path.
    pub fn proof_depth(&self) -> usize {
        self.log_stride as usize
    }

    /// Rows in a leaf.
    pub fn rows_per_query(&self) -> usize {
        1 << self.log_rows
    }

    /// The matrix below the tree, as far as it is kept.
    pub fn backing(&self) -> &MetalMatrix<T> {
        &self.backing
    }

    /// All kept layers, lowest first.
    ///
    /// # Errors
    /// If the device fails.
    pub fn digest_layers_to_host(
        &self,
        s: &CommandStream,
    ) -> Result<Vec<Vec<SC::Digest>>, MetalError> {
        let all: Vec<_> = self.layers.to_host(s)?.iter().map(SC::digest).collect();
        let mut rest = all.as_slice();
        Ok((0..=self.log_stride)
            .rev()
            .map(|log_len| {
                let (layer, above) = rest.split_at(1 << log_len);
                rest = above;
                layer.to_vec()
            })
            .collect())
    }
}
