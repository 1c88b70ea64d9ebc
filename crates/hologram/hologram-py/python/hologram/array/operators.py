"""Operators and methods of arrays: the functions of this folder by other names. `install` gives them to `Array`."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import ArgumentError, DTypeError
from . import core, elementwise, host, interchange, linalg, manipulation, printing, reductions, values
from .core import Array
from .creation import asarray, zeros_like
from .elementwise.steps import common_device
from .devices import Device

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
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
# The function of the same name here for each of NumPy's.
_FUNCTIONS: dict[np.ufunc, Callable[..., Array]] = {
    numpys: getattr(module, name)
    for module in (elementwise, linalg)
    for name in module.__all__
    if isinstance(numpys := getattr(np, name, None), np.ufunc)
}
_COMPARED = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})
_UNARY = {
    "abs": elementwise.abs,
    "neg": elementwise.negative,
    "pos": elementwise.positive,
    "invert": elementwise.bitwise_invert,
}


def _operand(other: Any, like: Array) -> Any:
    """What stands beside an array in an operator: an array of NumPy's is made one of ours, its numbers Python's."""
    if isinstance(other, np.ndarray):
        return asarray(other, device=like.device)
    found = values.number(other)
    return other if found is None else found


def _binary(function: Callable[..., Any], swapped: bool = False) -> Callable[[Array, Any], Any]:
    """An operator; `swapped`: the array is its right operand."""

    def method(self: Array, other: Any, /) -> Any:
        if type(other) not in _EXACT:
            other = _operand(other, self)
            if not isinstance(other, _OTHERS):
                return NotImplemented
        return function(other, self) if swapped else function(self, other)

    return method


def _alone(function: Callable[..., Array]) -> Callable[[Array], Array]:
    def method(self: Array, /) -> Array:
        return function(self)

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


def _as_bool(self: Array) -> bool:
    """The truth of one element."""
    if self.size != 1:
        raise ArgumentError(f"the truth of {self.size} elements is not defined: use hologram.any(x) or hologram.all(x)")
    return bool(self.item())


def _formatted(self: Array, spec: str, /) -> str:
    """The one element of an array without dimensions, as a number is formatted; others only without a format."""
    if not spec:
        return str(self)
    if self.ndim:
        raise TypeError(f"format {spec!r}: of an array of {self.ndim} dimensions; format its elements, or str(x)")
    return format(self.item(), spec)


def _rounded(self: Array, digits: int | None = None, /) -> Any:
    """The nearest integers, halves to even; of one element without digits a Python integer."""
    if digits is None:
        return round(self.item()) if self.ndim == 0 else elementwise.round(self)
    return host.call(np.round, self, digits, device=self.device, result=self.dtype)


def _contains(self: Array, value: Any, /) -> bool:
    """True if an element is equal to a value."""
    return bool(reductions.any(elementwise.equal(self, _operand(value, self))))


def _divmod(x1: Any, x2: Any) -> tuple[Array, Array]:
    """The quotient rounded down, and what it leaves."""
    return elementwise.floor_divide(x1, x2), elementwise.remainder(x1, x2)


def _conjugate(self: Array) -> Array:
    """The complex conjugate."""
    return elementwise.conj(self)


def _copied(self: Array) -> Array:
    """The elements in memory of their own, row-major."""
    return core.copied(self)


def _real(self: Array) -> Array:
    """The real part, of complex numbers as a view."""
    return elementwise.real(self)


def _imaginary(self: Array) -> Array:
    """The imaginary part; zeros of real numbers."""
    return elementwise.imag(self) if self.dtype.kind == "complex" else zeros_like(self)


def _squeezed(self: Array, axis: Any = None) -> Array:
    """The array without dimensions of one element, as a view."""
    return manipulation.squeeze(self, axis)


def _as(kind: Callable[[Any], Any]) -> Callable[[Array], Any]:
    def method(self: Array) -> Any:
        if self.ndim:
            raise TypeError(f"an array of {self.ndim} dimensions is no number; item() gives the one element of an array")
        return kind(self.item())

    return method


def _index(element: Any) -> int:
    if type(element) is not int:
        raise TypeError(f"an element of type {type(element).__name__} is no index")
    return element


def _length(self: Array) -> int:
    """Extent of the first dimension."""
    if not self.shape:
        raise TypeError("an array without dimensions has no length")
    return self.shape[0]


def _iterate(self: Array) -> Any:
    """The arrays along the first dimension."""
    return (self[i] for i in range(_length(self)))


def _tolist(self: Array) -> Any:
    """The elements as nested lists of Python numbers."""
    with core.changes:
        return host.view(self).tolist()


def _to_device(self: Array, device: str | Device, /, *, stream: Any = None) -> Array:
    """The array on a device: itself, or a copy where it is elsewhere."""
    if stream is not None:
        raise ValueError("stream: there are none")
    return asarray(self, device=device)


def _namespace(self: Array, /, *, api_version: str | None = None) -> Any:
    """The module `hologram.array`."""
    if api_version not in (None, *_VERSIONS):
        raise ArgumentError(f"api_version: {api_version}, the newest is {_VERSIONS[-1]}")
    return sys.modules[__package__]


# NumPy's functions call these methods with its own names of arguments, so that `numpy.mean(x)` works.


def _named(method: Any, function: Callable[..., Any]) -> Any:
    method.__name__ = method.__qualname__ = function.__name__
    method.__doc__ = function.__doc__
    return method


def _total(function: Callable[..., Array]) -> Any:
    """A sum or product as a method."""

    def method(self: Array, axis: Any = None, dtype: Any = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        return function(self, axis=axis, dtype=dtype, out=out, keepdims=keepdims)

    return _named(method, function)


def _mean(self: Array, axis: Any = None, dtype: Any = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
    """Mean along axes, of elements converted to a type first, if one is given."""
    return reductions.mean(_typed(self, dtype), axis=axis, out=out, keepdims=keepdims)


def _spread(function: Callable[..., Array]) -> Any:
    """A variance as a method; `ddof` is NumPy's name of `correction`."""

    def method(
        self: Array, axis: Any = None, dtype: Any = None, out: Array | None = None, ddof: float = 0.0, *,
        correction: float | None = None, keepdims: bool = False,
    ) -> Array:  # fmt: skip
        by = ddof if correction is None else correction
        return function(_typed(self, dtype), axis=axis, out=out, correction=by, keepdims=keepdims)

    return _named(method, function)


