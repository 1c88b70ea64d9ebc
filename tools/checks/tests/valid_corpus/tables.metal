#include <metal_stdlib>
using namespace metal;
// References to elements of tables, and names that are keywords of OpenCL.
struct Tap {
    int offset;
    uint local;
};
constant Tap TAPS[2] = {{1, 2u}, {3, 4u}};
constant uint ROWS[2][2] = {{1u, 2u}, {3u, 4u}};
[[max_total_threads_per_threadgroup(64)]]
kernel void tables(device uint* out [[buffer(0)]], constant Tap& generic [[buffer(1)]], uint pipe [[thread_position_in_grid]], uint lid [[thread_index_in_threadgroup]], uint size [[threads_per_threadgroup]]) {
    constant Tap& tap = TAPS[pipe & 1u];
    constant Tap* next = &TAPS[(pipe + 1u) & 1u];
    constant uint& row = ROWS[pipe & 1u][1];
    threadgroup uint local[64], global[64];
    local[lid] = tap.local + row;
    global[lid] = generic.local + next->local;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint other = size - 1u - lid;
    out[pipe] = local[other] + global[other];
}
