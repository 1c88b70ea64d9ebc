"""`out=`: results that are written into an array which is there."""

import inspect

import numpy as np
import pytest

import hologram
from hologram import array as hp
from hologram import errors
from hologram.array import elementwise

from standard import DEVICE, to_numpy


rng = np.random.default_rng(11)
FLOATS = rng.uniform(0.1, 0.9, (3, 5))
OTHERS = rng.uniform(0.1, 0.9, (3, 5))
WHOLE = rng.integers(1, 9, (3, 5))
TRUTHS = WHOLE > 4
COMPLEX = FLOATS + 1j * OTHERS

ELEMENTWISE = sorted(elementwise.__all__)
OF_TRUTHS = ("logical_and", "logical_not", "logical_or", "logical_xor")
OF_INTEGERS = ("bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor")


def elementwise_case(name):
    """Arguments, as NumPy's."""
    if name == "where":
        return (TRUTHS, FLOATS, OTHERS)
    if name == "clip":
        return (FLOATS, 0.3, 0.6)
    if name == "astype":
        return (FLOATS, "float32")
    if name == "imag":
        return (COMPLEX,)
    if name == "acosh":
        return (FLOATS + 1,)
    values = TRUTHS if name in OF_TRUTHS else WHOLE if name in OF_INTEGERS else FLOATS
    parameters = inspect.signature(getattr(hp, name)).parameters
    if "x2" in parameters:
        return (values, values[::-1].copy() if values is not FLOATS else OTHERS)
    return (values,)


CASES = [
    *((name, elementwise_case(name), {}) for name in ELEMENTWISE),
    ("add", (FLOATS, 2), {}),
    ("subtract", (2.5, FLOATS), {}),
    ("add", (COMPLEX, COMPLEX), {}),
    ("real", (COMPLEX,), {}),
    ("conj", (COMPLEX,), {}),
    ("abs", (COMPLEX,), {}),
    ("positive", (WHOLE,), {}),
    ("add", (FLOATS.astype("float16"), 1.0), {}),
    ("pow", (FLOATS, 2), {}),
    ("pow", (WHOLE, 3), {}),
    ("square", (WHOLE,), {}),
    ("add", (FLOATS, WHOLE), {}),
    ("astype", (FLOATS, "float64"), {"copy": False}),
    *((name, (WHOLE,), {"axis": 1}) for name in ("sum", "prod", "max", "min", "mean", "all", "any", "argmax", "argmin")),
    *((name, (FLOATS,), {"axis": 0, "keepdims": True}) for name in ("sum", "prod", "max", "min", "mean", "var", "std")),
    ("sum", (COMPLEX,), {}),
    ("mean", (COMPLEX,), {"axis": 0}),
    ("count_nonzero", (TRUTHS,), {"axis": 0}),
    ("cumulative_sum", (FLOATS,), {"axis": 1}),
    ("cumulative_prod", (WHOLE,), {"axis": 0, "include_initial": True}),
    ("matmul", (FLOATS, OTHERS.T), {}),
    ("matmul", (WHOLE, WHOLE.T), {}),
    ("matmul", (FLOATS, OTHERS[0]), {}),
    ("take", (FLOATS, np.array([2, 0, 1, 1])), {"axis": 1}),
    ("concat", ([FLOATS, OTHERS],), {"axis": 1}),
    ("concat", ([FLOATS, OTHERS],), {"axis": None}),
    ("stack", ([FLOATS, OTHERS],), {"axis": 1}),
    ("sort", (FLOATS,), {"axis": 0, "descending": True}),
]


def ours(argument):
    if isinstance(argument, list):
        return [ours(part) for part in argument]
    return hp.asarray(argument) if isinstance(argument, np.ndarray) else argument


def same(found, expected):
    np.testing.assert_array_equal(to_numpy(found), expected)


