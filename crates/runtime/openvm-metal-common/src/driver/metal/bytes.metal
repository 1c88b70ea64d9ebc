// Copies and fills whose offset or length is no multiple of 4, which Metal's blit encoder refuses.
#include <metal_stdlib>
using namespace metal;

// dst[i] = src[i] for i < n. Each thread reads and writes n / threads bytes, neighbours next to each other.
kernel void openvm_metal_copy_bytes(device const uchar* src [[buffer(0)]],
                                    device uchar* dst [[buffer(1)]],
                                    constant ulong& n [[buffer(2)]],
                                    uint gid [[thread_position_in_grid]],
                                    uint threads [[threads_per_grid]]) {
    for (ulong i = gid; i < n; i += threads) {
        dst[i] = src[i];
    }
}

// dst[i] = value for i < n. Each thread writes n / threads bytes, neighbours next to each other.
kernel void openvm_metal_fill_bytes(device uchar* dst [[buffer(0)]],
                                    constant ulong& n [[buffer(1)]],
                                    constant uint& value [[buffer(2)]],
                                    uint gid [[thread_position_in_grid]],
                                    uint threads [[threads_per_grid]]) {
    for (ulong i = gid; i < n; i += threads) {
        dst[i] = (uchar)value;
    }
}
