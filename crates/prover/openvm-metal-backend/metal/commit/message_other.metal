// As message.metal, for skip domains of other sizes than the usual 16: compiled when one is used.
#include "message.h"

/// One chunk of 1 cell of the range per thread, into the codeword matrix. Nothing else of that is touched.
/// Cost: 0 products, 8 bytes per thread.
/// Lengths: range (p.skip + threads),
/// code ((p.first + threads - 1 >> p.log_column << p.log_code_column) + (1 << p.log_column)).
/// Requires: p.log_column <= p.log_code_column, p.log_code_column < 64.
kernel void commit_message_0(
    device const Fp* range [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<0>(range, code, p, gid);
}

/// One chunk of 2 cells of the range per thread, into the codeword matrix. Nothing else of that is touched.
/// Cost: 0 products, 16 bytes per thread.
/// Lengths: range 2 * (p.skip + threads),
/// code 2 * ((p.first + threads - 1 >> p.log_column << p.log_code_column) + (1 << p.log_column)).
/// Requires: p.log_column <= p.log_code_column, p.log_code_column < 64.
kernel void commit_message_1(
    device const Fp* range [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<1>(range, code, p, gid);
}

/// One chunk of 4 cells of the range per thread, into the codeword matrix. Nothing else of that is touched.
/// Cost: 1 product, 32 bytes per thread.
/// Lengths: range 4 * (p.skip + threads),
/// code 4 * ((p.first + threads - 1 >> p.log_column << p.log_code_column) + (1 << p.log_column)).
/// Requires: p.log_column <= p.log_code_column, p.log_code_column < 64.
kernel void commit_message_2(
    device const Fp* range [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<2>(range, code, p, gid);
}

/// One chunk of 8 cells of the range per thread, into the codeword matrix. Nothing else of that is touched.
/// Cost: 5 products, 64 bytes per thread.
/// Lengths: range 8 * (p.skip + threads),
/// code 8 * ((p.first + threads - 1 >> p.log_column << p.log_code_column) + (1 << p.log_column)).
/// Requires: p.log_column <= p.log_code_column, p.log_code_column < 64.
kernel void commit_message_3(
    device const Fp* range [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<3>(range, code, p, gid);
}

/// One chunk of 32 cells of the range per thread, into the codeword matrix. Nothing else of that is touched.
/// Cost: 49 products, 256 bytes per thread.
/// Lengths: range 32 * (p.skip + threads),
/// code 32 * ((p.first + threads - 1 >> p.log_column << p.log_code_column) + (1 << p.log_column)).
/// Requires: p.log_column <= p.log_code_column, p.log_code_column < 64.
kernel void commit_message_5(
    device const Fp* range [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<5>(range, code, p, gid);
}

/// One chunk of 64 cells of the range per thread, into the codeword matrix. Nothing else of that is touched.
/// Cost: 129 products, 512 bytes per thread.
/// Lengths: range 64 * (p.skip + threads),
/// code 64 * ((p.first + threads - 1 >> p.log_column << p.log_code_column) + (1 << p.log_column)).
/// Requires: p.log_column <= p.log_code_column, p.log_code_column < 64.
kernel void commit_message_6(
    device const Fp* range [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<6>(range, code, p, gid);
}
