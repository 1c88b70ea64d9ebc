#pragma once
// OpenVM's block hasher: rows of four rounds of a block, a row of its digest, and padding behind all blocks.
//
// Its constraints hold on every row: rows without rounds have columns that make up for what is missing, see sha2_put_work and sha2_put_sums.
#include "../sub_air/lookups.h"
#include "compression.h"
#include "record.h"

/// Columns of a row of blocks: where its parts begin, and their sizes. The sums are OpenVM's `intermed`.
struct Sha2Columns {
    uint bits, limbs;  ///< of a word; a limb has 16 bits
    uint places;       ///< columns of the row's number
    uint a, e, carry_a, carry_e, w_3, sums_4, sums_8, sums_12, w, carries;
};
template <typename W> inline Sha2Columns sha2_columns() {
    constexpr uint bits = 8u * uint(sizeof(W)), limbs = bits / 16u, places = 4u + bits / 32u;
    constexpr uint a = 5u + places, carry_a = a + 8u * bits, w_3 = carry_a + 8u * limbs, w = w_3 + 15u * limbs;
    return Sha2Columns{bits, limbs, places, a, a + 4u * bits, carry_a, carry_a + 4u * limbs, w_3, w_3 + 3u * limbs, w_3 + 7u * limbs,
                       w_3 + 11u * limbs, w, w + 4u * bits};
}
/// Rows of a block with rounds; the digest's row follows.
template <typename W> inline uint sha2_round_rows() { return 12u + uint(sizeof(W)); }

template <typename W> inline uint sha2_limb(W x, uint i) { return uint(x >> (16u * i)) & 0xffffu; }
template <typename W> inline void put_word_bits(Row row, uint column, W x) {
    MSL_UNROLL for (uint part = 0; part < uint(sizeof(W)) / 4u; part++) {
        uint word = uint(x >> (32u * part));
        for (uint i = 0; i < 32u; i++) put_flag(row, column + 32u * part + i, ((word >> i) & 1u) != 0u);
    }
}

/// The point of OpenVM's encoder for number n: `places` coordinates of sum 2 at most, in lexical order. After zero come those whose first
/// coordinate that is not zero is the last one, then those with the last but one, and so on.
inline void put_encoded(Row row, uint column, uint places, uint n) {
    uint group = 0u, first = 1u;
    while (first + group + 2u <= n) {
        first += group + 2u;
        group++;
    }
    for (uint k = 0; k < places; k++) {
        uint value = n != 0u && k == group ? 1u : 0u;
        if (n > first && k == n - first - 1u) value++;
        put_number(row, column + places - 1u - k, value);
    }
}

// ---- the digest's row --------------------------------------------------------------------------------
// It has the state after the block in bytes and the state before it in limbs where the other rows have the bits of two words of the message
// schedule, and zeros in place of the others. OpenVM's sums take these cells for bits.

/// Cell c in place of the bits of word `word` of the schedule, 0 or 1.
template <typename W> inline uint sha2_digest_cell(Record r, uint word, uint c) {
    if (word == 0u) return byte_of(r[sha2_state_after<W>() + (c >> 2)], c & 3u);
    return c < 4u * uint(sizeof(W)) ? (r[sha2_state_before<W>() + (c >> 1)] >> (16u * (c & 1u))) & 0xffffu : 0u;
}
template <typename W> inline void sha2_put_digest(Row row, uint column, Record r, Lookups t) {
    constexpr uint bits = 8u * uint(sizeof(W));
    for (uint c = 0; c < bits; c += 4u) {
        uint word = r[sha2_state_after<W>() + (c >> 2)];
        put_bytes(row, column + c, word);
        request_bytes(t, byte_of(word, 0u), byte_of(word, 1u));
        request_bytes(t, byte_of(word, 2u), byte_of(word, 3u));
    }
    for (uint c = 0; c < bits; c++) put_number(row, column + bits + c, sha2_digest_cell<W>(r, 1u, c));
}

