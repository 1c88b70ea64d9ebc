"""Arithmetic on two arrays, or an array and a number.

On the host: most functions of complex numbers, integer powers, and what a GPU has no instruction for.
"""

import math
from collections.abc import Sequence
from typing import Any

from .. import core, dtypes, values
from ..core import Array, Elementwise, Value, into, number
from .conversion import by_numpy
from .steps import FLOATS, INTS, NUMBERS, REALS, OfTwo, Rule, Typed, check_kind, computed_in, named, operands, record

__all__ = [
    "add", "atan2", "copysign", "divide", "floor_divide", "hypot", "logaddexp", "maximum", "minimum", "multiply", "nextafter",
    "pow", "remainder", "subtract",
]  # fmt: skip


def binary(name: str, x1: Any, x2: Any, rule: Rule, kinds: Sequence[str], truth: bool = False, floats: bool = False) -> Array:
    """Records a rule of two; complex numbers are not recorded. `truth`: gives truths. `floats`: of integers in float64."""
    inputs, dtype, device, shape = operands(name, x1, x2)
    if floats and dtype.kind in (*INTS, "bool"):
        dtype = dtypes.float64
    check_kind(name, dtype, kinds)
    result = dtypes.bool if truth else dtype
    if dtype.kind == "complex":
        return by_numpy(name, inputs, dtype, device, shape, result)
    return record(rule, inputs, dtype, shape, device, result)


def of_two(
    name: str,
    operation: str,
    kinds: Sequence[str],
    meaning: str,
    truth: bool = False,
    floats: bool = False,
    swapped: bool = False,
) -> OfTwo:
    """A function that is one step: of arrays of one type, or of an array and a number of its kind, recorded at once. `swapped`:
    the step is of x2 and x1; the others are `binary`'s."""
    recorded = Elementwise(operation, kinds, truth).binary
    comparison = operation if operation in ("eq", "ne", "lt", "le") else None

    def rule(t: Typed, a: Value, b: Value) -> Value:
        if swapped:
            a, b = b, a
        return t.truth(operation, a, b) if truth else t(operation, a, b)

    def function(x1: Any, x2: Any, /, *, out: Array | None = None) -> Array:
        made = recorded(x2, x1) if swapped else recorded(x1, x2)
        if made is None and comparison:
            made = _beyond(comparison, *((x2, x1) if swapped else (x1, x2)))
        if made is None:
            made = binary(name, x1, x2, rule, kinds, truth, floats)
        return made if out is None else into(out, made)

    return named(function, name, meaning)


def _beyond(comparison: str, left: Any, right: Any) -> Array | None:
    """A comparison with an integer that the array's type does not have, None with another: each has its answer."""
    x, given = (left, right) if isinstance(left, Array) else (right, left)
    n = None if isinstance(given, Array) else values.number(given)
    if not isinstance(x, Array) or type(n) is not int:
        return None
    dtype = dtypes.int64 if x.dtype.kind == "bool" else x.dtype
    equal = comparison == "ne"
    if dtype.kind in INTS:
        if values.fits(n, dtype):
            return None
        truth = equal if comparison in ("eq", "ne") else (n > 0) == (x is left)
        return core.recorded(core.number(truth, "uint8"), x.shape, dtypes.bool, x.device)
    try:
        float(n)
    except OverflowError:
        if comparison in ("eq", "ne"):
            return core.recorded(core.number(equal, "uint8"), x.shape, dtypes.bool, x.device)
        # Between the largest float and infinity.
        end = number(math.inf if n > 0 else -math.inf, computed_in(dtype).buffer)
        operation = "lt" if (n > 0) == (x is left) else "le"
        if dtype.kind != "float":
            return None

        def rule(t: Typed, value: Value) -> Value:
            return t.truth(operation, value, end) if x is left else t.truth(operation, end, value)

        return record(rule, [x], dtype, x.shape, x.device, dtypes.bool)
    return None


