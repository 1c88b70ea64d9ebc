//! Layers of a Merkle tree: which dispatches make them on a device.

use openvm_metal_common::{
    CommandStream, DeviceElem, DeviceProfile, Execution, Grid, MetalBuffer, MetalError, MetalSlice,
    MetalSliceMut,
};

use super::scheme::HashScheme;
use crate::{
    matrix::MetalMatrix,
    params::{MerkleLeafParams, MerkleSubtreeParams},
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

/// Hashes rows of a matrix into digests.
pub(super) type Leaves<'a, T, SC> = dyn Fn(
        Grid,
        MetalSlice<'_, T>,
        MetalSliceMut<'_, <SC as HashScheme>::Node>,
        &MerkleLeafParams,
    ) -> Result<(), MetalError>
    + 'a;

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

/// The leaves: `2^log_stride` digests of `2^log_rows` rows each.
pub(super) fn leaf_layer<T: DeviceElem, SC: HashScheme>(
    s: &CommandStream,
    matrix: &MetalMatrix<T>,
    layer: MetalSliceMut<'_, SC::Node>,
    [log_rows, log_stride]: [u32; 2],
    leaves: &Leaves<'_, T, SC>,
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
        SC::fold(s, grid(&p), below.as_slice(), above.as_slice_mut(), &p)?;
        below = above;
    }
    let p = params(left, 0);
    SC::fold(s, grid(&p), below.as_slice(), layer, &p)
}

/// The largest layer, log2 of its nodes, whose permutations are on sixteen lanes.
pub(super) fn log_spread(profile: &DeviceProfile) -> u32 {
    match profile.execution {
        Execution::ManyCore => (SPREAD_NODES * profile.cores).max(1).ilog2(),
        Execution::MultiCore => 0,
    }
}

/// Computes the layers above the first `2^log_stride` digests; from `2^log_spread` nodes on down with each permutation on sixteen lanes.
pub(crate) fn upper_layers<SC: HashScheme>(
    s: &CommandStream,
    layers: &mut MetalBuffer<SC::Node>,
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
            SC::subtree_spread(s, grid, layers.as_slice_mut(), &p)?;
        } else {
            let threads = 1u32 << (log_block - 1);
            SC::subtree(s, Grid::groups(groups, threads), layers.as_slice_mut(), &p)?;
        }
        first += 2 * ((1 << log_nodes) - (1u64 << (log_nodes - levels)));
        log_nodes -= levels;
    }
    Ok(())
}
