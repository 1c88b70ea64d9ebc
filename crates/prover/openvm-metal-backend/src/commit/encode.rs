//! Stacked columns to Reed-Solomon codewords.

use std::ops::Range;

use openvm_metal_common::{CommandStream, DeviceProfile, MetalBuffer, MetalSliceMut};

use super::{
    message::{encode_messages, CodeShape},
    tall::encode_tall,
};
use crate::{
    error::MetalProverError,
    hash::{digests_below_leaves, AbsorbedRows, HashScheme},
    matrix::MetalMatrix,
    memory::DIGEST,
    ntt::{rs_encode, rs_encode_with, TallPlan},
    prelude::F,
    stacked::StackedRange,
};

/// The codewords of stacked columns `columns`, one column of the result each.
///
/// The last pass of a transform needs a second place. With a cache (a CPU) that is a scratch buffer small enough
/// for it; without one (a GPU) it is the columns that are still to be encoded, half of what is left at a
/// time, and at the end `scratch` columns beside the result: about log2(columns / scratch) + 1 batches.
/// Without a cache, `absorbed` takes the columns of each batch while the next is transformed.
///
/// # Errors
/// If the codewords do not fit into memory, or the device fails.
pub(crate) fn encode_columns<SC: HashScheme>(
    s: &CommandStream,
    ranges: &[StackedRange],
    columns: Range<usize>,
    shape: CodeShape,
    scratch: usize,
    absorbed: Option<&mut AbsorbedRows<SC>>,
) -> Result<MetalMatrix<F>, MetalProverError> {
    let log_rows = shape.log_height + shape.log_blowup;
    let (width, rows) = (columns.len(), 1usize << log_rows);
    let cells = width.checked_mul(rows).ok_or_else(|| {
        MetalProverError::Parameters(format!(
            "a codeword matrix of {width} columns of 2^{log_rows} cells"
        ))
    })?;
    let mut code = MetalBuffer::uninit(s.context(), cells)?;
    let mut spare = match s.context().device_profile().cache {
        0 => Some(MetalBuffer::uninit(s.context(), scratch.min(width) * rows)?),
        _ => None,
    };
    let lent = spare.as_mut().map(MetalBuffer::as_slice_mut);
    encode_into(
        s,
        ranges,
        columns,
        shape,
        code.as_slice_mut(),
        lent,
        absorbed,
    )?;
    Ok(MetalMatrix::from_buffer(code, rows, width))
}

/// Bytes of the digests that a commitment makes after its codewords: the layers of its tree, and what its leaves are made of.
pub(crate) fn digest_bytes(profile: &DeviceProfile, log_rows: usize, k_whir: usize) -> [u64; 2] {
    let log_leaf = k_whir.min(log_rows);
    let log_leaves = log_rows - log_leaf;
    let below = digests_below_leaves(profile, log_leaf as u32, log_leaves as u32);
    [(2 << log_leaves) * DIGEST, below * DIGEST]
}

/// Columns of scratch memory beside codewords that exist all at once. They take no more than the digests that come after them, nor than the plan of a proof
/// has for what lies below the leaves, so no peak rises; at least one.
pub(crate) fn scratch_columns(
    profile: &DeviceProfile,
    log_rows: usize,
    k_whir: usize,
    width: usize,
) -> usize {
    let [tree, below] = digest_bytes(profile, log_rows, k_whir);
    let bytes = (tree + below).min(2 * below);
    let columns = bytes / ((size_of::<F>() as u64) << log_rows);
    (columns as usize).clamp(1, width.max(1))
}

/// Does the work of [`encode_columns`] into all of `code`. Without a cache, `lent` is scratch memory of any contents.
///
/// # Errors
/// If scratch memory does not fit, or the device fails.
pub(super) fn encode_into<SC: HashScheme>(
    s: &CommandStream,
    ranges: &[StackedRange],
    columns: Range<usize>,
    shape: CodeShape,
    mut code: MetalSliceMut<'_, F>,
    lent: Option<MetalSliceMut<'_, F>>,
    absorbed: Option<&mut AbsorbedRows<SC>>,
) -> Result<(), MetalProverError> {
    if columns.is_empty() {
        return Ok(());
    }
    if s.context().device_profile().cache > 0 {
        let width = columns.len();
        encode_messages(s, ranges, &mut code, columns, shape, true)?;
        rs_encode(s, code, shape.log_height, shape.log_blowup, width)?;
        return Ok(());
    }
    encode_by_halves(s, ranges, columns, shape, code, lent, absorbed)
}