add = of_two("add", "add", NUMBERS, "x1 + x2; integers wrap.")
subtract = of_two("subtract", "sub", NUMBERS, "x1 - x2; integers wrap.")
multiply = of_two("multiply", "mul", NUMBERS, "x1 * x2; integers wrap.")
divide = of_two("divide", "div", ("float", "complex"), "x1 / x2; integers are converted to float64.", floats=True)


def _quotient(name: str, operation: str, meaning: str) -> OfTwo:
    of_integers = Elementwise(operation, INTS).binary

    def general(x1: Any, x2: Any) -> Array:
        inputs, dtype, device, shape = operands(name, x1, x2)
        check_kind(name, dtype, REALS)
        if dtype.kind == "float" and not device.on_host:
            return by_numpy(name, inputs, dtype, device, shape, dtype)
        return record(lambda t, a, b: t(operation, a, b), inputs, dtype, shape, device, dtype)

    def function(x1: Any, x2: Any, /, *, out: Array | None = None) -> Array:
        made = of_integers(x1, x2)
        return into(out, general(x1, x2) if made is None else made)

    return named(function, name, f"{meaning} Of floats on a GPU on the host.")


floor_divide = _quotient("floor_divide", "floor_div", "The quotient rounded down; integers divided by zero give 0.")
remainder = _quotient("remainder", "remainder", "What floor_divide leaves, with the divisor's sign; of integers by zero 0.")
maximum = of_two("maximum", "maximum", REALS, "The larger one; NaN if one is.")
minimum = of_two("minimum", "minimum", REALS, "The smaller one; NaN if one is.")


def atan2(x1: Any, x2: Any, /, *, out: Array | None = None) -> Array:
    """Arc tangent of x1 / x2, in the quadrant of both; on the device where that is the processor, else on the host."""
    inputs, dtype, device, shape = operands("atan2", x1, x2)
    dtype = dtypes.float64 if dtype.kind in INTS else dtype
    check_kind("atan2", dtype, FLOATS)
    if not device.on_host:
        return into(out, by_numpy("atan2", inputs, dtype, device, shape, dtype))
    return into(out, record(lambda t, a, b: t("atan2", a, b), inputs, dtype, shape, device, dtype))


def _on_host(name: str, meaning: str) -> OfTwo:
    def function(x1: Any, x2: Any, /, *, out: Array | None = None) -> Array:
        inputs, dtype, device, shape = operands(name, x1, x2)
        dtype = dtypes.float64 if dtype.kind in INTS else dtype
        check_kind(name, dtype, FLOATS)
        return into(out, by_numpy(name, inputs, dtype, device, shape, dtype))

    return named(function, name, f"{meaning}, on the host.")


copysign = _on_host("copysign", "Magnitude of x1 with the sign of x2")
hypot = _on_host("hypot", "Square root of x1^2 + x2^2")
logaddexp = _on_host("logaddexp", "log(exp(x1) + exp(x2))")
nextafter = _on_host("nextafter", "The number next to x1 towards x2")


_product = Elementwise("mul", REALS).binary


def pow(x1: Any, x2: Any, /, *, out: Array | None = None) -> Array:
    """x1 to the x2; of integers and complex numbers on the host."""
    return into(out, _power(x1, x2))


def _power(x1: Any, x2: Any) -> Array:
    made = _product(x1, x1) if type(x2) is int and x2 == 2 else None
    if made is not None:
        return made
    inputs, dtype, device, shape = operands("pow", x1, x2)
    check_kind("pow", dtype, NUMBERS)
    power = None if isinstance(x2, Array) else inputs[1]
    if power == 2 and dtype.kind != "complex":
        return record(lambda t, x: t("mul", x, x), inputs[:1], dtype, shape, device, dtype)
    if dtype.kind == "float":
        if power == 1:
            return record(lambda t, x: x, inputs[:1], dtype, shape, device, dtype)
        return record(lambda t, a, b: t("pow", a, b), inputs, dtype, shape, device, dtype)
    return by_numpy("pow", inputs, dtype, device, shape, dtype)
