//! The chips of 256-bit integers: layouts of OpenVM's records and columns, which the kernels of `metal/bigint` know as words and column
//! numbers. The cores are those of rv32im with 32 limbs, the adapters read from pointers: 168 to 240 bytes a record.

use openvm_bigint_circuit::*;
use openvm_rv32_adapters::{
    Rv32VecHeapAdapterCols, Rv32VecHeapAdapterRecord, Rv32VecHeapBranchAdapterCols,
    Rv32VecHeapBranchAdapterRecord,
};
use openvm_rv32im_circuit::*;

use crate::row_chip::{chips, words};

type Record = Rv32VecHeapAdapterRecord<2, 8, 8, 4, 4>;
type Columns = Rv32VecHeapAdapterCols<u8, 2, 8, 8, 4, 4>;
type BranchRecord = Rv32VecHeapBranchAdapterRecord<2, 8, 4>;
type BranchColumns = Rv32VecHeapBranchAdapterCols<u8, 2, 8, 4>;

words!(Record: from_pc 0, from_timestamp 1, rs_ptrs 2, rd_ptr 4, rs_vals 5, rd_val 7, rs_read_aux 8, rd_read_aux 10, reads_aux 11,
    writes_aux 27);
words!(BranchRecord: from_pc 0, from_timestamp 1, rs_ptrs 2, rs_vals 4, rs_read_aux 6, reads_aux 8);
words!(columns Columns: from_state 0, rs_ptr 2, rd_ptr 4, rs_val 5, rd_val 13, rs_read_aux 17, rd_read_aux 23, reads_aux 26, writes_aux 74);
words!(columns BranchColumns: from_state 0, rs_ptr 2, rs_val 4, rs_read_aux 12, reads_aux 18);
words!(BaseAluCoreRecord<32>: b 0, c 8, local_opcode 16);
words!(LessThanCoreRecord<32, 8>: b 0, c 8, local_opcode 16);
words!(ShiftCoreRecord<32, 8>: b 0, c 8, local_opcode 16);
words!(MultiplicationCoreRecord<32, 8>: b 0, c 8);
words!(BranchEqualCoreRecord<32>: a 0, b 8, imm 16, local_opcode 17);
words!(BranchLessThanCoreRecord<32, 8>: a 0, b 8, imm 16, local_opcode 17);

chips! {
    BASE_ALU, Rv32BaseAlu256Chip, trace_base_alu_256, Record 43 Columns, BaseAluCoreRecord<32>, 17, BaseAluCoreCols<u8, 32, 8>;
    LESS_THAN, Rv32LessThan256Chip, trace_less_than_256, Record 43 Columns, LessThanCoreRecord<32, 8>, 17, LessThanCoreCols<u8, 32, 8>;
    SHIFT, Rv32Shift256Chip, trace_shift_256, Record 43 Columns, ShiftCoreRecord<32, 8>, 17, ShiftCoreCols<u8, 32, 8>;
    MUL, Rv32Multiplication256Chip, trace_mul_256, Record 43 Columns,
        MultiplicationCoreRecord<32, 8>, 16, MultiplicationCoreCols<u8, 32, 8>, tuple range_tuple_chip;
    BRANCH_EQ, Rv32BranchEqual256Chip, trace_branch_eq_256, BranchRecord 24 BranchColumns,
        BranchEqualCoreRecord<32>, 18, BranchEqualCoreCols<u8, 32>;
    BRANCH_LT, Rv32BranchLessThan256Chip, trace_branch_lt_256, BranchRecord 24 BranchColumns,
        BranchLessThanCoreRecord<32, 8>, 18, BranchLessThanCoreCols<u8, 32, 8>;
}
