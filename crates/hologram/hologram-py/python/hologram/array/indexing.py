"""Elements by index: views for integers, slices, `...` and `None`; on the host for arrays of indices or of bools."""

import operator
from typing import Any

import numpy as np

from .._hologram import set_indexing
from ..errors import ShapeError
from . import core, host, inspection, values
from .core import Array, into
from .dtypes import DType
from .elementwise import astype, where
from .elementwise.steps import check_arrays, check_kind, common_device
from .layout import axis_of

__all__ = ["take", "take_along_axis"]


def _plain(part: Any) -> Any:
    """A part of a key as one that the native module knows, if there is one: integers of NumPy's, of enums and of arrays are Python's."""
    if isinstance(part, Array):
        return operator.index(part) if part.ndim == 0 and part.dtype.kind in ("int", "uint") else part
    if isinstance(part, (bool, np.bool_, np.ndarray)) or not hasattr(part, "__index__"):
        return part
    return operator.index(part)


def _split(key: Any) -> tuple[Any, ...]:
    return tuple(map(_plain, key)) if isinstance(key, tuple) else (_plain(key),)


def basic_view(x: Array, key: tuple[Any, ...]) -> Array:
    """The view of integers, slices, `...` and `None`.

    Raises:
        IndexError: an integer out of bounds, more indices than dimensions.
    """
    found = x.basic_view(key)
    if found is None:
        raise IndexError(f"{key} makes no view")
    return found


def _host_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(host.view(part) if isinstance(part, Array) else part for part in key)


def get(x: Array, key: Any) -> Array:
    """x[key], where that is no view or its parts are no integers of Python."""
    parts = _split(key)
    made = x.basic_view(parts)
    if made is not None:
        return made
    found = _host_key(parts)
    return host.call(lambda values: np.asarray(values[found]), x, device=x.device, result=x.dtype)


def put(x: Array, key: Any, value: Any) -> None:
    """x[key] = value, converted to the array's type: numbers and those of lists exactly, arrays as `astype` does.

    Raises:
        OverflowError: the type does not have a number.
        DTypeError: complex numbers, and the type is not complex.
    """
    parts = _split(key)
    to = x.basic_view(parts)
    number = values.number(value)
    if to is None and number is not None and x.dtype.kind != "complex" and _is_mask(parts, x):
        # One pass over the elements.
        mask = parts[0].basic_view((..., *(None,) * (x.ndim - parts[0].ndim)))
        core.replace(x, where(mask, values.scalar(number, x.dtype), x))
        return
    if not isinstance(value, Array):
        value = host.from_numpy(values.elements(value, x.dtype), x.device, x.dtype)
    common_device([x, value])
    if value.dtype is not x.dtype:
        value = fitted(value, x.dtype)
    if to is not None:
        core.assign(to, value)
        return
    found, given = _host_key(parts), host.view(value)
    x.device.executor.count_host_operation()
    if x.device.on_host:
        with core.changes:
            core.before_write(x)
            seen = host.view(x)
            # Elements of what is written could be written before they are read.
            found = tuple(_apart(part, seen) if isinstance(part, np.ndarray) else part for part in found)
            seen[found] = _apart(given, seen)
        return
    # All elements with the new ones among them, written at once.
    changed = host.view(x).copy()
    changed[found] = given
    core.assign(x, host.from_numpy(changed, x.device, x.dtype))


def fitted(x: Array, dtype: DType) -> Array:
    """An array as one of another type, converted as `astype` does; a single number exactly, or it is an error."""
    if x.ndim or inspection.can_cast(x.dtype, dtype):
        return astype(x, dtype, copy=False)
    return host.from_numpy(values.elements(x.item(), dtype), x.device, dtype)


def _apart(values: np.ndarray[Any, Any], written: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements in memory of their own, where they may share that of what is written."""
    return values.copy() if np.may_share_memory(written, values) else values


def _is_mask(parts: tuple[Any, ...], x: Array) -> bool:
    """True if a key is one array of bools over the array's first dimensions."""
    mask = parts[0]
    if len(parts) != 1 or not isinstance(mask, Array) or mask.dtype.kind != "bool" or not mask.ndim:
        return False
    return mask.device is x.device and mask.shape == x.shape[: mask.ndim]


set_indexing(get, put)


def take(x: Array, indices: Array, /, *, axis: int | None = None, out: Array | None = None) -> Array:
    """Elements of an axis by their indices, on the host."""
    check_arrays("take", x, indices)
    check_kind("take", indices, ("int", "uint"))
    if axis is None and x.ndim != 1:
        raise ShapeError(f"axis: name one, the array has {x.ndim} dimensions")
    at = 0 if axis is None else axis_of(axis, x.ndim)
    common_device([x, indices])
    found = host.call(np.take, x, indices, axis=at, device=x.device, result=x.dtype)
    return into(out, found)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Elements of each row of an axis by indices of their own, on the host."""
    check_arrays("take_along_axis", x, indices)
    check_kind("take_along_axis", indices, ("int", "uint"))
    at = axis_of(axis, x.ndim)
    common_device([x, indices])

    def work(values: Any, chosen: Any) -> Any:
        shape = np.broadcast_shapes(_without(values.shape, at), _without(chosen.shape, at))
        wide = np.broadcast_to(values, (*shape[:at], values.shape[at], *shape[at + 1 :]))
        return np.take_along_axis(wide, np.broadcast_to(chosen, (*shape[:at], chosen.shape[at], *shape[at + 1 :])), at)

    return host.call(work, x, indices, device=x.device, result=x.dtype)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])
