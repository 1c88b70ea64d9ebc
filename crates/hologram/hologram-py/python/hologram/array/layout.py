"""Shapes, strides and views: numbers alone, without data. Strides are in elements."""

import math
import operator
from collections.abc import Sequence
from typing import Any

from ..errors import AxisError, ShapeError


def integers(given: Any, name: str) -> tuple[int, ...]:
    """An integer, or several, as a tuple: Python's, NumPy's and those of arrays.

    Raises:
        TypeError: something else.
    """
    several = isinstance(given, (tuple, list)) or not hasattr(given, "__index__") or getattr(given, "ndim", False)
    try:
        return tuple(map(operator.index, given)) if several else (operator.index(given),)
    except TypeError:
        raise TypeError(f"{name}: {given!r}, an integer or several expected") from None


def shape_of(shape: int | Sequence[int], name: str = "shape") -> tuple[int, ...]:
    """A shape as a tuple; one number is a shape of one dimension.

    Raises:
        ShapeError: a negative extent.
    """
    found = integers(shape, name)
    if any(extent < 0 for extent in found):
        raise ShapeError(f"{name}: {found}, extents must not be negative")
    return found


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of row-major elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether elements lie row-major, one after the other."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent == 0:
            return True
        if extent != 1:
            if stride != step:
                return False
            step *= extent
    return True


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that all broadcast to.

    Raises:
        ShapeError: extents differ, and none of them is 1.
    """
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    rank = max(map(len, shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for d, extent in enumerate(shape, rank - len(shape)):
            if extent != 1 and result[d] not in (1, extent):
                raise ShapeError(f"shapes {', '.join(map(str, shapes))} do not broadcast to one")
            if extent != 1:
                result[d] = extent
    return tuple(result)


def axis_of(axis: int, ndim: int, name: str = "axis") -> int:
    """An axis counted from the front.

    Raises:
        AxisError: there is none with this number.
    """
    index = operator.index(axis)
    if not -ndim <= index < ndim:
        raise AxisError(f"{name}: {axis}, an array of {ndim} dimensions has {-ndim} to {ndim - 1}")
    return index % ndim


def axes_of(axis: int | Sequence[int] | None, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Axes counted from the front; all of them for None.

    Raises:
        AxisError: one that is not there.
        ShapeError: one that is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    given = axis if type(axis) is tuple else integers(axis, name)
    found = tuple([axis_of(a, ndim, name) for a in given])
    if len(set(found)) != len(found):
        raise ShapeError(f"{name}: {axis}, an axis is named twice")
    return found


def reshaped(
    shape: tuple[int, ...], strides: tuple[int, ...], wanted: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Strides of the same elements in another shape of the same size, None if that needs a copy."""
    if math.prod(shape) == 0 or is_dense(shape, strides):
        return dense_strides(wanted)
    old = [(extent, stride) for extent, stride in zip(shape, strides) if extent != 1]
    result = [0] * len(wanted)
    at, i = 0, 0
    dims = [d for d, extent in enumerate(wanted) if extent != 1]
    while i < len(dims):
        # The smallest groups of old and new dimensions with equal numbers of elements.
        first, start, have, need = at, i, 1, 1
        while True:
            if have < need or have == 1:
                have *= old[at][0]
                at += 1
            else:
                need *= wanted[dims[i]]
                i += 1
            if have == need:
                break
        for (_, outer), (extent, inner) in zip(old[first:at], old[first + 1 : at]):
            if outer != extent * inner:
                return None
        step = old[at - 1][1]
        for d in reversed(dims[start:i]):
            result[d] = step
            step *= wanted[d]
    return tuple(result)
