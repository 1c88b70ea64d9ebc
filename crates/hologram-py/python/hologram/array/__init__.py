"""Arrays on every device: the Python array API standard 2024.12, with its extensions `linalg` and `fft`.

>>> import hologram
>>> from hologram import array as hp
>>> x = hologram.asarray([1.0, 2.0, 3.0])
>>> hp.sum(x * x + x)
Array(20., dtype=float64, device='cpu')

Elementwise operations are recorded and computed together when a value is needed: `x * x + x` is one pass over memory, and with
a sum behind it still one. `README.md` says which functions run on the device and which on the host.
"""

import sys
from typing import Any

from . import dtypes, fft, linalg, operators, random
from .core import Array
from .creation import (
    arange, asarray, empty, empty_like, eye, full, full_like, linspace, meshgrid, ones, ones_like, tril, triu, zeros,
    zeros_like,
)  # fmt: skip
from .devices import Device, default_device
from .dtypes import (
    DType, bfloat16, bool, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32,
    uint64,
)  # fmt: skip
from .elementwise import (
    abs, acos, acosh, add, asin, asinh, astype, atan, atan2, atanh, bitwise_and, bitwise_invert, bitwise_left_shift,
    bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip, conj, copysign, cos, cosh, divide, equal, exp, expm1, floor,
    floor_divide, greater, greater_equal, hypot, imag, isfinite, isinf, isnan, less, less_equal, log, log1p, log2, log10,
    logaddexp, logical_and, logical_not, logical_or, logical_xor, maximum, minimum, multiply, negative, nextafter, not_equal,
    positive, pow, real, reciprocal, remainder, round, sign, signbit, sin, sinh, sqrt, square, subtract, tan, tanh, trunc,
    where,
)  # fmt: skip
from .indexing import take, take_along_axis
from .inspection import Info, can_cast, finfo, iinfo, isdtype, result_type
from .interchange import from_dlpack
from .linalg import matmul, matrix_transpose, tensordot, vecdot
from .manipulation import (
    broadcast_arrays, broadcast_to, concat, expand_dims, flip, moveaxis, permute_dims, repeat, reshape, roll, squeeze, stack,
    tile, unstack,
)  # fmt: skip
from .reductions import (
    all, any, argmax, argmin, count_nonzero, cumulative_prod, cumulative_sum, diff, max, mean, min, prod, std, sum, var,
)  # fmt: skip
from .searching import nonzero, searchsorted
from .sets import unique_all, unique_counts, unique_inverse, unique_values
from .sorting import argsort, sort

__array_api_version__ = "2024.12"

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793


def __array_namespace_info__() -> Info:
    """Devices, types and capabilities."""
    return Info()


def _namespace(self: Array, /, *, api_version: str | None = None) -> Any:
    """The module `hologram.array`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"api_version: {api_version}, the newest is {__array_api_version__}")
    return sys.modules[__name__]


setattr(Array, "__array_namespace__", _namespace)
