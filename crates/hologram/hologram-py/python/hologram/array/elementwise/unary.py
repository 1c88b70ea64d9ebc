"""Functions of one array: steps of the graph where there is one, else NumPy's on the host.

On the host: most functions of complex numbers, and those of `ON_HOST`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from .. import core, dtypes, host
from ..core import Array, Elementwise, Value, into
from .conversion import by_numpy
from .steps import FLOATS, INTS, NUMBERS, ON_HOST, REALS, OfOne, Rule, Typed, check_kind, named, operands, record, same

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "imag",
    "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "negative", "positive", "real", "reciprocal", "round",
    "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
]  # fmt: skip

def _unary(name: str, x: Array, kinds: Sequence[str], floats: bool = False) -> Array:
    """A function of one array; `floats`: of integers in float64."""
    (x,), dtype, device, shape = operands(name, x)
    if floats and dtype.kind in INTS:
        dtype = dtypes.float64
    check_kind(name, dtype, kinds)
    if dtype.kind == "complex":
        result = dtypes.of(dtype.buffer) if name == "abs" else dtype
        if name == "round":
            return host.call(np.round, x, device=device)
        return by_numpy(name, (x,), dtype, device, shape, result)
    if name in ON_HOST:
        return by_numpy(name, (x,), dtype, device, shape, dtype)
    if name == "square":
        return record(lambda t, a: t("mul", a, a), (x,), dtype, shape, device, dtype)
    operation = "neg" if name == "negative" else name
    return record(lambda t, a: t(operation, a), (x,), dtype, shape, device, dtype)


def _of_one(name: str, operation: str | None, kinds: Sequence[str], general: Callable[[Array], Array], meaning: str) -> OfOne:
    """A function that is one step, recorded at once, of elements of some kinds, and else `general`; without an operation always."""
    recorded = Elementwise(operation, kinds).unary if operation else None

    def function(x: Array, /, *, out: Array | None = None) -> Array:
        made = recorded(x) if recorded else None
        if made is None:
            made = general(x)
        return made if out is None else into(out, made)

    return named(function, name, meaning)


def _magnitude(x: Array) -> Array:
    check_kind("abs", x, NUMBERS)
    return same(x) if x.dtype.kind == "uint" else _unary("abs", x, NUMBERS)


abs = _of_one("abs", "abs", ("int", "float"), _magnitude, "Magnitude; of complex numbers on the host.")


def _float_function(name: str, meaning: str) -> OfOne:
    def general(x: Array) -> Array:
        return _unary(name, x, ("float", "complex"), floats=True)

    where = "on the host" if name in ON_HOST else "on the device; of complex numbers on the host"
    operation = None if name in ON_HOST else name
    return _of_one(name, operation, FLOATS, general, f"{meaning}, {where}. Integers are converted to float64.")


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


def _rounding(name: str, meaning: str, kinds: Sequence[str] = REALS) -> OfOne:
    def general(x: Array) -> Array:
        check_kind(name, x, kinds)
        return same(x) if x.dtype.kind in INTS else _unary(name, x, kinds)

    return _of_one(name, name, FLOATS, general, f"{meaning}; integers stay.")


ceil = _rounding("ceil", "Rounded up")
floor = _rounding("floor", "Rounded down")
trunc = _rounding("trunc", "Rounded towards zero")
round = _rounding("round", "Rounded to the nearest, halves to even", NUMBERS)


def _positive(x: Array) -> Array:
    check_kind("positive", x, NUMBERS)
    return same(x)


_product = Elementwise("mul", REALS).binary


def _square(x: Array) -> Array:
    made = _product(x, x)
    return _unary("square", x, NUMBERS) if made is None else made


def _conjugate(x: Array) -> Array:
    check_kind("conj", x, NUMBERS)
    if x.dtype.kind != "complex":
        return same(x)
    return host.ufunc(np.conjugate, x, device=x.device, shape=x.shape, dtype=x.dtype)


negative = _of_one("negative", "neg", REALS, lambda x: _unary("negative", x, NUMBERS), "-x; integers wrap.")
positive = _of_one("positive", None, (), _positive, "x.")
sign = _of_one(
    "sign", "sign", REALS, lambda x: _unary("sign", x, NUMBERS), "-1, 0 or 1; NaN stays; of complex numbers x / abs(x)."
)
square = _of_one("square", None, (), _square, "x * x.")
conj = _of_one("conj", None, (), _conjugate, "The complex conjugate, on the host; real numbers stay.")


def _part(x: Array, lane: int) -> Array:
    _, offset, strides = x.data()
    return x.view(x.shape, 2 * offset + lane, tuple(2 * stride for stride in strides), dtypes.of(x.dtype.buffer))


def real(x: Array, /, *, out: Array | None = None) -> Array:
    """The real part of complex numbers, as a view."""
    check_kind("real", x, NUMBERS)
    return into(out, _part(x, 0) if x.dtype.kind == "complex" else same(x))


def imag(x: Array, /, *, out: Array | None = None) -> Array:
    """The imaginary part of complex numbers, as a view."""
    check_kind("imag", x, ("complex",))
    return into(out, _part(x, 1))


def _test(name: str, rule: Rule, of_integers: bool, meaning: str) -> OfOne:
    def general(x: Array) -> Array:
        check_kind(name, x, NUMBERS)
        if x.dtype.kind == "complex":
            return by_numpy(name, (x,), x.dtype, x.device, x.shape, dtypes.bool)
        if x.dtype.kind in INTS:
            return core.recorded(core.number(of_integers, "uint8"), x.shape, dtypes.bool, x.device)
        return record(rule, (x,), x.dtype, x.shape, x.device, dtypes.bool)

    return _of_one(name, None, (), general, meaning)


def _less_than_infinity(t: Typed, x: Value) -> Value:
    return t.truth("lt", t("abs", x), t.number(float("inf")))


def _infinity(t: Typed, x: Value) -> Value:
    return t.truth("eq", t("abs", x), t.number(float("inf")))


isfinite = _test("isfinite", _less_than_infinity, True, "Whether an element is neither infinite nor NaN.")
isinf = _test("isinf", _infinity, False, "Whether an element is infinite.")
isnan = _test("isnan", lambda t, x: t.truth("ne", x, x), False, "Whether an element is NaN.")


def signbit(x: Array, /, *, out: Array | None = None) -> Array:
    """Whether the sign bit is set, on the host."""
    check_kind("signbit", x, FLOATS)
    return into(out, by_numpy("signbit", (x,), x.dtype, x.device, x.shape, dtypes.bool))
