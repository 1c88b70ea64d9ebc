#pragma once
// Loop hints. MSL_UNROLL: short loops whose counters index registers, unrolled everywhere.
// MSL_ROLLED: round loops, whose unrolled bodies only cost instruction cache and compile time.
#ifndef MSL_UNROLL
#define MSL_UNROLL _Pragma("clang loop unroll(full)")
#endif
#ifndef MSL_ROLLED
#define MSL_ROLLED _Pragma("clang loop unroll(disable)")
#endif
