// expect: simdgroup-matrix 6
#include <metal_stdlib>
using namespace metal;
#include <metal_simdgroup_matrix>
kernel void k(device uint* out [[buffer(0)]], constant uint& n [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    simdgroup_matrix<uint, 8, 8> m;
    out[gid] = n;
}
