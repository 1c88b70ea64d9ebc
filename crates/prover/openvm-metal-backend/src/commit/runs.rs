//! Opened rows of stacked columns whose codewords are not kept.
//!
//! All rows of a leaf are evaluations of the same few coefficients, which the last pass of a transform would read: the columns are
//! transformed again but for that pass, in place, and the rows that are opened are computed from what it would have read. For leaves
//! longer than its runs as many passes are left out as it takes.

use std::ops::Range;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

use super::{
    message::{encode_messages, CodeShape},
    tall::{pieces, Piece},
};
use crate::{
    error::MetalProverError,
    hash::{HashScheme, OpeningInFlight},
    kernels,
    ntt::{rs_runs, table, NttDirection, TallPlan},
    params::CommitOpenParams,
    prelude::F,
    stacked::StackedRange,
};

/// Gathers the opened cells of stacked columns `columns`, at most `at_once` columns in `2^(log_height + log_blowup)` words each at a time.
///
/// # Errors
/// If the transformed columns do not fit into memory, or the device fails.
pub(crate) fn open_columns<SC: HashScheme>(
    s: &CommandStream,
    ranges: &[StackedRange],
    columns: Range<usize>,
    shape: CodeShape,
    at_once: usize,
    gathering: &mut OpeningInFlight<'_, F, SC>,
) -> Result<(), MetalProverError> {
    let rows = 1usize << (shape.log_height + shape.log_blowup);
    let (log_rows, _) = gathering.log_rows_and_stride();
    let at_once = at_once.clamp(1, columns.len().max(1));
    for start in columns.clone().step_by(at_once) {
        let part = start..(start + at_once).min(columns.end);
        let mut words = MetalBuffer::uninit(s.context(), part.len() * rows)?;
        for piece in pieces(ranges, part.clone(), shape) {
            let (at, count) = (piece.columns.start - part.start, piece.columns.len());
            let words = &mut words;
            let runs = at * rows..(at + count) * rows;
            let first = runs.start;
            let (log_run, scale) = transform(s, ranges, piece, shape, words, first, log_rows)?;
            open_runs(
                s,
                words.slice(runs),
                shape,
                [log_run, scale],
                count,
                gathering,
            )?;
        }
    }
    Ok(())
}

/// All passes but the last of the columns of a piece, whose words begin at `first` of `words`: log2 of the elements of a run, at least that of
/// the rows of a query, and the factor that the last pass multiplies by, 0 for none.
fn transform(
    s: &CommandStream,
    ranges: &[StackedRange],
    piece: Piece<'_>,
    shape: CodeShape,
    words: &mut MetalBuffer<F>,
    first: usize,
    log_rows: u32,
) -> Result<(u32, u32), MetalProverError> {
    let (log_h, log_n) = (shape.log_height, shape.log_height + shape.log_blowup);
    let count = piece.columns.len();
    let mut words = words.slice_mut(first..first + (count << log_n));
    let tall = TallPlan::of(s.context().device_profile(), log_n as u32, log_h as u32, 0);
    let tall = tall.filter(|tall| tall.log_run() >= log_rows);
    if let (Some(tall), Some((range, cell))) = (tall, piece.inside) {
        let roots = &table(s, NttDirection::Forward)?;
        let cells = range.cells.slice().slice(cell..cell + (count << log_h));
        tall.encode(s, roots, cells, words, count)?;
        return Ok((tall.log_run(), shape.division()));
    }
    encode_messages(s, ranges, &mut words, piece.columns, shape, true)?;
    let log_run = rs_runs(s, words, log_h, shape.log_blowup, count, log_rows)?;
    Ok((log_run, 0))
}

