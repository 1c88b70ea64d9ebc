#include <metal_stdlib>
using namespace metal;
// Insertions into a table, beside the ones that wait for the owner of a place.
constant uint FREE = 0u;
constant uint BUSY = 1u;

// The place moves on whenever the exchange fails.
kernel void linear(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    while (true) {
        uint st = FREE;
        if (atomic_compare_exchange_weak_explicit(state + s, &st, BUSY, memory_order_relaxed, memory_order_relaxed)) { keys[s] = gid; atomic_store_explicit(state + s, gid + 2u, memory_order_relaxed); break; }
        s = (s + 1u) & mask;
    }
    keys[gid] = s;
}

// Steps that grow.
kernel void quadratic(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    for (uint step = 1u; ; step++) {
        uint st = FREE;
        if (atomic_compare_exchange_weak_explicit(state + s, &st, gid + 1u, memory_order_relaxed, memory_order_relaxed) || st == gid + 1u) break;
        s = (s + step) & mask;
    }
    keys[gid] = s;
}

// An exchange that fails by chance is tried again.
kernel void by_chance(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    while (true) {
        uint st = FREE;
        if (atomic_compare_exchange_weak_explicit(state + s, &st, gid + 1u, memory_order_relaxed, memory_order_relaxed)) break;
        if (st == FREE) continue;
        s = (s + 1u) & mask;
    }
    keys[gid] = s;
}

// The same, by the result of the exchange.
kernel void by_result(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    bool done = false;
    while (!done) {
        uint st = FREE;
        done = atomic_compare_exchange_weak_explicit(state + s, &st, gid + 1u, memory_order_relaxed, memory_order_relaxed) || st == gid + 1u;
        if (!done && st != FREE) s = (s + 1u) & mask;
    }
    keys[gid] = s;
}

// A free place that another thread has taken meanwhile is looked at again.
kernel void looked_at(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    while (true) {
        uint st = atomic_load_explicit(state + s, memory_order_relaxed);
        if (st == gid + 1u) break;
        if (st == FREE) {
            uint empty = FREE;
            if (atomic_compare_exchange_weak_explicit(state + s, &empty, gid + 1u, memory_order_relaxed, memory_order_relaxed) || empty == gid + 1u) break;
            continue;
        }
        s = (s + 1u) & mask;
    }
    keys[gid] = s;
}

// The value that is expected has been read.
kernel void found_free(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    while (true) {
        uint st = atomic_load_explicit(state + s, memory_order_relaxed);
        if (st != FREE) {
            if (st == gid + 1u) break;
            s = (s + 1u) & mask;
            continue;
        }
        if (atomic_compare_exchange_weak_explicit(state + s, &st, gid + 1u, memory_order_relaxed, memory_order_relaxed)) break;
    }
    keys[gid] = s;
}

// A choice by the state of the place.
kernel void chosen(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    bool done = false;
    while (!done) {
        uint st = FREE;
        if (atomic_compare_exchange_weak_explicit(state + s, &st, gid + 1u, memory_order_relaxed, memory_order_relaxed)) break;
        switch (st) {
            case FREE: break;
            case 7u: s = (s + 2u) & mask; break;
            default: s = (s + 1u) & mask;
        }
    }
    keys[gid] = s;
}

// A limit of steps.
kernel void limited(device atomic_uint* state [[buffer(0)]], device uint* keys [[buffer(1)]], constant uint& mask [[buffer(2)]], uint gid [[thread_position_in_grid]]) {
    uint s = gid & mask;
    for (uint i = 0u; i <= mask; i++) {
        uint st = FREE;
        if (atomic_compare_exchange_weak_explicit(state + s, &st, gid + 1u, memory_order_relaxed, memory_order_relaxed)) break;
        if (st == gid + 1u) break;
        if (st != BUSY) s = (s + 1u) & mask;
    }
    keys[gid] = s;
}
