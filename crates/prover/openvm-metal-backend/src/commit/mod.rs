//! Commitment to trace matrices: stacking, Reed-Solomon encoding, Merkle tree.
//!
//! The evaluations of each stacked column on `D x {0,1}^n` become the coefficients of the encoded
//! message by a map that is local to chunks of `2^l_skip` cells, so the whole commitment is one
//! streaming pass from the traces into the codeword matrix, one forward NTT per column, and one pass
//! of hashing. See `docs/design/commit.md`.

mod encode;
mod from_leaves;
mod gather;
mod message;
mod overlap;
mod ranges;
mod runs;
mod tall;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use openvm_metal_common::{CommandStream, MetalBuffer};
use openvm_stark_backend::{prover::stacked_pcs::StackedLayout, SystemParams};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

use self::{
    encode::encode_into,
    overlap::sponges,
    ranges::{plan_ranges, RangePlan},
};
pub(crate) use self::{
    encode::{digest_bytes, encode_columns, scratch_columns},
    from_leaves::stacked_commit_from_leaves,
    message::{CodeShape, MAX_L_SKIP, USUAL_L_SKIP},
    overlap::{overlap_bytes, OVERLAP_BYTES},
    ranges::{copied_cells, TraceShape},
    runs::open_columns,
};
use crate::{
    error::MetalProverError,
    hash::{AbsorbedRows, HashScheme, MerkleTreeMetal},
    kept_codewords::KeptCodewords,
    matrix::{MetalMatrix, MetalSliceOwned},
    memory::PlannedBuffer,
    prelude::F,
    stacked::{StackedPcsDataMetal, StackedRange},
};

/// Parameters of one commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitParams {
    /// log2 of the univariate skip domain.
    pub l_skip: usize,
    /// log2 of the stacked height, at least `l_skip`.
    pub log_height: usize,
    /// log2 of the inverse rate of the code.
    pub log_blowup: usize,
    /// log2 of the codeword rows in one Merkle leaf.
    pub k_whir: usize,
    /// The codewords that are kept.
    pub kept: KeptCodewords,
    /// Memory that only makes the commitment quicker is taken while no more bytes than this are live on the device. `None`: the device's
    /// budget, less what its pool may lose, which bounds it in any case.
    pub memory_budget: Option<u64>,
}

impl CommitParams {
    fn code_shape(&self) -> CodeShape {
        CodeShape {
            l_skip: self.l_skip,
            log_height: self.log_height,
            log_blowup: self.log_blowup,
        }
    }

    /// Columns of scratch memory beside `width` codewords.
    fn scratch_columns(&self, s: &CommandStream, width: usize) -> usize {
        let log_rows = self.log_height + self.log_blowup;
        scratch_columns(s.context().device_profile(), log_rows, self.k_whir, width)
    }

    /// Refuses codewords of `width` columns if what exists of them at once is larger than any buffer of the device.
    pub(crate) fn check_code(
        &self,
        s: &CommandStream,
        width: usize,
        rate: usize,
    ) -> Result<(), MetalProverError> {
        let log_rows = self.log_height + self.log_blowup;
        let at_once = self.kept.at_once(width, rate) as u64;
        PlannedBuffer::code(log_rows, at_once).check(s.context().device_profile())?;
        Ok(())
    }
}

impl From<&SystemParams> for CommitParams {
    fn from(params: &SystemParams) -> Self {
        Self {
            l_skip: params.l_skip,
            log_height: params.log_stacked_height(),
            log_blowup: params.log_blowup,
            k_whir: params.k_whir(),
            kept: KeptCodewords::All,
            memory_budget: None,
        }
    }
}

/// Commits to `traces`, which are sorted by falling height. The same root as the reference prover's
/// `stacked_commit`.
///
/// # Errors
/// A height that is no power of two or exceeds the stacked height, traces out of order, no cell at
/// all, a trace whose transport failed, or a failure of the device.
pub fn stacked_commit<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
) -> Result<(SC::Digest, StackedPcsDataMetal<SC>), MetalProverError> {
    stacked_commit_beside(s, params, traces, || Ok(()))
}

