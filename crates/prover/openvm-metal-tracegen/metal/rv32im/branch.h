#pragma once
// BranchEqual and BranchLessThan.
#include "adapters.h"
#include "compare.h"

constant constexpr uint BRANCH_EQ_COLUMNS = BRANCH_ADAPTER_COLUMNS + 16u, BRANCH_EQ_WORDS = BRANCH_ADAPTER_WORDS + 4u;
/// BEQ 0, BNE 1.
inline void branch_eq(Row row, Record r, Lookups t) {
    branch_adapter(row, r, t);
    row = columns_from(row, BRANCH_ADAPTER_COLUMNS);
    uint a = r[BRANCH_ADAPTER_WORDS], b = r[BRANCH_ADAPTER_WORDS + 1u], op = r[BRANCH_ADAPTER_WORDS + 3u] & 0xffu;
    put_bytes(row, 0u, a);
    put_bytes(row, 4u, b);
    put_flag(row, 8u, (a == b) == (op == 0u));
    put_number(row, 9u, r[BRANCH_ADAPTER_WORDS + 2u]);
    put_flag(row, 10u, op == 0u);
    put_flag(row, 11u, op == 1u);
    uint differs = a ^ b;
    uint limb = differs == 0u ? 4u : (31u - clz(differs & (0u - differs))) >> 3;
    for (uint i = 0; i < 4u; i++) {
        Fp inverse = Fp{0u};
        if (limb == i) inverse = fp_inv(fp_from_u32(byte_of(a, i)) - fp_from_u32(byte_of(b, i)));
        put(row, 12u + i, inverse);
    }
}

constant constexpr uint BRANCH_LT_COLUMNS = BRANCH_ADAPTER_COLUMNS + 22u, BRANCH_LT_WORDS = BRANCH_ADAPTER_WORDS + 4u;
/// BLT 0, BLTU 1, BGE 2, BGEU 3.
inline void branch_lt(Row row, Record r, Lookups t) {
    branch_adapter(row, r, t);
    row = columns_from(row, BRANCH_ADAPTER_COLUMNS);
    uint a = r[BRANCH_ADAPTER_WORDS], b = r[BRANCH_ADAPTER_WORDS + 1u], op = r[BRANCH_ADAPTER_WORDS + 3u] & 0xffu;
    Comparison compared = compare(a, b, (op & 1u) == 0u);
    put_bytes(row, 0u, a);
    put_bytes(row, 4u, b);
    put_flag(row, 8u, compared.less != (op >= 2u));
    put_number(row, 9u, r[BRANCH_ADAPTER_WORDS + 2u]);
    for (uint i = 0; i < 4u; i++) put_flag(row, 10u + i, op == i);
    put_flag(row, 16u, compared.less);
    put_comparison(row, 14u, 17u, 4u, compared, t);
}