def _extreme(function: Callable[..., Array]) -> Any:
    """Another fold, or the place of an element, as a method."""

    def method(self: Array, axis: Any = None, out: Array | None = None, *, keepdims: bool = False) -> Array:
        return function(self, axis=axis, out=out, keepdims=keepdims)

    return _named(method, function)


def _typed(x: Array, dtype: Any) -> Array:
    return x if dtype is None else elementwise.astype(x, dtype, copy=False)


def _reshape_method(self: Array, *shape: Any) -> Array:
    """The elements in another shape, given as numbers or as a tuple."""
    return manipulation.reshape(self, shape[0] if len(shape) == 1 else shape)


def _transpose_method(self: Array, *axes: Any) -> Array:
    """Dimensions in another order, given as numbers or as a tuple; reversed without one."""
    order = axes[0] if len(axes) == 1 else axes or None
    return manipulation.permute_dims(self, range(self.ndim)[::-1] if order is None else order)


def _astype_method(self: Array, dtype: Any, *, copy: bool = True) -> Array:
    """The elements converted."""
    return elementwise.astype(self, dtype, copy=copy)


_REDUCTIONS: tuple[tuple[Callable[..., Any], tuple[str, ...]], ...] = (
    (_total, ("prod", "sum")),
    (_spread, ("std", "var")),
    (_extreme, ("all", "any", "argmax", "argmin", "max", "min")),
)


