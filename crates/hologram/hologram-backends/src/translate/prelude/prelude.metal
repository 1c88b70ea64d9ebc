// Functions that translated programs call: what stands before the kernels of every unit.
#include "start.h"
#include "faults.h"
#include "memory.h"
#include "handles.h"
#include "classes.h"
#include "numbers.h"
#include "functions.h"
#include "expressions.h"
