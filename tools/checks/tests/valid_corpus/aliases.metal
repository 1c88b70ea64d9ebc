#include <metal_stdlib>
using namespace metal;
// Aliases, arguments and parts of objects that all threads have in common.
struct Pair { uint count; uint lane; };
static void get(thread uint* to, uint x) { *to = x & 3u; }
static void fill(thread uint* to, uint x, uint y) { for (uint i = 0; i < 4u; i++) to[i] = ((x >> i) & 3u) + y; }
static void set(thread Pair* to, uint count, uint lane) { to->count = count; to->lane = lane; }
static uint sum(device const uint* p, uint tid, uint n) {
    uint out = 0u;
    for (p += tid; n > 0u; n--) out += *p++;
    return out;
}
[[max_total_threads_per_threadgroup(256)]]
kernel void k(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]], uint tid [[thread_index_in_threadgroup]],
              uint gid [[thread_position_in_grid]], uint tpg [[threads_per_threadgroup]]) {
    threadgroup uint t[256];
    uint left = 0u;
    get(&left, n);
    thread uint* p = &left;
    uint same[4];
    uint own[4];
    fill(same, n, 1u);
    fill(own, tid, 2u);
    Pair pair;
    set(&pair, n, tid);
    t[tid] = sum(in, tid, n);
    while (*p > 0u) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        t[tid] += own[left];
        *p -= 1u;
    }
    for (uint i = 0; i < same[2] + pair.count; i++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        t[tid] = i + pair.lane;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[gid] = t[tpg - 1u - tid];
}
/// Groups of equal keys, one in each round of the SIMD-group.
kernel void keys(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    bool done = false;
    uint rounds = 0u;
    while (!simd_all(done)) {
        uint key = in[gid];
        uint first = simd_broadcast_first(done ? 0u : key);
        if (!done && first == key) done = true;
        rounds += 1u;
    }
    out[gid] = rounds;
}
/// Records of a text, read by a cursor.
struct Cursor { device const uint* text; uint at; };
static uint take(thread Cursor& c) { uint tag = c.text[c.at]; c.at += 1u; return tag; }
kernel void records(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    Cursor c = {in, gid};
    while (true) {
        uint tag = take(c);
        if (tag == 0u) break;
        out[gid] = tag;
    }
}
