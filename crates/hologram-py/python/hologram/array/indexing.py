"""Elements by index: views for integers, slices, `...` and `None`; on the host for arrays of indices or of bools."""

import operator
from typing import Any

import numpy as np

from ..errors import ShapeError
from . import core, host
from .core import Array, into
from .elementwise import astype, check_kind, common_device
from .layout import axis_of

__all__ = ["basic_view", "get", "put", "take", "take_along_axis"]


def _is_basic(part: Any) -> bool:
    if part is None or part is Ellipsis or isinstance(part, slice):
        return True
    if isinstance(part, Array):
        return part.ndim == 0 and part.dtype.kind in ("int", "uint")
    return not isinstance(part, (bool, np.bool_)) and hasattr(part, "__index__") and not isinstance(part, np.ndarray)


def _split(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def basic_view(x: Array, key: tuple[Any, ...]) -> Array:
    """The view of integers, slices, `...` and `None`.

    Raises:
        IndexError: an integer out of bounds, more indices than dimensions.
    """
    used = sum(part is not None and part is not Ellipsis for part in key)
    dots = [i for i, part in enumerate(key) if part is Ellipsis]
    if used > x.ndim or len(dots) > 1:
        raise IndexError(f"{used} indices and {len(dots)} `...` for an array of {x.ndim} dimensions")
    at = dots[0] if dots else len(key)
    full = (slice(None),) * (x.ndim - used)
    key = (*key[:at], *full, *key[at + 1 :])
    _, offset, strides = x.data()
    shape: list[int] = []
    steps: list[int] = []
    d = 0
    for part in key:
        if part is None:
            shape.append(1)
            steps.append(0)
            continue
        extent, stride = x.shape[d], strides[d]
        if isinstance(part, slice):
            start, stop, step = part.indices(extent)
            count = len(range(start, stop, step))
            if count:
                offset += start * stride
            shape.append(count)
            steps.append(stride * step)
        else:
            index = operator.index(part)
            if not -extent <= index < extent:
                raise IndexError(f"index {index} of axis {d}, which has {extent} elements")
            offset += index % extent * stride
        d += 1
    return x.view(tuple(shape), offset, tuple(steps))


def _host_key(key: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(host.view(part) if isinstance(part, Array) else part for part in key)


def get(x: Array, key: Any) -> Array:
    """x[key]"""
    parts = _split(key)
    if all(map(_is_basic, parts)):
        return basic_view(x, parts)
    found = _host_key(parts)
    return host.call(lambda values: np.asarray(values[found]), x, device=x.device, result=x.dtype)


def put(x: Array, key: Any, value: Any) -> None:
    """x[key] = value, converted to the array's type."""
    parts = _split(key)
    if isinstance(value, Array):
        common_device([x, value])
        value = value if value.dtype is x.dtype else astype(value, x.dtype)
    else:
        value = host.from_numpy(np.asarray(value), x.device, x.dtype)
    if all(map(_is_basic, parts)):
        core.assign(basic_view(x, parts), value)
        return
    # All elements with the new ones among them, written at once.
    changed = host.view(x).copy()
    changed[_host_key(parts)] = host.view(value)
    x.device.executor.count_host_operation()
    core.assign(x, host.from_numpy(changed, x.device, x.dtype))


def take(x: Array, indices: Array, /, *, axis: int | None = None, out: Array | None = None) -> Array:
    """Elements of an axis by their indices, on the host."""
    check_kind("take", indices.dtype, ("int", "uint"))
    if axis is None and x.ndim != 1:
        raise ShapeError(f"axis: name one, the array has {x.ndim} dimensions")
    at = 0 if axis is None else axis_of(axis, x.ndim)
    common_device([x, indices])
    found = host.call(lambda values, at_: np.take(values, at_, axis=at), x, indices, device=x.device, result=x.dtype)
    return into(out, found)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Elements of each row of an axis by indices of their own, on the host."""
    check_kind("take_along_axis", indices.dtype, ("int", "uint"))
    at = axis_of(axis, x.ndim)
    common_device([x, indices])

    def work(values: Any, chosen: Any) -> Any:
        shape = np.broadcast_shapes(_without(values.shape, at), _without(chosen.shape, at))
        wide = np.broadcast_to(values, (*shape[:at], values.shape[at], *shape[at + 1 :]))
        return np.take_along_axis(wide, np.broadcast_to(chosen, (*shape[:at], chosen.shape[at], *shape[at + 1 :])), at)

    return host.call(work, x, indices, device=x.device, result=x.dtype)


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])
