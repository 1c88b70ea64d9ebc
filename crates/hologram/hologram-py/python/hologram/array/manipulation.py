"""Other shapes and orders of the same elements: views where strides can say it, else copies on the device.

On the host: `repeat` by an array of numbers.
"""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from . import core, dtypes, host, layout
from .core import Array, into
from .elementwise import astype
from .elementwise.steps import check_arrays, common_device, matrix_of
from .indexing import basic_view
from .layout import axes_of, axis_of, integers, shape_of

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip", "moveaxis", "permute_dims",
    "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip


def broadcast_to(x: Array, /, shape: Sequence[int]) -> Array:
    """The elements repeated along new or single dimensions, as a view."""
    check_arrays("broadcast_to", x)
    return x.broadcast(shape_of(shape))


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """All arrays in the shape that they broadcast to, as views."""
    check_arrays("broadcast_arrays", *arrays)
    shape = layout.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all broadcast to.

    Raises:
        ShapeError: extents differ, and none of them is 1.
    """
    return layout.broadcast_shapes(*(shape_of(shape) for shape in shapes))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0, out: Array | None = None) -> Array:
    """Arrays one after the other along an axis; flat if it is None."""
    return into(out, _concatenated(arrays, axis))


def _concatenated(arrays: Sequence[Array], axis: int | None) -> Array:
    parts = list(arrays)
    if not parts:
        raise ArgumentError("concat: no arrays given")
    check_arrays("concat", *parts)
    if axis is None:
        parts, axis = [reshape(x, (-1,)) for x in parts], 0
    dtype = parts[0].dtype
    for part in parts[1:]:
        dtype = dtypes.promote(dtype, part.dtype)
    device = common_device(parts)
    at = axis_of(axis, parts[0].ndim)
    first = parts[0].shape
    for part in parts:
        if part.ndim != len(first) or part.shape[:at] + part.shape[at + 1 :] != first[:at] + first[at + 1 :]:
            raise ShapeError(f"arrays: shapes {first} and {part.shape} differ elsewhere than along axis {at}")
    total = sum(part.shape[at] for part in parts)
    made = core.new(device, (*first[:at], total, *first[at + 1 :]), dtype)
    start = 0
    for part in parts:
        end = start + part.shape[at]
        to = basic_view(made, (*(slice(None),) * at, slice(start, end)))
        core.assign(to, astype(part, dtype, copy=False))
        start = end
    return made


def expand_dims(x: Array, /, axis: int | Sequence[int] = 0) -> Array:
    """The array with new dimensions of one element, as a view."""
    check_arrays("expand_dims", x)
    given = integers(axis, "axis")
    ndim = x.ndim + len(given)
    new = set(axes_of(given, ndim))
    return basic_view(x, tuple(None if d in new else slice(None) for d in range(ndim)))


def flip(x: Array, /, *, axis: int | Sequence[int] | None = None) -> Array:
    """The elements in reverse along axes, as a view."""
    check_arrays("flip", x)
    axes = axes_of(axis, x.ndim)
    return basic_view(x, tuple(slice(None, None, -1 if d in axes else None) for d in range(x.ndim)))


def moveaxis(x: Array, source: int | Sequence[int], destination: int | Sequence[int], /) -> Array:
    """Axes at new places, the others in order, as a view."""
    check_arrays("moveaxis", x)
    from_, to = axes_of(source, x.ndim, "source"), axes_of(destination, x.ndim, "destination")
    if len(from_) != len(to):
        raise ShapeError(f"source, destination: {len(from_)} and {len(to)} axes")
    order = [d for d in range(x.ndim) if d not in from_]
    for at, d in sorted(zip(to, from_)):
        order.insert(at, d)
    return permute_dims(x, order)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Dimensions in another order, as a view."""
    check_arrays("permute_dims", x)
    order = axes_of(() if axes is None else axes, x.ndim, "axes")
    if len(order) != x.ndim:
        raise ShapeError(f"axes: {len(order)} of {x.ndim} dimensions")
    _, offset, strides = x.data()
    return x.view(tuple(x.shape[d] for d in order), offset, tuple(strides[d] for d in order))


