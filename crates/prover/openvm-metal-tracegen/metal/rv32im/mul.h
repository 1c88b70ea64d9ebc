#pragma once
// Multiplication, MulH and DivRem.
#include "adapters.h"

/// Carries of x * y + z limb by limb, 8 of them: the words are extended by limbs x_ext, y_ext and z_ext. Limbs of the sum go to `sum`.
inline void product_carries(uint x, uint y, uint z, uint x_ext, uint y_ext, uint z_ext, thread uint* carry,
                            thread uint* sum) {
    uint last = 0u, x_prefix = 0u, y_prefix = 0u;
    for (uint i = 0; i < 8u; i++) {
        uint value = last;
        if (i < 4u) {
            value += byte_of(z, i);
            for (uint j = 0; j <= i; j++) value += byte_of(x, j) * byte_of(y, i - j);
        } else {
            x_prefix += byte_of(x, i - 4u);
            y_prefix += byte_of(y, i - 4u);
            value += z_ext + x_prefix * y_ext + y_prefix * x_ext;
            for (uint j = i - 3u; j < 4u; j++) value += byte_of(x, j) * byte_of(y, i - j);
        }
        last = value >> 8;
        carry[i] = last;
        sum[i] = value & 0xffu;
    }
}

constant constexpr uint MUL_COLUMNS = MUL_ADAPTER_COLUMNS + 13u, MUL_WORDS = MUL_ADAPTER_WORDS + 2u;
inline void mul(Row row, Record r, Lookups t) {
    mul_adapter(row, r, t);
    row = columns_from(row, MUL_ADAPTER_COLUMNS);
    uint b = r[MUL_ADAPTER_WORDS], c = r[MUL_ADAPTER_WORDS + 1u];
    uint carry[8], sum[8];
    product_carries(b, c, 0u, 0u, 0u, 0u, carry, sum);
    for (uint i = 0; i < 4u; i++) {
        put_number(row, i, sum[i]);
        request_tuple(t, sum[i], carry[i]);
    }
    put_bytes(row, 4u, b);
    put_bytes(row, 8u, c);
    put_flag(row, 12u, true);
}

constant constexpr uint MULH_COLUMNS = MUL_ADAPTER_COLUMNS + 21u, MULH_WORDS = MUL_ADAPTER_WORDS + 3u;
/// MULH 0, MULHSU 1, MULHU 2.
inline void mulh(Row row, Record r, Lookups t) {
    mul_adapter(row, r, t);
    row = columns_from(row, MUL_ADAPTER_COLUMNS);
    uint b = r[MUL_ADAPTER_WORDS], c = r[MUL_ADAPTER_WORDS + 1u], op = r[MUL_ADAPTER_WORDS + 2u] & 0xffu;
    uint b_ext = op != 2u && (b >> 31) != 0u ? 0xffu : 0u, c_ext = op == 0u && (c >> 31) != 0u ? 0xffu : 0u;
    uint carry[8], sum[8];
    product_carries(b, c, 0u, b_ext, c_ext, 0u, carry, sum);
    for (uint i = 0; i < 4u; i++) {
        put_number(row, i, sum[4u + i]);
        put_number(row, 12u + i, sum[i]);
        request_tuple(t, sum[i], carry[i]);
        request_tuple(t, sum[4u + i], carry[4u + i]);
    }
    put_bytes(row, 4u, b);
    put_bytes(row, 8u, c);
    put_number(row, 16u, b_ext);
    put_number(row, 17u, c_ext);
    for (uint i = 0; i < 3u; i++) put_flag(row, 18u + i, op == i);
    if (op != 2u) {
        uint b_top = byte_of(b, 3u) & (b_ext != 0u ? 0x7fu : 0xffu), c_top = byte_of(c, 3u) & (c_ext != 0u ? 0x7fu : 0xffu);
        request_bytes(t, b_top << 1, op == 0u ? c_top << 1 : c_top);
    }
}

