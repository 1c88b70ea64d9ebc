"""Statistical functions, searches, sorts and sets against array-api-strict."""

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hologram import array as hp

from standard import DEVICE, arrays, campaign, dtypes_of, same, to_numpy


# NumPy warns of means of nothing, which are tested here.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning"),
]


def draw_axes(data, ndim):
    """An axis, several, or all."""
    choices = [None, *range(-ndim, ndim)]
    if ndim > 1:
        choices += [(0, 1), (-1, 0), tuple(range(ndim))]
    return data.draw(st.sampled_from(choices))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "count_nonzero"])
@campaign
@given(data=st.data())
def test_folds(name, data):
    kinds = {
        "sum": ("int", "uint", "float", "complex"), "prod": ("int", "uint", "float", "complex"), "mean": ("float", "complex"),
        "var": ("float",), "std": ("float",), "max": ("int", "uint", "float"), "min": ("int", "uint", "float"),
    }.get(name, ("bool", "int", "uint", "float", "complex"))  # fmt: skip
    extremes = name in ("max", "min")
    exact = name in ("max", "min", "all", "any", "count_nonzero")
    sides = (1, 5) if extremes else (0, 5)
    a, a_ = data.draw(arrays(dtypes_of(*kinds), tame=not exact, sides=sides))
    axis = draw_axes(data, a.ndim)
    keepdims = data.draw(st.booleans())
    with np.errstate(all="ignore"):
        ours = getattr(hp, name)(a, axis=axis, keepdims=keepdims)
        theirs = getattr(xp, name)(a_, axis=axis, keepdims=keepdims)
    same(ours, theirs, 0 if exact else 256, 1.0)


@campaign
@given(data=st.data())
def test_folds_of_chains(data):
    """Elementwise steps with a fold behind them are one pass; what is used again is right, too."""
    a, a_ = data.draw(arrays(["float64", "float32"], tame=True, least=1, sides=(1, 5)))
    axis = data.draw(st.sampled_from(range(a.ndim)))
    shifted, shifted_ = a - hp.max(a, axis=axis, keepdims=True), a_ - xp.max(a_, axis=axis, keepdims=True)
    powers, powers_ = hp.exp(shifted), xp.exp(shifted_)
    total, total_ = hp.sum(powers, axis=axis, keepdims=True), xp.sum(powers_, axis=axis, keepdims=True)
    same(powers / total, powers_ / total_, 16)
    same(hp.sum(powers * 2), xp.sum(powers_ * 2), 64)
    same(powers, powers_, 16)
    same(shifted, shifted_)


@campaign
@given(data=st.data())
def test_correction(data):
    a, a_ = data.draw(arrays(dtypes_of("float"), tame=True, sides=(3, 5), least=1))
    correction = data.draw(st.sampled_from([0.0, 1.0, 1.5]))
    same(hp.var(a, correction=correction), xp.var(a_, correction=correction), 64, 1.0)
    same(hp.std(a, correction=correction, axis=0), xp.std(a_, correction=correction, axis=0), 64, 1.0)


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@campaign
@given(data=st.data())
def test_types_of_sums(name, data):
    a, a_ = data.draw(arrays(dtypes_of("int", "uint"), tame=True, least=1, most=1))
    dtype = data.draw(st.sampled_from(["int32", "int64", "float64"]))
    same(getattr(hp, name)(a, dtype=dtype), getattr(xp, name)(a_, dtype=getattr(xp, dtype)))


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@campaign
@given(data=st.data())
def test_cumulative(name, data):
    a, a_ = data.draw(arrays(dtypes_of("int", "uint", "float", "complex"), tame=True, least=1))
    given_ = {"axis": data.draw(st.sampled_from(range(-a.ndim, a.ndim))), "include_initial": data.draw(st.booleans())}
    same(getattr(hp, name)(a, **given_), getattr(xp, name)(a_, **given_), 8, 1.0)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "float32", "float64"])
