#pragma once
// Kernels that read cells of many buffers take eight of them at a time, `source0` to `source7`.
#include "baby_bear.h"

/// Source `slot`, below 8.
inline device const Fp* source_at(uint slot, device const Fp* source0, device const Fp* source1, device const Fp* source2, device const Fp* source3,
                                  device const Fp* source4, device const Fp* source5, device const Fp* source6, device const Fp* source7) {
    device const Fp* low = slot < 2u ? (slot == 0u ? source0 : source1) : (slot == 2u ? source2 : source3);
    device const Fp* high = slot < 6u ? (slot == 4u ? source4 : source5) : (slot == 6u ? source6 : source7);
    return slot < 4u ? low : high;
}
