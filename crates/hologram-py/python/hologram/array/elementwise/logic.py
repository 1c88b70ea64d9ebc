"""Comparisons, bits and truths."""

from collections.abc import Sequence
from typing import Any

from ..core import Array
from .binary import binary
from .steps import INTS, NUMBERS, REALS, Rule, check_kind, record


def _compare(name: str, x1: Any, x2: Any, rule: Rule, kinds: Sequence[str]) -> Array:
    return binary(name, x1, x2, rule, kinds, truth=True)


_ANY = ("bool", *NUMBERS)


def equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 == x2; NaN equals nothing."""
    return _compare("equal", x1, x2, lambda t, a, b: t.truth("eq", a, b), _ANY)


def not_equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 != x2."""
    return _compare("not_equal", x1, x2, lambda t, a, b: t.truth("ne", a, b), _ANY)


def less(x1: Any, x2: Any, /) -> Array:
    """Whether x1 < x2."""
    return _compare("less", x1, x2, lambda t, a, b: t.truth("lt", a, b), REALS)


def less_equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 <= x2."""
    return _compare("less_equal", x1, x2, lambda t, a, b: t.truth("le", a, b), REALS)


def greater(x1: Any, x2: Any, /) -> Array:
    """Whether x1 > x2."""
    return _compare("greater", x1, x2, lambda t, a, b: t.truth("lt", b, a), REALS)


def greater_equal(x1: Any, x2: Any, /) -> Array:
    """Whether x1 >= x2."""
    return _compare("greater_equal", x1, x2, lambda t, a, b: t.truth("le", b, a), REALS)


_BITS = ("bool", "int", "uint")


def bitwise_and(x1: Any, x2: Any, /) -> Array:
    """x1 & x2."""
    return binary("bitwise_and", x1, x2, lambda t, a, b: t("and", a, b), _BITS)


def bitwise_or(x1: Any, x2: Any, /) -> Array:
    """x1 | x2."""
    return binary("bitwise_or", x1, x2, lambda t, a, b: t("or", a, b), _BITS)


def bitwise_xor(x1: Any, x2: Any, /) -> Array:
    """x1 ^ x2."""
    return binary("bitwise_xor", x1, x2, lambda t, a, b: t("xor", a, b), _BITS)


def bitwise_invert(x: Array, /) -> Array:
    """All bits flipped; the other truth of a bool."""
    check_kind("bitwise_invert", x.dtype, _BITS)
    if x.dtype.kind == "bool":
        return logical_not(x)
    return record(lambda t, a: t("not", a), (x,), x.dtype, x.shape, x.device, x.dtype)


def bitwise_left_shift(x1: Any, x2: Any, /) -> Array:
    """x1 << x2; 0 for amounts from the width on."""
    return binary("bitwise_left_shift", x1, x2, lambda t, a, b: t("shl", a, b), INTS)


def bitwise_right_shift(x1: Any, x2: Any, /) -> Array:
    """x1 >> x2, arithmetic."""
    return binary("bitwise_right_shift", x1, x2, lambda t, a, b: t("shr", a, b), INTS)


def logical_and(x1: Any, x2: Any, /) -> Array:
    """Both; of bools."""
    return binary("logical_and", x1, x2, lambda t, a, b: t("and", a, b), ("bool",))


def logical_or(x1: Any, x2: Any, /) -> Array:
    """One or both; of bools."""
    return binary("logical_or", x1, x2, lambda t, a, b: t("or", a, b), ("bool",))


def logical_xor(x1: Any, x2: Any, /) -> Array:
    """One of both; of bools."""
    return binary("logical_xor", x1, x2, lambda t, a, b: t("xor", a, b), ("bool",))


def logical_not(x: Array, /) -> Array:
    """The other truth; of bools."""
    check_kind("logical_not", x.dtype, ("bool",))
    return record(lambda t, a: t("xor", a, t.number(True)), (x,), x.dtype, x.shape, x.device, x.dtype)
