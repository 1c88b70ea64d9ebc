//! Traces of a node with their rows in order.
//!
//! OpenVM's verifier circuit has two AIRs whose rows come in another order in every run: one reads a hash map, one a
//! list that several threads add to. Rows are sorted here as far as constraints leave their order open.

use std::borrow::Borrow;

use openvm_recursion_circuit::{
    primitives::exp_bits_len::ExpBitsLenCols, stacking::eq_bits::EqBitsCols,
};
use openvm_stark_backend::{p3_field::PrimeCharacteristicRing, p3_matrix::dense::RowMajorMatrix};

use crate::prelude::F;

/// The AIR of partial products of `eq`, from a hash map.
const EQ_BITS: &str = "EqBitsAir";
/// The AIR of powers, whose requests come from several threads.
const EXP_BITS_LEN: &str = "ExpBitsLenAir";

/// The AIRs whose rows [`sort`] sorts. A circuit has one of each.
pub(super) const SORTED: [&str; 2] = [EQ_BITS, EXP_BITS_LEN];

/// Rows of one request of [`EXP_BITS_LEN`]: a bit in each, and the end.
const EXP_ROWS: usize = 32;

/// Sorts the rows of the trace of an AIR of this name as far as its constraints leave their order open.
pub(crate) fn sort(air: &str, trace: &mut RowMajorMatrix<F>) {
    match air {
        EQ_BITS => sort_eq_bits(trace),
        EXP_BITS_LEN => sort_exp_bits_len(trace),
        _ => {}
    }
}

/// Rows of a proof stay together, in the order of the proofs and the root of each first. Padding is last.
fn sort_eq_bits(trace: &mut RowMajorMatrix<F>) {
    let width = EqBitsCols::<F>::width();
    assert_eq!(trace.width, width, "columns of {EQ_BITS}");
    let mut rows: Vec<&[F]> = trace
        .values
        .chunks_exact(width)
        .take_while(|row| eq_bits(row).is_valid == F::ONE)
        .collect();
    rows.sort_unstable_by(|a, b| {
        let (x, y) = (eq_bits(a), eq_bits(b));
        x.proof_idx
            .cmp(&y.proof_idx)
            .then(y.is_first.cmp(&x.is_first))
            .then(x.num_bits.cmp(&y.num_bits))
            .then(a.cmp(b))
    });
    let sorted = rows.concat();
    trace.values[..sorted.len()].copy_from_slice(&sorted);
}

fn eq_bits(row: &[F]) -> &EqBitsCols<F> {
    row.borrow()
}

/// Requests by their contents; each keeps its rows as they are. Padding is last.
fn sort_exp_bits_len(trace: &mut RowMajorMatrix<F>) {
    let width = ExpBitsLenCols::<F>::width();
    assert_eq!(trace.width, width, "columns of {EXP_BITS_LEN}");
    let mut requests: Vec<&[F]> = trace
        .values
        .chunks_exact(EXP_ROWS * width)
        .take_while(|rows| exp_bits_len(&rows[..width]).is_valid == F::ONE)
        .collect();
    for rows in &requests {
        let first = |row: &[F]| exp_bits_len(row).is_first == F::ONE;
        assert!(
            first(&rows[..width]) && !rows.chunks_exact(width).skip(1).any(first),
            "a request of {EXP_BITS_LEN} has {EXP_ROWS} rows"
        );
    }
    requests.sort_unstable();
    let sorted = requests.concat();
    trace.values[..sorted.len()].copy_from_slice(&sorted);
}

fn exp_bits_len(row: &[F]) -> &ExpBitsLenCols<F> {
    row.borrow()
}

#[cfg(test)]
mod tests {
    use std::borrow::BorrowMut;

    use super::*;

    fn trace(rows: Vec<Vec<F>>) -> RowMajorMatrix<F> {
        let width = rows[0].len();
        RowMajorMatrix::new(rows.concat(), width)
    }

    #[test]
    fn partial_products_stay_with_their_proof_behind_its_root() {
        let row = |proof: u32, first: bool, bits: u32, b: u32| {
            let mut row = F::zero_vec(EqBitsCols::<F>::width());
            let columns: &mut EqBitsCols<F> = row.as_mut_slice().borrow_mut();
            columns.proof_idx = F::from_u32(proof);
            columns.is_valid = F::ONE;
            columns.is_first = F::from_bool(first);
            columns.num_bits = F::from_u32(bits);
            columns.sub_b_value = F::from_u32(b);
            row
        };
        let padding = || {
            let mut row = F::zero_vec(EqBitsCols::<F>::width());
            let columns: &mut EqBitsCols<F> = row.as_mut_slice().borrow_mut();
            columns.proof_idx = F::TWO;
            row
        };
        let sorted = vec![
            row(0, true, 0, 0),
            row(0, false, 1, 7),
            row(0, false, 2, 3),
            row(0, false, 2, 4),
            row(1, true, 0, 0),
            row(1, false, 1, 1),
            padding(),
            padding(),
        ];
        let made = [0, 3, 1, 2, 4, 5, 6, 7].map(|i| sorted[i].clone()).to_vec();
        let mut made = trace(made);
        sort(EQ_BITS, &mut made);
        assert_eq!(made, trace(sorted));
    }

    #[test]
    fn requests_for_powers_keep_their_rows() {
        let width = ExpBitsLenCols::<F>::width();
        let request = |base: u32| -> Vec<F> {
            let mut rows = F::zero_vec(EXP_ROWS * width);
            for (bit, row) in rows.chunks_exact_mut(width).enumerate() {
                let columns: &mut ExpBitsLenCols<F> = row.borrow_mut();
                columns.is_valid = F::ONE;
                columns.is_first = F::from_bool(bit == 0);
                columns.bit_idx = F::from_usize(bit);
                columns.base = F::from_u32(base);
            }
            rows
        };
        let padding = F::zero_vec(EXP_ROWS * width);
        let sorted = [request(3), request(5), request(9), padding.clone()].concat();
        let made = [request(9), request(3), request(5), padding].concat();
        let mut made = RowMajorMatrix::new(made, width);
        sort(EXP_BITS_LEN, &mut made);
        assert_eq!(made.values, sorted);

        // Other AIRs keep their order.
        let mut other = RowMajorMatrix::new(vec![F::TWO, F::ONE], 1);
        sort("TranscriptAir", &mut other);
        assert_eq!(other.values, [F::TWO, F::ONE]);
    }
}
