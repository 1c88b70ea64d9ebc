"""Elementwise functions: steps of the graph where there is one, else NumPy's on the host.

On the host: all functions of complex numbers, integer powers, and the functions of `_ON_HOST`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError
from . import core, dtypes, host
from .core import Array
from .devices import Device
from .dtypes import DType
from .graph import Node, Number, Value
from .layout import broadcast_shapes

Scalar = bool | int | float | complex
_FLOATS = ("float",)
_HALVES = (dtypes.float16, dtypes.bfloat16)


class Typed:
    """Makes steps on elements of one type in one shape."""

    __slots__ = ("shape", "type")

    def __init__(self, type: str, shape: tuple[int, ...]):
        self.type = type
        self.shape = shape

    def __call__(self, operation: str, *args: Value) -> Node:
        """A step that gives the same type."""
        return Node(operation, self.type, args, self.type, self.shape)

    def truth(self, operation: str, *args: Value) -> Node:
        """A step that gives truths."""
        return Node(operation, self.type, args, "uint8", self.shape)

    def number(self, value: float) -> Number:
        """A number of the type."""
        return Number(value, self.type)


Rule = Callable[..., Value]


def is_array(x: object) -> bool:
    """Whether it is one of ours."""
    return isinstance(x, Array)


def converted(value: Value, source: DType, to: DType, shape: tuple[int, ...]) -> Value:
    """A value of one type as another; neither is complex, and no double becomes a half."""
    if source is to:
        return value
    if isinstance(value, Number):
        number = bool(value.value) if to.kind == "bool" else value.value
        return Number(number, to.buffer)
    if to.kind == "bool":
        if source in _HALVES:
            value, source = _convert(value, source, dtypes.float32, shape), dtypes.float32
        return Node("ne", source.buffer, (value, Number(0, source.buffer)), "uint8", shape)
    if source in _HALVES and to is not dtypes.float32:
        value, source = _convert(value, source, dtypes.float32, shape), dtypes.float32
    elif to in _HALVES and source is not dtypes.float32:
        value, source = _convert(value, source, dtypes.float32, shape), dtypes.float32
    return _convert(value, source, to, shape)


def _convert(value: Value, source: DType, to: DType, shape: tuple[int, ...]) -> Value:
    if source.buffer == to.buffer:
        return value
    return Node(f"convert.{to.buffer}", source.buffer, (value,), to.buffer, shape)


def common_device(arrays: Sequence[Array]) -> Device:
    """The device of arrays.

    Raises:
        DTypeError: they live on several.
    """
    device = arrays[0].device
    for other in arrays[1:]:
        if other.device != device:
            raise DTypeError(f"arrays on {device} and {other.device}: move one with to_device")
    return device


def operands(name: str, *inputs: Any) -> tuple[list[Any], DType, Device, tuple[int, ...]]:
    """Arrays and Python numbers of an operation: with the type they promote to, device and shape."""
    arrays = [x for x in inputs if isinstance(x, Array)]
    if not arrays:
        raise TypeError(f"{name}: needs an array, made by hologram.asarray")
    device = common_device(arrays)
    dtype = arrays[0].dtype
    for other in arrays[1:]:
        dtype = dtypes.promote(dtype, other.dtype)
    for x in inputs:
        if isinstance(x, Array):
            continue
        if not isinstance(x, (bool, int, float, complex)):
            raise TypeError(f"{name}: {type(x).__name__} is neither an array nor a Python number")
        dtype = dtypes.with_scalar(dtype, x)
    shape = broadcast_shapes(*(x.shape for x in arrays)) if len(arrays) > 1 else arrays[0].shape
    return list(inputs), dtype, device, shape


def check_kind(name: str, dtype: DType, kinds: Sequence[str]) -> None:
    """Raises: DTypeError: the type is of none of the kinds."""
    if dtype.kind not in kinds:
        raise DTypeError(f"{name}: not defined for {dtype.name}, only for {', '.join(kinds)}")


def computed_in(dtype: DType) -> DType:
    """The type that results of this type are calculated in."""
    return dtypes.float32 if dtype in _HALVES else dtype


def as_value(x: Any, dtype: DType, shape: tuple[int, ...]) -> Value:
    """An array or a number as a value of a type."""
    if isinstance(x, Array):
        return converted(core.value_of(x, shape), x.dtype, dtype, shape)
    if dtype.kind == "float":
        return Number(float(x), dtype.buffer)
    if dtype.kind == "bool":
        return Number(bool(x), dtype.buffer)
    return Number(fitting(int(x), dtype), dtype.buffer)


def fitting(x: int, dtype: DType) -> int:
    """Raises: OverflowError: a type of integers does not have the number."""
    bits = dtype.bits - (dtype.kind == "int")
    if not (-(1 << bits) if dtype.kind == "int" else 0) <= x < 1 << bits:
        raise OverflowError(f"{x} does not fit in {dtype.name}")
    return x


def record(rule: Rule, inputs: Sequence[Any], dtype: DType, shape: tuple[int, ...], device: Device, result: DType) -> Array:
    """Records what a rule makes of inputs of a type; `result` is the type of the array."""
    inner = computed_in(dtype)
    values = [as_value(x, inner, shape) for x in inputs]
    value = rule(Typed(inner.buffer, shape), *values)
    if result in _HALVES:
        value = converted(value, dtypes.float32, result, shape)
    return core.recorded(value, shape, result, device)


def _on_host(function: np.ufunc, inputs: Sequence[Any], dtype: DType, device: Device, shape: tuple[int, ...], result: DType) -> Array:
    numpys = [x if not isinstance(x, Array) or x.dtype is dtype else astype(x, dtype) for x in inputs]
    numpys = [x if isinstance(x, Array) else dtype.numpy.type(x) for x in numpys]
    return host.ufunc(function, *numpys, device=device, shape=shape, dtype=result)


# Steps of each function: what is made of the values.

_UNARY: dict[str, Rule] = {
    "abs": lambda t, x: t("abs", x),
    "ceil": lambda t, x: t("ceil", x),
    "cos": lambda t, x: t("cos", x),
    "exp": lambda t, x: t("exp", x),
    "floor": lambda t, x: t("floor", x),
    "log": lambda t, x: t("log", x),
    "negative": lambda t, x: t("neg", x),
    "reciprocal": lambda t, x: t("reciprocal", x),
    "round": lambda t, x: t("round", x),
    "sign": lambda t, x: t("sign", x),
    "sin": lambda t, x: t("sin", x),
    "sqrt": lambda t, x: t("sqrt", x),
    "square": lambda t, x: t("mul", x, x),
    "tan": lambda t, x: t("tan", x),
    "tanh": lambda t, x: t("tanh", x),
    "trunc": lambda t, x: t("trunc", x),
}
_NUMBERS = ("int", "uint", "float", "complex")
_REALS = ("int", "uint", "float")
_INTS = ("int", "uint")
# Functions of floats that the host computes, by NumPy's name.
_ON_HOST = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan, "atanh": np.arctanh,
    "cosh": np.cosh, "expm1": np.expm1, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "sinh": np.sinh,
}  # fmt: skip
_COMPLEX = {
    "abs": np.absolute, "cos": np.cos, "exp": np.exp, "log": np.log, "negative": np.negative, "reciprocal": np.reciprocal,
    "round": np.round, "sign": np.sign, "sin": np.sin, "sqrt": np.sqrt, "square": np.square, "tan": np.tan, "tanh": np.tanh,
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "equal": np.equal,
    "not_equal": np.not_equal, **_ON_HOST,
}  # fmt: skip


def _real_of(dtype: DType) -> DType:
    return dtypes.float32 if dtype is dtypes.complex64 else dtypes.float64


def _unary(name: str, x: Array, kinds: Sequence[str], floats: bool = False) -> Array:
    """A function of one array; `floats`: of integers in float64."""
    (x,), dtype, device, shape = operands(name, x)
    if floats and dtype.kind in _INTS:
        dtype = dtypes.float64
    check_kind(name, dtype, kinds)
    if dtype.kind == "complex":
        result = _real_of(dtype) if name == "abs" else dtype
        if name == "round":
            return host.call(np.round, x, device=device)
        return _on_host(_COMPLEX[name], (x,), dtype, device, shape, result)
    if name in _ON_HOST:
        return _on_host(_ON_HOST[name], (x,), dtype, device, shape, dtype)
    return record(_UNARY[name], (x,), dtype, shape, device, dtype)


def _same(x: Array) -> Array:
    """The values again, as a new array."""
    if x.dtype.kind == "complex":
        return core.copied(x)
    return core.recorded(core.value_of(x, x.shape), x.shape, x.dtype, x.device)


def abs(x: Array, /) -> Array:
    """Magnitude; of complex numbers on the host."""
    return _same(x) if x.dtype.kind == "uint" else _unary("abs", x, _NUMBERS)


def _float_function(name: str, meaning: str) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        return _unary(name, x, ("float", "complex"), floats=True)

    function.__name__ = function.__qualname__ = name
    where = "on the host" if name in _ON_HOST else "on the device; of complex numbers on the host"
    function.__doc__ = f"{meaning}, {where}. Integers are converted to float64."
    return function


acos = _float_function("acos", "Arc cosine")
acosh = _float_function("acosh", "Inverse hyperbolic cosine")
asin = _float_function("asin", "Arc sine")
asinh = _float_function("asinh", "Inverse hyperbolic sine")
atan = _float_function("atan", "Arc tangent")
atanh = _float_function("atanh", "Inverse hyperbolic tangent")
cos = _float_function("cos", "Cosine")
cosh = _float_function("cosh", "Hyperbolic cosine")
exp = _float_function("exp", "e to the x")
expm1 = _float_function("expm1", "e to the x, less 1")
log = _float_function("log", "Natural logarithm")
log1p = _float_function("log1p", "Natural logarithm of 1 + x")
log2 = _float_function("log2", "Logarithm to base 2")
log10 = _float_function("log10", "Logarithm to base 10")
reciprocal = _float_function("reciprocal", "1 / x")
sin = _float_function("sin", "Sine")
sinh = _float_function("sinh", "Hyperbolic sine")
sqrt = _float_function("sqrt", "Square root")
tan = _float_function("tan", "Tangent")
tanh = _float_function("tanh", "Hyperbolic tangent")


def _rounding(name: str, meaning: str, kinds: Sequence[str] = _REALS) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        check_kind(name, x.dtype, kinds)
        return _same(x) if x.dtype.kind in _INTS else _unary(name, x, kinds)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}; integers stay."
    return function


ceil = _rounding("ceil", "Rounded up")
floor = _rounding("floor", "Rounded down")
trunc = _rounding("trunc", "Rounded towards zero")
round = _rounding("round", "Rounded to the nearest, halves to even", _NUMBERS)


def negative(x: Array, /) -> Array:
    """-x; integers wrap."""
    return _unary("negative", x, _NUMBERS)


def positive(x: Array, /) -> Array:
    """x."""
    check_kind("positive", x.dtype, _NUMBERS)
    return _same(x)


def sign(x: Array, /) -> Array:
    """-1, 0 or 1; NaN stays; of complex numbers x / abs(x)."""
    return _unary("sign", x, _NUMBERS)


def square(x: Array, /) -> Array:
    """x * x."""
    return _unary("square", x, _NUMBERS)


def conj(x: Array, /) -> Array:
    """The complex conjugate, on the host; real numbers stay."""
    check_kind("conj", x.dtype, _NUMBERS)
    if x.dtype.kind != "complex":
        return _same(x)
    return host.ufunc(np.conjugate, x, device=x.device, shape=x.shape, dtype=x.dtype)


def _part(x: Array, lane: int) -> Array:
    storage, offset, strides = x.data()
    doubled = tuple(2 * stride for stride in strides)
    return core.over(storage, x.shape, _real_of(x.dtype), 2 * offset + lane, doubled)


def real(x: Array, /) -> Array:
    """The real part of complex numbers, as a view."""
    check_kind("real", x.dtype, _NUMBERS)
    return _part(x, 0) if x.dtype.kind == "complex" else _same(x)


def imag(x: Array, /) -> Array:
    """The imaginary part of complex numbers, as a view."""
    check_kind("imag", x.dtype, ("complex",))
    return _part(x, 1)


def _test(name: str, x: Array, rule: Rule, of_integers: bool, numpy: np.ufunc) -> Array:
    check_kind(name, x.dtype, _NUMBERS)
    if x.dtype.kind == "complex":
        return _on_host(numpy, (x,), x.dtype, x.device, x.shape, dtypes.bool)
    if x.dtype.kind in _INTS:
        return core.recorded(Number(of_integers, "uint8"), x.shape, dtypes.bool, x.device)
    return record(rule, (x,), x.dtype, x.shape, x.device, dtypes.bool)


def isfinite(x: Array, /) -> Array:
    """Whether an element is neither infinite nor NaN."""
    return _test("isfinite", x, lambda t, x: t.truth("lt", t("abs", x), t.number(float("inf"))), True, np.isfinite)


def isinf(x: Array, /) -> Array:
    """Whether an element is infinite."""
    return _test("isinf", x, lambda t, x: t.truth("eq", t("abs", x), t.number(float("inf"))), False, np.isinf)


def isnan(x: Array, /) -> Array:
    """Whether an element is NaN."""
    return _test("isnan", x, lambda t, x: t.truth("ne", x, x), False, np.isnan)


def signbit(x: Array, /) -> Array:
    """Whether the sign bit is set, on the host."""
    check_kind("signbit", x.dtype, _FLOATS)
    return _on_host(np.signbit, (x,), x.dtype, x.device, x.shape, dtypes.bool)


def _binary(name: str, x1: Any, x2: Any, rule: Rule, kinds: Sequence[str], truth: bool = False, floats: bool = False) -> Array:
    inputs, dtype, device, shape = operands(name, x1, x2)
    if floats and dtype.kind in (*_INTS, "bool"):
        dtype = dtypes.float64
    check_kind(name, dtype, kinds)
    result = dtypes.bool if truth else dtype
    if dtype.kind == "complex":
        return _on_host(_COMPLEX[name], inputs, dtype, device, shape, result)
    return record(rule, inputs, dtype, shape, device, result)


def add(x1: Any, x2: Any, /) -> Array:
    """x1 + x2; integers wrap."""
    return _binary("add", x1, x2, lambda t, a, b: t("add", a, b), _NUMBERS)


def subtract(x1: Any, x2: Any, /) -> Array:
    """x1 - x2; integers wrap."""
    return _binary("subtract", x1, x2, lambda t, a, b: t("sub", a, b), _NUMBERS)


def multiply(x1: Any, x2: Any, /) -> Array:
    """x1 * x2; integers wrap."""
    return _binary("multiply", x1, x2, lambda t, a, b: t("mul", a, b), _NUMBERS)


def divide(x1: Any, x2: Any, /) -> Array:
    """x1 / x2; integers are converted to float64."""
    return _binary("divide", x1, x2, lambda t, a, b: t("div", a, b), ("float", "complex"), floats=True)


def floor_divide(x1: Any, x2: Any, /) -> Array:
    """The quotient rounded down; integers divided by zero give 0. Of floats on a GPU on the host."""
    return _quotient("floor_divide", x1, x2, lambda t, a, b: t("floor_div", a, b), np.floor_divide)


def remainder(x1: Any, x2: Any, /) -> Array:
    """What floor_divide leaves, with the divisor's sign; of integers by zero 0. Of floats on a GPU on the host."""
    return _quotient("remainder", x1, x2, lambda t, a, b: t("remainder", a, b), np.remainder)


