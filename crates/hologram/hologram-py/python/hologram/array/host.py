"""Work that the host's libraries do: NumPy on the array's memory itself where that is the host's, else on a copy.

Each call counts in the executor's `stats()["host_operations"]`; the README lists the functions. No other thread writes arrays while
NumPy reads them.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from . import core, dtypes
from .core import Array
from .devices import Device
from .dtypes import DType

def view(array: Array) -> np.ndarray[Any, Any]:
    """The elements as NumPy sees them: the memory itself on the processor, else a copy. Not for writing."""
    storage, offset, strides = array.data()
    size = array.dtype.itemsize
    return np.ndarray(
        array.shape,
        array.dtype.numpy,
        storage.host_bytes(),
        offset * size if array.size else 0,
        tuple(stride * size for stride in strides),
    )


def from_numpy(values: Any, device: Device, dtype: DType | None = None) -> Array:
    """A new array with the elements of one of NumPy's, converted where a type is given."""
    values = np.asarray(values)
    dtype = dtypes.of(values.dtype) if dtype is None else dtype
    # They may be a view of an array.
    with core.changes, np.errstate(all="ignore"):
        return _copied(values, device, dtype)


def _copied(values: np.ndarray[Any, Any], device: Device, dtype: DType) -> Array:
    if values.dtype is dtype.numpy:
        taken = core.taken(values, device, dtype)
        if taken is not None:
            return taken
    made = core.new(device, values.shape, dtype)
    storage, _, _ = made.data()
    if made.size == 0:
        return made
    if device.on_host:
        np.copyto(view(made), values, casting="unsafe")
    else:
        values = np.ascontiguousarray(values, dtype.numpy)
        storage.buffer.from_bytes(values.reshape(-1).view(np.uint8))
    return made


def call(function: Callable[..., Any], *arguments: Any, device: Device, result: DType | None = None, **named: Any) -> Any:
    """Calls a function of NumPy's; arrays among the arguments are its views, and an array that it gives is ours again, of
    type `result` where that is given.

    A named tuple or tuple of arrays becomes a tuple.
    """
    device.executor.count_host_operation()
    with core.changes, np.errstate(all="ignore"):
        found = function(*_seen(arguments), **dict(zip(named, _seen(named.values()))))
        # A result may be a view of an argument.
        if isinstance(found, tuple):
            return tuple(from_numpy(part, device, result) for part in found)
        return from_numpy(found, device, result)


def _seen(arguments: Iterable[Any]) -> list[Any]:
    return [view(a) if isinstance(a, Array) else a for a in arguments]


def ufunc(function: np.ufunc, *arguments: Any, device: Device, shape: tuple[int, ...], dtype: DType) -> Array:
    """Calls an elementwise function of NumPy's, or `matmul`; on the processor it writes where the result is to be."""
    if not device.on_host or dtype is dtypes.bfloat16:
        return call(function, *arguments, device=device, result=dtype)
    made = core.new(device, shape, dtype)
    device.executor.count_host_operation()
    with core.changes, np.errstate(all="ignore"):
        function(*_seen(arguments), out=view(made), casting="unsafe")
    return made