def matrix_transpose(x: Array, /) -> Array:
    """The last two dimensions exchanged, as a view."""
    matrix_of("matrix_transpose", x)
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Each element several times; by an array of numbers, on the host.

    Raises:
        ArgumentError: a negative number.
    """
    check_arrays("repeat", x)
    if not isinstance(repeats, Array):
        times = operator.index(repeats)
        if times < 0:
            raise ArgumentError(f"repeats: {times}, must not be negative")
        if axis is None:
            x, axis = reshape(x, (-1,)), 0
        at = axis_of(axis, x.ndim)
        before, extent, behind = x.shape[:at], x.shape[at], x.shape[at + 1 :]
        wide = broadcast_to(expand_dims(x, at + 1), (*before, extent, times, *behind))
        return reshape(wide, (*before, extent * times, *behind), copy=True)
    return host.call(np.repeat, x, repeats, axis=axis, device=x.device, result=x.dtype)


def reshape(x: Array, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Array:
    """The elements in row-major order in another shape; -1 is the extent that is left. A view, unless that needs a copy."""
    check_arrays("reshape", x)
    wanted = integers(shape, "shape")
    if wanted.count(-1) == 1:
        rest = math.prod(tuple(extent for extent in wanted if extent != -1))
        if rest == 0 or x.size % rest:
            raise ShapeError(f"shape: {x.size} elements do not fit {wanted}")
        wanted = tuple(x.size // rest if extent == -1 else extent for extent in wanted)
    wanted = shape_of(wanted)
    if math.prod(wanted) != x.size:
        raise ShapeError(f"shape: {x.size} elements do not fit {wanted}")
    _, offset, strides = x.data()
    found = layout.reshaped(x.shape, strides, wanted)
    if copy is False and found is None:
        raise ArgumentError(f"copy: {x.shape} becomes {wanted} only by a copy")
    if copy or found is None:
        x = core.copied(x)
        return x.view(wanted, 0, layout.dense_strides(wanted))
    return x.view(wanted, offset, found)


def roll(x: Array, /, shift: int | Sequence[int], *, axis: int | Sequence[int] | None = None) -> Array:
    """The elements moved along axes; those that leave come back at the other end."""
    check_arrays("roll", x)
    if axis is None:
        return reshape(roll(reshape(x, (-1,)), shift, axis=0), x.shape)
    axes, shifts = integers(axis, "axis"), integers(shift, "shift")
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(f"shift, axis: {len(shifts)} and {len(axes)}")
    moved = [0] * x.ndim
    for by, d in zip(shifts, axes):
        moved[axis_of(d, x.ndim)] += by
    return core.rolled(x, [by % extent if extent else 0 for by, extent in zip(moved, x.shape)])


def squeeze(x: Array, /, axis: int | Sequence[int] | None = None) -> Array:
    """The array without dimensions of one element, all of them unless some are named, as a view."""
    check_arrays("squeeze", x)
    if axis is None:
        axis = [d for d, extent in enumerate(x.shape) if extent == 1]
    axes = axes_of(axis, x.ndim)
    if any(x.shape[d] != 1 for d in axes):
        raise ShapeError(f"axis: {axis}, shape {x.shape} has more than one element there")
    return basic_view(x, tuple(0 if d in axes else slice(None) for d in range(x.ndim)))


def stack(arrays: Sequence[Array], /, *, axis: int = 0, out: Array | None = None) -> Array:
    """Arrays of one shape along a new axis."""
    parts = list(arrays)
    stacked = core.stacked(parts, axis)
    if stacked is not None:
        return into(out, stacked)
    if not parts:
        raise ArgumentError("stack: no arrays given")
    check_arrays("stack", *parts)
    shape = parts[0].shape
    if any(part.shape != shape for part in parts):
        raise ShapeError(f"arrays: shapes {[part.shape for part in parts]} differ")
    at, device, dtype = axis_of(axis, len(shape) + 1), common_device(parts), parts[0].dtype
    for part in parts:
        dtype = dtypes.promote(dtype, part.dtype)
    made = core.new(device, (*shape[:at], len(parts), *shape[at:]), dtype)
    lead = (slice(None),) * at
    # Each recorded part is computed to its place.
    for i, part in enumerate(parts):
        core.assign(basic_view(made, (*lead, i)), part if part.dtype is dtype else astype(part, dtype))
    return into(out, made)


def tile(x: Array, repetitions: Sequence[int], /) -> Array:
    """Copies of the array beside each other.

    Raises:
        ArgumentError: a negative number.
    """
    check_arrays("tile", x)
    counts = integers(repetitions, "repetitions")
    if any(count < 0 for count in counts):
        raise ArgumentError(f"repetitions: {counts}, must not be negative")
    ndim = max(x.ndim, len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    extents = (1,) * (ndim - x.ndim) + x.shape
    # A dimension for the copies before each dimension.
    single = reshape(x, tuple(n for extent in extents for n in (1, extent)))
    wide = broadcast_to(single, tuple(n for pair in zip(counts, extents) for n in pair))
    return reshape(wide, tuple(count * extent for count, extent in zip(counts, extents)), copy=True)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The arrays along an axis, as views."""
    check_arrays("unstack", x)
    at = axis_of(axis, x.ndim)
    lead: tuple[Any, ...] = (slice(None),) * at
    return tuple(basic_view(x, (*lead, i)) for i in range(x.shape[at]))