def _quotient(name: str, x1: Any, x2: Any, rule: Rule, numpy: np.ufunc) -> Array:
    inputs, dtype, device, shape = operands(name, x1, x2)
    check_kind(name, dtype, _REALS)
    if dtype.kind == "float" and device != "cpu":
        return _on_host(numpy, inputs, dtype, device, shape, dtype)
    return record(rule, inputs, dtype, shape, device, dtype)


def maximum(x1: Any, x2: Any, /) -> Array:
    """The larger one; NaN if one is."""
    return _binary("maximum", x1, x2, lambda t, a, b: t("maximum", a, b), _REALS)


def minimum(x1: Any, x2: Any, /) -> Array:
    """The smaller one; NaN if one is."""
    return _binary("minimum", x1, x2, lambda t, a, b: t("minimum", a, b), _REALS)


def atan2(x1: Any, x2: Any, /) -> Array:
    """Arc tangent of x1 / x2, in the quadrant of both; on the device where that is the processor, else on the host."""
    inputs, dtype, device, shape = operands("atan2", x1, x2)
    dtype = dtypes.float64 if dtype.kind in _INTS else dtype
    check_kind("atan2", dtype, _FLOATS)
    if device != "cpu":
        return _on_host(np.arctan2, inputs, dtype, device, shape, dtype)
    return record(lambda t, a, b: t("atan2", a, b), inputs, dtype, shape, device, dtype)


