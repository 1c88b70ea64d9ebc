"""Functions of NumPy's that the standard does not have; `einsum`, `median` and `pad` are computed on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from . import dtypes, host, reductions, values
from .core import Array
from .creation import asarray
from .elementwise import abs, add, astype, equal, isfinite, isnan, less_equal, logical_and, logical_or, multiply, subtract
from .layout import axes_of
from .elementwise.steps import check_arrays, check_kind, common_device, computed_in, operands

__all__ = ["allclose", "einsum", "isclose", "median", "pad"]

_NUMBERS = ("bool", "int", "uint", "float", "complex")


def isclose(x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """True where |x1 - x2| <= atol + rtol |x2|, as NumPy says it; infinities are close to themselves alone."""
    inputs, dtype, device, _ = operands("isclose", x1, x2)
    inner = dtype if dtype.kind in ("float", "complex") else dtypes.float64
    a, b = (astype(x, computed_in(inner), copy=False) if isinstance(x, Array) else values.scalar(x, inner) for x in inputs)
    same = equal(a, b)
    if equal_nan:
        both = [isnan(x) if isinstance(x, Array) else x != x for x in (a, b)]
        same = logical_or(same, logical_and(*both))
    limit = add(multiply(abs(b), rtol), atol) if isinstance(b, Array) else atol + rtol * float(np.abs(b))
    near = less_equal(abs(subtract(a, b)), limit)
    finite = isfinite(b) if isinstance(b, Array) else bool(np.isfinite(b))
    return logical_or(same, logical_and(near, finite))


def allclose(x1: Any, x2: Any, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """True if all elements are close, as `isclose` says it."""
    return bool(reductions.all(isclose(x1, x2, rtol=rtol, atol=atol, equal_nan=equal_nan)))


def einsum(subscripts: str, /, *arrays: Array) -> Array:
    """Sums of products that are named by their indices: `einsum("ij,jk->ik", a, b)`; halves are summed in float32."""
    check_arrays("einsum", *arrays)
    if not arrays:
        raise ArgumentError("einsum: no arrays given")
    device, dtype = common_device(arrays), arrays[0].dtype
    for x in arrays[1:]:
        dtype = dtypes.promote(dtype, x.dtype)
    inner = computed_in(dtype)
    wide = [astype(x, inner, copy=False) for x in arrays]
    return host.call(lambda *xs: np.asarray(np.einsum(subscripts, *xs, optimize=True)), *wide, device=device, result=dtype)


def median(x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Median along axes, NaN if an element is; of integers in float64."""
    check_kind("median", x, ("int", "uint", "float"))
    result = x.dtype if x.dtype.kind == "float" else dtypes.float64
    along = axes_of(axis, x.ndim)
    wide = astype(x, computed_in(result), copy=False)
    if 0 in [x.shape[d] for d in along]:
        # NaN, of which NumPy warns.
        return reductions.mean(astype(x, result, copy=False), axis=along, keepdims=keepdims)
    return host.call(lambda seen: np.asarray(np.median(seen, axis=along, keepdims=keepdims)), wide, device=x.device, result=result)


def pad(x: Array, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Array:
    """The array with elements before and behind each axis: of a number, or as `mode` of `numpy.pad` says."""
    check_kind("pad", x, _NUMBERS)
    named = {}
    if mode == "constant":
        fill = np.asarray(constant_values)
        named["constant_values"] = host.view(asarray(fill.tolist() if fill.ndim else fill, dtype=x.dtype, device="cpu"))
    return host.call(lambda seen: np.pad(seen, pad_width, mode, **named), x, device=x.device, result=x.dtype)  # type: ignore[call-overload]