@pytest.mark.parametrize("name, arguments, named", CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)])
def test_results_are_written(name, arguments, named):
    function = getattr(hp, name)
    arguments = [ours(argument) for argument in arguments]
    result = function(*arguments, **named)
    expected, shape, dtype = to_numpy(result), result.shape, result.dtype
    # Into memory, which views share.
    out = hp.zeros(shape, dtype=dtype)
    seen = out[...]
    assert function(*arguments, **named, out=out) is out
    same(seen, expected)
    # Into a view that is not dense.
    wide = hp.zeros((*shape, 3), dtype=dtype)
    assert function(*arguments, **named, out=wide[..., 1]).shape == shape
    same(wide[..., 1], expected)
    assert not to_numpy(wide[..., ::2]).any()
    # Into an array that is not computed yet: what was recorded of it stays.
    if dtype.kind not in ("bool", "complex"):
        out = hp.positive(hp.ones(shape, dtype=dtype))
        before = out + out
        assert function(*arguments, **named, out=out) is out
        same(out, expected)
        same(before, np.full(shape, 2, expected.dtype))
        # And the other way round: what is computed of the old elements leaves the new ones.
        same(out, expected)


def test_all_elementwise_functions_have_it():
    for name in ELEMENTWISE:
        parameter = inspect.signature(getattr(hp, name)).parameters["out"]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.default is None


def test_operands_may_overlap():
    values = np.arange(48.0).reshape(6, 8)
    works = [
        (lambda x: (x[1:], x[:-1]), lambda x: x[1:]),
        (lambda x: (x[:-1], x[1:]), lambda x: x[1:]),
        (lambda x: (x[:, ::-1], x), lambda x: x),
        (lambda x: (x[:6, :6].T, x[:6, :6]), lambda x: x[:6, :6]),
        (lambda x: (x, x), lambda x: x),
        (lambda x: (x[::2], x[1::2]), lambda x: x[::2]),
        (lambda x: (x[0], x[1:2]), lambda x: x[1:2]),
    ]
    for name, plain in (("add", np.add), ("multiply", np.multiply), ("maximum", np.maximum), ("hypot", np.hypot)):
        for operands, place in works:
            x, expected = hp.asarray(values), values.copy()
            place(expected)[...] = plain(*(part.copy() for part in operands(expected)))
            getattr(hp, name)(*operands(x), out=place(x))
            np.testing.assert_allclose(to_numpy(x), expected, rtol=1e-15)
    x = hp.asarray(values)
    hp.sum(x, axis=0, out=x[2])
    same(x[2], values.sum(axis=0))
    x = hp.asarray(values[:6, :6])
    hp.matmul(x, x, out=x)
    np.testing.assert_allclose(to_numpy(x), values[:6, :6] @ values[:6, :6])
    x = hp.asarray(values)
    hp.concat([x[3:], x[:3]], out=x)
    same(x, np.concatenate([values[3:], values[:3]]))
    z = COMPLEX.copy()
    x = hp.asarray(z)
    hp.add(x[1:], x[:-1], out=x[1:])
    z[1:] = z[1:] + z[:-1]
    same(x, z)


def test_operations_recorded_before_read_what_was_there():
    x, y = hp.arange(5.0), hp.ones(5)
    doubled = x * 2
    hp.add(x, y, out=x)
    assert doubled.tolist() == [0, 2, 4, 6, 8] and x.tolist() == [1, 2, 3, 4, 5]
    # An operand that is recorded and seen elsewhere stays what it was.
    shifted = x + 1
    assert hp.multiply(shifted, 2, out=x) is x
    assert shifted.tolist() == [2, 3, 4, 5, 6] and x.tolist() == [4, 6, 8, 10, 12]
    kept = x + 1
    hp.astype(kept, "float64", copy=False, out=x)
    assert kept.tolist() == x.tolist() == [5, 7, 9, 11, 13]
    y[...] = 0
    assert x.tolist() == [5, 7, 9, 11, 13]


REPLACED = [
    ("sum", lambda m, out: hp.sum(m, axis=0, out=out), lambda m: m.sum(axis=0)),
    ("take", lambda m, out: hp.take(m[0], hp.asarray([4, 3, 2, 1, 0]), axis=0, out=out), lambda m: m[0, ::-1]),
    ("concat", lambda m, out: hp.concat([m[0, :2], m[1, 2:]], out=out), lambda m: np.concatenate([m[0, :2], m[1, 2:]])),
    ("add", lambda m, out: hp.add(m[0], m[1], out=out), lambda m: m[0] + m[1]),
]