def _host_binary(name: str, x1: Any, x2: Any, function: np.ufunc) -> Array:
    inputs, dtype, device, shape = operands(name, x1, x2)
    dtype = dtypes.float64 if dtype.kind in _INTS else dtype
    check_kind(name, dtype, _FLOATS)
    return _on_host(function, inputs, dtype, device, shape, dtype)


def copysign(x1: Any, x2: Any, /) -> Array:
    """Magnitude of x1 with the sign of x2, on the host."""
    return _host_binary("copysign", x1, x2, np.copysign)


def hypot(x1: Any, x2: Any, /) -> Array:
    """Square root of x1^2 + x2^2, on the host."""
    return _host_binary("hypot", x1, x2, np.hypot)


def logaddexp(x1: Any, x2: Any, /) -> Array:
    """log(exp(x1) + exp(x2)), on the host."""
    return _host_binary("logaddexp", x1, x2, np.logaddexp)


def nextafter(x1: Any, x2: Any, /) -> Array:
    """The number next to x1 towards x2, on the host."""
    return _host_binary("nextafter", x1, x2, np.nextafter)


# Whole powers that are products, for numbers.
_POWERS: dict[float, Rule] = {
    1: lambda t, x: x,
    2: lambda t, x: t("mul", x, x),
    0.5: lambda t, x: t("sqrt", x),
}


