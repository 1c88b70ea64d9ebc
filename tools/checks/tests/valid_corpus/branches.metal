#include <metal_stdlib>
#pragma METAL fp contract(off)
using namespace metal;
// Barriers that all threads reach, behind branches that some or all of them leave.
struct Item {
    uint lane;
    uint count;
};
struct Pair {
    Item item;
    uint other;
};
static Item made(uint lane, uint count) { return Item{lane, count}; }
static uint count_of(thread Item& item) { return item.count; }
static uint part(threadgroup uint* words, uint tid, uint mode) {
    if (mode == 0u) {
        if (tid < 3u) return 1u;
        return 2u;
    }
    if (mode == 1u) {
        words[tid] = 1u;
    } else {
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return words[0];
}
[[max_total_threads_per_threadgroup(256)]]
kernel void branches(device uint* data [[buffer(0)]], constant uint& n [[buffer(1)]], uint tid [[thread_index_in_threadgroup]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint words[256];
    words[tid] = data[tid];
    for (uint s = tpg / 2u; s > 0u; s >>= 1u) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid >= s) continue;
        words[tid] += words[tid + s];
    }
    switch (n) {
        case 0u:
            if (tid == 0u) break;
            data[tid] = 1u;
            break;
        case 1u: threadgroup_barrier(mem_flags::mem_threadgroup); break;
        default: break;
    }
    uint rounds = n;
    if (n == 5u) {
        rounds = tid;
        data[tid] = rounds;
        return;
    }
    for (uint i = 0u; i < rounds; i++) threadgroup_barrier(mem_flags::mem_threadgroup);
    Item item = {tid, n};
    if (tid == 0u) data[0] = count_of(item);
    for (uint i = 0u; i < item.count; i++) threadgroup_barrier(mem_flags::mem_threadgroup);
    Pair pair;
    pair.item = made(tid, n);
    pair.other = tid;
    for (uint i = 0u; i < pair.item.count; i++) threadgroup_barrier(mem_flags::mem_threadgroup);
    uint2 shape = uint2(tid, n / tpg);
    for (uint i = 0u; i < shape.y; i++) threadgroup_barrier(mem_flags::mem_threadgroup);
    uint value = simd_shuffle(tid, ushort(0));
    if (value > 3u) value = simd_sum(value);
    data[tid] = part(words, tid, n) + value;
}
