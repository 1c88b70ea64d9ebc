// What all functions of the prelude rest on. Integers wrap; division by zero is tested by the caller. Floats are never contracted
// or reordered.
#include <metal_stdlib>
using namespace metal;
#pragma METAL fp contract(off)
#define HG_DOUBLE (MSL_HOST || MSL_PTX)
#ifndef HG_SOFT_MATH
#define HG_SOFT_MATH 0
#endif
// On processors under the profile of an Apple GPU: its accesses, its quotients, and errors of the size of its functions'.
#ifndef HG_AS_APPLE
#define HG_AS_APPLE 0
#endif
// What is rarely run, or long, stays a function: kernels compile three times sooner.
#define HG_FAR static __attribute__((noinline))
