"""Where elements are, on the host; `where` is elementwise, on the device."""

from typing import Any

import numpy as np

from ..errors import ShapeError
from . import dtypes, host
from .core import Array
from .elementwise import check_kind, common_device

__all__ = ["nonzero", "searchsorted"]


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Indices of elements that are not zero, an array for each dimension."""
    if x.ndim == 0:
        raise ShapeError("x: has no dimensions, so its elements have no indices")
    return host.call(np.nonzero, x, device=x.device, result=dtypes.int64)


def searchsorted(x1: Array, x2: Array, /, *, side: str = "left", sorter: Array | None = None) -> Array:
    """Where elements of x2 belong in the sorted x1."""
    for x in (x1, x2):
        check_kind("searchsorted", x.dtype, ("int", "uint", "float"))
    device = common_device([x1, x2])
    common = dtypes.promote(x1.dtype, x2.dtype).numpy

    def work(a: Any, v: Any, order: Any) -> Any:
        return np.searchsorted(a.astype(common), v.astype(common), side, order)  # type: ignore[call-overload]

    return host.call(work, x1, x2, sorter, device=device, result=dtypes.int64)
