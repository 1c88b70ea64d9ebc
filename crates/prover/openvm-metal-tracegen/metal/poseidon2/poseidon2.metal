// The trace of OpenVM's Poseidon2 chip, one thread a row.
#include "poseidon2.h"
#include "../params.h"

/// Row i is the permutation of inputs[16 i .. 16 (i + 1)], which is looked up lookups[i] times. A row after the inputs is the permutation of
/// zeros, which nothing looks up. A column for the cube of each S-box, if p.cubes is 1.
/// Cost: 565 products, 1268 bytes per thread.
/// Lengths: inputs p.rows * 16, lookups p.rows, trace p.height * (159 + p.cubes * 141).
/// Requires: p.height <= threads, p.rows <= p.height, p.cubes <= 1.
kernel void trace_poseidon2(device const Fp* inputs [[buffer(0)]], device const uint* lookups [[buffer(1)]],
                            device Fp* trace [[buffer(2)]], constant Poseidon2Params& p [[buffer(3)]],
                            uint i [[thread_position_in_grid]]) {
    if (i >= p.height) return;
    Fp s[P2_WIDTH];
    bool used = i < p.rows;
    for (uint k = 0; k < P2_WIDTH; k++) s[k] = used ? inputs[ulong(i) * P2_WIDTH + k] : Fp{0u};
    put_permutation(Row{trace + i, p.height}, p.cubes != 0u, s, used ? lookups[i] : 0u);
}
