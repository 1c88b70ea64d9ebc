//! Stacked trace cells to Reed-Solomon message coefficients.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};

use crate::{
    error::MetalProverError, kernels, params::CommitMessageParams, prelude::F,
    stacked::StackedSegment,
};

/// Chunks of one dispatch at most, so that a grid stays within 32 bits.
const MAX_CHUNKS: u64 = 1 << 30;
/// Largest supported skip domain, log2.
pub(crate) const MAX_L_SKIP: usize = 6;

/// Shape of a codeword matrix: `width` columns of `2^(log_height + log_blowup)` cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeShape {
    pub l_skip: usize,
    pub log_height: usize,
    pub log_blowup: usize,
}

/// Writes the message of every stacked column into the first `2^log_height` cells of its codeword
/// column: per chunk of `2^l_skip` cells an inverse DFT and subset sums over the coefficient index.
///
/// One dispatch per segment; 8 bytes of traffic per cell. The rest of `code` stays as it is.
pub(super) fn encode_messages(
    s: &CommandStream,
    segments: &[StackedSegment],
    code: &mut MetalBuffer<F>,
    shape: CodeShape,
) -> Result<(), MetalProverError> {
    for segment in segments {
        let chunks = (segment.cells.len() >> shape.l_skip) as u64;
        let mut skip = 0;
        while skip < chunks {
            let count = (chunks - skip).min(MAX_CHUNKS);
            let p = CommitMessageParams {
                first: segment.start >> shape.l_skip,
                skip,
                log_column: (shape.log_height - shape.l_skip) as u32,
                log_code_column: (shape.log_height + shape.log_blowup - shape.l_skip) as u32,
            };
            let (grid, cells) = (Grid::threads(count as usize), segment.cells.slice());
            match shape.l_skip {
                0 => kernels::commit_message_0(s, grid, cells, &mut *code, &p),
                1 => kernels::commit_message_1(s, grid, cells, &mut *code, &p),
                2 => kernels::commit_message_2(s, grid, cells, &mut *code, &p),
                3 => kernels::commit_message_3(s, grid, cells, &mut *code, &p),
                4 => kernels::commit_message_4(s, grid, cells, &mut *code, &p),
                5 => kernels::commit_message_5(s, grid, cells, &mut *code, &p),
                6 => kernels::commit_message_6(s, grid, cells, &mut *code, &p),
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
