// <inttypes.h> without format macros.
#pragma once
#include <stdint.h>
