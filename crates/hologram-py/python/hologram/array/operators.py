"""Operators and methods of arrays: the functions of this folder by other names. Importing this module gives them to `Array`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import DTypeError
from . import core, elementwise, host, indexing, interchange, linalg, manipulation, printing, reductions
from .core import Array
from .creation import asarray
from .devices import Device
from .layout import axes_of

_OTHERS = (Array, bool, int, float, complex)
# Types of these themselves, which most operands are.
_EXACT = frozenset(_OTHERS)

_BINARY: dict[str, Callable[..., Array]] = {
    "add": elementwise.add,
    "sub": elementwise.subtract,
    "mul": elementwise.multiply,
    "truediv": elementwise.divide,
    "floordiv": elementwise.floor_divide,
    "mod": elementwise.remainder,
    "pow": elementwise.pow,
    "and": elementwise.bitwise_and,
    "or": elementwise.bitwise_or,
    "xor": elementwise.bitwise_xor,
    "lshift": elementwise.bitwise_left_shift,
    "rshift": elementwise.bitwise_right_shift,
    "matmul": linalg.matmul,
}
_COMPARISONS = {
    "eq": elementwise.equal,
    "ne": elementwise.not_equal,
    "lt": elementwise.less,
    "le": elementwise.less_equal,
    "gt": elementwise.greater,
    "ge": elementwise.greater_equal,
}
_UNARY = {
    "abs": elementwise.abs,
    "neg": elementwise.negative,
    "pos": elementwise.positive,
    "invert": elementwise.bitwise_invert,
}


def _operand(other: Any, like: Array) -> Any:
    """What stands beside an array in an operator: an array of NumPy's is made one of ours, its numbers Python's."""
    if isinstance(other, np.generic):
        return other.item()
    if isinstance(other, np.ndarray):
        return asarray(other, device=like.device)
    return other


def _forward(function: Callable[..., Array]) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if type(other) in _EXACT:
            return function(self, other)
        other = _operand(other, self)
        return function(self, other) if isinstance(other, _OTHERS) else NotImplemented

    return method


def _reflected(function: Callable[..., Array]) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if type(other) in _EXACT:
            return function(other, self)
        other = _operand(other, self)
        return function(other, self) if isinstance(other, _OTHERS) else NotImplemented

    return method


def _in_place(function: Callable[..., Array]) -> Callable[[Array, Any], Any]:
    def method(self: Array, other: Any, /) -> Any:
        if type(other) not in _EXACT:
            other = _operand(other, self)
            if not isinstance(other, _OTHERS):
                return NotImplemented
        result = function(self, other)
        if result.dtype is not self.dtype:
            raise DTypeError(f"in place: the result is {result.dtype.name}, the array {self.dtype.name}")
        if result.shape != self.shape:
            raise ValueError(f"in place: the result has shape {result.shape}, the array {self.shape}")
        core.replace(self, result)
        return self

    return method


def _number(self: Array) -> Any:
    if self.size != 1:
        raise TypeError(f"an array of {self.size} elements is no number")
    return host.view(self).reshape(-1)[0].item()


def _as_bool(self: Array) -> bool:
    """The truth of one element."""
    return bool(_number(self))


def _as_int(self: Array) -> int:
    """The one element, floats truncated."""
    return int(_number(self))


def _as_float(self: Array) -> float:
    """The one element."""
    return float(_number(self))


def _as_complex(self: Array) -> complex:
    """The one element."""
    return complex(_number(self))


def _as_index(self: Array) -> int:
    """The one element, of integers."""
    if self.dtype.kind not in ("int", "uint"):
        raise TypeError(f"an array of {self.dtype.name} is no index")
    return int(_number(self))


def _length(self: Array) -> int:
    """Extent of the first dimension."""
    if not self.shape:
        raise TypeError("an array without dimensions has no length")
    return self.shape[0]


def _iterate(self: Array) -> Any:
    """The arrays along the first dimension."""
    return (indexing.get(self, i) for i in range(_length(self)))


def _tolist(self: Array) -> Any:
    """The elements as nested lists of Python numbers."""
    return host.view(self).tolist()


def _item(self: Array) -> Any:
    """The one element as a Python number."""
    return _number(self)


def _to_device(self: Array, device: str | Device, /, *, stream: Any = None) -> Array:
    """The array on a device: itself, or a copy where it is elsewhere."""
    if stream is not None:
        raise ValueError("stream: there are none")
    return asarray(self, device=device)


def _array_protocol(self: Array, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """For NumPy: the memory itself on the processor, else a copy."""
    return interchange.to_numpy(self, dtype, copy)


def _dlpack(
    self: Array,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """For DLPack: the memory itself on the processor, copies from elsewhere where they are asked for."""
    return interchange.dlpack(self, stream, max_version, dl_device, copy)


def _transposed(self: Array) -> Array:
    """Rows and columns exchanged, as a view; of two dimensions."""
    if self.ndim != 2:
        raise ValueError(f"T: {self.ndim} dimensions, 2 expected; use mT or permute_dims")
    return manipulation.permute_dims(self, (1, 0))


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose first argument is the array, with axis and the like also by position."""

    def method(self: Array, axis: Any = None, **named: Any) -> Any:
        return function(self, axis=axis, **named)

    method.__doc__ = function.__doc__
    return method


def _reshape_method(self: Array, *shape: Any) -> Array:
    """The elements in another shape, given as numbers or as a tuple."""
    given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return manipulation.reshape(self, given)


def _transpose_method(self: Array, *axes: int) -> Array:
    """Dimensions in another order, reversed unless it is given."""
    return manipulation.permute_dims(self, axes_of(axes, self.ndim) if axes else tuple(reversed(range(self.ndim))))


def _astype_method(self: Array, dtype: Any, *, copy: bool = True) -> Array:
    """The elements converted."""
    return elementwise.astype(self, dtype, copy=copy)


def _put(self: Array, key: Any, value: Any, /) -> None:
    indexing.put(self, key, value)


def _get(self: Array, key: Any, /) -> Array:
    return indexing.get(self, key)


def _dlpack_device(self: Array) -> tuple[int, int]:
    return interchange.dlpack_device(self)


def _install() -> None:
    methods: dict[str, Any] = {
        "__array__": _array_protocol,
        # NumPy's functions and operators leave arrays of ours to us.
        "__array_ufunc__": None,
        "__bool__": _as_bool,
        "__complex__": _as_complex,
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
        "__float__": _as_float,
        "__getitem__": _get,
        "__hash__": None,
        "__index__": _as_index,
        "__int__": _as_int,
        "__iter__": _iterate,
        "__len__": _length,
        "__reduce__": interchange.pickled,
        "__repr__": printing.text,
        "__setitem__": _put,
        "__str__": printing.values_text,
        "T": property(_transposed),
        "astype": _astype_method,
        "item": _item,
        "mT": property(linalg.matrix_transpose),
        "reshape": _reshape_method,
        "to_device": _to_device,
        "tolist": _tolist,
        "transpose": _transpose_method,
    }
    for name in ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"):
        methods[name] = _method(getattr(reductions, name))
    for name, function in _BINARY.items():
        methods[f"__{name}__"] = _forward(function)
        methods[f"__r{name}__"] = _reflected(function)
        methods[f"__i{name}__"] = _in_place(function)
    for name, function in _COMPARISONS.items():
        methods[f"__{name}__"] = _forward(function)
    for name, unary in _UNARY.items():
        methods[f"__{name}__"] = unary
    for name, method in methods.items():
        setattr(Array, name, method)


_install()
