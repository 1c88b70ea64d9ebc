//! The chips of rv32im: layouts of OpenVM's records and columns, which the kernels of `metal/rv32im` know as words and column numbers.
//!
//! The compiler compares the sizes and the offsets below with OpenVM's structs.

use std::{any::Any, mem::offset_of};

use openvm_rv32im_circuit::{adapters::*, *};

use crate::{
    kernels,
    row_chip::{chips, words, RowChip, RowWords, Uses},
};

words!(Rv32BaseAluAdapterRecord: from_pc 0, from_timestamp 1, rd_ptr 2, rs1_ptr 3, rs2 4, rs2_as 5, reads_aux 6, writes_aux 8);
words!(Rv32MultAdapterRecord: from_pc 0, from_timestamp 1, rd_ptr 2, rs1_ptr 3, rs2_ptr 4, reads_aux 5, writes_aux 7);
words!(Rv32BranchAdapterRecord: from_pc 0, from_timestamp 1, rs1_ptr 2, rs2_ptr 3, reads_aux 4);
words!(Rv32RdWriteAdapterRecord: from_pc 0, from_timestamp 1, rd_ptr 2, rd_aux_record 3);
words!(Rv32JalrAdapterRecord: from_pc 0, from_timestamp 1, rs1_ptr 2, rd_ptr 3, reads_aux 4, writes_aux 5);
words!(Rv32LoadStoreAdapterRecord: from_pc 0, from_timestamp 1, rs1_ptr 2, rs1_val 3, rs1_aux_record 4, rd_rs2_ptr 5,
    read_data_aux 6, imm 7, write_prev_timestamp 8);
words!(BaseAluCoreRecord<4>: b 0, c 1, local_opcode 2);
words!(LessThanCoreRecord<4, 8>: b 0, c 1, local_opcode 2);
words!(ShiftCoreRecord<4, 8>: b 0, c 1, local_opcode 2);
words!(BranchEqualCoreRecord<4>: a 0, b 1, imm 2, local_opcode 3);
words!(BranchLessThanCoreRecord<4, 8>: a 0, b 1, imm 2, local_opcode 3);
words!(Rv32JalLuiCoreRecord: imm 0, rd_data 1, is_jal 2);
words!(Rv32JalrCoreRecord: imm 0, from_pc 1, rs1_val 2, imm_sign 3);
words!(Rv32AuipcCoreRecord: from_pc 0, imm 1);
words!(LoadStoreCoreRecord<4>: local_opcode 0, prev_data 2);
words!(LoadSignExtendCoreRecord<4>: is_byte 0);
words!(MultiplicationCoreRecord<4, 8>: b 0, c 1);
words!(MulHCoreRecord<4, 8>: b 0, c 1, local_opcode 2);
words!(DivRemCoreRecord<4>: b 0, c 1, local_opcode 2);
const _: () = {
    assert!(offset_of!(Rv32LoadStoreAdapterRecord, imm_sign) == 30);
    assert!(offset_of!(Rv32LoadStoreAdapterRecord, mem_as) == 31);
    assert!(offset_of!(LoadStoreCoreRecord<4>, shift_amount) == 1);
    assert!(offset_of!(LoadStoreCoreRecord<4>, read_data) == 2);
    assert!(offset_of!(LoadSignExtendCoreRecord<4>, shift_amount) == 1);
    assert!(offset_of!(LoadSignExtendCoreRecord<4>, read_data) == 2);
    assert!(offset_of!(LoadSignExtendCoreRecord<4>, prev_data) == 6);
};