/// The way without a cache, into all of `code`: batches as large as the lent scratch memory, or half of what is left if that is more.
fn encode_by_halves<SC: HashScheme>(
    s: &CommandStream,
    ranges: &[StackedRange],
    columns: Range<usize>,
    shape: CodeShape,
    mut code: MetalSliceMut<'_, F>,
    lent: Option<MetalSliceMut<'_, F>>,
    mut absorbed: Option<&mut AbsorbedRows<SC>>,
) -> Result<(), MetalProverError> {
    let CodeShape {
        log_height,
        log_blowup,
        ..
    } = shape;
    let (width, rows) = (columns.len(), 1usize << (log_height + log_blowup));
    let profile = s.context().device_profile();
    let tall = TallPlan::of(
        profile,
        (log_height + log_blowup) as u32,
        log_height as u32,
        0,
    );
    let mut own = None;
    let mut spare = match lent {
        Some(lent) if lent.len() >= rows => lent,
        _ => own
            .insert(MetalBuffer::uninit(s.context(), rows)?)
            .as_slice_mut(),
    };
    let most = spare.len() / rows;
    let mut done = 0;
    while done < width {
        let left = width - done;
        let count = (left / 2).max(most.min(left));
        let (mut batch, rest) = code.slice_mut(done * rows..).into_split_at(count * rows);
        let wanted = columns.start + done..columns.start + done + count;
        let scratch = match count <= most {
            true => spare.reborrow(),
            false => rest,
        };
        if let Some(tall) = &tall {
            encode_tall(s, ranges, batch, scratch, wanted, shape, tall)?;
        } else {
            encode_messages(s, ranges, &mut batch, wanted, shape, true)?;
            rs_encode_with(s, batch, scratch, log_height, log_blowup, count)?;
        }
        done += count;
        if let Some(absorbed) = &mut absorbed {
            absorbed.absorb(s, code.as_slice().slice(..done * rows), width)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, MetalContext};

    use super::*;
    use crate::prelude::SC;
    use crate::{commit::tests::ranges_cut_at, hash::MerkleTreeMetal, kernels};

    #[test]
    fn both_ways_and_any_columns_agree() {
        let context = MetalContext::new(Device::from_env().unwrap(), &[&kernels::LIBRARY]).unwrap();
        let s = &context.stream();
        for (log_height, log_blowup, width) in
            [(5, 1, 9), (9, 2, 7), (11, 1, 6), (6, 1, 40), (17, 1, 3)]
        {
            let shape = CodeShape {
                l_skip: 3,
                log_height,
                log_blowup,
            };
            // Ranges that end within columns.
            let cells: usize = width << log_height;
            let cuts = [0, cells / 24 * 8, cells / 16 * 8, cells];
            let ranges = ranges_cut_at(s, &cuts);
            let rows = 1 << (log_height + log_blowup);
            let all = encode_columns::<SC>(s, &ranges, 0..width, shape, 1, None).unwrap();
            let all = all.slice().to_host(s).unwrap();
            for range in [0..width, 1..width, width - 1..width, 1..3] {
                let expected = &all[range.start * rows..range.end * rows];
                let mut code = MetalBuffer::uninit(s.context(), expected.len()).unwrap();
                let cells = code.as_slice_mut();
                encode_by_halves::<SC>(s, &ranges, range.clone(), shape, cells, None, None)
                    .unwrap();
                assert!(
                    code.to_host(s).unwrap() == expected,
                    "{range:?} of {shape:?}"
                );
                let mut absorbed = AbsorbedRows::<SC>::new(s, rows).unwrap();
                let taking = Some(&mut absorbed);
                let cells = code.as_slice_mut();
                let mut lent = MetalBuffer::uninit(s.context(), 3 * rows).unwrap();
                let lent = Some(lent.as_slice_mut());
                encode_by_halves::<SC>(s, &ranges, range.clone(), shape, cells, lent, taking)
                    .unwrap();
                let code = MetalMatrix::from_buffer(code, rows, range.len());
                let (_, root) = MerkleTreeMetal::<_, SC>::new(s, code.clone(), 4).unwrap();
                let resumed =
                    MerkleTreeMetal::<_, SC>::resumed(s, code, absorbed.columns(), 4, &absorbed)
                        .unwrap();
                let resumed = resumed.read_root(s).unwrap();
                assert_eq!(resumed, root, "{range:?} of {shape:?}");
                let part = encode_columns::<SC>(s, &ranges, range.clone(), shape, 4, None).unwrap();
                assert!(part.slice().to_host(s).unwrap() == expected, "{range:?}");
            }
        }
    }
}