def pow(x1: Any, x2: Any, /) -> Array:
    """x1 to the x2; of integers and complex numbers on the host."""
    inputs, dtype, device, shape = operands("pow", x1, x2)
    check_kind("pow", dtype, _NUMBERS)
    if dtype.kind == "float":
        if not isinstance(x2, Array) and x2 in (1, 2):
            return record(_POWERS[x2], inputs[:1], dtype, shape, device, dtype)
        return record(lambda t, a, b: t("pow", a, b), inputs, dtype, shape, device, dtype)
    if dtype.kind in _INTS and not isinstance(x2, Array) and x2 == 2:
        return record(_POWERS[2], inputs[:1], dtype, shape, device, dtype)
    return _on_host(np.power, inputs, dtype, device, shape, dtype)


def _compare(name: str, x1: Any, x2: Any, rule: Rule, kinds: Sequence[str]) -> Array:
    return _binary(name, x1, x2, rule, kinds, truth=True)


_ANY = ("bool", *_NUMBERS)


def equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 == x2; NaN equals nothing."""
    return _compare("equal", x1, x2, lambda t, a, b: t.truth("eq", a, b), _ANY)


def not_equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 != x2."""
    return _compare("not_equal", x1, x2, lambda t, a, b: t.truth("ne", a, b), _ANY)


