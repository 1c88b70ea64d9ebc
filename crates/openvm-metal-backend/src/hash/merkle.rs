//! `MerkleTreeMetal`: construction.

use openvm_metal_common::{
    CommandStream, DeviceElem, DeviceProfile, Execution, Grid, MetalBuffer, MetalError, MetalSlice,
    MetalSliceMut,
};
use p3_field::BasedVectorSpace;

use crate::{
    kernels,
    matrix::MetalMatrix,
    params::{MerkleLeafParams, MerkleOpenParams, MerkleSubtreeParams},
    prelude::{Digest, EF, F},
};

/// Digests that one thread of a leaf kernel combines, log2.
const MAX_LOG_FOLD: u32 = 4;
/// Digests that one thread of the fold kernel combines on a device of many cores, log2: short chains, more
/// threads.
const MANY_CORE_LOG_FOLD: u32 = 2;
/// Threads of a threadgroup that hashes rows, on a device of many cores: fewer than usual, so that a core has room for the next one sooner and
/// less of the device is idle at the end of a dispatch.
const ROW_THREADS: u32 = 128;
/// Leaves that take so long that a dispatch more is nothing beside them.
const MANY_LEAVES: u64 = 1 << 16;
/// Most lanes of a vector, log2: with fewer leaves than lanes, lanes would straddle leaves.
const LOG_LANES: u32 = 4;
/// Layers that one threadgroup of the subtree kernel computes at most: 2^8 digests, 128 threads.
const SUBTREE_LEVELS: u32 = 8;
/// Nodes of a layer for each core from which on down a device of many cores takes longer for one permutation than for all at once: there each
/// permutation is on sixteen lanes. 2^13 nodes on an H200 (measured), 2^9 on an M1 (by count).
const SPREAD_NODES: u32 = 64;
/// Layers and threads of a threadgroup of that kernel at most.
const SPREAD_LEVELS: u32 = 7;
const SPREAD_THREADS: u32 = 512;