constant constexpr uint DIVREM_COLUMNS = MUL_ADAPTER_COLUMNS + 41u, DIVREM_WORDS = MUL_ADAPTER_WORDS + 3u;
/// DIV 0, DIVU 1, REM 2, REMU 3.
inline void divrem(Row row, Record r, Lookups t) {
    mul_adapter(row, r, t);
    row = columns_from(row, MUL_ADAPTER_COLUMNS);
    uint b = r[MUL_ADAPTER_WORDS], c = r[MUL_ADAPTER_WORDS + 1u], op = r[MUL_ADAPTER_WORDS + 2u] & 0xffu;
    bool is_signed = (op & 1u) == 0u, b_sign = is_signed && (b >> 31) != 0u, c_sign = is_signed && (c >> 31) != 0u;
    bool zero_divisor = c == 0u, overflow = is_signed && b == 0x80000000u && c == 0xffffffffu;
    uint q, rem;
    bool q_sign;
    if (zero_divisor) {
        q = 0xffffffffu;
        rem = b;
        q_sign = is_signed;
    } else if (overflow) {
        q = b;
        rem = 0u;
        q_sign = false;
    } else {
        uint x = b_sign ? 0u - b : b, y = c_sign ? 0u - c : c, quotient = x / y, rest = x - quotient * y;
        // Apple's quotients of dividends near 2^32 may be one too large or too small.
        if (rest >= 0u - y && quotient != 0u) {
            quotient -= 1u;
            rest += y;
        }
        if (rest >= y) {
            quotient += 1u;
            rest -= y;
        }
        q = b_sign != c_sign ? 0u - quotient : quotient;
        rem = b_sign ? 0u - rest : rest;
        q_sign = is_signed && (q >> 31) != 0u;
    }
    bool sign_xor = b_sign != c_sign;
    uint positive = sign_xor ? 0u - rem : rem;
    bool r_zero = rem == 0u && !zero_divisor;

    uint carry[8], sum[8];
    uint r_ext = is_signed && (rem >> 31) != 0u ? 0xffu : 0u;
    product_carries(c, q, rem, is_signed && (c >> 31) != 0u ? 0xffu : 0u, q_sign ? 0xffu : 0u, r_ext, carry, sum);
    uint r_sum = 0u, c_sum = 0u;
    for (uint i = 0; i < 4u; i++) {
        request_tuple(t, byte_of(q, i), carry[i]);
        request_tuple(t, byte_of(rem, i), carry[4u + i]);
        r_sum += byte_of(rem, i);
        c_sum += byte_of(c, i);
    }
    put_bytes(row, 0u, b);
    put_bytes(row, 4u, c);
    put_bytes(row, 8u, q);
    put_bytes(row, 12u, rem);
    put_flag(row, 16u, zero_divisor);
    put_flag(row, 17u, r_zero);
    put_flag(row, 18u, b_sign);
    put_flag(row, 19u, c_sign);
    put_flag(row, 20u, q_sign);
    put_flag(row, 21u, sign_xor);
    put(row, 22u, fp_inv(fp_from_u32(c_sum)));
    put(row, 23u, fp_inv(fp_from_u32(r_sum)));
    put_bytes(row, 24u, positive);
    for (uint i = 0; i < 4u; i++) put(row, 28u + i, fp_inv(-fp_from_u32(256u - byte_of(positive, i))));
    for (uint i = 0; i < 4u; i++) put_flag(row, 37u + i, op == i);
    if (is_signed) {
        request_bytes(t, (byte_of(b, 3u) & 0x7fu) << 1, (byte_of(c, 3u) & 0x7fu) << 1);
    }
    uint marked = 4u, difference = 0u;
    if (!zero_divisor && !overflow && !r_zero) {
        uint differs = c ^ positive;
        marked = differs == 0u ? 4u : (31u - clz(differs)) >> 3;
        uint x = byte_of(c, marked & 3u), y = byte_of(positive, marked & 3u);
        difference = c_sign ? y - x : x - y;
        request_bytes(t, difference - 1u, 0u);
    }
    for (uint i = 0; i < 4u; i++) put_flag(row, 32u + i, marked == i);
    put_number(row, 36u, difference);
}
