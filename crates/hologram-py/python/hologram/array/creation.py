"""New arrays. `arange`, `linspace` and `eye` are made on the host and copied."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from . import core, dtypes, host
from .core import Array
from .devices import Device, device_of
from .dtypes import DType
from .elementwise import astype, fitting, where
from .interchange import from_dlpack
from .layout import shape_of
from .manipulation import broadcast_to, expand_dims

Shape = int | Sequence[int]


def asarray(obj: Any, /, *, dtype: Any = None, device: str | Device | None = None, copy: bool | None = None) -> Array:
    """An array of numbers, nested lists, NumPy arrays or whatever else knows DLPack or NumPy's protocol.

    Elements are copied, but for those of an array of ours on the same device, unless `copy` is true.

    Raises:
        ArgumentError: `copy` is false, and a copy is needed.
    """
    to = None if dtype is None else dtypes.of(dtype)
    if isinstance(obj, Array):
        return _again(obj, to, obj.device if device is None else device_of(device), copy)
    if copy is False:
        raise ArgumentError("copy: memory of others is copied; only arrays of hologram are taken as they are")
    at = device_of(device)
    if not isinstance(obj, np.ndarray) and not hasattr(obj, "__array__") and hasattr(obj, "__dlpack__"):
        made = from_dlpack(obj, device=at)
        return made if to is None else astype(made, to, copy=False)
    return _from_values(obj, to, at)


def _again(x: Array, dtype: DType | None, device: Device, copy: bool | None) -> Array:
    to = x.dtype if dtype is None else dtype
    if x.dtype is to and x.device == device:
        return core.copied(x) if copy else x
    if copy is False:
        raise ArgumentError(f"copy: {x.dtype.name} on {x.device} becomes {to.name} on {device} only by a copy")
    if x.device != device:
        x = host.from_numpy(host.view(x), device, x.dtype)
    return astype(x, to, copy=False)


def _from_values(obj: Any, dtype: DType | None, device: Device) -> Array:
    if isinstance(obj, (list, tuple)):
        obj = _plain(obj)
    if dtype is not None and isinstance(obj, (bool, int, float, complex)):
        if not isinstance(obj, bool) and dtype.kind in ("int", "uint"):
            obj = np.asarray(obj, dtype.numpy)
    values = np.asarray(obj)
    if values.dtype.kind not in "biufcV":
        raise DTypeError(f"obj: elements are {values.dtype}, numbers expected")
    return host.from_numpy(values, device, dtype)


def _plain(obj: Any) -> Any:
    """Nested lists in which arrays of ours are NumPy's."""
    if isinstance(obj, (list, tuple)):
        return [_plain(part) for part in obj]
    return host.view(obj) if isinstance(obj, Array) else obj


def empty(shape: Shape, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Elements that are not defined until they are written; float64 unless said otherwise."""
    return core.new(device_of(device), shape_of(shape), dtypes.of(dtype or dtypes.float64))


def zeros(shape: Shape, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Zeros; float64 unless said otherwise."""
    return core.new(device_of(device), shape_of(shape), dtypes.of(dtype or dtypes.float64), zeroed=True)


def ones(shape: Shape, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Ones; float64 unless said otherwise."""
    return full(shape, 1, dtype=dtype or dtypes.float64, device=device)


def full(shape: Shape, fill_value: complex, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """One number for all elements; of its own default type unless said otherwise."""
    to = dtypes.scalar_dtype(fill_value) if dtype is None else dtypes.of(dtype)
    extents, at = shape_of(shape), device_of(device)
    if to.kind == "complex":
        return host.from_numpy(np.full(extents, fill_value, to.numpy), at)
    number: Any = fill_value
    if to.kind == "bool":
        number = bool(fill_value)
    elif to.kind == "float":
        number = float(fill_value)  # type: ignore[arg-type]
    else:
        number = fitting(int(fill_value), to)  # type: ignore[arg-type]
    return core.recorded(core.number(number, to.buffer), extents, to, at)


def _like(x: Array, dtype: Any, device: str | Device | None) -> dict[str, Any]:
    return {"dtype": x.dtype if dtype is None else dtype, "device": x.device if device is None else device}


def empty_like(x: Array, /, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """As `empty`, in the shape, type and place of x."""
    return empty(x.shape, **_like(x, dtype, device))


def zeros_like(x: Array, /, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Zeros in the shape, type and place of x."""
    return zeros(x.shape, **_like(x, dtype, device))


def ones_like(x: Array, /, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Ones in the shape, type and place of x."""
    return ones(x.shape, **_like(x, dtype, device))


def full_like(x: Array, /, fill_value: complex, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """One number for all elements, in the shape, type and place of x."""
    return full(x.shape, fill_value, **_like(x, dtype, device))


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: str | Device | None = None
) -> Array:
    """Numbers from start (0, if it is the only one) to before stop; int64 of integers, else float64."""
    if stop is None:
        start, stop = 0, start
    whole = all(isinstance(number, int) for number in (start, stop, step))
    to = (dtypes.int64 if whole else dtypes.float64) if dtype is None else dtypes.of(dtype)
    return host.from_numpy(np.arange(start, stop, step, dtype=None if to is dtypes.bfloat16 else to.numpy), device_of(device), to)


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: Any = None, device: str | Device | None = None, endpoint: bool = True
) -> Array:
    """`num` numbers from start to stop, with equal distances."""
    if dtype is None:
        imaginary = isinstance(start, complex) or isinstance(stop, complex)
        dtype = dtypes.complex128 if imaginary else dtypes.float64
    to = dtypes.of(dtype)
    return host.from_numpy(np.linspace(start, stop, num, endpoint=endpoint), device_of(device), to)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: str | Device | None = None
) -> Array:
    """Ones on a diagonal, zeros elsewhere; float64 unless said otherwise."""
    to = dtypes.of(dtype or dtypes.float64)
    return host.from_numpy(np.eye(n_rows, n_cols, k), device_of(device), to)


def meshgrid(*arrays: Array, indexing: str = "xy") -> list[Array]:
    """Each array's elements over the grid of all, as views; "xy": the first along rows, "ij": along the first dimension."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"indexing: {indexing!r}, must be 'xy' or 'ij'")
    if any(x.ndim != 1 for x in arrays):
        raise ArgumentError("arrays: each must have one dimension")
    dims = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        dims[:2] = [1, 0]
    shape = [0] * len(arrays)
    for x, d in zip(arrays, dims):
        shape[d] = x.size
    result = []
    for x, d in zip(arrays, dims):
        others = tuple(e for e in range(len(arrays)) if e != d)
        result.append(broadcast_to(expand_dims(x, axis=others) if others else x, shape))
    return result


def _triangle(x: Array, keep: np.ndarray[Any, Any]) -> Array:
    mask = host.from_numpy(keep, x.device, dtypes.bool)
    zero = False if x.dtype.kind == "bool" else 0
    return where(mask, x, zero)


def _matrix(name: str, x: Array) -> tuple[int, int]:
    if x.ndim < 2:
        raise ArgumentError(f"{name}: {x.ndim} dimensions, a matrix has at least 2")
    return x.shape[-2], x.shape[-1]


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Zeros above the k-th diagonal of each matrix."""
    return _triangle(x, np.tri(*_matrix("tril", x), k, dtype=bool))


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Zeros below the k-th diagonal of each matrix."""
    return _triangle(x, ~np.tri(*_matrix("triu", x), k - 1, dtype=bool))