def less(x1: Any, x2: Any, /) -> Array:
    """Whether x1 < x2."""
    return _compare("less", x1, x2, lambda t, a, b: t.truth("lt", a, b), _REALS)


def less_equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 <= x2."""
    return _compare("less_equal", x1, x2, lambda t, a, b: t.truth("le", a, b), _REALS)


def greater(x1: Any, x2: Any, /) -> Array:
    """Whether x1 > x2."""
    return _compare("greater", x1, x2, lambda t, a, b: t.truth("lt", b, a), _REALS)


def greater_equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 >= x2."""
    return _compare("greater_equal", x1, x2, lambda t, a, b: t.truth("le", b, a), _REALS)


_BITS = ("bool", "int", "uint")


def bitwise_and(x1: Any, x2: Any, /) -> Array:
    """x1 & x2."""
    return _binary("bitwise_and", x1, x2, lambda t, a, b: t("and", a, b), _BITS)


def bitwise_or(x1: Any, x2: Any, /) -> Array:
    """x1 | x2."""
    return _binary("bitwise_or", x1, x2, lambda t, a, b: t("or", a, b), _BITS)


def bitwise_xor(x1: Any, x2: Any, /) -> Array:
    """x1 ^ x2."""
    return _binary("bitwise_xor", x1, x2, lambda t, a, b: t("xor", a, b), _BITS)


def bitwise_invert(x: Array, /) -> Array:
    """All bits flipped; the other truth of a bool."""
    check_kind("bitwise_invert", x.dtype, _BITS)
    if x.dtype.kind == "bool":
        return logical_not(x)
    return record(lambda t, a: t("not", a), (x,), x.dtype, x.shape, x.device, x.dtype)


def bitwise_left_shift(x1: Any, x2: Any, /) -> Array:
    """x1 << x2; 0 for amounts from the width on."""
    return _binary("bitwise_left_shift", x1, x2, lambda t, a, b: t("shl", a, b), _INTS)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Array:
    """x1 >> x2, arithmetic."""
    return _binary("bitwise_right_shift", x1, x2, lambda t, a, b: t("shr", a, b), _INTS)