@pytest.mark.parametrize("work, expected", [case[1:] for case in REPLACED], ids=[case[0] for case in REPLACED])
def test_old_elements_that_are_computed_later_do_not_return(work, expected):
    values = np.arange(5.0)
    a, m = hp.asarray(values), hp.asarray(FLOATS)
    # By an operation on them, by a fold that keeps them the second time, and by a write into what they read.
    for compute in (
        lambda doubled: same(doubled, (values + 1) * 2),
        lambda doubled: [float(hp.sum(doubled)) for _ in range(3)],
        lambda doubled: a.__setitem__(..., hp.asarray(values)),
    ):
        x = a + 1
        doubled = x * 2
        assert work(m, x) is x
        compute(doubled)
        same(x, expected(FLOATS))
        same(doubled, (values + 1) * 2)
        same(x, expected(FLOATS))


def test_a_result_is_one_pass():
    if DEVICE != "cpu":
        pytest.skip("counts of the processor")
    x, out = hp.arange(1000.0), hp.zeros(1000)
    executor = x.device.executor
    before = executor.stats()
    hp.add(x * x, x, out=out)
    after = executor.stats()
    assert after["expressions"] - before["expressions"] == 1 and after["allocations"] == before["allocations"]
    # Steps in between that nobody sees are part of it, also where they read what is written.
    for work, expected in (
        (lambda at: hp.clip(x, 10.0, 20.0, out=at), lambda values: values.clip(10, 20)),
        (lambda at: hp.pow(x, 3, out=at), lambda values: values**3),
    ):
        values = to_numpy(x).copy()
        x = hp.asarray(values)
        before = executor.stats()
        work(x)
        after = executor.stats()
        assert after["expressions"] - before["expressions"] == 1 and after["allocations"] == before["allocations"]
        np.testing.assert_allclose(to_numpy(x), expected(values), rtol=1e-15)


def test_steps_in_between_that_are_seen_stay():
    x, values = hp.arange(6.0), np.arange(6.0)
    # Seen by an array, by another graph, and below one that is seen.
    tripled = x * 3
    other = hp.sqrt(x + 1)
    lower = (x - 1) * (x - 1)
    above = lower + 5
    hp.add(above, tripled + other, out=x)
    same(tripled, values * 3)
    same(above, (values - 1) ** 2 + 5)
    same(lower, (values - 1) ** 2)
    np.testing.assert_allclose(to_numpy(other), np.sqrt(values + 1), rtol=1e-15)
    np.testing.assert_allclose(to_numpy(x), (values - 1) ** 2 + 5 + values * 3 + np.sqrt(values + 1), rtol=1e-15)
    # The lowest step reads what is written; only the one above it is seen.
    x = hp.asarray(values)
    seen = (x * 2) + 1
    hp.clip(seen, 2.0, 8.0, out=x)
    same(seen, values * 2 + 1)
    same(x, (values * 2 + 1).clip(2, 8))


@pytest.mark.parametrize(
    "out, kind, text",
    [
        (lambda: np.zeros(3), TypeError, "out: ndarray given, an array expected"),
        (lambda: hp.zeros(4), errors.ShapeError, r"out: shape \(4,\) given, \(3,\) expected"),
        (lambda: hp.zeros(()), errors.ShapeError, r"out: shape \(\) given, \(3,\) expected"),
        (lambda: hp.zeros(3, dtype="float32"), errors.DTypeError, "out: elements are float32, float64 expected"),
    ],
)
def test_misfits_are_named(out, kind, text):
    x = hp.ones(3)
    for work in (lambda at: hp.add(x, x, out=at), lambda at: hp.sqrt(x, out=at), lambda at: hp.sort(x, out=at)):
        given = out()
        with pytest.raises(kind, match=text):
            work(given)
        assert not np.asarray(given).any()


def test_an_array_elsewhere_is_refused():
    others = [name for name, there, _ in hologram.backends() if there and name in ("cpu", "metal", "cuda") and name != DEVICE]
    if not others:
        pytest.skip("one device")
    with pytest.raises(errors.ArgumentError, match=f"out: the array is on {others[0]}, {DEVICE} expected"):
        hp.add(hp.ones(3), 1, out=hp.zeros(3, device=others[0]))


def test_methods_have_it():
    x, out = hp.asarray(FLOATS), hp.zeros(3)
    assert x.sum(1, out=out) is out
    same(out, to_numpy(hp.sum(hp.asarray(FLOATS), axis=1)))
