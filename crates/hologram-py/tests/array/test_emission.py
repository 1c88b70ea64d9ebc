"""Expressions as Atlas programs, which devices with memory of their own run, against the same expressions on the processor."""

import pathlib
from contextlib import contextmanager

import numpy as np
import pytest

import hologram
from hologram import _hologram
from hologram import array as hp
from hologram.array import emission

from standard import DEVICE, FLOATS, SIGNED, UNSIGNED, to_numpy

REALS = [*SIGNED, *UNSIGNED, *FLOATS]


@contextmanager
def by_programs():
    """Everything inside runs as programs, on whatever device."""
    _hologram.by_programs(True)
    try:
        yield
    finally:
        _hologram.by_programs(False)


@pytest.fixture(autouse=True)
def on_device():
    with hologram.device(DEVICE):
        yield


def values(dtype, seed=0, count=200):
    rng = np.random.default_rng(seed)
    if dtype.startswith("float"):
        made = rng.normal(0, 50, count).astype(dtype)
        special = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 8388607.5, 4e15, 1e18, -1e18, np.inf, -np.inf, np.nan]
        made[: len(special)] = np.array(special, dtype)
        return made
    info = np.iinfo(dtype)
    made = rng.integers(max(info.min, -1000), min(info.max, 1000), count, dtype)
    made[:6] = [0, 1, info.max, info.min, info.max - 1, 2]
    return made


def check(work, *arrays, ulps=0):
    """Work gives the same on both ways, and counts as programs on the second."""
    executor = hologram.device(DEVICE).executor
    expected = to_numpy(work(*map(hologram.asarray, arrays)).compute())
    with by_programs():
        before = executor.stats()["programs"]
        found = work(*map(hologram.asarray, arrays)).compute()
        assert executor.stats()["programs"] > before
    found = to_numpy(found)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if ulps and found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=ulps * np.finfo(found.dtype).eps)
    else:
        np.testing.assert_array_equal(found, expected)
        if found.dtype.kind == "f":
            same_sign = np.signbit(found) == np.signbit(expected)
            assert (same_sign | np.isnan(found)).all()


UNARY = ["abs", "negative", "sign", "square", "ceil", "floor", "round", "trunc", "bitwise_invert", "isnan", "isinf", "isfinite"]
FUNCTIONS = ["sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "reciprocal"]
BINARY = [
    "add", "subtract", "multiply", "maximum", "minimum", "floor_divide", "remainder", "equal", "not_equal", "less", "less_equal",
    "greater", "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor",
]  # fmt: skip


@pytest.mark.parametrize("dtype", REALS)
def test_functions_of_one_array(dtype):
    floats = dtype.startswith("float")
    for name in UNARY:
        if name == "bitwise_invert" and floats:
            continue
        # A step at least, where the function itself is none.
        check(lambda x, name=name: getattr(hp, name)(hp.positive(x)), values(dtype))
    if floats:
        for name in FUNCTIONS:
            check(getattr(hp, name), values(dtype), ulps=8)


@pytest.mark.parametrize("dtype", REALS)
def test_functions_of_two_arrays(dtype):
    floats = dtype.startswith("float")
    a, b = values(dtype), values(dtype, 1)[::-1].copy()
    for name in BINARY:
        if floats and (name.startswith("bitwise") or name in ("floor_divide", "remainder")):
            continue
        check(getattr(hp, name), a, b)
        check(lambda x, name=name: getattr(hp, name)(x, 3), a)
    if floats:
        check(lambda x, y: x / y, a, b)
        check(lambda x, y: hp.abs(x) ** (y / 50), a, b, ulps=8)
    else:
        amounts = (np.arange(a.size) % 70).astype(dtype)
        check(hp.bitwise_left_shift, a, amounts)
        check(hp.bitwise_right_shift, a, amounts)


@pytest.mark.parametrize("dtype", ["bool", *REALS])
def test_conversions(dtype):
    made = values(dtype) if dtype != "bool" else np.arange(200) % 3 == 0
    for to in ["bool", *REALS]:
        if dtype.startswith("float") and to not in ("bool", *FLOATS):
            made = np.clip(np.nan_to_num(made), 0, 100)
        check(lambda x, to=to: hp.astype(hp.positive(x) if x.dtype != "bool" else ~x, to), made)
    for half in ("float16", "bfloat16"):
        if made.dtype.itemsize <= 2 and dtype != "uint16" or dtype == "float32":
            check(lambda x, half=half: hp.astype(hp.astype(x, half) + 1, "float32"), made)


def test_choices_and_views():
    x, y = values("float32", 2, 600).reshape(20, 30), values("float32", 3, 30)
    check(lambda x, y: hp.where(x > y, x * 2, y - 1), x, y)
    check(lambda x, y: x.T[::2, 1::3] + x.T[1::2, ::3] * y[:15, None][::-1, :], x, y)
    check(lambda x, y: hp.clip(x, -1.0, 5.0) + hp.broadcast_to(y, (20, 30)), x, y)
    check(lambda x, y: hp.concat([x, x[:, ::-1] + y]), x, y)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1)])
