"""Element types of arrays, and which type results have.

The standard's fourteen types, and `float16` and `bfloat16`, which are calculated in float32 and rounded once.
Of kinds that the standard leaves open: an array of integers with one of floats, or with a Python float, gives what NumPy
gives; so does a bool with a number. `uint64` with a signed integer has no type that holds both, and is refused.
"""

from functools import lru_cache
from typing import Any

import numpy as np

from .._hologram import set_element_types
from ..errors import DTypeError

__all__ = [
    "DType", "bfloat16", "bool", "complex128", "complex64", "float16", "float32", "float64", "int16", "int32", "int64", "int8",
    "uint16", "uint32", "uint64", "uint8",
]  # fmt: skip

_bool = bool


class DType:
    """Type of an array's elements: `hologram.array.float32`. Equal to NumPy's type and to its name, too."""

    __slots__ = ("bits", "buffer", "half", "kind", "lanes", "name")

    name: str
    """As NumPy calls it."""
    kind: str
    """"bool", "int", "uint", "float" or "complex"."""
    bits: int
    """Bits of an element."""
    buffer: str
    """Type of the buffer's elements."""
    lanes: int
    """Elements of the buffer for one of the array: 2 of complex numbers."""
    half: _bool
    """Whether it is one of the floats of 16 bits, which are calculated in float32."""

    def __init__(self, name: str, kind: str, bits: int, buffer: str | None = None, lanes: int = 1):
        slots = {"name": name, "kind": kind, "bits": bits, "buffer": buffer or name, "lanes": lanes}
        for slot, value in {**slots, "half": kind == "float" and bits == 16}.items():
            object.__setattr__(self, slot, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: element types do not change")

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy's type.

        Raises:
            DTypeError: bfloat16, and `ml_dtypes` is not installed.
        """
        return _numpy_type(self.name)

    @property
    def type(self) -> type[np.generic]:
        """NumPy's class of numbers, as `numpy.dtype` has it."""
        return self.numpy.type

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type: `numpy.dtype(hologram.array.float32)` asks for it."""
        return self.numpy

    def __eq__(self, other: object) -> _bool:
        if isinstance(other, DType):
            return self is other
        if isinstance(other, str):
            return other == self.name
        if isinstance(other, np.dtype):
            return other.name == self.name and other.isnative
        if isinstance(other, type):
            return _BY_TYPE.get(other) is self or issubclass(other, np.generic) and other.__name__.rstrip("_") == self.name
        return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"hologram.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return of, (self.name,)


bool = DType("bool", "bool", 8, "uint8")
int8, int16, int32, int64 = (DType(f"int{bits}", "int", bits) for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (DType(f"uint{bits}", "uint", bits) for bits in (8, 16, 32, 64))
float16 = DType("float16", "float", 16)
bfloat16 = DType("bfloat16", "float", 16)
float32 = DType("float32", "float", 32)
float64 = DType("float64", "float", 64)
complex64 = DType("complex64", "complex", 64, "float32", 2)
complex128 = DType("complex128", "complex", 128, "float64", 2)

ALL = (
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip
set_element_types(ALL)
_BY_NAME = {dtype.name: dtype for dtype in ALL}
_BY_TYPE = {_bool: bool, int: int64, float: float64, complex: complex128}


@lru_cache
def _numpy_type(name: str) -> np.dtype[Any]:
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        message = "bfloat16: NumPy has it only with the package `ml_dtypes`; install it, or use astype(float32)"
        raise DTypeError(message) from None
    return np.dtype(ml_dtypes.bfloat16)


def of(dtype: Any) -> DType:
    """The type that one of ours, one of NumPy's, a name or a Python type means.

    Raises:
        DTypeError: none of them.
    """
    if isinstance(dtype, DType):
        return dtype
    if isinstance(dtype, type) and dtype in _BY_TYPE:
        return _BY_TYPE[dtype]
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    try:
        # NumPy takes None for float64.
        name = "None" if dtype is None else np.dtype(dtype).name
    except (TypeError, ValueError):
        name = str(dtype)
    if name not in _BY_NAME:
        raise DTypeError(f"dtype: {dtype} is none of {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def scalar_dtype(value: complex) -> DType:
    """The default type of a Python number."""
    if isinstance(value, np.generic):
        return of(value.dtype)
    for kind, dtype in _BY_TYPE.items():
        if isinstance(value, kind):
            return dtype
    raise DTypeError(f"{value!r} of {type(value).__name__} is no number")


@lru_cache(maxsize=None)
def promote(a: DType, b: DType) -> DType:
    """The type of results of two arrays.

    Raises:
        DTypeError: no type holds both.
    """
    if a is b:
        return a
    halves = {float16, bfloat16}
    if {a, b} == halves:
        return float32
    if halves & {a, b}:
        # As NumPy does with float16: a larger float wins, small integers fit.
        half, other = (a, b) if a in halves else (b, a)
        if other.kind == "bool" or other.bits <= 8 and other.kind in ("int", "uint"):
            return half
        if other.kind in ("int", "uint"):
            return float32 if other.bits == 16 else float64
        return other
    found = of(np.promote_types(a.numpy, b.numpy))
    if found.kind == "float" and {a.kind, b.kind} == {"int", "uint"}:
        raise DTypeError(f"{a.name} and {b.name}: no integer type holds both; convert one with astype")
    return found


def with_scalar(dtype: DType, value: complex) -> DType:
    """The type of results of an array and a Python number: the array's, if it is of the same kind or a higher one."""
    own = scalar_dtype(value)
    order = ("bool", "uint", "int", "float", "complex")
    kind = "uint" if own is int64 else own.kind
    if order.index(kind) <= order.index(dtype.kind):
        return dtype
    return complex64 if own is complex128 and dtype in (float16, bfloat16, float32) else own


def complex_of(dtype: DType) -> DType:
    """The type of complex numbers that transforms and eigenvalues of a type have."""
    return complex64 if dtype in (float32, complex64) else complex128