chips! {
    BASE_ALU, Rv32BaseAluChip, trace_base_alu, Rv32BaseAluAdapterRecord 10 Rv32BaseAluAdapterCols<u8>,
        BaseAluCoreRecord<4>, 3, BaseAluCoreCols<u8, 4, 8>, bitwise bitwise_lookup_chip;
    LESS_THAN, Rv32LessThanChip, trace_less_than, Rv32BaseAluAdapterRecord 10 Rv32BaseAluAdapterCols<u8>,
        LessThanCoreRecord<4, 8>, 3, LessThanCoreCols<u8, 4, 8>, bitwise bitwise_lookup_chip;
    SHIFT, Rv32ShiftChip, trace_shift, Rv32BaseAluAdapterRecord 10 Rv32BaseAluAdapterCols<u8>,
        ShiftCoreRecord<4, 8>, 3, ShiftCoreCols<u8, 4, 8>, bitwise bitwise_lookup_chip;
    BRANCH_EQ, Rv32BranchEqualChip, trace_branch_eq, Rv32BranchAdapterRecord 6 Rv32BranchAdapterCols<u8>,
        BranchEqualCoreRecord<4>, 4, BranchEqualCoreCols<u8, 4>;
    BRANCH_LT, Rv32BranchLessThanChip, trace_branch_lt, Rv32BranchAdapterRecord 6 Rv32BranchAdapterCols<u8>,
        BranchLessThanCoreRecord<4, 8>, 4, BranchLessThanCoreCols<u8, 4, 8>, bitwise bitwise_lookup_chip;
    JAL_LUI, Rv32JalLuiChip, trace_jal_lui, Rv32RdWriteAdapterRecord 5 Rv32CondRdWriteAdapterCols<u8>,
        Rv32JalLuiCoreRecord, 3, Rv32JalLuiCoreCols<u8>, bitwise bitwise_lookup_chip;
    JALR, Rv32JalrChip, trace_jalr, Rv32JalrAdapterRecord 7 Rv32JalrAdapterCols<u8>,
        Rv32JalrCoreRecord, 4, Rv32JalrCoreCols<u8>, bitwise bitwise_lookup_chip;
    AUIPC, Rv32AuipcChip, trace_auipc, Rv32RdWriteAdapterRecord 5 Rv32RdWriteAdapterCols<u8>,
        Rv32AuipcCoreRecord, 2, Rv32AuipcCoreCols<u8>, bitwise bitwise_lookup_chip;
    LOADSTORE, Rv32LoadStoreChip, trace_loadstore, Rv32LoadStoreAdapterRecord 9 Rv32LoadStoreAdapterCols<u8>,
        LoadStoreCoreRecord<4>, 6, LoadStoreCoreCols<u8, 4>;
    LOAD_SIGN_EXTEND, Rv32LoadSignExtendChip, trace_load_sign_extend, Rv32LoadStoreAdapterRecord 9 Rv32LoadStoreAdapterCols<u8>,
        LoadSignExtendCoreRecord<4>, 3, LoadSignExtendCoreCols<u8, 4>;
    MUL, Rv32MultiplicationChip, trace_mul, Rv32MultAdapterRecord 9 Rv32MultAdapterCols<u8>,
        MultiplicationCoreRecord<4, 8>, 2, MultiplicationCoreCols<u8, 4, 8>, tuple range_tuple_chip;
    MULH, Rv32MulHChip, trace_mulh, Rv32MultAdapterRecord 9 Rv32MultAdapterCols<u8>,
        MulHCoreRecord<4, 8>, 3, MulHCoreCols<u8, 4, 8>, bitwise bitwise_lookup_chip, tuple range_tuple_chip;
    DIVREM, Rv32DivRemChip, trace_divrem, Rv32MultAdapterRecord 9 Rv32MultAdapterCols<u8>,
        DivRemCoreRecord<4>, 3, DivRemCoreCols<u8, 4, 8>, bitwise bitwise_lookup_chip, tuple range_tuple_chip;
}

words!(Rv32HintStoreRecordHeader: num_words 0, from_pc 1, timestamp 2, mem_ptr_ptr 3, mem_ptr 4, mem_ptr_aux_record 5, num_words_ptr 6,
    num_words_read 7);
words!(Rv32HintStoreVar: data_write_aux 0, data 2);
words!(columns Rv32HintStoreCols<u8>: is_single 0, is_buffer 1, rem_words_limbs 2, from_state 6, mem_ptr_ptr 8, mem_ptr_limbs 9,
    mem_ptr_aux_cols 13, write_aux 16, data 23, is_buffer_start 27, num_words_ptr 28, num_words_aux_cols 29);

/// `Rv32HintStoreChip`: a record has words for each word that an instruction stores.
pub static HINT_STORE: RowChip = {
    assert!(openvm_rv32im_guest::MAX_HINT_BUFFER_WORDS_BITS == 10);
    assert!(size_of::<Rv32HintStoreRecordHeader>() == 32 && size_of::<Rv32HintStoreVar>() == 12);
    RowChip {
        name: "Rv32HintStoreChip",
        adapter_words: 0,
        core_words: 8,
        adapter_columns: 0,
        columns: size_of::<Rv32HintStoreCols<u8>>(),
        rows_per_record: 1,
        // OpenVM refuses an instruction that stores more words.
        row_words: Some(RowWords {
            words: 3,
            most: openvm_rv32im_guest::MAX_HINT_BUFFER_WORDS,
        }),
        periphery: None,
        launch: |s, grid, records, trace, counts, p| {
            kernels::trace_hint_store(s, grid, records, trace, counts, p)
        },
    }
};

/// The layout of the chip of hints, if it is one. Its bitwise table is private.
pub(crate) fn hint_store(chip: &dyn Any) -> Option<(&'static RowChip, Uses)> {
    chip.is::<Rv32HintStoreChip<p3_baby_bear::BabyBear>>()
        .then(|| (&HINT_STORE, Uses::default()))
}