def test_folds(axis):
    whole = np.random.default_rng(4).integers(-50, 50, (7, 300, 5), np.int64)
    for work in (hp.sum, hp.max, hp.min):
        check(lambda x, work=work: work(x * 2 - 1, axis=axis), whole)
        check(lambda x, work=work: work(x.transpose(), axis=axis), whole)
    check(lambda x: hp.prod(x % 3 + 1, axis=axis), whole)
    floats = whole.astype(np.float64)
    check(lambda x: hp.mean(x * x, axis=axis, keepdims=True), floats, ulps=64)
    floats[3, 17, 2] = np.nan
    check(lambda x: hp.max(x, axis=axis), floats)
    check(lambda x: hp.any(x > 48, axis=axis), floats)
    check(lambda x: hp.all(x < 49, axis=axis), floats)
    check(lambda x: hp.count_nonzero(x, axis=axis), floats)


# Programs of each fold: one of blocks, or rounds of blocks and of lanes.
@pytest.mark.parametrize(
    "shape, axis, programs",
    [((100_003,), None, 2), ((3, 5000), 1, 2), ((40, 70), 1, 1), ((5000, 3), 0, 3), ((300, 40, 3), (0, 2), 1), ((5000, 20), 1, 1)],
)
def test_long_folds_have_rounds(shape, axis, programs):
    x = np.random.default_rng(5).random(shape)
    check(lambda x: hp.sum(x * 2, axis=axis), x, ulps=1000)
    check(lambda x: hp.max(x * 2, axis=axis), x)
    executor = hologram.device(DEVICE).executor
    with by_programs():
        x = hologram.asarray(x)
        before = executor.stats()["programs"]
        hp.sum(x * 2, axis=axis).compute()
        assert executor.stats()["programs"] - before == programs


@pytest.mark.parametrize("name, length, parts", [("whole", 700, 1), ("parts", 5000, 2)])
def test_folds_of_blocks_are_those_that_run_in_conformance_mode(name, length, parts):
    """The programs that hologram-backends runs in its 32-lane mode, with barriers between lanes."""
    row = emission.View("uint32", 0, (length, 1))
    three = (("uint32", 3, "3"),)
    expression = emission.Expression((2, length), (row,), three, (("mul", "uint32", (0, 1)),), ())
    fold = emission.Fold("sum", 2, (False, True), emission.View("uint32", 0, (1,)), parts, True)
    file = pathlib.Path(__file__).parents[3] / "hologram-backends/tests/metal/folds" / f"{name}.atlas"
    assert emission.program_text(expression, fold) + "\n" == file.read_text()


def test_zeros_keep_their_signs():
    x = np.array([1.0, -2.0])
    for zero in (0.0, -0.0):
        with by_programs():
            found = to_numpy((hologram.asarray(x) * zero).compute())
        assert list(np.signbit(found)) == list(np.signbit(x * zero))


def test_dimensions_that_memory_goes_through_as_one_are_one():
    x = np.arange(24.0).reshape(2, 3, 4)
    shapes = []

    def noted(expression, fold):
        shapes.append(expression.shape)
        return program_text(expression, fold)

    program_text = emission.program_text
    emission.program_text = noted
    emission._plan.cache_clear()
    try:
        for work in (lambda x: x * 2, lambda x: hp.sum(x, axis=(1, 2)), lambda x: x[:, :2] * 2, lambda x: x.transpose() * 2):
            check(work, x)
    finally:
        emission.program_text = program_text
    assert shapes == [(24,), (2, 12), (2, 8), (4, 3, 2)]


def test_what_lanes_cannot():
    from hologram import errors

    with by_programs(), pytest.raises(errors.UnsupportedError, match="floor_div"):
        (hp.ones(3) // hp.ones(3)).compute()
