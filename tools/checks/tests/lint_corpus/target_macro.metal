// expect: target-macro 8
// The strided gather of commitments once asked for a macro of the shim: on Apple it was not there.
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    
#if MSL_LANES == 1
    out[gid] = n;
#endif
}
