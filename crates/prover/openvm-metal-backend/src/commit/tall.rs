//! Stacked columns to codewords in two passes over memory, on devices that have threadgroup memory for it.
//!
//! Columns that lie within one range are read as cells by the first pass of their transform, which computes the message in
//! the tile: it is never written. The others, and those of other skip domains, are written as messages first.

use std::ops::Range;

use openvm_metal_common::{CommandStream, MetalSliceMut};

use super::message::{encode_messages, CodeShape};
use crate::{
    error::MetalProverError,
    ntt::{table, NttDirection, TallPlan, LOG_CHUNK},
    prelude::F,
    stacked::StackedRange,
};

/// Neighbouring columns that are done in one way.
pub(super) struct Piece<'a> {
    pub columns: Range<usize>,
    /// The range that holds all of them, and their first cell in it.
    pub inside: Option<(&'a StackedRange, usize)>,
}

/// Writes the codewords of stacked columns `columns` into `code`, by way of `scratch`: at least one column.
pub(super) fn encode_tall(
    s: &CommandStream,
    ranges: &[StackedRange],
    mut code: MetalSliceMut<'_, F>,
    mut scratch: MetalSliceMut<'_, F>,
    columns: Range<usize>,
    shape: CodeShape,
    tall: &TallPlan,
) -> Result<(), MetalProverError> {
    let rows = tall.words();
    let roots = &table(s, NttDirection::Forward)?;
    // Messages are not divided by the size of the skip domain: the last pass has a factor for each word anyway.
    let scale = shape.division();
    let at_once = tall.at_once(scratch.len(), columns.len());
    let mut done = columns.start;
    while done < columns.end {
        let part = done..columns.end.min(done + at_once);
        let first = (done - columns.start) * rows;
        let mut target = code.slice_mut(first..first + part.len() * rows);
        for piece in pieces(ranges, part.clone(), shape) {
            let (at, count) = (piece.columns.start - part.start, piece.columns.len());
            let words = at * rows..(at + count) * rows;
            let to = scratch.slice_mut(words.clone());
            match piece.inside {
                Some((range, cell)) => {
                    let cells = cell..cell + (count << shape.log_height);
                    tall.encode(s, roots, range.cells.slice().slice(cells), to, count)?;
                }
                None => {
                    let mut messages = target.slice_mut(words);
                    encode_messages(s, ranges, &mut messages, piece.columns, shape, false)?;
                    tall.columns(s, roots, messages.as_slice(), to, count, rows)?;
                }
            }
        }
        tall.runs(
            s,
            roots,
            scratch.as_slice(),
            target,
            part.len(),
            rows,
            scale,
        )?;
        done = part.end;
    }
    Ok(())
}

/// Cuts columns into those that lie within one range and those that do not.
pub(super) fn pieces<'a>(
    ranges: &'a [StackedRange],
    columns: Range<usize>,
    shape: CodeShape,
) -> Vec<Piece<'a>> {
    let column = 1usize << shape.log_height;
    let fused = shape.l_skip == LOG_CHUNK as usize;
    let inside = |j: usize| {
        let first = j << shape.log_height;
        let holds = |range: &&StackedRange| {
            let (start, len) = (range.start as usize, range.cells.len());
            // Quarters of chunks are read at once.
            let aligned = range.cells.parts().1.is_multiple_of(4);
            start <= first && first + column <= start + len && aligned
        };
        let range = ranges.iter().find(holds).filter(|_| fused)?;
        Some((range, first - range.start as usize))
    };
    let mut pieces = Vec::<Piece<'a>>::new();
    for j in columns {
        let found = inside(j);
        let start = |found: Option<(&StackedRange, usize)>| found.map(|(range, _)| range.start);
        match pieces.last_mut() {
            Some(last) if start(last.inside) == start(found) => last.columns.end = j + 1,
            _ => pieces.push(Piece {
                columns: j..j + 1,
                inside: found,
            }),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, DeviceProfile, MetalContext};

    use super::*;
    use crate::{
        commit::{encode_columns, tests::ranges_cut_at},
        kernels,
    };

    /// The codewords of `width` columns, of which the cells are cut into ranges at `cuts`.
    fn codewords(profile: &str, cuts: &[usize], width: usize, shape: CodeShape) -> (Vec<F>, u64) {
        let profile = DeviceProfile::named(profile).unwrap();
        let libraries = [&kernels::LIBRARY];
        let builder = MetalContext::builder(Device::Cpu).libraries(&libraries);
        let context = builder.profile(profile).open().unwrap();
        let s = &context.stream();
        let ranges = ranges_cut_at(s, cuts);
        let before = s.counters().total().dispatches;
        let code =
            encode_columns::<crate::prelude::SC>(s, &ranges, 0..width, shape, 1, None).unwrap();
        let dispatches = s.counters().total().dispatches - before;
        (code.slice().to_host(s).unwrap(), dispatches)
    }

    /// Columns within ranges and columns that several ranges share, with the usual skip domain and another.
    #[test]
    fn two_passes_write_the_codewords_of_three() {
        for (l_skip, log_height, log_blowup) in
            [(4, 17, 1), (3, 17, 1), (4, 16, 2), (0, 17, 1), (5, 17, 1)]
        {
            let shape = CodeShape {
                l_skip,
                log_height,
                log_blowup,
            };
            let column = 1 << log_height;
            let cuts = [0, 2 * column, 2 * column + 64, 5 * column, 6 * column];
            let (expected, _) = codewords("cpu", &cuts, 6, shape);
            let (actual, dispatches) = codewords("h100-80gb", &cuts, 6, shape);
            assert!(actual == expected, "{shape:?}");
            // Batches of 3, 1, 1 and 1 columns, each with a last pass. Column 2 is in two ranges: messages of both and a
            // first pass. All others are read as cells.
            let fused = 4 + (1 + 3) + 1 + 1 + 1;
            let plain = 4 + (3 + 1) + (1 + 1) + (1 + 1) + (1 + 1);
            assert_eq!(dispatches, if l_skip == 4 { fused } else { plain });
        }
    }
}
