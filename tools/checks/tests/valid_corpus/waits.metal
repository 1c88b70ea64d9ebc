#include <metal_stdlib>
using namespace metal;
// Loops that end by themselves, a limit of 64 threads, and work in place.
kernel void add(device atomic_uint* sum [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint old = atomic_load_explicit(sum, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(sum, &old, old * 3u + gid, memory_order_relaxed, memory_order_relaxed)) {}
    for (uint i = 0; i < n; i++) {
        if (atomic_load_explicit(sum, memory_order_relaxed) > i) break;
        out[gid] = i;
    }
    uint steps = 0u;
    for (;;) {
        if (atomic_load_explicit(sum, memory_order_relaxed) == 0u) break;
        steps += 1u;
        if (steps == n) return;
    }
}
[[max_total_threads_per_threadgroup(64)]] kernel void one(device uint* out [[buffer(0)]], uint gid [[thread_position_in_grid]]) {
    out[gid] = 1u;
}
/// Cost: 8 bytes per thread.
/// Lengths: src, dst threads.
/// InPlace: src, dst.
kernel void twice(device const uint* src [[buffer(0)]], device uint* dst [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    dst[gid] = 2u * src[gid];
}

/// Steps that all threads of a threadgroup take together until none has work.
[[max_total_threads_per_threadgroup(256)]]
kernel void steps(device uint* work [[buffer(0)]], uint tid [[thread_index_in_threadgroup]], uint group [[threadgroup_position_in_grid]],
                  uint tpg [[threads_per_threadgroup]]) {
    threadgroup atomic_uint busy[2];
    uint at = 0u;
    for (;;) {
        if (tid == 0u) atomic_store_explicit(busy + at, 0u, memory_order_relaxed);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (work[group * tpg + tid] != 0u) {
            work[group * tpg + tid] -= 1u;
            atomic_fetch_add_explicit(busy + at, 1u, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (atomic_load_explicit(busy + at, memory_order_relaxed) == 0u) break;
        at ^= 1u;
    }
}
