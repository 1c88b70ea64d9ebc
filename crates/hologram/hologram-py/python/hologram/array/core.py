"""`hologram.Array` and what is done with its memory: the native module's graph of recorded operations."""

from .._hologram import (
    Alone, Array, Elementwise, Fold, Value, assign, before_write, copied, fold, listed, new, number, recorded, replace, rolled, rounded,
    stacked, step, taken, value_of,
)  # fmt: skip
from ..errors import ArgumentError, DTypeError, ShapeError

__all__ = [
    "Array", "Elementwise", "Fold", "Value", "assign", "before_write", "changes", "copied", "fold", "into", "listed", "new", "number",
    "recorded", "replace", "rolled", "rounded", "stacked", "step", "taken", "value_of",
]  # fmt: skip

# One thread at a time computes graphs and writes the memory that they read; a forked process has a lock of its own.
changes = Alone()


def into(out: Array | None, result: Array) -> Array:
    """A function's result, which nobody else sees: written into `out` where one is given.

    Raises:
        TypeError: `out` is no array.
        ShapeError: its shape is not the result's.
        DTypeError: its type is not the result's.
        ArgumentError: it is on another device.
    """
    if out is None:
        return result
    if not isinstance(out, Array):
        raise TypeError(f"out: {type(out).__name__} given, an array expected")
    if out.shape != result.shape:
        raise ShapeError(f"out: shape {out.shape} given, {result.shape} expected")
    if out.dtype is not result.dtype:
        raise DTypeError(f"out: elements are {out.dtype.name}, {result.dtype.name} expected; convert one with astype")
    if out.device is not result.device:
        raise ArgumentError(f"out: the array is on {out.device}, {result.device} expected; move one with to_device")
    replace(out, result)
    return out
