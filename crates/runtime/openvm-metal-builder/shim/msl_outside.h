// Included at global scope, before the unnamed namespace that holds everything else: each object of each
// instruction set keeps its functions to itself.
#pragma once
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <cpuid.h>
#ifndef __clang__
#include <immintrin.h>
#endif
#endif
#ifdef MSL_PTX
extern __attribute__((address_space(3))) __attribute__((aligned(16))) unsigned char msl_shared[];
// Words of constant memory. They are weak, so that clang takes no value for known; the driver's compiler does not for any such memory.
template <unsigned WORD> __attribute__((address_space(4), weak)) unsigned msl_unknown = WORD;
#endif
