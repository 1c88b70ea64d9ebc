"""Elementwise functions against array-api-strict."""

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hologram import array as hp

from standard import arrays, campaign, dtypes_of, mutual_shapes, same

NUMBERS = ("int", "uint", "float", "complex")
REALS = ("int", "uint", "float")
INTS = ("int", "uint")
FIELDS = ("float", "complex")

# Name: kinds, units in the last place.
UNARY = {
    "abs": (NUMBERS, 2), "acos": (FIELDS, 4), "acosh": (FIELDS, 4), "asin": (FIELDS, 4), "asinh": (FIELDS, 4),
    "atan": (FIELDS, 4), "atanh": (FIELDS, 4), "bitwise_invert": (("bool", *INTS), 0), "ceil": (REALS, 0), "conj": (NUMBERS, 0),
    "cos": (FIELDS, 4), "cosh": (FIELDS, 4), "exp": (FIELDS, 4), "expm1": (FIELDS, 4), "floor": (REALS, 0),
    "imag": (("complex",), 0), "isfinite": (NUMBERS, 0), "isinf": (NUMBERS, 0), "isnan": (NUMBERS, 0), "log": (FIELDS, 4),
    "log1p": (FIELDS, 4), "log2": (FIELDS, 4), "log10": (FIELDS, 4), "logical_not": (("bool",), 0), "negative": (NUMBERS, 0),
    "positive": (NUMBERS, 0), "real": (NUMBERS, 0), "reciprocal": (FIELDS, 2), "round": (NUMBERS, 0), "sign": (NUMBERS, 2),
    "signbit": (("float",), 0), "sin": (FIELDS, 4), "sinh": (FIELDS, 4), "sqrt": (FIELDS, 2), "square": (NUMBERS, 2),
    "tan": (FIELDS, 8), "tanh": (FIELDS, 4), "trunc": (REALS, 0),
}  # fmt: skip
BINARY = {
    "add": (NUMBERS, 0), "atan2": (("float",), 4), "bitwise_and": (("bool", *INTS), 0), "bitwise_or": (("bool", *INTS), 0),
    "bitwise_xor": (("bool", *INTS), 0), "copysign": (("float",), 0), "divide": (FIELDS, 2),
    "equal": (("bool", *NUMBERS), 0), "floor_divide": (REALS, 0), "greater": (REALS, 0), "greater_equal": (REALS, 0),
    "hypot": (("float",), 2), "less": (REALS, 0), "less_equal": (REALS, 0), "logaddexp": (("float",), 4),
    "logical_and": (("bool",), 0), "logical_or": (("bool",), 0), "logical_xor": (("bool",), 0), "maximum": (REALS, 0),
    "minimum": (REALS, 0), "multiply": (NUMBERS, 2), "nextafter": (("float",), 0), "not_equal": (("bool", *NUMBERS), 0),
    "remainder": (REALS, 0), "subtract": (NUMBERS, 0),
}  # fmt: skip
# Not in array-api-strict's list of what may be mixed: a NaN's sign, zeros of integers.
OPERATORS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b, "divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a // b, "remainder": lambda a, b: a % b, "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b, "bitwise_xor": lambda a, b: a ^ b, "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b, "less": lambda a, b: a < b, "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b, "greater_equal": lambda a, b: a >= b,
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@campaign
@given(data=st.data())
def test_functions_of_one_array(name, data):
    kinds, ulps = UNARY[name]
    ours, theirs = data.draw(arrays(dtypes_of(*kinds), tame=name in ("square",)))
    with np.errstate(all="ignore"):
        same(getattr(hp, name)(ours), getattr(xp, name)(theirs), ulps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sign_of_zeros(dtype):
    values = [-0.0, 0.0, -2.0, float("nan"), float("-inf")] * 9
    found = hp.sign(hp.asarray(values, dtype=dtype))
    expected = np.asarray(xp.sign(xp.asarray(values, dtype=getattr(xp, dtype))))
    assert np.array_equal(np.asarray(found), expected, equal_nan=True)
    assert not np.signbit(np.asarray(found)[:2]).any() and not np.signbit(expected[:2]).any()


def _pair(data, kinds, tame=False):
    """Two arrays that broadcast, of types that promote, or an array and a number."""
    kind = data.draw(st.sampled_from(kinds))
    names = dtypes_of(kind)
    a, b = data.draw(mutual_shapes(2))
    first = data.draw(arrays(names, shape=a, tame=tame))
    second = data.draw(arrays(names, shape=b, tame=tame))
    return first, second


@pytest.mark.parametrize("name", BINARY)
@campaign
@given(data=st.data())
def test_functions_of_two_arrays(name, data):
    kinds, ulps = BINARY[name]
    (a, a_), (b, b_) = _pair(data, kinds)
    with np.errstate(all="ignore"):
        same(getattr(hp, name)(a, b), getattr(xp, name)(a_, b_), ulps)


@pytest.mark.parametrize("name", OPERATORS)
@campaign
@given(data=st.data())
def test_operators(name, data):
    kinds, ulps = BINARY[name]
    function = OPERATORS[name]
    (a, a_), (b, b_) = _pair(data, kinds)
    kind = a.dtype.kind
    number = data.draw({
        "bool": st.booleans(), "int": st.integers(-7, 7), "uint": st.integers(0, 7), "float": st.sampled_from([-2.5, 0.5, 3.0]),
        "complex": st.sampled_from([1 + 2j, -1j]),
    }[kind])  # fmt: skip
    with np.errstate(all="ignore"):
        same(function(a, b), function(a_, b_), ulps)
        same(function(a, number), function(a_, number), ulps)
        same(function(number, a), function(number, a_), ulps)


@campaign
@given(data=st.data())
def test_in_place(data):
    name = data.draw(st.sampled_from(["int32", "float64", "uint8"]))
    (a, a_) = data.draw(arrays([name], tame=True, sides=(1, 4)))
    (b, b_) = data.draw(arrays([name], shape=a.shape, tame=True))
    old, old_ = a + b, a_ + b_
    a += b
    a_ += b_
    a *= 3
    a_ *= 3
    a -= a
    a_ -= a_
    same(a, a_)
    same(old, old_)


@campaign
@given(data=st.data())
def test_pow(data):
    (a, a_), (b, b_) = _pair(data, ("float",))
    with np.errstate(all="ignore"):
        same(hp.pow(a, b), xp.pow(a_, b_), 4)
        same(a ** 2, a_ ** 2, 4)
        same(a ** 0.5, a_ ** 0.5, 4)
        same(2.0 ** a, 2.0 ** a_, 4)
    names = dtypes_of(data.draw(st.sampled_from(["int", "uint"])))
    (a, a_) = data.draw(arrays(names, tame=True))
    (b, b_) = both_of(data, names, a.shape)
    same(hp.pow(a, b), xp.pow(a_, b_))
    (a, a_), (b, b_) = _pair(data, ("complex",))
    with np.errstate(all="ignore"):
        same(hp.pow(a, b), xp.pow(a_, b_), 64, 1.0)


def both_of(data, names, shape, most=3):
    """Small integers that are not negative."""
    name = data.draw(st.sampled_from(names))
    values = np.full(shape, data.draw(st.integers(0, most)), name)
    return hp.asarray(values), xp.asarray(values)


@pytest.mark.parametrize("name", ["bitwise_left_shift", "bitwise_right_shift"])
@campaign
@given(data=st.data())
def test_shifts(name, data):
    names = dtypes_of(data.draw(st.sampled_from(["int", "uint"])))
    a, a_ = data.draw(arrays(names))
    b, b_ = both_of(data, names, a.shape, most=70)
    same(getattr(hp, name)(a, b), getattr(xp, name)(a_, b_))
    operator = (lambda x, y: x << y) if "left" in name else (lambda x, y: x >> y)
    same(operator(a, b), operator(a_, b_))


@campaign
@given(data=st.data())
def test_clip(data):
    a, a_ = data.draw(arrays(dtypes_of("int", "uint", "float"), tame=True))
    low, high = (1, 3) if a.dtype.kind != "float" else (-1.0, 2.0)
    for bounds in ((low, high), (None, high), (low, None), (None, None)):
        same(hp.clip(a, *bounds), xp.clip(a_, *bounds))
    b, b_ = data.draw(arrays([a.dtype.name], shape=a.shape[-1:], tame=True))
    same(hp.clip(a, b), xp.clip(a_, b_))


@campaign
@given(data=st.data())
def test_where(data):
    kind = data.draw(st.sampled_from(["bool", "int", "uint", "float", "complex"]))
    c, a, b = data.draw(mutual_shapes(3))
    c, c_ = data.draw(arrays(["bool"], shape=c))
    a, a_ = data.draw(arrays(dtypes_of(kind), shape=a))
    b, b_ = data.draw(arrays(dtypes_of(kind), shape=b))
    same(hp.where(c, a, b), xp.where(c_, a_, b_))
    if kind != "bool":
        same(hp.where(c, a, 2), xp.where(c_, a_, 2))
        same(hp.where(c, 2, b), xp.where(c_, 2, b_))


@campaign
@given(data=st.data())
def test_astype(data):
    a, a_ = data.draw(arrays(dtypes_of("bool", "int", "uint", "float"), tame=True))
    to = data.draw(st.sampled_from(dtypes_of("bool", "int", "uint", "float", "complex")))
    # What does not fit is not defined.
    source = np.array(a)
    if source.dtype.kind in "if" and to.startswith("u") and (source < 0).any():
        a, a_ = hp.abs(a), xp.abs(a_)
    same(hp.astype(a, to), xp.astype(a_, getattr(xp, to)))
    same(hp.astype(a, a.dtype, copy=False), a_)


@campaign
@given(data=st.data())
def test_results_of_two_kinds(data):
    """Beyond the standard: as NumPy."""
    a, _ = data.draw(arrays(dtypes_of("int"), tame=True))
    b, _ = data.draw(arrays(FLOATS_OF, shape=a.shape, tame=True))
    found = a * b + 0.5
    expected = np.array(a) * np.array(b) + 0.5
    assert found.dtype.name == expected.dtype.name
    np.testing.assert_allclose(np.array(found), expected)
    mask = hp.asarray(np.array(b) > 0)
    np.testing.assert_array_equal(np.array(b * mask), np.array(b) * np.array(mask))


FLOATS_OF = dtypes_of("float")
