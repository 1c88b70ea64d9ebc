"""Folds along axes: one pass over memory, with the elementwise steps before it.

On the host: everything of complex numbers, and on the CPU `cumulative_sum` and `cumulative_prod` along other axes than the last one.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._hologram import positions, scan
from ..errors import ArgumentError
from . import core, dtypes, host
from .core import Array, Fold, Value, into, step
from .dtypes import DType
from .elementwise import astype, divide, equal, isnan, logical_or, sqrt, square, subtract
from .elementwise.steps import as_value, check_arrays, check_kind, computed_in
from .indexing import basic_view
from .layout import axes_of, axis_of
from .manipulation import concat

__all__ = [
    "all", "any", "argmax", "argmin", "count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min",
    "prod", "std", "sum", "var",
]  # fmt: skip

Axis = int | Sequence[int] | None

_REALS = ("int", "uint", "float")
_NUMBERS = (*_REALS, "complex")
# Folds that are one pass over elements as they are.
_SUM, _PRODUCT = Fold("sum", ("float",)).of, Fold("product", ("float",)).of
_LARGEST, _SMALLEST = Fold("maximum", _REALS).of, Fold("minimum", _REALS).of


def _summed_dtype(x: Array, dtype: Any) -> DType:
    """The standard's type of sums and products: small integers become the default ones."""
    if dtype is not None:
        return dtypes.of(dtype)
    if x.dtype.kind in ("int", "bool"):
        return dtypes.int64
    return dtypes.uint64 if x.dtype.kind == "uint" else x.dtype


def _fold(operation: str, x: Array, axis: Axis, keepdims: bool, dtype: DType) -> Array:
    """Folds x converted to a type; halves are folded in float32."""
    inner = computed_in(dtype)
    value: Value = as_value(x, inner, x.shape)
    result = core.fold(operation, value, x, axes_of(axis, x.ndim), keepdims, inner)
    return result if inner is dtype else astype(result, dtype)


def _total(function: Any, fold: str, x: Array, axis: Axis, dtype: Any, keepdims: bool) -> Array:
    check_kind(function.__name__, x, ("bool", *_NUMBERS))
    to = _summed_dtype(x, dtype)
    if "complex" in (x.dtype.kind, to.kind):
        return host.call(function, x, axis=axes_of(axis, x.ndim), dtype=to.numpy, keepdims=keepdims, device=x.device)
    return _fold(fold, x, axis, keepdims, to)


def sum(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Sum along axes; of integers in 64 bits, which wrap."""
    made = _SUM(x, axis, keepdims) if dtype is None else None
    return into(out, _total(np.sum, "sum", x, axis, dtype, keepdims) if made is None else made)


def prod(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Product along axes; of integers in 64 bits, which wrap."""
    made = _PRODUCT(x, axis, keepdims) if dtype is None else None
    return into(out, _total(np.prod, "product", x, axis, dtype, keepdims) if made is None else made)


def _extreme(name: str, x: Array, axis: Axis, keepdims: bool) -> Array:
    check_kind(name, x, _REALS)
    axes = axes_of(axis, x.ndim)
    if 0 in [x.shape[d] for d in axes]:
        raise ArgumentError(f"{name}: there are no elements along axis {axis} of shape {x.shape}")
    return _fold("maximum" if name == "max" else "minimum", x, axes, keepdims, x.dtype)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """The largest element along axes; NaN if one is."""
    made = _LARGEST(x, axis, keepdims)
    return into(out, _extreme("max", x, axis, keepdims) if made is None else made)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """The smallest element along axes; NaN if one is."""
    made = _SMALLEST(x, axis, keepdims)
    return into(out, _extreme("min", x, axis, keepdims) if made is None else made)


def _count(x: Array, axis: Axis) -> int:
    return math.prod(x.shape[d] for d in axes_of(axis, x.ndim))


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Mean along axes, NaN of none; integers are converted to float64."""
    check_kind("mean", x, _NUMBERS)
    dtype = x.dtype if x.dtype.kind in ("float", "complex") else dtypes.float64
    total = _total(np.sum, "sum", x, axis, computed_in(dtype), keepdims)
    return into(out, astype(divide(total, float(_count(x, axis))), dtype, copy=False))


def var(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False, out: Array | None = None
) -> Array:
    """Variance along axes: squares of deviations from the mean, over their number less `correction`."""
    check_kind("var", x, _REALS)
    dtype = x.dtype if x.dtype.kind == "float" else dtypes.float64
    wide = astype(x, computed_in(dtype), copy=False)
    deviation = square(subtract(wide, mean(wide, axis=axis, keepdims=True)))
    total = _fold("sum", deviation, axis, keepdims, wide.dtype)
    count = _count(x, axis) - correction
    # As NumPy: no number of freedoms is below zero.
    return into(out, astype(divide(total, float(count if count > 0 else 0)), dtype, copy=False))


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False, out: Array | None = None) -> Array:
    """Standard deviation along axes: the root of `var`."""
    if isinstance(x, Array) and x.dtype.half:
        # Rounded once.
        wide = std(astype(x, dtypes.float32), axis=axis, correction=correction, keepdims=keepdims)
        return into(out, astype(wide, x.dtype))
    return into(out, sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims)))


def _truth(name: str, x: Array) -> Value:
    check_arrays(name, x)
    if x.dtype.kind == "complex":
        x = host.call(lambda values: values != 0, x, device=x.device, result=dtypes.bool)
    return as_value(x, dtypes.bool, x.shape)


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Whether all elements along axes are true or not zero; of none they are."""
    # The smallest of none is 255, which is no bool.
    found = core.fold("minimum", _truth("all", x), x, axes_of(axis, x.ndim), keepdims, dtypes.bool if x.size else dtypes.uint8)
    return into(out, astype(found, dtypes.bool, copy=False))


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Whether one element along axes is true or not zero; of none none is."""
    value = _truth("any", x)
    if x.dtype is dtypes.bool and x.size > 4096:
        # The largest of comparisons is found with the first that holds: that is worth the step where there are many.
        value = step("ne", "uint8", (value, core.number(0, "uint8")), "uint8", x.shape)
    return into(out, core.fold("maximum", value, x, axes_of(axis, x.ndim), keepdims, dtypes.bool))


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """How many elements along axes are true or not zero."""
    number = step("convert.int64", "uint8", (_truth("count_nonzero", x),), "int64", x.shape)
    return into(out, core.fold("sum", number, x, axes_of(axis, x.ndim), keepdims, dtypes.int64))


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Index of the first largest element along an axis, of the first NaN if there is one."""
    return into(out, _arg(np.argmax, "maximum", x, axis, keepdims))


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False, out: Array | None = None) -> Array:
    """Index of the first smallest element along an axis, of the first NaN if there is one."""
    return into(out, _arg(np.argmin, "minimum", x, axis, keepdims))


