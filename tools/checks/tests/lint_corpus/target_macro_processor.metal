// expect: target-macro 4
#include <metal_stdlib>
using namespace metal;
#if defined(__x86_64__)
#define STEP 2
#else
#define STEP 1
#endif
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    if (gid >= n) return;
    out[gid] = STEP;
}
