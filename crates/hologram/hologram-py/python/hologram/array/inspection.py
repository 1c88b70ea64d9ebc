"""What this namespace has: `__array_namespace_info__`, `finfo`, `iinfo`, `can_cast`, `isdtype`, `result_type`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from . import dtypes, values
from .core import Array
from .devices import Device, all_devices, default_device, device_of
from .dtypes import DType

__all__ = ["Info", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]


@dataclass(frozen=True)
class FloatInfo:
    """Limits of a type of floats, or of the parts of complex numbers."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntInfo:
    """Limits of a type of integers."""

    bits: int
    max: int
    min: int
    dtype: DType


def _type_of(type: Any) -> DType:
    return type.dtype if isinstance(type, Array) else dtypes.of(type)


def finfo(type: Any, /) -> FloatInfo:
    """Limits of a type of floats or of complex numbers, or of an array's."""
    dtype = _type_of(type)
    if dtype.kind not in ("float", "complex"):
        raise DTypeError(f"finfo: {dtype.name} is no type of floats")
    if dtype is dtypes.bfloat16:
        return FloatInfo(16, 2.0**-7, (2 - 2.0**-7) * 2.0**127, -(2 - 2.0**-7) * 2.0**127, 2.0**-126, dtype)
    found = np.finfo(dtype.numpy)
    part = dtypes.of(found.dtype)
    limits = (float(found.eps), float(found.max), float(found.min), float(found.smallest_normal))
    return FloatInfo(part.bits, *limits, part)


def iinfo(type: Any, /) -> IntInfo:
    """Limits of a type of integers, or of an array's."""
    dtype = _type_of(type)
    if dtype.kind not in ("int", "uint"):
        raise DTypeError(f"iinfo: {dtype.name} is no type of integers")
    found = np.iinfo(dtype.numpy)
    return IntInfo(dtype.bits, int(found.max), int(found.min), dtype)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether the type of results of both is `to`: no value of the one is lost in the other."""
    source, target = _type_of(from_), dtypes.of(to)
    try:
        return dtypes.promote(source, target) is target
    except DTypeError:
        return False


_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int",),
    "unsigned integer": ("uint",),
    "integral": ("int", "uint"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("int", "uint", "float", "complex"),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a type is of a kind: a type, a name such as "real floating", or a tuple of these."""
    found = dtypes.of(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(found, part) for part in kind)
    if isinstance(kind, str):
        if kind not in _KINDS:
            raise ArgumentError(f"kind: {kind!r} is none of {', '.join(_KINDS)}")
        return found.kind in _KINDS[kind]
    return found is dtypes.of(kind)


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The type of results of arrays, types and Python numbers."""
    numbers = [(x, values.number(x)) for x in arrays_and_dtypes]
    given = [found for _, found in numbers if found is not None]
    types = [_type_of(x) for x, found in numbers if found is None]
    if not types:
        raise ArgumentError("result_type: an array or a type is needed")
    dtype = types[0]
    for other in types[1:]:
        dtype = dtypes.promote(dtype, other)
    for number in given:
        dtype = dtypes.with_scalar(dtype, number)
    return dtype


class Info:
    """What `__array_namespace_info__()` returns."""

    def capabilities(self) -> dict[str, Any]:
        """Indexing with bools and results whose shapes depend on values are there; arrays have at most 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Where arrays are made unless said otherwise."""
        return default_device()

    def default_dtypes(self, *, device: str | Device | None = None) -> dict[str, DType]:
        """Types of results where none is asked for."""
        device_of(device)
        return {
            "real floating": dtypes.float64,
            "complex floating": dtypes.complex128,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(self, *, device: str | Device | None = None, kind: Any = None) -> dict[str, DType]:
        """Types of the standard by name, of a kind if one is given."""
        device_of(device)
        extra = (dtypes.float16, dtypes.bfloat16)
        found = {dtype.name: dtype for dtype in dtypes.ALL if dtype not in extra}
        return found if kind is None else {name: dtype for name, dtype in found.items() if isdtype(dtype, kind)}

    def devices(self) -> tuple[Device, ...]:
        """Devices of this machine."""
        return tuple(all_devices())