def _arg(function: Any, extreme: str, x: Array, axis: int | None, keepdims: bool) -> Array:
    name = function.__name__
    check_kind(name, x, _REALS)
    at = None if axis is None else axis_of(axis, x.ndim)
    if (x.size if at is None else x.shape[at]) == 0:
        raise ArgumentError(f"{name}: there are no elements along axis {axis} of shape {x.shape}")
    if not x.device.on_host and x.dtype.bits == 64:
        # Kernels keep an element and its index in one word: they look for the first truth.
        x, extreme = _where_extreme(extreme, x, at), "maximum"
    looked = range(x.ndim) if at is None else (at,)
    shape = [1 if d in looked else extent for d, extent in enumerate(x.shape) if keepdims or d not in looked]
    made = core.new(x.device, tuple(shape), dtypes.int64)
    positions(extreme, x, at, made)
    return made


def _where_extreme(extreme: str, x: Array, at: int | None) -> Array:
    """Which elements are the largest or smallest along an axis, or NaN, as uint8."""
    best = (max if extreme == "maximum" else min)(x, axis=at, keepdims=True)
    found = equal(x, best)
    if x.dtype.kind == "float":
        # Where there is a NaN it is both, and equal to nothing.
        found = logical_or(found, isnan(x))
    return astype(found, dtypes.uint8)


def cumulative_sum(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False, out: Array | None = None) -> Array:
    """Sums of the elements up to each along an axis; of integers in 64 bits, which wrap."""
    return into(out, _cumulative(np.cumulative_sum, "sum", x, axis, dtype, include_initial))


def cumulative_prod(x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False, out: Array | None = None) -> Array:
    """Products of the elements up to each along an axis; of integers in 64 bits, which wrap."""
    return into(out, _cumulative(np.cumulative_prod, "product", x, axis, dtype, include_initial))


def _cumulative(function: Any, fold: str, x: Array, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    check_kind(function.__name__, x, _NUMBERS)
    if axis is None and x.ndim != 1:
        raise ArgumentError(f"axis: name one, the array has {x.ndim} dimensions")
    to = _summed_dtype(x, dtype)
    at = 0 if axis is None else axis_of(axis, x.ndim)
    if to.half and x.device.on_host:
        # Rounded once.
        wide = _cumulative(function, fold, astype(x, dtypes.float32), at, dtypes.float32, include_initial)
        return astype(wide, to)
    shape = (*x.shape[:at], x.shape[at] + include_initial, *x.shape[at + 1 :])
    given = {"axis": at, "dtype": to.numpy, "include_initial": include_initial}
    plain = x.dtype.kind != "complex" and to.kind not in ("bool", "complex")
    if plain and (at == x.ndim - 1 or not x.device.on_host):
        return _scan(fold, x, at, to, shape, include_initial)
    if not x.device.on_host:
        return host.call(function, x, **given, device=x.device)
    # Into the memory of the result.
    x.device.executor.count_host_operation()
    made = core.new(x.device, shape, to)
    with core.changes, np.errstate(all="ignore"):
        function(host.view(x), out=host.view(made), **given)
    return made


def _scan(operation: str, x: Array, axis: int, dtype: DType, shape: tuple[int, ...], initial: bool) -> Array:
    """The fold of the elements up to each, converted to a type first; halves are folded in float32."""
    inner = computed_in(dtype)
    made = core.new(x.device, shape, inner)
    target = made
    if initial:
        lead = (slice(None),) * axis
        first = basic_view(made, (*lead, slice(None, 1)))
        empty = 0 if operation == "sum" else 1
        core.assign(first, core.recorded(core.number(empty, inner.buffer), first.shape, inner, x.device))
        target = basic_view(made, (*lead, slice(1, None)))
    scan(operation, x, axis, target)
    return made if inner is dtype else astype(made, dtype)


def diff(x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """Differences of neighbours along an axis, n times.

    Raises:
        ArgumentError: (a `ValueError`) n is negative.
    """
    check_kind("diff", x, _NUMBERS)
    if n < 0:
        raise ArgumentError(f"n: {n}, must not be negative")
    at = axis_of(axis, x.ndim)
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        x = concat(parts, axis=at)
    lead = (slice(None),) * at
    for _ in range(n):
        if x.shape[at] == 0:
            break
        x = subtract(basic_view(x, (*lead, slice(1, None))), basic_view(x, (*lead, slice(None, -1))))
    return x
