// Lanes: one kernel source whose values are scalars on a GPU and vectors over threads on a CPU.
#pragma once
#if defined(MSL_LANES) && MSL_LANES > 1
#include "lanes_vector.h"
#else
#include "lanes_scalar.h"
#endif
