"""Where elements are, on the host; `where` is elementwise, on the device."""

from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from . import dtypes, host, values
from .core import Array
from .elementwise.steps import check_arrays, check_kind, common_device, known
from .inspection import result_type

__all__ = ["nonzero", "searchsorted"]


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Indices of elements that are not zero, an array for each dimension."""
    check_arrays("nonzero", x)
    if x.ndim == 0:
        raise ShapeError("x: has no dimensions, so its elements have no indices")
    return host.call(np.nonzero, x, device=x.device, result=dtypes.int64)


def searchsorted(x1: Array, x2: Any, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Places where elements of x2, an array or a number, belong in the sorted x1."""
    check_arrays("searchsorted", x1)
    if x1.ndim != 1:
        raise ShapeError(f"x1: {x1.ndim} dimensions, sorted numbers have 1")
    if side not in ("left", "right"):
        raise ArgumentError(f"side: {side!r}, must be 'left' or 'right'")
    looked = x2 if isinstance(x2, Array) else known("searchsorted", x2)
    common = result_type(x1, looked)
    check_kind("searchsorted", common, ("int", "uint", "float"))
    device = common_device([x for x in (x1, x2, sorter) if isinstance(x, Array)])
    if not isinstance(looked, Array):
        if type(looked) is int and common.kind != "float" and not values.fits(looked, common):
            # Before or behind all that there are.
            return host.from_numpy(0 if looked < 0 else x1.size, device, dtypes.int64)
        looked = values.scalar(looked, common)

    def work(a: Any, v: Any, order: Any) -> Any:
        return np.asarray(np.searchsorted(a.astype(common.numpy), np.asarray(v).astype(common.numpy), side, order))  # type: ignore[call-overload]

    return host.call(work, x1, looked, sorter, device=device, result=dtypes.int64)