/// Limb i of such a word: 16 cells of at most 16 bits, below 2^32.
template <typename W> inline Fp sha2_digest_limb(Record r, uint word, uint i) {
    uint sum = 0u;
    for (uint k = 0; k < 16u; k++) sum += sha2_digest_cell<W>(r, word, 16u * i + k) << k;
    return fp_from_u32(sum);
}
/// x + y - 2 x y: x ^ y of bits.
inline Fp fp_xor(Fp x, Fp y) { return x + y - fp_double(x * y); }
/// Limb i of a sigma of such a word.
template <typename W> inline Fp sha2_digest_sigma(Record r, uint word, Sha2Sigma s, uint i) {
    constexpr uint bits = 8u * uint(sizeof(W));
    Fp sum = Fp{0u};
    MSL_ROLLED for (uint k = 0; k < 16u; k++) {
        uint c = 16u * i + 15u - k;
        Fp x = fp_from_u32(sha2_digest_cell<W>(r, word, (c + s.first) & (bits - 1u)));
        Fp y = fp_from_u32(sha2_digest_cell<W>(r, word, (c + s.second) & (bits - 1u)));
        Fp z = fp_from_u32(c + s.shift < bits ? sha2_digest_cell<W>(r, word, c + s.shift) : 0u);
        sum = fp_double(sum) + fp_xor(fp_xor(x, y), z);
    }
    return sum;
}

// ---- parts of a row ----------------------------------------------------------------------------------

/// Bits and carries of a and e. A row of rounds adds constants and words of the schedule too, and its carries are looked up. In other rows
/// a and e are no sums of those before, and the carries are the numbers that make up for that.
template <typename W> inline void sha2_put_work(Row row, thread const Sha2Rounds<W>& x, uint at, bool is_round, Lookups t) {
    Sha2Columns c = sha2_columns<W>();
    MSL_UNROLL for (uint j = 0; j < 4u; j++) {
        put_word_bits(row, c.a + c.bits * j, x.a[4u + j]);
        put_word_bits(row, c.e + c.bits * j, x.e[4u + j]);
        W sigma_e = sha2_upper_sigma_1(x.e[j + 3u]), choice = sha2_choice(x.e[j + 3u], x.e[j + 2u], x.e[j + 1u]);
        W sigma_a = sha2_upper_sigma_0(x.a[j + 3u]), majority = sha2_majority(x.a[j + 3u], x.a[j + 2u], x.a[j + 1u]);
        W constant_of_round = is_round ? sha2_constant<W>(4u * at + j) : W(0u);
        uint carry_a = 0u, carry_e = 0u;
        Fp rest_a = Fp{0u}, rest_e = Fp{0u};
        MSL_UNROLL for (uint k = 0; k < uint(sizeof(W)) / 2u; k++) {
            uint both = sha2_limb(x.e[j], k) + sha2_limb(sigma_e, k) + sha2_limb(choice, k) + sha2_limb(constant_of_round, k) +
                        sha2_limb(x.w[16u + j], k);
            uint sum_a = both + sha2_limb(sigma_a, k) + sha2_limb(majority, k), sum_e = both + sha2_limb(x.a[j], k);
            uint column_a = c.carry_a + c.limbs * j + k, column_e = c.carry_e + c.limbs * j + k;
            if (is_round) {
                carry_a = (sum_a + carry_a) >> 16;
                carry_e = (sum_e + carry_e) >> 16;
                put_number(row, column_a, carry_a);
                put_number(row, column_e, carry_e);
                request_bytes(t, carry_a, carry_e);
            } else {
                rest_a = fp_div_2exp<16>(rest_a + fp_from_u32(sum_a) - fp_from_u32(sha2_limb(x.a[4u + j], k)));
                rest_e = fp_div_2exp<16>(rest_e + fp_from_u32(sum_e) - fp_from_u32(sha2_limb(x.e[4u + j], k)));
                put(row, column_a, rest_a);
                put(row, column_e, rest_e);
            }
        }
    }
}