/// Adds the opened cells of `width` columns of runs.
fn open_runs<SC: HashScheme>(
    s: &CommandStream,
    runs: MetalSlice<'_, F>,
    shape: CodeShape,
    [log_run, scale]: [u32; 2],
    width: usize,
    gathering: &mut OpeningInFlight<'_, F, SC>,
) -> Result<(), MetalProverError> {
    let queries = gathering.queries();
    let (log_rows, log_stride) = gathering.log_rows_and_stride();
    let p = CommitOpenParams {
        queries: queries.len() as u32,
        width: width as u32,
        log_n: (shape.log_height + shape.log_blowup) as u32,
        log_run,
        log_terms: log_run.min(shape.log_height as u32),
        log_rows,
        log_stride,
        scale,
    };
    let cells = (queries.len() * width) << log_rows;
    if cells == 0 {
        return Ok(());
    }
    let mut parts = MetalBuffer::uninit(s.context(), cells)?;
    let mut rows = MetalBuffer::uninit(s.context(), cells)?;
    let (grid, roots) = (Grid::threads(cells), &table(s, NttDirection::Forward)?);
    kernels::commit_run_parts(s, grid, runs, queries, &mut parts, roots, &p)?;
    kernels::commit_open_runs(s, grid, &parts, queries, &mut rows, roots, &p)?;
    gathering.add_rows(width, rows);
    Ok(())
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, DeviceProfile, MetalContext};

    use super::*;
    use crate::prelude::SC;
    use crate::{
        commit::{encode_columns, tests::ranges_cut_at},
        hash::{read_words, MerkleTreeMetal},
        kernels,
    };

    /// Rows opened from runs are those of the codewords, for codes of one pass and of several, in two passes on tall tiles too; messages
    /// shorter than a run, columns of one range and of several.
    #[test]
    fn rows_from_runs_are_rows_of_codewords() {
        for (profile, l_skip, log_height, log_blowup, width, log_rows) in [
            ("cpu", 0, 0, 1, 3, 2),
            ("cpu", 0, 0, 3, 2, 2),
            ("cpu", 1, 1, 3, 2, 2),
            // Last passes of 2^4 and 2^5 elements, with more rows in a query.
            ("cpu", 2, 8, 1, 3, 5),
            ("cpu", 2, 8, 2, 3, 6),
            ("cpu", 3, 9, 3, 2, 8),
            ("h100-80gb", 4, 17, 1, 2, 10),
            ("cpu", 2, 3, 1, 9, 2),
            ("cpu", 2, 5, 3, 5, 2),
            ("cpu", 3, 9, 1, 7, 2),
            ("cpu", 1, 3, 7, 3, 2),
            ("cpu", 3, 3, 14, 2, 2),
            ("m1-8gb", 4, 9, 2, 11, 2),
            ("m1-8gb", 4, 16, 1, 3, 2),
            ("h100-80gb", 4, 17, 1, 6, 2),
            ("h100-80gb", 3, 17, 1, 3, 2),
            ("h100-80gb", 4, 8, 1, 3, 2),
        ] {
            let profile = DeviceProfile::named(profile).unwrap();
            let libraries = [&kernels::LIBRARY];
            let builder = MetalContext::builder(Device::Cpu).libraries(&libraries);
            let context = builder.profile(profile).open().unwrap();
            let s = &context.stream();
            let shape = CodeShape {
                l_skip,
                log_height,
                log_blowup,
            };
            let cells: usize = width << log_height;
            let chunk = 1 << l_skip;
            let ranges = ranges_cut_at(s, &[0, cells / 3 / chunk * chunk, cells]);
            let code = encode_columns::<SC>(s, &ranges, 0..width, shape, 1, None).unwrap();
            let log_rows = (log_height + log_blowup).min(log_rows);
            let (mut tree, _) = MerkleTreeMetal::<_, SC>::new(s, code, 1 << log_rows).unwrap();
            let most = tree.query_stride() as u32 - 1;
            let queries = [0, most, most / 2, most / 3, most / 7 * 5];
            let queries = MetalBuffer::from_host(s, &queries).unwrap();
            let words = |gathering: OpeningInFlight<'_, F, SC>| {
                let gathered = gathering.finish().unwrap();
                let words = read_words(s, &gathered.slices().unwrap()).unwrap();
                gathered.into_shape().assemble::<F, SC>(words)
            };
            let mut gathering = tree.gather(s, &queries).unwrap();
            gathering.add_kept(s).unwrap();
            let expected = words(gathering);
            tree.drop_columns(0);
            for at_once in [1, 4, width] {
                let mut gathering = tree.gather(s, &queries).unwrap();
                open_columns(s, &ranges, 0..width, shape, at_once, &mut gathering).unwrap();
                assert!(words(gathering) == expected, "{shape:?}, {at_once}");
            }
        }
    }
}
