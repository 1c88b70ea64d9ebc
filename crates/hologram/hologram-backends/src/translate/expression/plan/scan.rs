//! Rounds of scans.
//!
//! A row of several parts takes three steps: the fold of each part but the last, the scan of these, and the scan of each part that
//! begins with the fold of all before it. No group waits for another.

use super::super::layout::Scan;
use super::*;

/// Most accesses of a thread of several that scan a row together.
const MOST_DEPTH: usize = 4;
/// Bytes that memory moves at once: columns that are narrower in all are scanned as rows.
const SECTOR: usize = 32;

/// Distribution of a scan's rows among threads.
struct Cut {
    sharing: Sharing,
    depth: usize,
    /// Elements of a part.
    tile: usize,
    parts: usize,
    /// Threads, or groups of [`GROUP`] if they meet.
    threads: usize,
}

/// Adds the launches of a scan of elements of `size` bytes; the last view is written.
pub fn rounds(plan: &mut Plan, space: &Space, source: Source, size: usize) {
    if space.shape.contains(&0) {
        return;
    }
    let mut merged = Merged::new(space);
    merged.fold_something();
    let (count, length, kept, rank) = (
        merged.count(),
        merged.length(),
        merged.kept(),
        merged.shape.len(),
    );
    let columns = merged
        .nearest()
        .is_some_and(|d| d < kept && merged.shape[kept - 1] * size >= SECTOR);
    let inner = if columns { kept - 1 } else { rank - 1 };
    let (width, found) = merged.accesses(Some(inner), !columns, &source.sizes, &source.aligned);
    let cut = match columns {
        true => cut_columns(count, length, width),
        false => cut_rows(count, length, width),
    };
    let before = match cut.parts {
        1 => Value::Number(0),
        _ => folds_before(plan, &merged, &source, &cut, size),
    };
    let accesses = found.into_iter().map(|inner| Access {
        dense: false,
        inner,
    });
    plan.rounds.push(Round {
        layout: Layout {
            rank,
            folded: 1,
            width,
            wide: wide(count.saturating_mul(length)),
            tiled: None,
            views: accesses.collect(),
            sharing: Some(cut.sharing),
            parts: false,
            position_words: false,
            position_target: false,
            target: Inner::Apart,
            scan: Some(Scan {
                depth: cut.depth,
                before: cut.parts > 1,
            }),
        },
        of_parts: source.of_parts,
        threads: cut.threads,
        count,
        length,
        parts: cut.parts,
        tile: cut.tile,
        space: merged,
        views: source.views,
        target: Value::Number(0),
        before,
    });
}

fn cut_columns(count: usize, length: usize, width: usize) -> Cut {
    let across = count / width;
    let most = (THREADS / across).min(length / PART).min(MOST_PARTS);
    let parts = if length <= FEW { 1 } else { most.max(1) };
    let tile = length.div_ceil(parts);
    let parts = length.div_ceil(tile);
    Cut {
        sharing: Sharing::Columns,
        depth: 1,
        tile,
        parts,
        threads: across * parts,
    }
}

fn cut_rows(count: usize, length: usize, width: usize) -> Cut {
    let accesses = length / width;
    if accesses <= SHORT && (count >= MANY || accesses <= 1) {
        return Cut {
            sharing: Sharing::Rows(1),
            depth: 1,
            tile: length,
            parts: 1,
            threads: count,
        };
    }
    let together = match accesses <= 32 * MOST_DEPTH && count >= MANY {
        true => 32,
        false => GROUP as usize,
    };
    let depth = accesses.div_ceil(together).next_power_of_two();
    let depth = depth.min(MOST_DEPTH);
    let parts = accesses.div_ceil(together * depth);
    Cut {
        sharing: Sharing::Rows(together as u32),
        depth,
        tile: together * depth * width,
        parts,
        threads: (count * parts).div_ceil(GROUP as usize / together),
    }
}

/// Adds the launches that fold all elements before each part but the first; gives where these folds are: of rows those of one row
/// one behind the other, of columns those before one part of all columns.
fn folds_before(
    plan: &mut Plan,
    merged: &Merged,
    source: &Source,
    cut: &Cut,
    size: usize,
) -> Value {
    let (count, kept) = (merged.count(), merged.kept());
    let (full, written) = (cut.parts - 1, source.views.len() - 1);
    let memory = plan.memory(full * count, size);
    let shape = &merged.shape[..kept];
    let totals = match cut.sharing {
        Sharing::Columns => [row_major(shape, size), vec![(count * size) as isize]].concat(),
        Sharing::Rows(_) => [row_major(shape, full * size), vec![size as isize]].concat(),
    };
    let cut_along = |strides: &Vec<isize>| {
        let (outer, step) = (&strides[..kept], strides[kept]);
        let part = step.wrapping_mul(cut.tile as isize);
        [outer, &[part, step]].concat()
    };
    let each = Space {
        shape: [shape, &[full, cut.tile]].concat(),
        strides: merged.strides[..written].iter().map(cut_along).collect(),
        aligned: source.aligned[..written].to_vec(),
        folded: [vec![false; kept + 1], vec![true]].concat(),
        target: [&totals[..], &[0]].concat(),
        form: FoldForm::Value,
    };
    let operands = Source {
        sizes: source.sizes[..written].to_vec(),
        aligned: each.aligned.clone(),
        views: source.views[..written].to_vec(),
        of_parts: source.of_parts,
    };
    folds(plan, &each, operands, size, memory);
    let up_to = Space {
        shape: [shape, &[full]].concat(),
        strides: vec![totals; 2],
        aligned: vec![true; 2],
        folded: [vec![false; kept], vec![true]].concat(),
        target: Vec::new(),
        form: FoldForm::Scan,
    };
    let in_place = Source {
        sizes: vec![size; 2],
        aligned: vec![true; 2],
        views: vec![memory; 2],
        of_parts: true,
    };
    rounds(plan, &up_to, in_place, size);
    memory
}
