// Trace cells to Reed-Solomon message coefficients, straight into the codeword matrix.
#include "message.h"

/// One chunk of 16 cells of the range per thread, into the codeword matrix. Nothing else of that is touched.
/// Cost: 17 products, 128 bytes per thread.
/// Lengths: range 16 * (p.skip + threads),
/// code 16 * ((p.first + threads - 1 >> p.log_column << p.log_code_column) + (1 << p.log_column)).
/// Requires: p.log_column <= p.log_code_column, p.log_code_column < 64.
kernel void commit_message_4(
    device const Fp* range [[buffer(0)]],
    device Fp* code [[buffer(1)]],
    constant CommitMessageParams& p [[buffer(2)]],
    gid_l gid [[thread_position_in_grid]]) {
    commit_message<4>(range, code, p, gid);
}
