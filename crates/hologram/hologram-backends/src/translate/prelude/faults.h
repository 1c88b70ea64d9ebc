// How a lane says that something went wrong, and learns that it is to end.

// Fault record: word 0 is the smallest faulting lane, word 1 the number of records, records begin at word 4:
// lane, code, pc, unused, then three 64-bit details. A lane records itself only if it is the smallest so far.
#define HG_FAULTS 4096u
HG_FAR void hg_fault(device atomic_uint* f, uint lane, uint code, uint pc, ulong a, ulong b, ulong c) {
    uint old = atomic_fetch_min_explicit(f, lane, memory_order_relaxed);
    if (lane < old) {
        uint n = atomic_fetch_add_explicit(f + 1, 1u, memory_order_relaxed);
        // What is overwritten is of larger lanes: they came thousands of records earlier.
        device uint* r = (device uint*)f + (4 + 10 * (n % HG_FAULTS));
        r[0] = lane; r[1] = code; r[2] = pc; r[3] = 0;
        r[4] = (uint)a; r[5] = (uint)(a >> 32); r[6] = (uint)b; r[7] = (uint)(b >> 32); r[8] = (uint)c; r[9] = (uint)(c >> 32);
    }
}

// The fault of instruction `start + j` of a block that began after `n` steps of a budget of B.
HG_FAR void hg_fault_at(device atomic_uint* f, uint lane, ulong n, ulong B, uint j, uint start, uint code, ulong a, ulong b, ulong c) {
    if (n + j >= B) hg_fault(f, lane, 13u, start + (uint)(B - n), 0, 0, 0);
    else hg_fault(f, lane, code, start + j, a, b, c);
}

// Whether the host wants the program to end, and the steps at which a lane of n looks again: at most the budget.
METAL_FUNC bool hg_stopped(device const atomic_uint* q) { return atomic_load_explicit(q, memory_order_relaxed) != 0u; }
METAL_FUNC ulong hg_mark(ulong n, ulong B, ulong steps) { return B > n && B - n > steps ? n + steps : B; }
