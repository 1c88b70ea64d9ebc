"""New arrays. `arange`, `linspace` and `eye` are made on the host and copied."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from . import core, dtypes, host, values
from .core import Array
from .devices import Device, device_of
from .dtypes import DType
from .elementwise import astype, where
from .elementwise.steps import check_arrays, matrix_of
from .indexing import fitted
from .interchange import from_dlpack
from .layout import shape_of
from .manipulation import broadcast_to, expand_dims

__all__ = [
    "arange", "asarray", "empty", "empty_like", "eye", "full", "full_like", "linspace", "meshgrid", "ones", "ones_like", "tril",
    "triu", "zeros", "zeros_like",
]  # fmt: skip

Shape = int | Sequence[int]
# Types of lists of floats, integers and bools.
_DEFAULTS = (dtypes.float64, dtypes.int64, dtypes.bool)


def asarray(obj: Any, /, *, dtype: Any = None, device: str | Device | None = None, copy: bool | None = None) -> Array:
    """An array of numbers, nested lists, NumPy arrays or whatever else knows DLPack or NumPy's protocol.

    Elements are copied, but for those of an array of ours on the same device, unless `copy` is true. Numbers and those of lists
    are exact or an error; arrays are converted as `astype` does.

    Raises:
        ArgumentError: `copy` is false, and a copy is needed; NaN among integers.
        OverflowError: a type of integers does not have a number.
        DTypeError: something else than numbers, complex ones for a type that is not.
    """
    to = None if dtype is None else dtypes.of(dtype)
    if isinstance(obj, Array):
        return _again(obj, to, obj.device if device is None else device_of(device), copy)
    if copy is False:
        raise ArgumentError("copy: memory of others is copied; only arrays of hologram are taken as they are")
    at = device_of(device)
    if not isinstance(obj, (list, tuple, np.ndarray)) and hasattr(obj, "__dlpack__"):
        made = _exchanged(obj, at)
        if made is not None:
            return made if to is None else astype(made, to, copy=False)
    if type(obj) is list and to is None:
        listed = core.listed(obj, at, _DEFAULTS)
        if listed is not None:
            return listed
    return host.from_numpy(values.elements(obj, to), at, to)


def _exchanged(obj: Any, device: Device) -> Array | None:
    """An array of what knows DLPack; None where it does not give its memory so, and knows NumPy's protocol."""
    try:
        return from_dlpack(obj, device=device)
    except (BufferError, RuntimeError, TypeError):
        if hasattr(obj, "__array__"):
            return None
        raise


def _again(x: Array, dtype: DType | None, device: Device, copy: bool | None) -> Array:
    to = x.dtype if dtype is None else dtype
    if x.dtype is to and x.device == device:
        return core.copied(x) if copy else x
    if copy is False:
        raise ArgumentError(f"copy: {x.dtype.name} on {x.device} becomes {to.name} on {device} only by a copy")
    if x.device != device:
        x = host.from_numpy(host.view(x), device, x.dtype)
    return fitted(x, to)


