"""How arrays become rows for a device's sort, against NumPy: every type, axis, layout and direction. On the processor the host sorts these rows; the kernels
are tested in `hologram-kernels`, and here with `HOLOGRAM_TEST_BACKEND` on a GPU."""

import numpy as np
import pytest

import hologram
from hologram import array as hp
from hologram.array import reductions, sorting

TYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
SHAPES = [(7,), (1,), (0,), (3, 5), (5, 0), (4, 1, 6), (2, 3, 1030)]


def values(rng, dtype, shape):
    if dtype.startswith("float"):
        drawn = rng.integers(-9, 9, shape).astype(dtype) / 2
        special = rng.random(shape)
        return np.where(special < 0.1, np.nan, np.where(special < 0.2, -0.0, np.where(special < 0.25, np.inf, drawn))).astype(dtype)
    return rng.integers(0, 2 if dtype == "bool" else 11, shape).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_rows_are_sorted_as_numpy_does(dtype, descending):
    rng = np.random.default_rng(len(dtype) + descending)
    for shape in SHAPES:
        plain = values(rng, dtype, shape)
        for data, ours in [(plain, hologram.asarray(plain)), (plain.T, hp.permute_dims(hologram.asarray(plain), tuple(range(len(shape)))[::-1]))]:
            for axis in range(data.ndim):
                order = np.asarray(sorting._on_device(ours, axis, descending, order=True))
                expected = np.asarray(hp.argsort(ours, axis=axis, descending=descending))
                assert order.dtype == np.int64 and np.array_equal(order, expected), (shape, axis)
                stable = np.argsort(data, axis=axis, kind="stable")
                assert descending or np.array_equal(order, stable)
                found = sorting._on_device(ours, axis, descending, order=False)
                assert found.dtype == ours.dtype and found.shape == ours.shape
                assert np.array_equal(np.asarray(found), np.take_along_axis(data, order, axis), equal_nan=dtype.startswith("float"))


def test_bfloat16():
    x = hp.astype(hologram.asarray([2.5, -1.0, float("nan"), 0.0, -0.0], dtype="float32"), hp.bfloat16)
    assert np.asarray(sorting._on_device(x, 0, False, order=True)).tolist() == [1, 3, 4, 0, 2]
    found = hp.astype(sorting._on_device(x, 0, True, order=False), hp.float32)
    assert np.array_equal(np.asarray(found), [np.nan, 2.5, 0.0, -0.0, -1.0], equal_nan=True)


def test_what_sorts_refuse():
    x = hologram.asarray([3, 1, 2], dtype="int32")
    small = hp.zeros(2, dtype="int32")
    with pytest.raises(hologram.errors.ShapeError, match="target"):
        sorting.sort_rows(False, False, x, small)
    with pytest.raises(hologram.errors.DTypeError, match="int64"):
        sorting.sort_rows(True, False, x[:2], small)
    with pytest.raises(hologram.errors.ArgumentError, match="memory"):
        sorting.sort_rows(False, False, x[:2], x[1:])
    sorting.sort_rows(False, True, x, x)
    assert x.tolist() == [3, 2, 1]


@pytest.mark.parametrize("extreme", ["maximum", "minimum"])
def test_positions_of_words_of_64_bits(extreme):
    """What GPUs do, whose kernels keep an element and its position in one word."""
    numpys = {"maximum": np.argmax, "minimum": np.argmin}[extreme]
    rng = np.random.default_rng(7)
    for dtype in ("int64", "uint64", "float64"):
        for shape in [(9,), (4, 50), (3, 7, 11)]:
            data = values(rng, dtype, shape)
            x = hologram.asarray(data)
            for axis in (None, *range(len(shape))):
                found = hp.argmax(reductions._where_extreme(extreme, x, axis), axis=axis)
                assert np.array_equal(np.asarray(found), numpys(data, axis=axis)), (dtype, shape, axis)
