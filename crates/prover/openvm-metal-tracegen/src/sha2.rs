//! The chips of SHA-2: layouts of OpenVM's records and columns, which the kernels of `metal/sha2` know as words and column numbers.
//!
//! SHA-256 and SHA-512 have a main chip each, with a record of 336 or 624 bytes a row for each block. The rows of the block's rounds and of its
//! digest, 17 or 21 of 456 or 903 columns, are made of the same records.

use std::any::Any;

use openvm_sha2_air::{
    Sha256Config, Sha2BlockHasherSubairConfig, Sha2DigestCols, Sha2FlagsCols,
    Sha2MessageHelperCols, Sha2MessageScheduleCols, Sha2RoundCols, Sha2WorkVarsCols, Sha512Config,
};
use openvm_sha2_circuit::{
    Sha2BlockCols, Sha2BlockHasherDigestCols, Sha2BlockHasherRoundCols, Sha2BlockHasherVmConfig,
    Sha2InstructionCols, Sha2MainChip, Sha2MainChipConfig, Sha2MemoryCols, Sha2RecordHeader,
};
use p3_baby_bear::BabyBear as F;

use crate::{
    kernels,
    row_chip::{words, RowChip, Uses},
};

words!(Sha2RecordHeader: variant 0, from_pc 1, timestamp 2, dst_reg_ptr 3, state_reg_ptr 4, input_reg_ptr 5, dst_ptr 6, state_ptr 7,
    input_ptr 8, register_reads_aux 9);
words!(columns Sha2InstructionCols<u8>: is_enabled 0, from_state 1, dst_reg_ptr 3, state_reg_ptr 4, input_reg_ptr 5, dst_ptr_limbs 6,
    state_ptr_limbs 10, input_ptr_limbs 14);
const _: () =
    assert!(size_of::<Sha2RecordHeader>() == 48 && size_of::<Sha2InstructionCols<u8>>() == 18);

// SHA-256. OpenVM's structs of all columns of a chip have lengths in place of numbers of accesses, so their parts are compared.
words!(columns Sha2BlockCols<u8, 64, 32>: request_id 0, message_bytes 1, prev_state 65, new_state 97);
words!(columns Sha2MemoryCols<u8, 16, 8, 8>: register_aux 0, input_reads 9, state_reads 57, write_aux 81);
words!(columns Sha2BlockHasherRoundCols<u8, 32, 4, 2, 4, 3, 5>: request_id 0, inner 1);
words!(columns Sha2BlockHasherDigestCols<u8, 32, 4, 2, 8, 4, 3, 5>: request_id 0, inner 1);
words!(columns Sha2RoundCols<u8, 32, 4, 2, 4, 3, 5>: flags 0, work_vars 9, schedule_helper 281, message_schedule 311);
words!(columns Sha2DigestCols<u8, 32, 4, 2, 8, 4, 3, 5>: flags 0, hash 9, schedule_helper 281, final_hash 311, prev_hash 343);
words!(columns Sha2FlagsCols<u8, 5>: is_round_row 0, is_first_4_rows 1, is_digest_row 2, row_idx 3, global_block_idx 8);
words!(columns Sha2WorkVarsCols<u8, 32, 4, 2>: a 0, e 128, carry_a 256, carry_e 264);
words!(columns Sha2MessageHelperCols<u8, 2, 4, 3>: w_3 0, intermed_4 6, intermed_8 14, intermed_12 22);
words!(columns Sha2MessageScheduleCols<u8, 32, 4, 4>: w 0, carry_or_buffer 128);

