// The part of macOS's <time.h> that C code in our dependencies uses.
#pragma once
typedef unsigned long clock_t;
#define CLOCKS_PER_SEC ((clock_t)1000000)
clock_t clock(void);
