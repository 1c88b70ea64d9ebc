// Tensor cores of NVIDIA GPUs from sm_80 on, for text under `#if MSL_PTX`. The 32 threads of a SIMD-group call together;
// `lane` is a thread's number in it. Elements have 16 bits, two in a word, the first in its low half.
#pragma once
#ifdef MSL_PTX
namespace metal {
// Address in threadgroup memory, as instructions take it.
MSL_INL uint msl_mma_address(const void* p) {
    return (uint)(unsigned long)(const __attribute__((address_space(3))) void*)p;
}
// Sixteen bytes from device to threadgroup memory, both at multiples of sixteen, or zeros: `from` is not read then. They
// arrive later: copies belong to the group that the next commit ends.
MSL_INL void msl_mma_copy(uint4* to, const void* from, bool there) {
    __asm__ volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     : : "r"(msl_mma_address(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}
MSL_INL void msl_mma_commit() { __asm__ volatile("cp.async.commit_group;" : : : "memory"); }
// Waits until all groups of the thread but the newest COUNT have arrived.
template <int COUNT> MSL_INL void msl_mma_wait() { __asm__ volatile("cp.async.wait_group %0;" : : "n"(COUNT) : "memory"); }
// Four 8x8 matrices from threadgroup memory: a thread gives the address of row lane % 8 of matrix lane / 8, sixteen bytes at
// a multiple of sixteen, and gets the elements 2 (lane % 4) and the next one of row lane / 4 of each.
MSL_INL uint4 msl_mma_load(const uint4* row) {
    uint a, b, c, d;
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(msl_mma_address(row)) : "memory");
    return uint4{a, b, c, d};
}
// The same of the transposed matrices.
MSL_INL uint4 msl_mma_load_transposed(const uint4* row) {
    uint a, b, c, d;
    __asm__ volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(msl_mma_address(row)) : "memory");
    return uint4{a, b, c, d};
}
// Two 8x8 matrices of `float`, one below the other, plus `a` (16 x 16: the quarters top left, bottom left, top right, bottom
// right) times b (16 x 8: top and bottom, transposed). A thread holds the elements 2 (lane % 4) and the next one of row lane / 4.
#define MSL_MMA(name, type) \
    MSL_INL void name(float2& top, float2& bottom, uint4 a, uint b0, uint b1) { \
        float t0 = top[0], t1 = top[1], u0 = bottom[0], u1 = bottom[1]; \
        __asm__ volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                         : "+f"(t0), "+f"(t1), "+f"(u0), "+f"(u1) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1)); \
        top = float2{t0, t1}; \
        bottom = float2{u0, u1}; \
    }
MSL_MMA(msl_mma_f16, "f16")
MSL_MMA(msl_mma_bf16, "bf16")
#undef MSL_MMA
}  // namespace metal
#endif