/// Does the work of [`stacked_commit`]; `meanwhile` is done before the root is waited for.
pub(crate) fn stacked_commit_beside<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
    meanwhile: impl FnOnce() -> Result<(), MetalProverError>,
) -> Result<(SC::Digest, StackedPcsDataMetal<SC>), MetalProverError> {
    let _stage = s.stage("stacked_commit");
    let (layout, ranges) = stacked::<SC>(s, params, traces)?;
    commit_stacked(s, params, layout, ranges, meanwhile)
}

/// The codewords that a commitment to `traces` hashes, column major, Montgomery form: `2^(log_height + log_blowup)` rows, a
/// column for each stacked column, made with the scratch memory that a commitment has. The traces are sorted by falling height.
///
/// # Errors
/// A height that is no power of two or exceeds the stacked height, traces out of order, no cell at
/// all, a trace whose transport failed, or a failure of the device.
pub fn codewords(
    s: &CommandStream,
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
) -> Result<MetalMatrix<F>, MetalProverError> {
    let params = CommitParams {
        kept: KeptCodewords::All,
        ..params
    };
    let (layout, ranges) = stacked::<BabyBearPoseidon2Config>(s, params, traces)?;
    let (width, shape) = (layout.width(), params.code_shape());
    let scratch = params.scratch_columns(s, width);
    encode_columns::<BabyBearPoseidon2Config>(s, &ranges, 0..width, shape, scratch, None)
}

/// The stacked matrix of traces.
fn stacked<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
) -> Result<(StackedLayout, Vec<StackedRange>), MetalProverError> {
    let shapes = trace_shapes(params, traces)?;
    let sorted = shapes
        .iter()
        .map(|shape| (shape.width, shape.log_height))
        .collect();
    let layout = StackedLayout::new(params.l_skip, params.log_height, sorted)?;
    params.check_code(s, layout.width(), SC::RATE)?;
    let _stage = s.stage("stacked_matrix");
    let ranges = stack(s, params, &layout, &shapes, traces)?;
    Ok((layout, ranges))
}

/// Encodes and hashes a stacked matrix whose ranges exist; `meanwhile` is done before the root is waited for.
pub(crate) fn commit_stacked<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    layout: StackedLayout,
    ranges: Vec<StackedRange>,
    meanwhile: impl FnOnce() -> Result<(), MetalProverError>,
) -> Result<(SC::Digest, StackedPcsDataMetal<SC>), MetalProverError> {
    let width = layout.width();
    let tree = match params.kept {
        KeptCodewords::Last(_) => hash_windows(s, params, &ranges, width)?,
        _ => hash_at_once(s, params, &ranges, width)?,
    };
    meanwhile()?;
    let root = tree.read_root(s)?;
    Ok((
        root,
        StackedPcsDataMetal {
            layout: layout.into(),
            ranges: ranges.into(),
            tree,
            kept: params.kept,
            root,
        },
    ))
}

/// The tree over codewords that exist all at once.
fn hash_at_once<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    ranges: &[StackedRange],
    width: usize,
) -> Result<MerkleTreeMetal<F, SC>, MetalProverError> {
    let shape = params.code_shape();
    let (code, absorbed) = {
        let _stage = s.stage("rs_code_matrix");
        let mut absorbed = sponges::<SC>(s, params, width)?;
        let scratch = params.scratch_columns(s, width);
        let code = encode_columns(s, ranges, 0..width, shape, scratch, absorbed.as_mut())?;
        (code, absorbed)
    };
    let _stage = s.stage("merkle_tree");
    let mut tree = match absorbed {
        Some(absorbed) => {
            let done = absorbed.columns();
            MerkleTreeMetal::resumed(s, code, done, 1 << params.k_whir, &absorbed)?
        }
        None => MerkleTreeMetal::encode(s, code, 1 << params.k_whir)?,
    };
    tree.drop_columns(params.kept.columns(width, SC::RATE).len());
    Ok(tree)
}