def logical_and(x1: Any, x2: Any, /) -> Array:
    """Both; of bools."""
    return _binary("logical_and", x1, x2, lambda t, a, b: t("and", a, b), ("bool",))


def logical_or(x1: Any, x2: Any, /) -> Array:
    """One or both; of bools."""
    return _binary("logical_or", x1, x2, lambda t, a, b: t("or", a, b), ("bool",))


def logical_xor(x1: Any, x2: Any, /) -> Array:
    """One of both; of bools."""
    return _binary("logical_xor", x1, x2, lambda t, a, b: t("xor", a, b), ("bool",))


def logical_not(x: Array, /) -> Array:
    """The other truth; of bools."""
    check_kind("logical_not", x.dtype, ("bool",))
    return record(lambda t, a: t("xor", a, t.number(True)), (x,), x.dtype, x.shape, x.device, x.dtype)


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """max where x is greater, else min where it is less, else x; NaN stays. The type is x's."""
    check_kind("clip", x.dtype, _REALS)
    bounds = [b for b in (min, max) if b is not None]
    arrays = [x, *(b for b in bounds if isinstance(b, Array))]
    device = common_device(arrays)
    shape = broadcast_shapes(*(a.shape for a in arrays))
    for bound in bounds:
        found = bound.dtype.kind if isinstance(bound, Array) else "float" if isinstance(bound, float) else "int"
        if found == "float" and x.dtype.kind != "float":
            raise DTypeError(f"clip: a bound of floats, x is {x.dtype.name}")

    def rule(t: Typed, x: Value, *rest: Value) -> Value:
        values = iter(rest)
        if min is not None:
            x = t("maximum", x, next(values))
        if max is not None:
            x = t("minimum", x, next(values))
        return x

    return record(rule, [x, *bounds], x.dtype, shape, device, x.dtype)


def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    """x1 where the condition holds, else x2; arrays or numbers."""
    check_kind("where", condition.dtype, ("bool",))
    if isinstance(x1, Array) or isinstance(x2, Array):
        inputs, dtype, device, _ = operands("where", x1, x2)
    else:
        inputs, device = [x1, x2], condition.device
        dtype = dtypes.with_scalar(dtypes.scalar_dtype(x1), x2)
        dtype = dtypes.with_scalar(dtypes.scalar_dtype(x2), x1) if dtype is dtypes.scalar_dtype(x1) else dtype
    arrays = [a for a in (condition, x1, x2) if isinstance(a, Array)]
    common_device(arrays)
    shape = broadcast_shapes(*(a.shape for a in arrays))
    if dtype.kind == "complex":
        return host.call(lambda c, a, b: np.where(c, a, b), condition, *inputs, device=device, result=dtype)
    values = [_chosen(x, dtype, shape) for x in inputs]
    node = Node("select", dtype.buffer, (core.value_of(condition, shape), *values), dtype.buffer, shape)
    return core.recorded(node, shape, dtype, device)


def _chosen(x: Any, dtype: DType, shape: tuple[int, ...]) -> Value:
    if isinstance(x, Array):
        x = x if x.dtype is dtype else astype(x, dtype)
        return core.value_of(x, shape)
    return as_value(x, dtype, shape)


def astype(x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """The elements converted: integers wrap, floats are rounded to nearest, floats to integers truncated."""
    to = dtypes.of(dtype)
    if device is not None and x.device != device:
        raise DTypeError(f"astype: the array is on {x.device}; move it with to_device")
    if x.dtype is to:
        return _same(x) if copy else x
    if x.dtype.kind == "complex" and to.kind not in ("complex", "bool"):
        raise DTypeError(f"astype: {x.dtype.name} to {to.name} loses the imaginary part; take real(x)")
    rounded_twice = to in _HALVES and x.dtype.bits > 32 or to is dtypes.bfloat16 and x.dtype.bits > 16
    rounded_twice = rounded_twice and x.dtype is not dtypes.float32
    if "complex" in (x.dtype.kind, to.kind) or rounded_twice:
        return host.call(lambda values: values, x, device=x.device, result=to)
    return core.recorded(converted(core.value_of(x, x.shape), x.dtype, to, x.shape), x.shape, to, x.device)
