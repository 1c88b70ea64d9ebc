#include <metal_stdlib>
using namespace metal;

// Reads a lane's word, writes what 24 operations of its SIMD-group give.
kernel void simd(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                 uint gid [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    uint v = in[gid];
    device uint* o = out + 24 * gid;
    o[0] = simd_sum(v);
    o[1] = simd_product(v);
    o[2] = simd_min(v);
    o[3] = simd_max(v);
    o[4] = simd_and(v);
    o[5] = simd_or(v);
    o[6] = simd_xor(v);
    o[7] = simd_prefix_inclusive_sum(v);
    o[8] = simd_prefix_exclusive_sum(v);
    o[9] = simd_prefix_inclusive_product(v);
    o[10] = simd_prefix_exclusive_product(v);
    o[11] = simd_shuffle(v, (ushort)(v & 31));
    o[12] = simd_shuffle_xor(v, (ushort)5);
    o[13] = lane < 29 ? simd_shuffle_down(v, (ushort)3) : (simd_shuffle_down(v, (ushort)3), 0);
    o[14] = lane >= 3 ? simd_shuffle_up(v, (ushort)3) : (simd_shuffle_up(v, (ushort)3), 0);
    o[15] = simd_shuffle_rotate_down(v, (ushort)7);
    o[16] = simd_shuffle_rotate_up(v, (ushort)7);
    o[17] = simd_shuffle_and_fill_down(v, v ^ 1, (ushort)4);
    o[18] = simd_shuffle_and_fill_up(v, v ^ 1, (ushort)4);
    o[19] = (uint)(simd_vote::vote_t)simd_ballot((v & 1) != 0);
    o[20] = simd_any((v & 3) == 0) ? 1 : 0;
    o[21] = simd_all((v & 3) != 3) ? 1 : 0;
    o[22] = simd_broadcast(v, (ushort)9);
    o[23] = simd_broadcast_first(v);
}

// Reads a lane's word, writes what 20 operations of its quad-group give.
kernel void quad(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                 uint gid [[thread_position_in_grid]], uint lane [[thread_index_in_quadgroup]]) {
    uint v = in[gid];
    device uint* o = out + 20 * gid;
    o[0] = quad_sum(v);
    o[1] = quad_product(v);
    o[2] = quad_min(v);
    o[3] = quad_max(v);
    o[4] = quad_and(v);
    o[5] = quad_or(v);
    o[6] = quad_xor(v);
    o[7] = quad_prefix_inclusive_sum(v);
    o[8] = quad_prefix_exclusive_sum(v);
    o[9] = quad_prefix_inclusive_product(v);
    o[10] = quad_prefix_exclusive_product(v);
    o[11] = quad_shuffle(v, (ushort)(v & 3));
    o[12] = quad_shuffle_xor(v, (ushort)3);
    o[13] = quad_shuffle_rotate_down(v, (ushort)1);
    o[14] = quad_shuffle_rotate_up(v, (ushort)1);
    o[15] = quad_shuffle_and_fill_down(v, v ^ 1, (ushort)1);
    o[16] = quad_shuffle_and_fill_up(v, v ^ 1, (ushort)1);
    o[17] = (uint)(quad_vote::vote_t)quad_ballot((v & 1) != 0);
    o[18] = (quad_any((v & 3) == 0) ? 1 : 0) + (quad_all((v & 3) != 3) ? 2 : 0);
    o[19] = quad_broadcast(v, (ushort)2) + quad_broadcast_first(v);
}

// Each SIMD-group reads the 8x8 matrices a, b and c (float) and writes a b + c, a^T b, a^T, the elements of its lanes,
// and the product of a and b as halves on the diagonal matrix 2.
kernel void matrices(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                     uint group [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {
    device const float* from = (device const float*)(in + 192 * group);
    device float* to = (device float*)(out + 384 * group);
    threadgroup half narrow[128];
    simdgroup_float8x8 a, b, c, d, t;
    simdgroup_load(a, from);
    simdgroup_load(b, from, 8, ulong2(0, 8));
    simdgroup_load(c, from + 128, 8);
    simdgroup_multiply_accumulate(d, a, b, c);
    simdgroup_store(d, to);
    simdgroup_load(t, from, 8, 0, true);
    simdgroup_multiply(d, t, b);
    simdgroup_store(d, to, 8, ulong2(0, 8));
    simdgroup_store(a, to + 128, 8, ulong2(0, 0), true);
    to[192 + 2 * lane] = a.thread_elements()[0];
    to[193 + 2 * lane] = a.thread_elements()[1];
    for (uint i = lane; i < 128; i += 32) narrow[i] = half(from[i]);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_half8x8 ha, two(half(2.0h));
    simdgroup_load(ha, narrow, 8);
    simdgroup_float8x8 wide = make_filled_simdgroup_matrix<float, 8>(1.0f);
    simdgroup_multiply_accumulate(wide, ha, two, wide);
    simdgroup_store(wide, to + 256, 8);
    simdgroup_half8x8 hb;
    simdgroup_load(hb, narrow + 64, 8);
    simdgroup_store(hb, narrow, 8);
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = lane; i < 64; i += 32) to[320 + i] = float(narrow[i]);
}

// Each thread adds its word to counters that all threads share, and writes nothing else.
kernel void atomics(device const uint* in [[buffer(0)]], device uint* out [[buffer(1)]], constant uint& n [[buffer(2)]],
                    uint gid [[thread_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup atomic_uint part[2];
    if (tid < 2) atomic_store_explicit(&part[tid], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint v = in[gid];
    device atomic_uint* o = (device atomic_uint*)out;
    atomic_fetch_add_explicit(&part[0], v, memory_order_relaxed);
    atomic_fetch_max_explicit(&part[1], v, memory_order_relaxed);
    atomic_fetch_xor_explicit(&o[2], v, memory_order_relaxed);
    atomic_fetch_or_explicit(&o[3], v, memory_order_relaxed);
    atomic_fetch_sub_explicit(&o[4], v, memory_order_relaxed);
    atomic_fetch_max_explicit((device atomic_int*)&o[5], (int)v, memory_order_relaxed);
    atomic_fetch_add_explicit((device atomic_float*)&o[6], 1.0f, memory_order_relaxed);
    uint seen = atomic_load_explicit(&o[7], memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&o[7], &seen, seen * 3 + 1, memory_order_relaxed, memory_order_relaxed)) {}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0) {
        atomic_fetch_add_explicit(&o[0], atomic_load_explicit(&part[0], memory_order_relaxed), memory_order_relaxed);
        atomic_fetch_max_explicit(&o[1], atomic_load_explicit(&part[1], memory_order_relaxed), memory_order_relaxed);
    }
}