// SHA-512.
words!(columns Sha2BlockCols<u8, 128, 64>: request_id 0, message_bytes 1, prev_state 129, new_state 193);
words!(columns Sha2MemoryCols<u8, 32, 16, 16>: register_aux 0, input_reads 9, state_reads 105, write_aux 153);
words!(columns Sha2BlockHasherRoundCols<u8, 64, 8, 4, 4, 3, 6>: request_id 0, inner 1);
words!(columns Sha2BlockHasherDigestCols<u8, 64, 8, 4, 8, 4, 3, 6>: request_id 0, inner 1);
words!(columns Sha2RoundCols<u8, 64, 8, 4, 4, 3, 6>: flags 0, work_vars 10, schedule_helper 554, message_schedule 614);
words!(columns Sha2DigestCols<u8, 64, 8, 4, 8, 4, 3, 6>: flags 0, hash 10, schedule_helper 554, final_hash 614, prev_hash 678);
words!(columns Sha2FlagsCols<u8, 6>: is_round_row 0, is_first_4_rows 1, is_digest_row 2, row_idx 3, global_block_idx 9);
words!(columns Sha2WorkVarsCols<u8, 64, 4, 4>: a 0, e 256, carry_a 512, carry_e 528);
words!(columns Sha2MessageHelperCols<u8, 4, 4, 3>: w_3 0, intermed_4 12, intermed_8 28, intermed_12 44);
words!(columns Sha2MessageScheduleCols<u8, 64, 4, 8>: w 0, carry_or_buffer 256);

/// `Sha2MainChip<Sha256Config>`.
pub static SHA256: RowChip = RowChip {
    name: "Sha256MainChip",
    adapter_words: 0,
    core_words: 84,
    adapter_columns: 0,
    columns: Sha256Config::MAIN_CHIP_WIDTH,
    rows_per_record: 1,
    row_words: None,
    periphery: Some(&SHA256_HASHER),
    launch: |s, grid, records, trace, counts, p| {
        kernels::trace_sha256(s, grid, records, trace, counts, p)
    },
};

/// `Sha2BlockHasherChip<Sha256Config>`.
pub static SHA256_HASHER: RowChip = RowChip {
    name: "Sha256BlockHasherChip",
    adapter_words: 0,
    core_words: 84,
    adapter_columns: 0,
    columns: Sha256Config::BLOCK_HASHER_WIDTH,
    rows_per_record: Sha256Config::ROWS_PER_BLOCK,
    row_words: None,
    periphery: None,
    launch: |s, grid, records, trace, counts, p| {
        kernels::trace_sha256_hasher(s, grid, records, trace, counts, p)
    },
};

/// `Sha2MainChip<Sha512Config>`.
pub static SHA512: RowChip = RowChip {
    name: "Sha512MainChip",
    adapter_words: 0,
    core_words: 156,
    adapter_columns: 0,
    columns: Sha512Config::MAIN_CHIP_WIDTH,
    rows_per_record: 1,
    row_words: None,
    periphery: Some(&SHA512_HASHER),
    launch: |s, grid, records, trace, counts, p| {
        kernels::trace_sha512(s, grid, records, trace, counts, p)
    },
};

/// `Sha2BlockHasherChip<Sha512Config>`.
pub static SHA512_HASHER: RowChip = RowChip {
    name: "Sha512BlockHasherChip",
    adapter_words: 0,
    core_words: 156,
    adapter_columns: 0,
    columns: Sha512Config::BLOCK_HASHER_WIDTH,
    rows_per_record: Sha512Config::ROWS_PER_BLOCK,
    row_words: None,
    periphery: None,
    launch: |s, grid, records, trace, counts, p| {
        kernels::trace_sha512_hasher(s, grid, records, trace, counts, p)
    },
};

const _: () = {
    assert!(Sha256Config::MAIN_CHIP_WIDTH == 284 && Sha512Config::MAIN_CHIP_WIDTH == 540);
    assert!(Sha256Config::BLOCK_HASHER_WIDTH == 456 && Sha512Config::BLOCK_HASHER_WIDTH == 903);
    assert!(Sha256Config::ROWS_PER_BLOCK == 17 && Sha512Config::ROWS_PER_BLOCK == 21);
};

/// The layout of one of OpenVM's chips with records, if it is here, and the tables that it counts in.
pub(crate) fn of(chip: &dyn Any) -> Option<(&'static RowChip, Uses)> {
    let sha256 = chip.downcast_ref::<Sha2MainChip<F, Sha256Config>>();
    let sha256 = sha256.map(|chip| (&SHA256, &chip.bitwise_lookup_chip));
    let sha512 = chip.downcast_ref::<Sha2MainChip<F, Sha512Config>>();
    let sha512 = sha512.map(|chip| (&SHA512, &chip.bitwise_lookup_chip));
    let (chip, bitwise) = sha256.or(sha512)?;
    let uses = Uses {
        bitwise: Some(bitwise.clone()),
        tuple: None,
    };
    Some((chip, uses))
}
