//! Sorts of rows on the host: what devices have to give.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::sorting::Sorting;
use crate::Ty;

/// The bits of an element as a number in the order of elements.
fn key(ty: Ty, bits: u64) -> u64 {
    let sign = 1u64 << (ty.bits() - 1);
    if ty.is_signed_int() {
        return bits ^ sign;
    }
    if !ty.is_float() {
        return bits;
    }
    // Bits of infinity.
    let most = match ty {
        Ty::F16 => 0x7c00,
        Ty::Bf16 => 0x7f80,
        Ty::F32 => 0x7f80_0000,
        _ => 0x7ff0_0000_0000_0000,
    };
    let magnitude = bits & (sign - 1);
    match (magnitude, bits & sign) {
        (m, _) if m > most => ty.mask(),
        (0, _) => sign,
        (_, 0) => bits | sign,
        _ => !bits & ty.mask(),
    }
}

/// The keys of a row's elements.
fn keyed(sorting: &Sorting, row: &[u8]) -> Vec<u64> {
    let elements = row.chunks_exact(sorting.ty.size());
    let bits = elements.map(|element| {
        let mut bytes = [0; 8];
        bytes[..element.len()].copy_from_slice(element);
        u64::from_le_bytes(bytes)
    });
    bits.map(|bits| key(sorting.ty, bits)).collect()
}

/// Sorted indices of a row's elements.
fn order_of(sorting: &Sorting, row: &[u8]) -> Vec<usize> {
    let keys = keyed(sorting, row);
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let compare = |&a: &usize, &b: &usize| -> Ordering {
        match sorting.descending {
            true => keys[b].cmp(&keys[a]),
            false => keys[a].cmp(&keys[b]),
        }
    };
    order.par_sort_by(compare);
    order
}

/// Bytes of all elements.
///
/// # Panics
/// If there are not so many.
fn checked(sorting: &Sorting, len: usize, size: usize) -> usize {
    let needed = sorting.rows as usize * sorting.cols as usize * size;
    assert!(len >= needed, "{len} bytes of {needed}");
    needed
}

/// Writes each row of `src` to `dst` in order.
///
/// # Panics
/// If one of them is too short.
pub fn sort(sorting: &Sorting, src: &[u8], dst: &mut [u8]) {
    let size = sorting.ty.size();
    let bytes = checked(sorting, src.len().min(dst.len()), size);
    let row = (sorting.cols as usize * size).max(1);
    let rows = src[..bytes].chunks(row).zip(dst[..bytes].chunks_mut(row));
    for (from, to) in rows {
        let order = order_of(sorting, from);
        for (to, at) in to.chunks_exact_mut(size).zip(order) {
            to.copy_from_slice(&from[at * size..][..size]);
        }
    }
}

/// Writes the indices that put each row of `src` in order to `dst`.
///
/// # Panics
/// If one of them is too short.
pub fn order(sorting: &Sorting, src: &[u8], dst: &mut [i64]) {
    let bytes = checked(sorting, src.len(), sorting.ty.size());
    let count = checked(sorting, dst.len(), 1);
    let row = (sorting.cols as usize * sorting.ty.size()).max(1);
    let rows = src[..bytes]
        .chunks(row)
        .zip(dst[..count].chunks_mut((sorting.cols as usize).max(1)));
    for (from, to) in rows {
        for (to, at) in to.iter_mut().zip(order_of(sorting, from)) {
            *to = at as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_as_numbers_are() {
        let sorting = |ty, cols, descending| Sorting {
            ty,
            rows: 2,
            cols,
            descending,
        };
        let floats = [3.0, f32::NAN, -0.0, 0.0, -5.5, f32::INFINITY, -1e-40, 2.0];
        let bytes: Vec<u8> = floats.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut found = [0; 8];
        order(&sorting(Ty::F32, 4, false), &bytes, &mut found);
        assert_eq!(found, [2, 3, 0, 1, 0, 2, 3, 1]);
        order(&sorting(Ty::F32, 4, true), &bytes, &mut found);
        assert_eq!(found, [1, 0, 2, 3, 1, 3, 2, 0]);
        let mut sorted = vec![0; 32];
        sort(&sorting(Ty::F32, 4, false), &bytes, &mut sorted);
        let first: Vec<u32> = sorted[..12]
            .chunks(4)
            .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        assert_eq!(first, [(-0.0f32).to_bits(), 0, 3f32.to_bits()]);
        let small = [-3i8, 7, 0, 7, -128, 127].map(|x| x as u8);
        let mut found = [0; 6];
        order(&sorting(Ty::I8, 3, true), &small, &mut found);
        assert_eq!(found, [1, 2, 0, 2, 0, 1]);
    }
}