def test_cumulative_of_many(dtype):
    """Rows and columns of several parts, also transposed and behind a first element; on GPUs nothing of it is NumPy's."""
    # Ones among zeros: their sums are exact in all types.
    values = (np.random.default_rng(4).integers(0, 3, (9, 5001)) == 2).astype(dtype)
    x = hp.asarray(values, device=DEVICE)
    before = x.device.executor.stats()["host_operations"]
    for array, expected in ((x, values), (x.T, values.T)):
        for axis in (0, 1):
            for initial in (False, True):
                found = hp.cumulative_sum(array, axis=axis, include_initial=initial)
                wanted = np.cumulative_sum(expected, axis=axis, include_initial=initial)
                assert found.shape == wanted.shape
                assert np.array_equal(to_numpy(found), wanted)
    # Products of ones and threes, which wrap.
    found = hp.cumulative_prod(x[0] + x[0] + 1, dtype="int64")
    assert np.array_equal(to_numpy(found), np.cumulative_prod(values[0] + values[0] + 1, dtype="int64"))
    if x.device != "cpu":
        assert x.device.executor.stats()["host_operations"] == before


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@campaign
@given(data=st.data())
def test_arg(name, data):
    # Also NaN, of which the first one is taken.
    a, a_ = data.draw(arrays(dtypes_of("int", "uint", "float"), sides=(1, 5)))
    axis = data.draw(st.sampled_from([None, *range(-a.ndim, a.ndim)]))
    keepdims = data.draw(st.booleans())
    same(getattr(hp, name)(a, axis=axis, keepdims=keepdims), getattr(xp, name)(a_, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "bfloat16", "float32", "float64"])
def test_arg_of_many(dtype):
    """Large enough for several threads, also transposed; on the processor nothing of it is NumPy's."""
    # Exact in all types; most are there many times.
    values = np.random.default_rng(3).integers(0, 120, (3001, 701))
    x = hp.astype(hp.asarray(values), dtype).compute()
    before = x.device.executor.stats()["host_operations"]
    for name in ("argmax", "argmin"):
        for axis in (None, 0, 1):
            expected = getattr(np, name)(values, axis=axis)
            found = getattr(hp, name)(x, axis=axis)
            assert found.shape == expected.shape and found.dtype == hp.int64
            assert np.array_equal(np.asarray(found), expected)
            assert np.array_equal(np.asarray(getattr(hp, name)(x.T, axis=axis)), getattr(np, name)(values.T, axis=axis))
    if x.device == "cpu":
        assert x.device.executor.stats()["host_operations"] == before


@campaign
@given(data=st.data())
def test_diff(data):
    a, a_ = data.draw(arrays(dtypes_of("int", "float"), tame=True, least=1))
    axis, n = data.draw(st.sampled_from(range(-a.ndim, a.ndim))), data.draw(st.integers(0, 2))
    if a.shape[axis] > n:
        same(hp.diff(a, axis=axis, n=n), xp.diff(a_, axis=axis, n=n))
    if a.ndim == 1:
        same(hp.diff(a, prepend=a, append=a), xp.diff(a_, prepend=a_, append=a_))


@campaign
@given(data=st.data())
def test_sorts(data):
    a, a_ = data.draw(arrays(dtypes_of("int", "uint", "float"), tame=True, least=1))
    axis = data.draw(st.sampled_from(range(-a.ndim, a.ndim)))
    for descending in (False, True):
        same(hp.sort(a, axis=axis, descending=descending), xp.sort(a_, axis=axis, descending=descending))
        same(hp.argsort(a, axis=axis, descending=descending), xp.argsort(a_, axis=axis, descending=descending))


@campaign
@given(data=st.data())
def test_nonzero(data):
    a, a_ = data.draw(arrays(dtypes_of("bool", "int", "float"), least=1))
    same(hp.nonzero(a), xp.nonzero(a_))


@campaign
@given(data=st.data())
def test_searchsorted(data):
    a, a_ = data.draw(arrays(dtypes_of("int", "float"), tame=True, least=1, most=1))
    b, b_ = data.draw(arrays([a.dtype.name], tame=True))
    side = data.draw(st.sampled_from(["left", "right"]))
    order, order_ = hp.argsort(a), xp.argsort(a_)
    same(hp.searchsorted(hp.sort(a), b, side=side), xp.searchsorted(xp.sort(a_), b_, side=side))
    assume(a.size > 0)
    same(hp.searchsorted(a, b, side=side, sorter=order), xp.searchsorted(a_, b_, side=side, sorter=order_))


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
@campaign
@given(data=st.data())
def test_sets(name, data):
    a, a_ = data.draw(arrays(dtypes_of("bool", "int", "uint", "float"), tame=True))
    ours, theirs = getattr(hp, name)(a), getattr(xp, name)(a_)
    if name == "unique_values":
        order, order_ = (hp.argsort(ours), xp.argsort(theirs)) if a.dtype != "bool" else (slice(None), slice(None))
        same(ours[order], theirs[order_])
        return
    same(tuple(ours), tuple(theirs))
    assert ours._fields == theirs._fields