/// Bits of the words of the schedule, and their carries, two bits for each limb, in rows whose words are sums.
template <typename W>
inline void sha2_put_schedule(Row row, thread const Sha2Rounds<W>& x, Record r, bool is_digest, bool is_sum, Lookups t) {
    Sha2Columns c = sha2_columns<W>();
    if (is_digest) {
        sha2_put_digest<W>(row, c.w, r, t);
    } else {
        put_word_bits(row, c.w, x.w[16]);
        put_word_bits(row, c.w + c.bits, x.w[17]);
    }
    put_word_bits(row, c.w + 2u * c.bits, x.w[18]);
    put_word_bits(row, c.w + 3u * c.bits, x.w[19]);
    MSL_UNROLL for (uint j = 0; j < 4u; j++) {
        W sigma_0 = sha2_sigma(sha2_sigma_0<W>(), x.w[1u + j]), sigma_1 = sha2_sigma(sha2_sigma_1<W>(), x.w[14u + j]);
        uint carry = 0u;
        MSL_UNROLL for (uint k = 0; k < uint(sizeof(W)) / 2u; k++) {
            carry += sha2_limb(x.w[j], k) + sha2_limb(x.w[9u + j], k) + sha2_limb(sigma_0, k) + sha2_limb(sigma_1, k);
            carry = is_sum ? carry >> 16 : 0u;
            put_flag(row, c.carries + 2u * (c.limbs * j + k), (carry & 1u) != 0u);
            put_flag(row, c.carries + 2u * (c.limbs * j + k) + 1u, (carry & 2u) != 0u);
        }
    }
}

/// Position of a row relative to the row of a digest whose cells are part of its sums.
constant constexpr uint SHA2_NO_DIGEST = 0u, SHA2_BEFORE_DIGEST = 1u, SHA2_AT_DIGEST = 2u, SHA2_AFTER_DIGEST = 3u;

/// The part that a digest's row has of limb k of a row's sums_4 and sums_12.
template <typename W>
inline void sha2_digest_part(thread Fp* to_4, thread Fp* to_12, Record digest, uint beside, uint k) {
    MSL_UNROLL for (uint j = 0; j < 4u; j++) {
        to_4[j] = Fp{0u};
        to_12[j] = Fp{0u};
    }
    if (beside == SHA2_NO_DIGEST) return;
    bool is_before = beside == SHA2_BEFORE_DIGEST;
    Fp low = sha2_digest_limb<W>(digest, 0u, k), high = sha2_digest_limb<W>(digest, 1u, k);
    Sha2Sigma of_0 = sha2_sigma_0<W>(), of_1 = sha2_sigma_1<W>();
    Sha2Sigma s = Sha2Sigma{is_before ? of_1.first : of_0.first, is_before ? of_1.second : of_0.second,
                            is_before ? of_1.shift : of_0.shift};
    Fp sigma = sha2_digest_sigma<W>(digest, beside == SHA2_AFTER_DIGEST ? 1u : 0u, s, k);
    if (is_before) {
        to_12[0] = low;
        to_12[1] = high;
        to_12[2] = -sigma;
        to_12[3] = -sha2_digest_sigma<W>(digest, 1u, of_1, k);
    } else if (beside == SHA2_AT_DIGEST) {
        to_4[3] = sigma;
        to_12[3] = -low;
    } else {
        to_4[0] = low + sigma;
        to_4[1] = high;
    }
}

/// The columns that carry the schedule from row to row, in limbs: words of three rounds ago, and sums w + sigma_0(the word after w) of four,
/// eight and twelve rounds ago. Where the next row's words are no sums (`is_free`), the sums of twelve rounds ago are those that OpenVM's
/// constraint makes of its words: word - sigma_1 - w of three rounds ago.
template <typename W>
inline void sha2_put_sums(Row row, thread const Sha2Rounds<W>& x, thread const W* next, uint at, bool is_free, Record digest, uint beside) {
    Sha2Columns c = sha2_columns<W>();
    MSL_UNROLL for (uint k = 0; k < uint(sizeof(W)) / 2u; k++) {
        Fp to_4[4], to_12[4];
        sha2_digest_part<W>(to_4, to_12, digest, beside, k);
        MSL_UNROLL for (uint j = 0; j < 4u; j++) {
            uint column = c.limbs * j + k;
            if (j < 3u) put_number(row, c.w_3 + column, sha2_limb(x.w[13u + j], k));
            Sha2Sigma s = sha2_sigma_0<W>();
            uint of_4 = sha2_limb(x.w[12u + j], k) + sha2_limb(sha2_sigma(s, x.w[13u + j]), k);
            uint of_8 = sha2_limb(x.w[8u + j], k) + sha2_limb(sha2_sigma(s, x.w[9u + j]), k);
            uint of_12 = sha2_limb(x.w[4u + j], k) + sha2_limb(sha2_sigma(s, x.w[5u + j]), k);
            put(row, c.sums_4 + column, fp_from_u32(of_4) + to_4[j]);
            put_number(row, c.sums_8 + column, at >= 2u ? of_8 : 0u);
            if (is_free) {
                W later = j < 2u ? x.w[18u + (j & 1u)] : next[j & 1u];
                uint less = sha2_limb(sha2_sigma(sha2_sigma_1<W>(), later), k) + sha2_limb(x.w[13u + j], k);
                put(row, c.sums_12 + column, fp_from_u32(sha2_limb(next[j], k)) - fp_from_u32(less) + to_12[j]);
            } else {
                put_number(row, c.sums_12 + column, of_12);
            }
        }
    }
}

