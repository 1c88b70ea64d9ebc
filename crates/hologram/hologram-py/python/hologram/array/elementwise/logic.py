"""Comparisons, bits and truths."""

from ..core import Array, Elementwise, into
from .binary import of_two
from .steps import INTS, NUMBERS, REALS, check_kind, record

__all__ = [
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "equal",
    "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal",
]  # fmt: skip

_ANY = ("bool", *NUMBERS)

equal = of_two("equal", "eq", _ANY, "Whether x1 == x2; NaN equals nothing.", truth=True)
not_equal = of_two("not_equal", "ne", _ANY, "Whether x1 != x2.", truth=True)
less = of_two("less", "lt", REALS, "Whether x1 < x2.", truth=True)
less_equal = of_two("less_equal", "le", REALS, "Whether x1 <= x2.", truth=True)
greater = of_two("greater", "lt", REALS, "Whether x1 > x2.", truth=True, swapped=True)
greater_equal = of_two("greater_equal", "le", REALS, "Whether x1 >= x2.", truth=True, swapped=True)

_BITS = ("bool", "int", "uint")

bitwise_and = of_two("bitwise_and", "and", _BITS, "x1 & x2.")
bitwise_or = of_two("bitwise_or", "or", _BITS, "x1 | x2.")
bitwise_xor = of_two("bitwise_xor", "xor", _BITS, "x1 ^ x2.")
bitwise_left_shift = of_two("bitwise_left_shift", "shl", INTS, "x1 << x2; 0 for amounts from the width on.")
bitwise_right_shift = of_two("bitwise_right_shift", "shr", INTS, "x1 >> x2, arithmetic.")
logical_and = of_two("logical_and", "and", ("bool",), "Both; of bools.")
logical_or = of_two("logical_or", "or", ("bool",), "One or both; of bools.")
logical_xor = of_two("logical_xor", "xor", ("bool",), "One of both; of bools.")

_inverted = Elementwise("not", INTS).unary


def bitwise_invert(x: Array, /, *, out: Array | None = None) -> Array:
    """All bits flipped; the other truth of a bool."""
    made = _inverted(x)
    if made is not None:
        return into(out, made)
    check_kind("bitwise_invert", x, _BITS)
    return logical_not(x, out=out)


def logical_not(x: Array, /, *, out: Array | None = None) -> Array:
    """The other truth; of bools."""
    check_kind("logical_not", x, ("bool",))
    return into(out, record(lambda t, a: t("xor", a, t.number(True)), (x,), x.dtype, x.shape, x.device, x.dtype))
