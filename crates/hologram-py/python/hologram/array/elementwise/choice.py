"""One value or another: `clip`, `where`."""

from typing import Any

import numpy as np

from ...errors import DTypeError
from .. import core, dtypes, host
from ..core import Array, Elementwise, Value, into, step
from ..dtypes import DType
from ..layout import broadcast_shapes
from .conversion import astype
from .steps import REALS, Typed, as_value, check_kind, common_device, operands, record


def clip(x: Array, /, min: Any = None, max: Any = None, *, out: Array | None = None) -> Array:
    """max where x is greater, else min where it is less, else x; NaN stays. The type is x's."""
    check_kind("clip", x.dtype, REALS)
    bounds = [b for b in (min, max) if b is not None]
    arrays = [x, *(b for b in bounds if isinstance(b, Array))]
    device = common_device(arrays)
    shape = broadcast_shapes(*(a.shape for a in arrays))
    for bound in bounds:
        found = bound.dtype.kind if isinstance(bound, Array) else "float" if isinstance(bound, float) else "int"
        if found == "float" and x.dtype.kind != "float":
            raise DTypeError(f"clip: a bound of floats, x is {x.dtype.name}")

    def rule(t: Typed, x: Value, *rest: Value) -> Value:
        values = iter(rest)
        if min is not None:
            x = t("maximum", x, next(values))
        if max is not None:
            x = t("minimum", x, next(values))
        return x

    return into(out, record(rule, [x, *bounds], x.dtype, shape, device, x.dtype))


_select = Elementwise("select", ("bool", *REALS)).choice


def where(condition: Array, x1: Any, x2: Any, /, *, out: Array | None = None) -> Array:
    """x1 where the condition holds, else x2; arrays or numbers."""
    made = _select(condition, x1, x2)
    if made is not None:
        return into(out, made)
    check_kind("where", condition.dtype, ("bool",))
    if isinstance(x1, Array) or isinstance(x2, Array):
        inputs, dtype, device, _ = operands("where", x1, x2)
    else:
        inputs, device = [x1, x2], condition.device
        dtype = dtypes.with_scalar(dtypes.scalar_dtype(x1), x2)
        dtype = dtypes.with_scalar(dtypes.scalar_dtype(x2), x1) if dtype is dtypes.scalar_dtype(x1) else dtype
    arrays = [a for a in (condition, x1, x2) if isinstance(a, Array)]
    common_device(arrays)
    shape = broadcast_shapes(*(a.shape for a in arrays))
    if dtype.kind == "complex":
        return into(out, host.call(lambda c, a, b: np.where(c, a, b), condition, *inputs, device=device, result=dtype))
    values = [_chosen(x, dtype, shape) for x in inputs]
    chosen = step("select", dtype.buffer, (core.value_of(condition, shape), *values), dtype.buffer, shape)
    return into(out, core.recorded(chosen, shape, dtype, device))


def _chosen(x: Any, dtype: DType, shape: tuple[int, ...]) -> Value:
    if isinstance(x, Array):
        x = x if x.dtype is dtype else astype(x, dtype)
        return core.value_of(x, shape)
    return as_value(x, dtype, shape)
