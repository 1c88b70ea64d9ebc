"""One value or another: `clip`, `where`."""

from typing import Any

import numpy as np

from ...errors import DTypeError
from .. import core, dtypes, host, values
from ..core import Array, Elementwise, Value, into, step
from ..dtypes import DType
from ..layout import broadcast_shapes
from .conversion import astype
from .steps import REALS, Typed, as_value, check_arrays, check_kind, common_device, known, operands, record

__all__ = ["clip", "where"]


def clip(x: Array, /, min: Any = None, max: Any = None, *, out: Array | None = None) -> Array:
    """max where x is greater, else min where it is less, else x; NaN stays. The type is x's.

    Bounds of wider integer types are cut to what x's type has, so that no result lies outside of it.

    Raises:
        OverflowError: x's type does not have a number that is a bound.
        DTypeError: bounds of floats, and x is of integers.
    """
    check_kind("clip", x, REALS)
    bounds = [_bound(b, x.dtype) for b in (min, max) if b is not None]
    arrays = [x, *(b for b in bounds if isinstance(b, Array))]
    device = common_device(arrays)
    shape = broadcast_shapes(*(a.shape for a in arrays))

    def rule(t: Typed, x: Value, *rest: Value) -> Value:
        values = iter(rest)
        if min is not None:
            x = t("maximum", x, next(values))
        if max is not None:
            x = t("minimum", x, next(values))
        return x

    return into(out, record(rule, [x, *bounds], x.dtype, shape, device, x.dtype))


def _bound(bound: Any, dtype: DType) -> Any:
    """A bound as an array or a number of a type."""
    if not isinstance(bound, Array):
        if isinstance(known("clip", bound), float) and dtype.kind != "float":
            raise DTypeError(f"clip: a bound of floats, x is {dtype.name}")
        return values.scalar(bound, dtype)
    check_kind("clip", bound, REALS)
    if dtype.kind == "float":
        return bound
    if bound.dtype.kind == "float":
        raise DTypeError(f"clip: a bound of floats, x is {dtype.name}")
    (least, most), (first, last) = values.limits(dtype), values.limits(bound.dtype)
    low, high = (None if first >= least else least), (None if last <= most else most)
    return bound if low is high is None else astype(clip(bound, low, high), dtype)


_select = Elementwise("select", ("bool", *REALS)).choice


def where(condition: Array, x1: Any, x2: Any, /, *, out: Array | None = None) -> Array:
    """x1 where the condition holds, else x2; arrays or numbers."""
    made = _select(condition, x1, x2)
    if made is not None:
        return into(out, made)
    check_kind("where", condition, ("bool",))
    if isinstance(x1, Array) or isinstance(x2, Array):
        inputs, dtype, device, _ = operands("where", x1, x2)
    else:
        inputs, device = [known("where", x1), known("where", x2)], condition.device
        dtype = dtypes.with_scalar(dtypes.scalar_dtype(inputs[0]), inputs[1])
    arrays = [a for a in (condition, x1, x2) if isinstance(a, Array)]
    common_device(arrays)
    shape = broadcast_shapes(*(a.shape for a in arrays))
    if dtype.kind == "complex":
        numbers = [astype(x, dtype, copy=False) if isinstance(x, Array) else host.from_numpy(x, device, dtype) for x in inputs]
        made = _select(condition, *numbers)
        return into(out, host.call(np.where, condition, *numbers, device=device) if made is None else made)
    both = [_chosen(x, dtype, shape) for x in inputs]
    chosen = step("select", dtype.buffer, (core.value_of(condition, shape), *both), dtype.buffer, shape)
    return into(out, core.recorded(chosen, shape, dtype, device))


def _chosen(x: Any, dtype: DType, shape: tuple[int, ...]) -> Value:
    if isinstance(x, Array):
        x = x if x.dtype is dtype else astype(x, dtype)
        return core.value_of(x, shape)
    return as_value(x, dtype, shape)
