// Trace cells to Reed-Solomon message coefficients, straight into the codeword matrix.
#include "message.h"

/// One chunk of 1 cell per thread: reads 4 bytes of the segment, writes 4 bytes of the codeword
/// matrix; 0 field products. Nothing else of the codeword matrix is touched.
kernel void commit_message_0(
    device const Fp* segment [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<0>(segment, code, p, gid);
}

/// One chunk of 2 cells per thread: reads 8 bytes of the segment, writes 8 bytes of the codeword
/// matrix; 0 field products. Nothing else of the codeword matrix is touched.
kernel void commit_message_1(
    device const Fp* segment [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<1>(segment, code, p, gid);
}

/// One chunk of 4 cells per thread: reads 16 bytes of the segment, writes 16 bytes of the codeword
/// matrix; 3 field products. Nothing else of the codeword matrix is touched.
kernel void commit_message_2(
    device const Fp* segment [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<2>(segment, code, p, gid);
}

/// One chunk of 8 cells per thread: reads 32 bytes of the segment, writes 32 bytes of the codeword
/// matrix; 9 field products. Nothing else of the codeword matrix is touched.
kernel void commit_message_3(
    device const Fp* segment [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<3>(segment, code, p, gid);
}

/// One chunk of 16 cells per thread: reads 64 bytes of the segment, writes 64 bytes of the codeword
/// matrix; 25 field products. Nothing else of the codeword matrix is touched.
kernel void commit_message_4(
    device const Fp* segment [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<4>(segment, code, p, gid);
}

/// One chunk of 32 cells per thread: reads 128 bytes of the segment, writes 128 bytes of the codeword
/// matrix; 65 field products. Nothing else of the codeword matrix is touched.
kernel void commit_message_5(
    device const Fp* segment [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<5>(segment, code, p, gid);
}

/// One chunk of 64 cells per thread: reads 256 bytes of the segment, writes 256 bytes of the codeword
/// matrix; 161 field products. Nothing else of the codeword matrix is touched.
kernel void commit_message_6(
    device const Fp* segment [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<6>(segment, code, p, gid);
}