/// The tree over codewords of which the last are kept. The others are encoded and hashed before them, a window at a time in one buffer. Windows
/// and what is kept are scratch memory for each other.
fn hash_windows<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    ranges: &[StackedRange],
    width: usize,
) -> Result<MerkleTreeMetal<F, SC>, MetalProverError> {
    let shape = params.code_shape();
    let rows = 1usize << (shape.log_height + shape.log_blowup);
    let columns = params.kept.columns(width, SC::RATE);
    let stage = s.stage("rs_code_matrix");
    let mut kept = MetalBuffer::uninit(s.context(), columns.len() * rows)?;
    let mut absorbed = AbsorbedRows::<SC>::new(s, rows)?;
    let mut window = MetalBuffer::uninit(
        s.context(),
        params.kept.widest_window(width, SC::RATE) * rows,
    )?;
    let mut last = 0;
    for of_window in params.kept.windows(width, SC::RATE) {
        last = of_window.len() * rows;
        let is_end = of_window.end == width;
        let (cells, lent) = (window.slice_mut(..last), Some(kept.as_slice_mut()));
        encode_into::<SC>(s, ranges, of_window, shape, cells, lent, None)?;
        if !is_end {
            absorbed.absorb_all(s, window.slice(..last))?;
        }
    }
    let (cells, lent) = (kept.as_slice_mut(), Some(window.as_slice_mut()));
    encode_into::<SC>(s, ranges, columns.clone(), shape, cells, lent, None)?;
    drop(stage);
    let _stage = s.stage("merkle_tree");
    let none = columns.is_empty();
    let (ending, width_of_it) = if none {
        window.truncate(last);
        (window, last / rows)
    } else {
        drop(window);
        (kept, columns.len())
    };
    let ending = MetalMatrix::from_buffer(ending, rows, width_of_it);
    let mut tree = MerkleTreeMetal::resumed(s, ending, 0, 1 << params.k_whir, &absorbed)?;
    if none {
        tree.drop_columns(0);
    }
    tree.of_width(width);
    Ok(tree)
}

fn trace_shapes(
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
) -> Result<Vec<TraceShape>, MetalProverError> {
    if params.log_height < params.l_skip || params.l_skip > MAX_L_SKIP {
        return Err(MetalProverError::Parameters(format!(
            "skip domain 2^{} with stacked height 2^{}",
            params.l_skip, params.log_height
        )));
    }
    let mut shapes = Vec::<TraceShape>::with_capacity(traces.len());
    for (index, trace) in traces.iter().enumerate() {
        if let Some(error) = trace.error() {
            return Err(MetalProverError::Transport(error.clone()));
        }
        let shape = checked_shape(trace, params.log_height, || format!("trace {index}"))?;
        if shapes
            .last()
            .is_some_and(|last| last.log_height < shape.log_height)
        {
            return Err(MetalProverError::Parameters(format!(
                "trace {index} is taller than the one before it: sort traces by falling height"
            )));
        }
        shapes.push(shape);
    }
    if shapes.iter().all(|shape| shape.width == 0) {
        return Err(MetalProverError::NoTraces);
    }
    Ok(shapes)
}

/// The shape of a trace, if its height is a power of two and at most the stacked height.
pub(crate) fn checked_shape(
    trace: &MetalMatrix<F>,
    log_stacked_height: usize,
    what: impl Fn() -> String,
) -> Result<TraceShape, MetalProverError> {
    let height = trace.height();
    if !height.is_power_of_two() {
        return Err(MetalProverError::HeightNotPowerOfTwo {
            what: what(),
            height,
        });
    }
    let log_height = height.trailing_zeros() as usize;
    if log_height > log_stacked_height {
        return Err(MetalProverError::HeightTooLarge {
            what: what(),
            height,
            log_stacked_height,
        });
    }
    Ok(TraceShape {
        log_height,
        width: trace.width(),
    })
}

fn stack(
    s: &CommandStream,
    params: CommitParams,
    layout: &StackedLayout,
    shapes: &[TraceShape],
    traces: &[&MetalMatrix<F>],
) -> Result<Vec<StackedRange>, MetalProverError> {
    let total = (layout.width() as u64) << params.log_height;
    let plan = plan_ranges(shapes, params.l_skip, total);
    let copies = gather::gather_copies(s, &plan, shapes, params.l_skip, traces)?.map(Arc::new);
    let mut at = 0;
    plan.iter()
        .map(|range| match range {
            RangePlan::InPlace { trace, start, .. } => Ok(StackedRange {
                start: *start,
                cells: traces[*trace].cells().clone(),
            }),
            RangePlan::Copied { start, len, .. } => {
                let buffer = copies.clone().ok_or_else(|| {
                    MetalProverError::internal("stacked_commit", "copies without a buffer")
                })?;
                let cells = MetalSliceOwned::new(buffer, at, *len as usize);
                at += *len as usize;
                Ok(StackedRange {
                    start: *start,
                    cells,
                })
            }
        })
        .collect()
}
