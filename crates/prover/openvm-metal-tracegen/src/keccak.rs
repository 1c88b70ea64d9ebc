//! The chips of Keccak-256: layouts of OpenVM's records and columns, which the kernels of `metal/keccak` know as words and column numbers.
//!
//! Two chips have records, one a row: xorin 860 bytes, keccakf 420. The rows of the permutation, 24 for each record of keccakf and 2634
//! columns wide, are made of the same records; where they end, OpenVM puts permutations of zeros.

use std::{any::Any, mem::size_of};

use openvm_keccak256_circuit::{
    keccakf_op::{KeccakfOpChip, KeccakfOpCols, KeccakfRecord},
    xorin::{
        columns::{XorinMemoryCols, XorinSpongeCols, XorinVmCols},
        trace::XorinVmRecordHeader,
        XorinVmChip,
    },
};
use p3_baby_bear::BabyBear as F;
use p3_keccak_air::{KeccakCols, NUM_KECCAK_COLS, NUM_ROUNDS};

use crate::{
    kernels,
    row_chip::{words, RowChip, Uses},
};

words!(XorinVmRecordHeader: from_pc 0, timestamp 1, rd_ptr 2, rs1_ptr 3, rs2_ptr 4, buffer 5, input 6, len 7, buffer_limbs 8,
    input_limbs 42, register_aux_cols 76, input_read_aux_cols 79, buffer_read_aux_cols 113, buffer_write_aux_cols 147);
words!(KeccakfRecord: pc 0, timestamp 1, rd_ptr 2, buffer_ptr 3, rd_aux 4, buffer_word_aux 5, preimage_buffer_bytes 55);
words!(columns XorinVmCols<u8>: sponge 0, instruction 442, instruction.is_enabled 443, instruction.buffer_reg_ptr 444,
    instruction.buffer_ptr 447, instruction.input_ptr 452, instruction.len 457, instruction.start_timestamp 462, mem_oc 463);
words!(columns XorinSpongeCols<u8>: is_padding_bytes 0, preimage_buffer_bytes 34, input_bytes 170, postimage_buffer_bytes 306);
words!(columns XorinMemoryCols<u8>: register_aux_cols 0, input_bytes_read_aux_cols 9, buffer_bytes_read_aux_cols 111,
    buffer_bytes_write_aux_cols 213);
words!(columns KeccakfOpCols<u8>: pc 0, is_valid 1, timestamp 2, rd_ptr 3, buffer_ptr_limbs 4, preimage 8, postimage 208, rd_aux 408,
    buffer_word_aux 411);
words!(columns KeccakCols<u8>: step_flags 0, export 24, preimage 25, a 125, c 225, c_prime 545, a_prime 865, a_prime_prime 2465,
    a_prime_prime_0_0_bits 2565, a_prime_prime_prime_0_0_limbs 2629);
const _: () = assert!(size_of::<XorinVmRecordHeader>() == 860 && size_of::<KeccakfRecord>() == 420);

/// `XorinVmChip`.
pub static XORIN: RowChip = RowChip {
    name: "XorinVmChip",
    adapter_words: 0,
    core_words: 215,
    adapter_columns: 0,
    columns: size_of::<XorinVmCols<u8>>(),
    rows_per_record: 1,
    row_words: None,
    periphery: None,
    launch: |s, grid, records, trace, counts, p| {
        kernels::trace_xorin(s, grid, records, trace, counts, p)
    },
};

/// `KeccakfOpChip`.
pub static KECCAKF_OP: RowChip = RowChip {
    name: "KeccakfOpChip",
    adapter_words: 0,
    core_words: 105,
    adapter_columns: 0,
    columns: size_of::<KeccakfOpCols<u8>>(),
    rows_per_record: 1,
    row_words: None,
    periphery: Some(&KECCAKF_PERM),
    launch: |s, grid, records, trace, counts, p| {
        kernels::trace_keccakf_op(s, grid, records, trace, counts, p)
    },
};

/// `KeccakfPermChip`, whose type is private: the columns of the permutation, then a timestamp.
pub static KECCAKF_PERM: RowChip = RowChip {
    name: "KeccakfPermChip",
    adapter_words: 0,
    core_words: 105,
    adapter_columns: 0,
    columns: NUM_KECCAK_COLS + 1,
    rows_per_record: NUM_ROUNDS,
    row_words: None,
    periphery: None,
    launch: |s, grid, records, trace, _, p| kernels::trace_keccakf_perm(s, grid, records, trace, p),
};

/// The layout of one of OpenVM's chips with records, if it is here, and the tables that it counts in.
pub(crate) fn of(chip: &dyn Any) -> Option<(&'static RowChip, Uses)> {
    let xorin = chip.downcast_ref::<XorinVmChip<F>>();
    let xorin = xorin.map(|chip| (&XORIN, &chip.inner.bitwise_lookup_chip));
    let keccakf = chip.downcast_ref::<KeccakfOpChip<F>>();
    let keccakf = keccakf.map(|chip| (&KECCAKF_OP, &chip.bitwise_lookup_chip));
    let (chip, bitwise) = xorin.or(keccakf)?;
    let uses = Uses {
        bitwise: Some(bitwise.clone()),
        tuple: None,
    };
    Some((chip, uses))
}
