"""Orders: on the processor NumPy's sorts, kernels of their own on devices with memory of their own."""

from typing import Any

import numpy as np

from .._hologram import sort_rows
from . import core, dtypes, host
from .core import Array, into
from .elementwise import astype
from .elementwise.steps import check_kind
from .layout import axis_of
from .manipulation import moveaxis

__all__ = ["argsort", "sort"]

_ORDERED = ("bool", "int", "uint", "float")
# Kernels sort words of 32 and 64 bits; smaller elements are converted, in which they keep their order and value.
_WORDS = {"bool": dtypes.uint32, "int": dtypes.int32, "uint": dtypes.uint32, "float": dtypes.float32}
# Elements of a row that kernels sort.
_LONGEST = 2**31 - 1


def sort(
    x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, out: Array | None = None
) -> Array:
    """Elements in order along an axis, NaN behind all, or before all if descending; zeros of both signs in any order."""
    check_kind("sort", x, _ORDERED)
    at = axis_of(axis, x.ndim)

    if not x.device.on_host and x.shape[at] <= _LONGEST:
        return into(out, _on_device(x, at, descending, order=False))
    if not x.device.on_host:
        found = host.call(lambda seen: _sorted(seen.copy(), at, descending), x, device=x.device, result=x.dtype)
        return into(out, found)
    x.device.executor.count_host_operation()
    made = core.copied(x)
    _sorted(host.view(made), at, descending)
    return into(out, made)


def _on_device(x: Array, at: int, descending: bool, order: bool) -> Array:
    """The elements, or their indices, in order along an axis, by kernels that sort the rows of a matrix; always stable."""
    last = x.ndim - 1
    moved = x if at == last else moveaxis(x, at, last)
    words = astype(moved, _WORDS[x.dtype.kind]) if x.dtype.bits < 32 else moved
    made = core.new(x.device, words.shape, dtypes.int64 if order else words.dtype)
    sort_rows(order, descending, words, made)
    if not order and words.dtype is not x.dtype:
        made = astype(made, x.dtype)
    return made if at == last else moveaxis(made, last, at)


def _sorted(values: np.ndarray[Any, Any], axis: int, descending: bool) -> np.ndarray[Any, Any]:
    """The same memory in order. Equal elements cannot be told apart, so that every order of them is stable."""
    values.sort(axis)
    if descending:
        values[...] = np.flip(values, axis).copy()
    return values


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Indices that put elements in order along an axis; equal ones keep theirs if `stable`."""
    check_kind("argsort", x, _ORDERED)
    at = axis_of(axis, x.ndim)
    if not x.device.on_host and x.shape[at] <= _LONGEST:
        return _on_device(x, at, descending, order=True)

    kind: Any = "stable" if stable else None

    def work(values: Any) -> Any:
        if not descending:
            return np.argsort(values, axis=at, kind=kind)
        # From behind, so that equal elements keep their order once more.
        back = np.flip(np.argsort(np.flip(values, at), axis=at, kind=kind), at)
        return values.shape[at] - 1 - back

    return host.call(work, x, device=x.device, result=dtypes.int64)
