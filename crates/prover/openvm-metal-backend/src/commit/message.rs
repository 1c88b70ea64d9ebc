//! Stacked trace cells to Reed-Solomon message coefficients.

use std::ops::Range;

use openvm_metal_common::{CommandStream, Grid, MetalSliceMut};
use p3_field::{Field, PrimeCharacteristicRing};

use crate::{
    error::MetalProverError,
    kernels,
    params::CommitMessageParams,
    prelude::{montgomery, F},
    stacked::StackedRange,
};

/// Chunks of one dispatch at most, so that a grid stays within 32 bits.
const MAX_CHUNKS: u64 = 1 << 30;
/// Largest supported skip domain, log2.
pub(crate) const MAX_L_SKIP: usize = 6;
/// log2 of the skip domain whose kernel every device compiles at the start; those of the others are in `message_other.metal`.
pub(crate) const USUAL_L_SKIP: usize = 4;

/// Shape of a codeword column: `2^(log_height + log_blowup)` cells, of which `2^log_height` are the message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeShape {
    pub l_skip: usize,
    pub log_height: usize,
    pub log_blowup: usize,
}

impl CodeShape {
    /// Final factor of messages that are not divided, in Montgomery form.
    pub(super) fn division(&self) -> u32 {
        montgomery(F::from_u32(1 << self.l_skip).inverse())
    }
}

/// Writes the messages of stacked columns `columns` into the first `2^log_height` cells of each column
/// of `code`: per chunk of `2^l_skip` cells an inverse DFT and subset sums over the coefficient index.
///
/// One dispatch per range; 8 bytes of traffic per cell. The rest of `code` stays as it is. If not `divided`, coefficients are
/// `2^l_skip` times what they should be.
pub(super) fn encode_messages(
    s: &CommandStream,
    ranges: &[StackedRange],
    code: &mut MetalSliceMut<'_, F>,
    columns: Range<usize>,
    shape: CodeShape,
    divided: bool,
) -> Result<(), MetalProverError> {
    let wanted =
        (columns.start as u64) << shape.log_height..(columns.end as u64) << shape.log_height;
    for range in ranges {
        let end = wanted.end.min(range.start + range.cells.len() as u64);
        let begin = wanted.start.max(range.start);
        if begin >= end {
            continue;
        }
        let mut skip = (begin - range.start) >> shape.l_skip;
        let chunks = (end - range.start) >> shape.l_skip;
        while skip < chunks {
            let count = (chunks - skip).min(MAX_CHUNKS);
            let p = CommitMessageParams {
                first: (range.start >> shape.l_skip) + skip - (wanted.start >> shape.l_skip),
                skip,
                log_column: (shape.log_height - shape.l_skip) as u32,
                log_code_column: (shape.log_height + shape.log_blowup - shape.l_skip) as u32,
                divided: divided.into(),
                unused: 0,
            };
            let (grid, cells) = (Grid::threads(count as usize), range.cells.slice());
            match shape.l_skip {
                0 => kernels::commit_message_0(s, grid, cells, code.reborrow(), &p),
                1 => kernels::commit_message_1(s, grid, cells, code.reborrow(), &p),
                2 => kernels::commit_message_2(s, grid, cells, code.reborrow(), &p),
                3 => kernels::commit_message_3(s, grid, cells, code.reborrow(), &p),
                4 => kernels::commit_message_4(s, grid, cells, code.reborrow(), &p),
                5 => kernels::commit_message_5(s, grid, cells, code.reborrow(), &p),
                6 => kernels::commit_message_6(s, grid, cells, code.reborrow(), &p),
                l_skip => {
                    return Err(MetalProverError::Parameters(format!(
                        "l_skip = {l_skip} exceeds the largest supported, {MAX_L_SKIP}"
                    )))
                }
            }?;
            skip += count;
        }
    }
    Ok(())
}
