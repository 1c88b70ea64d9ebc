"""Functions of one array: steps of the graph where there is one, else NumPy's on the host.

On the host: all functions of complex numbers, and those of `ON_HOST`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from .. import core, dtypes, host
from ..core import Array
from ..dtypes import DType
from ..graph import Number
from .conversion import on_host
from .steps import COMPLEX, FLOATS, INTS, NUMBERS, ON_HOST, REALS, Rule, check_kind, operands, record, same

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


def _real_of(dtype: DType) -> DType:
    return dtypes.float32 if dtype is dtypes.complex64 else dtypes.float64


def _unary(name: str, x: Array, kinds: Sequence[str], floats: bool = False) -> Array:
    """A function of one array; `floats`: of integers in float64."""
    (x,), dtype, device, shape = operands(name, x)
    if floats and dtype.kind in INTS:
        dtype = dtypes.float64
    check_kind(name, dtype, kinds)
    if dtype.kind == "complex":
        result = _real_of(dtype) if name == "abs" else dtype
        if name == "round":
            return host.call(np.round, x, device=device)
        return on_host(COMPLEX[name], (x,), dtype, device, shape, result)
    if name in ON_HOST:
        return on_host(ON_HOST[name], (x,), dtype, device, shape, dtype)
    return record(_UNARY[name], (x,), dtype, shape, device, dtype)


def abs(x: Array, /) -> Array:
    """Magnitude; of complex numbers on the host."""
    return same(x) if x.dtype.kind == "uint" else _unary("abs", x, NUMBERS)


def _float_function(name: str, meaning: str) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        return _unary(name, x, ("float", "complex"), floats=True)

    function.__name__ = function.__qualname__ = name
    where = "on the host" if name in ON_HOST else "on the device; of complex numbers on the host"
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


def _rounding(name: str, meaning: str, kinds: Sequence[str] = REALS) -> Callable[[Array], Array]:
    def function(x: Array, /) -> Array:
        check_kind(name, x.dtype, kinds)
        return same(x) if x.dtype.kind in INTS else _unary(name, x, kinds)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning}; integers stay."
    return function


ceil = _rounding("ceil", "Rounded up")
floor = _rounding("floor", "Rounded down")
trunc = _rounding("trunc", "Rounded towards zero")
round = _rounding("round", "Rounded to the nearest, halves to even", NUMBERS)


def negative(x: Array, /) -> Array:
    """-x; integers wrap."""
    return _unary("negative", x, NUMBERS)


def positive(x: Array, /) -> Array:
    """x."""
    check_kind("positive", x.dtype, NUMBERS)
    return same(x)


def sign(x: Array, /) -> Array:
    """-1, 0 or 1; NaN stays; of complex numbers x / abs(x)."""
    return _unary("sign", x, NUMBERS)


def square(x: Array, /) -> Array:
    """x * x."""
    return _unary("square", x, NUMBERS)


def conj(x: Array, /) -> Array:
    """The complex conjugate, on the host; real numbers stay."""
    check_kind("conj", x.dtype, NUMBERS)
    if x.dtype.kind != "complex":
        return same(x)
    return host.ufunc(np.conjugate, x, device=x.device, shape=x.shape, dtype=x.dtype)


def _part(x: Array, lane: int) -> Array:
    storage, offset, strides = x.data()
    doubled = tuple(2 * stride for stride in strides)
    return core.over(storage, x.shape, _real_of(x.dtype), 2 * offset + lane, doubled)


def real(x: Array, /) -> Array:
    """The real part of complex numbers, as a view."""
    check_kind("real", x.dtype, NUMBERS)
    return _part(x, 0) if x.dtype.kind == "complex" else same(x)


def imag(x: Array, /) -> Array:
    """The imaginary part of complex numbers, as a view."""
    check_kind("imag", x.dtype, ("complex",))
    return _part(x, 1)


def _test(name: str, x: Array, rule: Rule, of_integers: bool, numpy: np.ufunc) -> Array:
    check_kind(name, x.dtype, NUMBERS)
    if x.dtype.kind == "complex":
        return on_host(numpy, (x,), x.dtype, x.device, x.shape, dtypes.bool)
    if x.dtype.kind in INTS:
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
    check_kind("signbit", x.dtype, FLOATS)
    return on_host(np.signbit, (x,), x.dtype, x.device, x.shape, dtypes.bool)
