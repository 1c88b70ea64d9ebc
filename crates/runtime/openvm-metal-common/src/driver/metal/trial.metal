// Tells whether a grid by threads is cut short: no thread beyond its end may run.
#include <metal_stdlib>
using namespace metal;

// out[i] = 1 for every thread i of the grid.
kernel void openvm_metal_mark_threads(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = 1u;
}
