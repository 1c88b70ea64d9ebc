"""What the tests of the array API standard share: random arrays of both libraries, and how results are compared."""

import os

import array_api_strict as xp
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import hologram
from hologram import array as hp

EXAMPLES = int(os.environ.get("HOLOGRAM_TEST_EXAMPLES", "8"))
DEVICE = os.environ.get("HOLOGRAM_TEST_BACKEND", "cpu")

campaign = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="HOLOGRAM_TEST_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
KINDS = {"bool": ["bool"], "int": SIGNED, "uint": UNSIGNED, "float": FLOATS, "complex": COMPLEX}


def dtypes_of(*kinds):
    return [name for kind in kinds for name in KINDS[kind]]


def shapes(least=0, most=3, sides=(0, 5)):
    return hnp.array_shapes(min_dims=least, max_dims=most, min_side=sides[0], max_side=sides[1])


_FLOAT_VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.7, 1e-3, 100.0, -1e4, float("inf"), -float("inf"), float("nan")]
_TAME = [0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.25, 7.0, -0.125]


def elements(dtype, tame=False):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        info = np.iinfo(dtype)
        some = [v for v in (0, 1, 2, 3, 5, 7, -1, -2, -7) if v >= info.min]
        return st.sampled_from(some if tame else [*some, int(info.min), int(info.max), int(info.max) - 1])
    floats = st.sampled_from(_TAME if tame else _FLOAT_VALUES)
    if kind == "f":
        wide = st.floats(-30, 30, width=32)
        return floats | wide
    tame_floats = st.sampled_from(_TAME)
    return st.builds(complex, tame_floats, tame_floats)


@st.composite
def numpys(draw, dtypes, shape=None, tame=False, least=0, most=3, sides=(0, 5)):
    """One of NumPy's arrays."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes(least, most, sides)) if shape is None else shape
    return draw(hnp.arrays(dtype, shape, elements=elements(dtype, tame)))


def both(values):
    """The same array of both libraries."""
    return hp.asarray(values, device=DEVICE), xp.asarray(values)


@st.composite
def arrays(draw, dtypes, shape=None, tame=False, least=0, most=3, sides=(0, 5), views=True):
    """The same array of both libraries, at times a view of a larger one or an operation that is not computed yet."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes(least, most, sides)) if shape is None else tuple(shape)
    form = draw(st.sampled_from(["plain", "step", "flip", "transpose", "pending"])) if views else "plain"
    made = tuple(2 * side for side in shape) if form == "step" else shape[::-1] if form == "transpose" else shape
    values = draw(hnp.arrays(dtype, made, elements=elements(dtype, tame)))
    ours, theirs = both(values)
    if form == "step":
        key = tuple(slice(None, None, 2) for _ in shape)
        ours, theirs = (ours[key], theirs[key]) if key else (ours, theirs)
    elif form == "flip" and shape:
        ours, theirs = hp.flip(ours), xp.flip(theirs)
    elif form == "transpose":
        axes = tuple(reversed(range(len(shape))))
        ours, theirs = hp.permute_dims(ours, axes), xp.permute_dims(theirs, axes)
    elif form == "pending" and dtype != "bool":
        ours, theirs = hp.positive(ours), xp.positive(theirs)
    return ours, theirs


@st.composite
def mutual_shapes(draw, count, most=3):
    """Shapes that broadcast."""
    return draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=most, max_side=4, min_side=0)).input_shapes


def to_numpy(x):
    """Either library's array as one of NumPy's."""
    return np.array(x) if isinstance(x, hologram.Array) else np.array(x._array)


def name_of(dtype):
    return str(dtype).split(".")[-1]


def same(ours, theirs, ulps=0, scale=None):
    """Both have the same type, shape and values; floats may differ by some units in the last place (of the largest value
    where `scale` is given)."""
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b, ulps, scale)
        return
    if not isinstance(ours, hologram.Array):
        assert ours == theirs or (ours != ours and theirs != theirs)
        return
    assert ours.shape == theirs.shape
    assert ours.dtype.name == name_of(theirs.dtype)
    a, b = to_numpy(ours), to_numpy(theirs)
    assert a.dtype == b.dtype
    if a.dtype.kind not in "fc" or ulps == 0:
        np.testing.assert_array_equal(a, b)
        return
    epsilon = np.finfo(a.dtype).eps
    largest = 0.0
    if scale is not None:
        finite = np.abs(b[np.isfinite(b)])
        largest = max(float(finite.max(initial=0.0)), scale)
    np.testing.assert_allclose(a, b, rtol=ulps * epsilon, atol=ulps * epsilon * largest + np.finfo(a.dtype).tiny)
