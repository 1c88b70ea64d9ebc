"""Elements of another type."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import DTypeError
from .. import core, dtypes, host
from ..core import Array, into
from ..devices import Device
from ..dtypes import DType
from .steps import check_arrays, converted, same

__all__ = ["astype"]


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None, out: Array | None = None) -> Array:
    """The elements converted: integers wrap, floats are rounded to nearest, floats to integers truncated."""
    if out is not None:
        return into(out, astype(x, dtype, device=device))
    check_arrays("astype", x)
    to = dtypes.of(dtype)
    if device is not None and x.device != device:
        raise DTypeError(f"astype: the array is on {x.device}; move it with to_device")
    if x.dtype is to:
        return same(x) if copy else x
    if x.dtype.kind == "complex" and to.kind not in ("complex", "bool"):
        raise DTypeError(f"astype: {x.dtype.name} to {to.name} loses the imaginary part; take real(x)")
    rounded_twice = to.half and x.dtype.bits > 32 or to is dtypes.bfloat16 and x.dtype.bits > 16
    rounded_twice = rounded_twice and x.dtype is not dtypes.float32
    if "complex" in (x.dtype.kind, to.kind) or rounded_twice:
        return host.call(lambda values: values, x, device=x.device, result=to)
    return core.recorded(converted(core.value_of(x, x.shape), x.dtype, to, x.shape), x.shape, to, x.device)


def by_numpy(name: str, inputs: Sequence[Any], dtype: DType, device: Device, shape: tuple[int, ...], result: DType) -> Array:
    """Calls NumPy's function of this name on the host."""
    numpys = [x if not isinstance(x, Array) or x.dtype is dtype else astype(x, dtype) for x in inputs]
    with np.errstate(all="ignore"):
        numpys = [x if isinstance(x, Array) else dtype.numpy.type(x) for x in numpys]
    return host.ufunc(getattr(np, name), *numpys, device=device, shape=shape, dtype=result)