def _of_numpy(self: Array, function: np.ufunc, method: str, /, *inputs: Any, out: tuple[Any, ...] = (), **options: Any) -> Any:
    """Calls this package's function for one of NumPy's, as `numpy.exp(x)`; NumPy's own, on the host, where this package has none,
    and where there are options besides `out`.

    Raises:
        TypeError: `numpy.add.at` and the like, which write into an array.
    """
    known = all(type(x) is np.ndarray or isinstance(x, (*_OTHERS, np.generic)) for x in inputs)
    if not known or not all(x is None or type(x) is np.ndarray or isinstance(x, Array) for x in out):
        # Another library's array may know better.
        return NotImplemented
    if method == "at":
        raise TypeError(f"numpy.{function.__name__}.at does not write into arrays of hologram: write x[indices] = values")
    ours = None if options or method != "__call__" else _FUNCTIONS.get(function)
    if ours is None:
        common_device([x for x in inputs if isinstance(x, Array)])
        options = {name: np.asarray(value) if isinstance(value, Array) else value for name, value in options.items()}
        result = host.call(getattr(function, method), *inputs, device=self.device, **options)
    else:
        if function in _COMPARED:
            # NumPy hands its numbers over as arrays of no dimensions.
            inputs = tuple(x[()] if type(x) is np.ndarray and not x.ndim else x for x in inputs)
        result = ours(*(_operand(x, self) for x in inputs))
    if isinstance(result, tuple):
        return tuple(map(_written, out or (None,) * len(result), result))
    return _written(*(out or (None,)), result)


def _written(target: Any, result: Array) -> Any:
    """The result, or the array of either library that it is written into."""
    if isinstance(target, np.ndarray):
        np.copyto(target, np.asarray(result), casting="same_kind")
        return target
    return core.into(target, result)


def install() -> None:
    """Gives operators and methods to `Array`."""
    methods: dict[str, Any] = {
        "__array__": interchange.to_numpy,
        "__array_namespace__": _namespace,
        "__contains__": _contains,
        "__divmod__": _binary(_divmod),
        "__format__": _formatted,
        "__rdivmod__": _binary(_divmod, swapped=True),
        "__round__": _rounded,
        "__array_ufunc__": _of_numpy,
        "__bool__": _as_bool,
        "__complex__": _as(complex),
        "__dlpack__": interchange.dlpack,
        "__dlpack_device__": interchange.dlpack_device,
        "__float__": _as(float),
        "__hash__": None,
        "__index__": _as(_index),
        "__int__": _as(int),
        "__iter__": _iterate,
        "__len__": _length,
        "__reduce_ex__": interchange.pickled,
        "__repr__": printing.text,
        "__str__": printing.values_text,
        "astype": _astype_method,
        "conj": _conjugate,
        "copy": _copied,
        "imag": property(_imaginary),
        "mean": _mean,
        "real": property(_real),
        "squeeze": _squeezed,
        "mT": property(linalg.matrix_transpose),
        "reshape": _reshape_method,
        "to_device": _to_device,
        "tolist": _tolist,
        "transpose": _transpose_method,
    }
    for forms, names in _REDUCTIONS:
        methods |= {name: forms(getattr(reductions, name)) for name in names}
    for name, function in _BINARY.items():
        methods[f"__{name}__"] = _binary(function)
        methods[f"__r{name}__"] = _binary(function, swapped=True)
        methods[f"__i{name}__"] = _in_place(function)
    for name, function in _COMPARISONS.items():
        methods[f"__{name}__"] = _binary(function)
    for name, unary in _UNARY.items():
        methods[f"__{name}__"] = _alone(unary)
    for name, method in methods.items():
        if method is not None and not isinstance(method, property):
            # As errors of wrong arguments call it.
            method.__qualname__ = f"Array.{name}"
        setattr(Array, name, method)

