"""Values that come in: numbers of Python and of NumPy, and nested lists of them.

One conversion for `asarray`, `full`, `x[key] =`, `clip`, `where`, comparisons and operators: a number is exact or an error, floats are
rounded to nearest and truncated for integers. Arrays are another matter: `astype` converts those, and integers wrap.
"""

import math
import operator
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from . import core, dtypes, host
from .core import Array
from .dtypes import DType

Number = bool | int | float | complex
_PLAIN = frozenset((bool, int, float, complex))
# Floats from here on may stand for several integers.
_INEXACT = 2.0**53
_INTEGERS = ("int", "uint")


def number(x: Any) -> Number | None:
    """A number of Python's or NumPy's as one of Python's; None of anything else.

    >>> number(np.float32(0.5))
    0.5
    """
    if type(x) in _PLAIN:
        return x  # type: ignore[no-any-return]
    if isinstance(x, np.generic):
        kind = x.dtype.kind
        if kind == "b":
            return bool(x)
        if kind in "iu":
            return int(x)  # type: ignore[call-overload, no-any-return]
        if kind == "f" or x.dtype.name == "bfloat16":
            return float(x)  # type: ignore[arg-type]
        return complex(x) if kind == "c" else None  # type: ignore[arg-type]
    if isinstance(x, int):
        return operator.index(x)
    if isinstance(x, float):
        return float(x)
    return complex(x) if isinstance(x, complex) else None


def limits(dtype: DType) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    bits = dtype.bits - (dtype.kind == "int")
    return (-(1 << bits) if dtype.kind == "int" else 0), (1 << bits) - 1


def fits(x: int, dtype: DType) -> bool:
    """True if a type of integers has a number."""
    least, most = limits(dtype)
    return least <= x <= most


def scalar(x: Any, dtype: DType) -> Number:
    """A number as one that an element of a type is, floats rounded to the nearest.

    Raises:
        TypeError: it is no number.
        DTypeError: it is complex, and the type is not.
        ArgumentError: it is NaN, and the type is of integers.
        OverflowError: a type of integers does not have it.
    """
    found = number(x.item() if isinstance(x, (Array, np.ndarray)) and x.ndim == 0 else x)
    if found is None:
        raise TypeError(f"{type(x).__name__} is no number")
    if dtype.kind == "bool":
        return bool(found)
    if dtype.kind == "complex":
        return complex(*(core.rounded(part, dtype.buffer) for part in (found.real, found.imag)))
    if isinstance(found, complex):
        raise DTypeError(f"{found} is complex, {dtype.name} is not")
    if dtype.kind == "float":
        return core.rounded(found, dtype.buffer)
    if isinstance(found, float):
        if math.isnan(found):
            raise ArgumentError(f"NaN is no integer, {dtype.name} expected")
        if math.isinf(found):
            raise OverflowError(f"{found} does not fit in {dtype.name}")
    whole = int(found)
    if not fits(whole, dtype):
        raise OverflowError(f"{found} does not fit in {dtype.name}")
    return whole


def elements(obj: Any, dtype: DType | None = None) -> np.ndarray[Any, Any]:
    """Nested lists, a number or an array of others as NumPy's array, whose elements a type has; of the type that they have in
    common where none is given. Arrays of others are taken as they are, but for a single number.

    Raises:
        ValueError: lists of different lengths.
        DTypeError: something else than numbers; complex ones, and the type is not.
        ArgumentError: NaN, and the type is of integers.
        OverflowError: a type of integers does not have one, or no type has all.
    """
    if dtype is not None and isinstance(obj, np.ndarray) and obj.ndim == 0:
        obj = obj[()]
    if dtype is not None and number(obj) is not None:
        obj = scalar(obj, dtype)
        return np.asarray(obj, None if dtype is dtypes.bfloat16 else dtype.numpy)
    listed = isinstance(obj, (list, tuple))
    found = np.asarray(_plain(obj) if listed else obj)
    kind = found.dtype.kind
    if kind not in "biufcO" and found.dtype.name != "bfloat16":
        raise DTypeError(f"obj: elements are {found.dtype}, numbers expected")
    if dtype is None:
        return _common(obj, found) if listed else _numbers(found)
    if kind == "c" and dtype.kind not in ("complex", "bool"):
        raise DTypeError(f"obj: complex numbers, {dtype.name} is not complex")
    if not listed and kind != "O":
        return found
    if kind == "O" or dtype.kind in _INTEGERS and _is_inexact(found):
        return _each(obj, dtype)
    if dtype.kind in _INTEGERS and kind != "b" and found.size:
        _check_range(found, dtype)
    return found


def _plain(obj: Any) -> Any:
    """Nested lists in which arrays of ours are NumPy's and nobody's memory is shown to others."""
    if isinstance(obj, (list, tuple)):
        return obj if _PLAIN.issuperset(map(type, obj)) else [_plain(part) for part in obj]
    return host.view(obj) if isinstance(obj, Array) else obj


def _numbers(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if found.dtype.kind != "O":
        return found
    flat = found.reshape(-1).tolist()
    if flat and all(number(part) is not None for part in flat):
        raise OverflowError(f"obj: {max(flat, key=abs)} does not fit in uint64; give a dtype of floats")
    raise DTypeError(f"obj: elements are {found.dtype}, numbers expected")


def _common(obj: Any, found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Elements of lists in their common type; integers are none of floats."""
    if found.dtype == np.float64 and found.size and np.abs(found).max() >= 2.0**63:
        parts = np.array(_plain(obj), dtype=object).reshape(-1)
        if all(isinstance(part, (int, np.integer)) for part in parts):
            least, most = int(min(parts)), int(max(parts))
            if least < 0 or most >= 2**64:
                raise OverflowError(f"obj: no integer type holds {least} and {most}; give a dtype of floats")
            return _each(obj, dtypes.uint64)
    return _numbers(found)


def _is_inexact(found: np.ndarray[Any, Any]) -> bool:
    if found.dtype.kind != "f" or not found.size:
        return False
    largest = np.abs(found).max()
    return bool(largest >= _INEXACT or np.isnan(largest))


def _each(obj: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Elements of lists, each converted by itself."""
    parts = np.array(_plain(obj), dtype=object)
    numpy = np.dtype(np.float64) if dtype is dtypes.bfloat16 else dtype.numpy
    made = np.empty(parts.shape, numpy)
    flat = made.reshape(-1)
    for i, part in enumerate(parts.reshape(-1).tolist()):
        if number(part) is None:
            raise DTypeError(f"obj: elements are {type(part).__name__}, numbers expected")
        with np.errstate(all="ignore"):
            flat[i] = scalar(part, dtype)
    return made


def _check_range(found: np.ndarray[Any, Any], dtype: DType) -> None:
    least, most = limits(dtype)
    for extreme in (found.min(), found.max()):
        if not least <= int(extreme) <= most:
            raise OverflowError(f"{extreme} does not fit in {dtype.name}")
