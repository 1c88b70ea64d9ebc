// Where the bytes of a handle are that is known only when the lane runs.

// A handle that is known only when the lane runs: offset from the kernel's memory on, and size. Handle 0 is the boundary pool, the last
// 96 are its classes. Entry k of the table is {offset, size, handle} of the handle whose low half is first + k.
struct hg_span { ulong at, size; };
HG_FAR hg_span hg_find_pool(device const ulong* table, ulong first, ulong entries, ulong h) {
    hg_span s;
    s.at = ~0ul;
    s.size = 0;
    const ulong k = (h & 0xfffffffful) - first;
    if (k < entries && table[3 * k + 2] == h) {
        s.at = table[3 * k];
        s.size = table[3 * k + 1];
    }
    return s;
}

HG_FAR hg_span hg_find(device const ulong* table, ulong first, ulong entries, ulong pool, ulong h) {
    hg_span s;
    s.at = ~0ul;
    s.size = 0;
    if (h == 0) {
        s.at = pool;
        s.size = 1179648;
    } else if (h > ~0ul - 96) {
        s.at = pool + (h - (~0ul - 95)) * 12288;
        s.size = 12288;
    } else {
        s = hg_find_pool(table, first, entries, h);
    }
    return s;
}
