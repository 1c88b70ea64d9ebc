#include <metal_stdlib>
using namespace metal;

/// Rust twin: params::AxpyParams.
struct AxpyParams {
    uint a;        // below the modulus
    uint modulus;  // at least 1
    uint n;        // elements
};

/// y[i] = (a x[i] + y[i]) mod modulus. One element per thread: reads x[i] and y[i], writes y[i].
/// Cost: 1 product, 12 bytes per thread.
/// Lengths: x, y p.n.
/// Requires: p.modulus >= 1.
kernel void axpy(device const uint* x [[buffer(0)]], device uint* y [[buffer(1)]],
                 constant AxpyParams& p [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= p.n) return;
    y[gid] = uint((ulong(p.a) * ulong(x[gid]) + ulong(y[gid])) % ulong(p.modulus));
}
