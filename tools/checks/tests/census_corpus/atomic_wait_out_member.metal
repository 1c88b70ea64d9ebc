// expect: atomic-wait 12
#include <metal_stdlib>
using namespace metal;
// A function sets a member, and counts in another.
struct State { uint value; uint rounds; };
static void poll(device atomic_uint* flag, thread State* s) {
    s->value = atomic_load_explicit(flag, memory_order_relaxed);
    s->rounds += 1u;
}
kernel void k(device atomic_uint* flags [[buffer(0)]], device uint* out [[buffer(1)]], uint gid [[thread_position_in_grid]]) {
    State s = {0u, 0u};
    while (s.value == 0u) poll(flags, &s);
    out[gid] = s.rounds;
}