/// Row i of the block hasher, whose blocks have one row after another. Padding has the state before the first block for a and e, and so has
/// the row of the last digest; other digests have that before the next block.
template <typename W> inline void sha2_hasher(Row row, device const uint* records, Lookups t, uint blocks, uint i) {
    uint round_rows = sha2_round_rows<W>(), words = sha2_record_words<W>();
    uint block = i / (round_rows + 1u), at = i - block * (round_rows + 1u);
    bool is_padding = block >= blocks, is_round = !is_padding && at < round_rows, is_digest = !is_padding && at == round_rows;
    bool is_last = block + 1u >= blocks;
    device const uint* r = records + ulong(is_padding ? 0u : block) * words;
    device const uint* following = records + ulong(is_last ? 0u : block + 1u) * words;

    Sha2Columns c = sha2_columns<W>();
    put_number(row, 0u, is_padding ? 0u : block);
    put_flag(row, 1u, is_round);
    put_flag(row, 2u, is_round && at < 4u);
    put_flag(row, 3u, is_digest);
    put_encoded(row, 4u, c.places, is_padding ? round_rows + 1u : at);
    put_number(row, 4u + c.places, (is_padding ? blocks : block) + 1u);

    Sha2Rounds<W> x;
    MSL_UNROLL for (uint k = 0; k < 20u; k++) x.w[k] = W(0u);
    sha2_put_state(x, r + sha2_state_before<W>());
    uint done = is_padding ? 0u : min(at + 1u, round_rows);
    MSL_ROLLED for (uint k = 0; k < done; k++) sha2_do_rounds(x, r + SHA2_MESSAGE, k);
    if (!is_round) {
        sha2_next_row(x);
        sha2_put_state(x, following + sha2_state_before<W>());
        MSL_UNROLL for (uint j = 0; j < 4u; j++) x.w[16u + j] = W(0u);
    }
    sha2_put_work(row, x, at, is_round, t);
    sha2_put_schedule(row, x, r, is_digest, is_round && at >= 4u, t);

    // The next row's words, if they are of a message. The last row of all is followed by the first one.
    bool is_message_next = is_round ? at < 3u : is_digest ? !is_last : ulong(i) + 1ul == row.height;
    device const uint* message = (is_round ? r : following) + SHA2_MESSAGE;
    W next[4];
    uint first = is_round ? 4u * at + 4u : 0u;
    MSL_UNROLL for (uint j = 0; j < 4u; j++) next[j] = is_message_next ? sha2_message_word<W>(message, first + j) : W(0u);
    bool is_free = !is_round || at < 3u || at + 1u == round_rows;
    bool is_after = at == 0u && block != 0u && block <= blocks;
    uint beside = is_digest ? SHA2_AT_DIGEST : is_after ? SHA2_AFTER_DIGEST : SHA2_NO_DIGEST;
    if (is_round && at + 1u == round_rows) beside = SHA2_BEFORE_DIGEST;
    device const uint* digest = is_after ? records + ulong(block - 1u) * words : r;
    sha2_put_sums(row, x, next, at, is_free, digest, beside);
}
