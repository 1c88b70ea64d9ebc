"""What elementwise functions are made of: inputs, the type they are computed in, and the steps that are recorded."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from ...errors import DTypeError, ShapeError
from .. import core, dtypes, values
from ..core import Array, Value, number, step
from ..devices import Device
from ..dtypes import DType
from ..layout import broadcast_shapes

Scalar = bool | int | float | complex
FLOATS = ("float",)
NUMBERS = ("int", "uint", "float", "complex")
REALS = ("int", "uint", "float")
INTS = ("int", "uint")


class Typed:
    """Makes steps on elements of one type in one shape."""

    __slots__ = ("shape", "type")

    def __init__(self, type: str, shape: tuple[int, ...]):
        self.type = type
        self.shape = shape

    def __call__(self, operation: str, *args: Value) -> Value:
        """A step that gives the same type."""
        return step(operation, self.type, args, self.type, self.shape)

    def truth(self, operation: str, *args: Value) -> Value:
        """A step that gives truths."""
        return step(operation, self.type, args, "uint8", self.shape)

    def number(self, value: float) -> Value:
        """A number of the type."""
        return number(value, self.type)


Rule = Callable[..., Value]
_F = TypeVar("_F", bound=Callable[..., Array])


class OfOne(Protocol):
    """A function of an array; what it gives is written into `out` where one is given."""

    __name__: str
    __qualname__: str

    def __call__(self, x: Array, /, *, out: Array | None = None) -> Array: ...


class OfTwo(Protocol):
    """A function of two arrays, or of an array and a number; what it gives is written into `out` where one is given."""

    __name__: str
    __qualname__: str

    def __call__(self, x1: Any, x2: Any, /, *, out: Array | None = None) -> Array: ...


def converted(value: Value, source: DType, to: DType, shape: tuple[int, ...]) -> Value:
    """A value of one type as another; neither is complex, and no double becomes a half."""
    if source is to:
        return value
    if to.kind == "bool":
        if source.half:
            value, source = _convert(value, source, dtypes.float32, shape), dtypes.float32
        return step("ne", source.buffer, (value, number(0, source.buffer)), "uint8", shape)
    if source.half and to is not dtypes.float32:
        value, source = _convert(value, source, dtypes.float32, shape), dtypes.float32
    elif to.half and source is not dtypes.float32:
        value, source = _convert(value, source, dtypes.float32, shape), dtypes.float32
    return _convert(value, source, to, shape)


def _convert(value: Value, source: DType, to: DType, shape: tuple[int, ...]) -> Value:
    if source.buffer == to.buffer:
        return value
    return step(f"convert.{to.buffer}", source.buffer, (value,), to.buffer, shape)


def common_device(arrays: Sequence[Array]) -> Device:
    """The device of arrays.

    Raises:
        DTypeError: they live on several.
    """
    device = arrays[0].device
    for other in arrays[1:]:
        if other.device is not device:
            raise DTypeError(f"arrays on {device} and {other.device}: move one with to_device")
    return device


def operands(name: str, *inputs: Any) -> tuple[list[Any], DType, Device, tuple[int, ...]]:
    """Arrays and Python numbers of an operation: with the type they promote to, device and shape."""
    found = [x if isinstance(x, Array) else known(name, x) for x in inputs]
    arrays = [x for x in found if isinstance(x, Array)]
    if not arrays:
        raise TypeError(f"{name}: needs an array, made by hologram.asarray")
    device = common_device(arrays)
    dtype = arrays[0].dtype
    for other in arrays[1:]:
        dtype = dtypes.promote(dtype, other.dtype)
    for x in found:
        if not isinstance(x, Array):
            dtype = dtypes.with_scalar(dtype, x)
    shape = broadcast_shapes(*(x.shape for x in arrays)) if len(arrays) > 1 else arrays[0].shape
    if dtype.half:
        # They are computed in float32, from numbers of their own type.
        found = [x if isinstance(x, Array) else values.scalar(x, dtype) for x in found]
    return found, dtype, device, shape


def known(name: str, x: Any) -> Scalar:
    """A number of Python's or NumPy's as one of Python's."""
    found = values.number(x)
    if found is None:
        raise TypeError(f"{name}: {type(x).__name__} is neither an array, made by hologram.asarray, nor a number")
    return found


def check_arrays(name: str, *inputs: Any) -> None:
    """Raises: TypeError: an input is no array."""
    for x in inputs:
        if not isinstance(x, Array):
            raise TypeError(f"{name}: {type(x).__name__} given, an array expected, made by hologram.asarray")


def matrix_of(name: str, x: Array, square: bool = False) -> tuple[int, int]:
    """Rows and columns of the matrices that an array has.

    Raises:
        TypeError: it is none.
        ShapeError: it has less than two dimensions; the matrices should be `square` and are not.
    """
    check_arrays(name, x)
    if x.ndim < 2:
        raise ShapeError(f"{name}: {x.ndim} dimensions, a matrix has at least 2")
    rows, cols = x.shape[-2:]
    if square and rows != cols:
        raise ShapeError(f"{name}: matrices of {rows} rows and {cols} columns are not square")
    return rows, cols


def check_kind(name: str, x: Array | DType, kinds: Sequence[str]) -> None:
    """Checks an array, or a type.

    Raises:
        TypeError: it is neither.
        DTypeError: the type is of none of the kinds.
    """
    if not isinstance(x, DType):
        check_arrays(name, x)
    dtype = x if isinstance(x, DType) else x.dtype
    if dtype.kind not in kinds:
        raise DTypeError(f"{name}: not defined for {dtype.name}, only for {', '.join(kinds)}")


def computed_in(dtype: DType) -> DType:
    """The type that results of this type are calculated in."""
    return dtypes.float32 if dtype.half else dtype


def as_value(x: Any, dtype: DType, shape: tuple[int, ...]) -> Value:
    """An array or a number as a value of a type."""
    if isinstance(x, Array):
        return converted(core.value_of(x, shape), x.dtype, dtype, shape)
    return number(values.scalar(x, dtype), dtype.buffer)  # type: ignore[arg-type]


def record(rule: Rule, inputs: Sequence[Any], dtype: DType, shape: tuple[int, ...], device: Device, result: DType) -> Array:
    """Records what a rule makes of inputs of a type; `result` is the type of the array."""
    inner = computed_in(dtype)
    values = [as_value(x, inner, shape) for x in inputs]
    value = rule(Typed(inner.buffer, shape), *values)
    if result.half:
        value = converted(value, dtypes.float32, result, shape)
    return core.recorded(value, shape, result, device)


# Functions of floats that the host computes.
ON_HOST = frozenset((
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "expm1", "log10", "log1p", "log2", "sinh",
))  # fmt: skip


def named(function: _F, name: str, meaning: str) -> _F:
    """The function with a name and a description."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


def same(x: Array) -> Array:
    """The values again, as a new array."""
    if x.dtype.kind == "complex":
        return core.copied(x)
    return core.recorded(core.value_of(x, x.shape), x.shape, x.dtype, x.device)