def empty(shape: Shape, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Elements that are not defined until they are written; float64 unless said otherwise."""
    return core.new(device_of(device), shape_of(shape), dtypes.of(dtype or dtypes.float64))


def zeros(shape: Shape, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Zeros; float64 unless said otherwise."""
    return core.new(device_of(device), shape_of(shape), dtypes.of(dtype or dtypes.float64), zeroed=True)


def ones(shape: Shape, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Ones; float64 unless said otherwise."""
    return full(shape, 1, dtype=dtype or dtypes.float64, device=device)


def full(shape: Shape, fill_value: Any, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """One number for all elements; of its own default type unless said otherwise."""
    if isinstance(fill_value, (Array, np.ndarray)) and fill_value.ndim == 0:
        dtype, fill_value = fill_value.dtype if dtype is None else dtype, fill_value.item()
    to = dtypes.scalar_dtype(fill_value) if dtype is None else dtypes.of(dtype)
    extents, at, number = shape_of(shape), device_of(device), values.scalar(fill_value, to)
    if to.kind == "complex":
        return core.copied(host.from_numpy(number, at, to).broadcast(extents))
    return core.recorded(core.number(number, to.buffer), extents, to, at)  # type: ignore[arg-type]


def _like(name: str, x: Array, dtype: Any, device: str | Device | None) -> dict[str, Any]:
    check_arrays(name, x)
    return {"shape": x.shape, "dtype": x.dtype if dtype is None else dtype, "device": x.device if device is None else device}


def empty_like(x: Array, /, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """As `empty`, in the shape, type and place of x."""
    return empty(**_like("empty_like", x, dtype, device))


def zeros_like(x: Array, /, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Zeros in the shape, type and place of x."""
    return zeros(**_like("zeros_like", x, dtype, device))


def ones_like(x: Array, /, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Ones in the shape, type and place of x."""
    return ones(**_like("ones_like", x, dtype, device))


def full_like(x: Array, /, fill_value: Any, *, dtype: Any = None, device: str | Device | None = None) -> Array:
    """One number for all elements, in the shape, type and place of x."""
    return full(**_like("full_like", x, dtype, device), fill_value=fill_value)


def _number(name: str, x: Any) -> Any:
    """A number of Python's, of a number of NumPy's or an array of one."""
    found = values.number(x.item() if isinstance(x, (Array, np.ndarray)) and x.ndim == 0 else x)
    if found is None:
        raise TypeError(f"{name}: {type(x).__name__} is no number")
    return found


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: str | Device | None = None
) -> Array:
    """Numbers from start (0, if it is the only one) to before stop; int64 of integers, else float64."""
    if stop is None:
        start, stop = 0, start
    start, stop, step = _number("start", start), _number("stop", stop), _number("step", step)
    whole = all(isinstance(number, int) for number in (start, stop, step))
    to = (dtypes.int64 if whole else dtypes.float64) if dtype is None else dtypes.of(dtype)
    made: Any
    if to.kind in ("int", "uint") and whole:
        count = range(start, stop, step)
        if count and not (values.fits(count[0], to) and values.fits(count[-1], to)):
            raise OverflowError(f"arange: {count[0]} to {count[-1]} does not fit in {to.name}")
        first, by = (start, step) if count else (0, 1)
        # NumPy has no range that ends near what a type has.
        has_range = abs(first) + abs(by * (len(count) + 1)) < 2**63
        made = np.arange(first, first + len(count) * by, by) if has_range else values.elements(list(count), to)
    else:
        with np.errstate(all="ignore"):
            made = np.arange(start, stop, step, dtype=None if to is dtypes.bfloat16 or whole else to.numpy)
    return host.from_numpy(made, device_of(device), to)


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: Any = None, device: str | Device | None = None, endpoint: bool = True
) -> Array:
    """`num` numbers from start to stop, with equal distances; rounded down where the type is of integers."""
    start, stop = _number("start", start), _number("stop", stop)
    if dtype is None:
        imaginary = isinstance(start, complex) or isinstance(stop, complex)
        dtype = dtypes.complex128 if imaginary else dtypes.float64
    to = dtypes.of(dtype)
    with np.errstate(all="ignore"):
        made: Any = np.linspace(start, stop, operator.index(num), endpoint=endpoint)
    if to.kind in ("int", "uint"):
        made = values.elements(np.floor(made).tolist(), to)
    return host.from_numpy(made, device_of(device), to)


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: str | Device | None = None
) -> Array:
    """Ones on a diagonal, zeros elsewhere; float64 unless said otherwise."""
    to = dtypes.of(dtype or dtypes.float64)
    return host.from_numpy(np.eye(n_rows, n_cols, k), device_of(device), to)


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Each array's elements over the grid of all, as views; "xy": the first along rows, "ij": along the first dimension."""
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"indexing: {indexing!r}, must be 'xy' or 'ij'")
    check_arrays("meshgrid", *arrays)
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
    return tuple(result)


def _triangle(x: Array, keep: np.ndarray[Any, Any]) -> Array:
    mask = host.from_numpy(keep, x.device, dtypes.bool)
    zero = False if x.dtype.kind == "bool" else 0
    return where(mask, x, zero)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Zeros above the k-th diagonal of each matrix."""
    return _triangle(x, np.tri(*matrix_of("tril", x), k, dtype=bool))


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Zeros below the k-th diagonal of each matrix."""
    return _triangle(x, ~np.tri(*matrix_of("triu", x), k - 1, dtype=bool))
