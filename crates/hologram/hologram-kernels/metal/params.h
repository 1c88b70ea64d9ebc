#pragma once
// Parameters of the kernels; mirrored in `src/params.rs`.
struct MapParams {
    ulong first, count, low, high;
    uint threads, op, aligned, pad;
};
struct ZipParams {
    ulong first, count, value;
    uint threads, op, scalar, aligned;
};
struct ReduceParams {
    ulong count, part, identity, factor;
    uint op, aligned, scaled, pad;
};
struct RowParams {
    ulong first, cols, least, epsilon;
};
struct GemmParams {
    uint m, n, k, tiles_m, tiles_n, a_aligned, b_aligned, c_aligned;
};
struct OctetParams {
    uint rows, cols;
};
struct SortParams {
    ulong first;
    uint cols, run, kind, flip;
};
struct WidenParams {
    ulong first, count;
};
