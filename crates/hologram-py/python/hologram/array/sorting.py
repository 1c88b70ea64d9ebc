"""Orders, on the host: NumPy's sorts."""

from typing import Any

import numpy as np

from . import core, dtypes, host
from .core import Array, into
from .elementwise import check_kind
from .layout import axis_of

__all__ = ["argsort", "sort"]

_ORDERED = ("bool", "int", "uint", "float")


def _kind(stable: bool) -> Any:
    return "stable" if stable else None


def sort(
    x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, out: Array | None = None
) -> Array:
    """Elements in order along an axis, NaN at the end; zeros of both signs in any order."""
    check_kind("sort", x.dtype, _ORDERED)
    at = axis_of(axis, x.ndim)

    if not x.device.on_host:
        found = host.call(lambda seen: _sorted(seen.copy(), at, descending), x, device=x.device, result=x.dtype)
        return into(out, found)
    x.device.executor.count_host_operation()
    made = core.copied(x)
    _sorted(host.view(made), at, descending)
    return into(out, made)


def _sorted(values: np.ndarray[Any, Any], axis: int, descending: bool) -> np.ndarray[Any, Any]:
    """The same memory in order. Equal elements cannot be told apart, so that every order of them is stable."""
    values.sort(axis)
    if descending:
        values[...] = np.flip(values, axis).copy()
    return values


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Indices that put elements in order along an axis; equal ones keep theirs if `stable`."""
    check_kind("argsort", x.dtype, _ORDERED)
    at = axis_of(axis, x.ndim)

    def work(values: Any) -> Any:
        if not descending:
            return np.argsort(values, axis=at, kind=_kind(stable))
        # From behind, so that equal elements keep their order once more.
        back = np.flip(np.argsort(np.flip(values, at), axis=at, kind=_kind(stable)), at)
        return values.shape[at] - 1 - back

    return host.call(work, x, device=x.device, result=dtypes.int64)