/// Cells of a matrix that has a Merkle tree: `F` or `EF`.
pub trait MerkleCell: DeviceElem {
    #[doc(hidden)]
    fn leaves(
        s: &CommandStream,
        grid: Grid,
        matrix: MetalSlice<'_, Self>,
        digests: MetalSliceMut<'_, Digest>,
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

/// Hashes rows of a matrix into digests.
pub(super) type Leaves<'a, T> = dyn Fn(
        Grid,
        MetalSlice<'_, T>,
        MetalSliceMut<'_, Digest>,
        &MerkleLeafParams,
    ) -> Result<(), MetalError>
    + 'a;

macro_rules! merkle_cell {
    ($cell:ty, $leaves:ident, $rows:ident, $from_words:expr) => {
        impl MerkleCell for $cell {
            fn leaves(
                s: &CommandStream,
                grid: Grid,
                matrix: MetalSlice<'_, Self>,
                digests: MetalSliceMut<'_, Digest>,
                p: &MerkleLeafParams,
            ) -> Result<(), MetalError> {
                kernels::$leaves(s, grid, matrix, digests, p)
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
merkle_cell!(
    F,
    merkle_leaves_base,
    merkle_open_base,
    std::convert::identity
);
merkle_cell!(EF, merkle_leaves_ext, merkle_open_ext, elements);

/// Extension elements from their words.
fn elements(words: Vec<F>) -> Vec<EF> {
    let element = |w: &[F]| EF::from_basis_coefficients_fn(|c| w[c]);
    words.chunks_exact(4).map(element).collect()
}

/// A Merkle tree and the matrix below it.
pub struct MerkleTreeMetal<T> {
    pub(super) backing: MetalMatrix<T>,
    /// Columns that were hashed; the backing matrix may hold fewer.
    pub(super) width: usize,
    /// Layers of `query_stride`, `query_stride / 2`, ..., 1 digests.
    pub(super) layers: MetalBuffer<Digest>,
    pub(super) log_rows: u32,
    pub(super) log_stride: u32,
}

impl<T: MerkleCell> MerkleTreeMetal<T> {
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
    ) -> Result<(Self, Digest), MetalError> {
        let tree = Self::encode(s, matrix, rows_per_query)?;
        let root = tree.read_root(s)?;
        Ok((tree, root))
    }

    /// As [`MerkleTreeMetal::new`], without the wait for the root.
    pub fn encode(
        s: &CommandStream,
        matrix: MetalMatrix<T>,
        rows_per_query: usize,
    ) -> Result<Self, MetalError> {
        Self::encode_with_leaves(s, matrix, rows_per_query, &|grid, matrix, digests, p| {
            T::leaves(s, grid, matrix, digests, p)
        })
    }

    /// The root, read: one wait.
    ///
    /// # Errors
    /// If the device fails.
    pub fn read_root(&self, s: &CommandStream) -> Result<Digest, MetalError> {
        let root = self.root().to_host(s)?;
        Ok(root.first().copied().unwrap_or_default())
    }

    /// The root, one digest on the device.
    pub fn root(&self) -> MetalSlice<'_, Digest> {
        self.layers.slice(self.layers.len() - 1..)
    }

    /// As [`MerkleTreeMetal::encode`] with what computes the leaves.
    pub(super) fn encode_with_leaves(
        s: &CommandStream,
        matrix: MetalMatrix<T>,
        rows_per_query: usize,
        leaves: &Leaves<'_, T>,
    ) -> Result<Self, MetalError> {
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
        leaf_layer(
            s,
            &matrix,
            layers.slice_mut(0..1 << log_stride),
            [log_rows, log_stride],
            leaves,
        )?;
        let profile = s.context().device_profile();
        let log_spread = match profile.execution {
            Execution::ManyCore => (SPREAD_NODES * profile.cores).max(1).ilog2(),
            Execution::MultiCore => 0,
        };
        upper_layers(s, &mut layers, log_stride, log_spread)?;
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
    pub fn digest_layers_to_host(&self, s: &CommandStream) -> Result<Vec<Vec<Digest>>, MetalError> {
        let all = self.layers.to_host(s)?;
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

/// Levels that the leaf kernel combines itself: all, unless that leaves a device of many cores with fewer
/// threads than half of those that it has in flight. Of 16 rows a leaf it leaves the last two levels to a dispatch of their own where threads would
/// be fewer than four times those in flight, so that cores are not idle while the last of them go through their rows.
fn leaf_fold(profile: &DeviceProfile, log_rows: u32, log_stride: u32) -> u32 {
    let most = log_rows.min(MAX_LOG_FOLD);
    if log_rows > most && log_stride < LOG_LANES {
        return 0;
    }
    match profile.execution {
        Execution::MultiCore => most,
        Execution::ManyCore => {
            let in_flight = profile.threads_in_flight();
            let log_busy = (in_flight / 2).max(1).ilog2();
            match most.min((log_rows + log_stride).saturating_sub(log_busy)) {
                MAX_LOG_FOLD
                    if log_rows == MAX_LOG_FOLD
                        && (MANY_LEAVES..4 * in_flight).contains(&(1 << log_stride)) =>
                {
                    MAX_LOG_FOLD - MANY_CORE_LOG_FOLD
                }
                fold => fold,
            }
        }
    }
}

/// Digests that the leaf kernel writes if leaves take further dispatches.
pub(crate) fn digests_below_leaves(profile: &DeviceProfile, log_rows: u32, log_stride: u32) -> u64 {
    match log_rows - leaf_fold(profile, log_rows, log_stride) {
        0 => 0,
        left => 1 << (log_stride + left),
    }
}

/// A thread for each of so many rows or digests, in threadgroups as the kernels that hash them have on this device.
pub fn row_grid(profile: &DeviceProfile, count: usize) -> Grid {
    match profile.execution {
        Execution::ManyCore => Grid::threads_per_group(count, ROW_THREADS),
        Execution::MultiCore => Grid::threads(count),
    }
}

fn leaf_layer<T: MerkleCell>(
    s: &CommandStream,
    matrix: &MetalMatrix<T>,
    layer: MetalSliceMut<'_, Digest>,
    [log_rows, log_stride]: [u32; 2],
    leaves: &Leaves<'_, T>,
) -> Result<(), MetalError> {
    let profile = s.context().device_profile();
    let params = |log_fold: u32, log_left: u32| MerkleLeafParams {
        height: matrix.height() as u64,
        threads: 1 << (log_stride + log_left),
        width: matrix.width() as u32,
        log_stride,
        log_fold,
    };
    let grid = |p: &MerkleLeafParams| row_grid(profile, p.threads as usize);
    let fold = leaf_fold(profile, log_rows, log_stride);
    let mut left = log_rows - fold;
    if left > MAX_LOG_FOLD && log_stride < LOG_LANES {
        let expected = "at most 16 rows in a leaf of a tree with fewer than 16 leaves";
        let actual = (1u64 << log_rows).to_string();
        return Err(MetalError::argument_mismatch(
            "merkle_leaves",
            "rows_per_query",
            expected,
            actual,
        ));
    }
    let p = params(fold, left);
    if left == 0 {
        return leaves(grid(&p), matrix.slice(), layer, &p);
    }
    let most = match profile.execution {
        Execution::ManyCore if log_stride >= LOG_LANES => MANY_CORE_LOG_FOLD,
        Execution::ManyCore | Execution::MultiCore => MAX_LOG_FOLD,
    };
    let mut below = MetalBuffer::uninit(s.context(), p.threads as usize)?;
    leaves(grid(&p), matrix.slice(), below.as_slice_mut(), &p)?;
    while left > most {
        left -= most;
        let p = params(most, left);
        let mut above = MetalBuffer::uninit(s.context(), p.threads as usize)?;
        kernels::merkle_fold(s, grid(&p), &below, &mut above, &p)?;
        below = above;
    }
    let p = params(left, 0);
    kernels::merkle_fold(s, grid(&p), &below, layer, &p)
}

/// Computes the layers above the first `2^log_stride` digests; from `2^log_spread` nodes on down with each permutation on sixteen lanes.
pub(crate) fn upper_layers(
    s: &CommandStream,
    layers: &mut MetalBuffer<Digest>,
    log_stride: u32,
    log_spread: u32,
) -> Result<(), MetalError> {
    let (mut first, mut log_nodes) = (0, log_stride);
    while log_nodes > 0 {
        let spread = log_nodes <= log_spread;
        let (levels, log_block) = match spread {
            // The last threadgroup has as many layers as it can.
            true => {
                let left = log_nodes.saturating_sub(SPREAD_LEVELS);
                let levels = if left == 0 {
                    log_nodes
                } else {
                    left.min(SPREAD_LEVELS)
                };
                (levels, levels)
            }
            false => {
                let log_block = log_nodes.min(SUBTREE_LEVELS);
                (log_block.min(log_nodes - log_spread), log_block)
            }
        };
        let p = MerkleSubtreeParams {
            first,
            log_nodes,
            levels,
            log_block,
            unused: 0,
        };
        let groups = 1u32 << (log_nodes - log_block);
        if spread {
            let threads = (8u32 << levels).clamp(32, SPREAD_THREADS);
            let grid = Grid::groups(groups, threads);
            kernels::merkle_subtree_spread(s, grid, &mut *layers, &p)?;
        } else {
            let threads = 1u32 << (log_block - 1);
            kernels::merkle_subtree(s, Grid::groups(groups, threads), &mut *layers, &p)?;
        }
        first += 2 * ((1 << log_nodes) - (1u64 << (log_nodes - levels)));
        log_nodes -= levels;
    }
    Ok(())
}
