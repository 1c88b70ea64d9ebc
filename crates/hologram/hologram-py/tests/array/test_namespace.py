"""The namespace: every name of the standard is there and has a test against array-api-strict, inspection, promotion."""

import inspect
from pathlib import Path

import array_api_strict as xp
import numpy as np
import pytest

import hologram
from hologram import array as hp

CONSTANTS = {"e", "inf", "nan", "newaxis", "pi"}
FUNCTIONS = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite
isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor maximum minimum
multiply negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh sqrt square subtract
tan tanh trunc
take take_along_axis
matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where
isin unique_all unique_counts unique_inverse unique_values
argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var
all any diff
""".split()
LINALG = """
cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer pinv qr slogdet
solve svd svdvals tensordot trace vecdot vector_norm
""".split()
FFT = "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn".split()
DTYPES = """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128""".split()
TYPES = [getattr(hp, name) for name in DTYPES]


def test_every_name_is_there():
    strict = {name for name in dir(xp) if inspect.isfunction(getattr(xp, name)) and not name.startswith("_")}
    # What array-api-strict has beside the standard: its own flags and devices.
    beside = {
        "get_array_api_strict_flags", "reset_array_api_strict_flags", "set_array_api_strict_flags", "Device",
        "ArrayAPIStrictFlags",
    }  # fmt: skip
    newer = strict - beside - set(FUNCTIONS)
    assert not {name for name in newer if hasattr(hp, name)}
    assert set(FUNCTIONS) <= strict
    missing = [name for name in (*FUNCTIONS, *DTYPES, *CONSTANTS) if not hasattr(hp, name)]
    missing += [name for name in LINALG if not hasattr(hp.linalg, name)]
    missing += [name for name in FFT if not hasattr(hp.fft, name)]
    assert missing == []


def test_every_name_is_tested():
    """Each function is named in a test beside this one."""
    folder = Path(__file__).parent
    text = "\n".join(path.read_text() for path in folder.glob("test_*.py"))
    lists = text.split("CONSTANTS = ")[1].split("TYPES = ")[0]
    text = text.replace(lists, "")
    words = set(text.replace(".", " ").replace("(", " ").replace('"', " ").replace(",", " ").split())
    words |= {f"{name}_like" for name in ("zeros", "ones", "empty")}
    assert [name for name in (*FUNCTIONS, *LINALG, *FFT) if name not in words] == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters(name):
    """Names, kinds and defaults of parameters are those of array-api-strict; more may be there."""
    ours = inspect.signature(getattr(hp, name)).parameters
    theirs = inspect.signature(getattr(xp, name)).parameters
    for key, parameter in theirs.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) or key in ("device",):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            continue
        assert key in ours, key
        assert ours[key].kind in (parameter.kind, parameter.POSITIONAL_OR_KEYWORD), key
    positional = [p for p in theirs.values() if p.kind is p.POSITIONAL_ONLY and p.default is p.empty]
    mine = [p for p in ours.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    assert len(mine) >= len(positional)


def test_constants():
    import math

    assert (hp.e, hp.pi, hp.inf, hp.newaxis) == (math.e, math.pi, math.inf, None)
    assert hp.nan != hp.nan


def test_namespace_of_an_array():
    x = hologram.asarray([1, 2])
    assert x.__array_namespace__() is hp
    assert x.__array_namespace__(api_version="2024.12") is hp
    assert x.__array_namespace__(api_version="2025.12") is hp
    with pytest.raises(ValueError, match="2025.12"):
        x.__array_namespace__(api_version="2199.12")
    assert hp.__array_api_version__ == "2025.12"


def test_inspection():
    info = hp.__array_namespace_info__()
    theirs = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.capabilities()["data-dependent shapes"]
    assert set(info.dtypes()) == set(theirs.dtypes()) == set(DTYPES)
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"):
        assert set(info.dtypes(kind=kind)) == set(theirs.dtypes(kind=kind))
        for name in DTYPES:
            assert hp.isdtype(getattr(hp, name), kind) == xp.isdtype(getattr(xp, name), kind)
    assert info.dtypes(kind=("bool", "integral")).keys() == theirs.dtypes(kind=("bool", "integral")).keys()
    assert {k: v.name for k, v in info.default_dtypes().items()} == {
        k: str(v).split(".")[-1] for k, v in theirs.default_dtypes().items()
    }
    assert info.default_device() in info.devices()
    assert hp.isdtype(hp.int8, hp.int8) and not hp.isdtype(hp.int8, (hp.int16, "bool"))


@pytest.mark.parametrize("a", DTYPES)
@pytest.mark.parametrize("b", DTYPES)
def test_promotion(a, b):
    ours, theirs = (getattr(hp, a), getattr(hp, b)), (getattr(xp, a), getattr(xp, b))
    try:
        expected = str(xp.result_type(*theirs)).split(".")[-1]
    except TypeError:
        # Left open by the standard: NumPy's, but for uint64 with signed integers.
        if {a, b} & {"uint64"} and {a, b} & {"int8", "int16", "int32", "int64"}:
            with pytest.raises(TypeError, match="no integer type holds both"):
                hp.result_type(*ours)
        return
    assert hp.result_type(*ours).name == expected
    assert (hp.ones(2, dtype=a), hp.ones(2, dtype=b)) and hp.result_type(hp.ones(2, dtype=a), ours[1]).name == expected
    assert hp.can_cast(*ours) == xp.can_cast(*theirs)


@pytest.mark.parametrize("name", DTYPES)
def test_limits(name):
    ours, theirs = getattr(hp, name), getattr(xp, name)
    if name.startswith(("int", "uint")):
        a, b = hp.iinfo(ours), xp.iinfo(theirs)
        assert (a.bits, a.max, a.min) == (b.bits, b.max, b.min) and a.dtype == ours
    elif name != "bool":
        a, b = hp.finfo(ours), xp.finfo(theirs)
        assert (a.bits, a.eps, a.max, a.min, a.smallest_normal) == (b.bits, b.eps, b.max, b.min, b.smallest_normal)
        assert a.dtype.name == str(b.dtype).split(".")[-1]
    else:
        with pytest.raises(TypeError):
            hp.finfo(ours)


def test_functions_of_numpy():
    """NumPy's functions call ours for arrays of ours, with its own arrays and numbers as other operands too."""
    a_ = np.asarray([0.25, 0.5, 0.75])
    a = hp.asarray(a_)
    for name in "abs acos exp floor isnan log1p negative sin sqrt tanh trunc".split():
        found = getattr(np, name)(a)
        assert isinstance(found, hp.Array)
        assert np.allclose(np.asarray(found), getattr(np, name)(a_), rtol=1e-15)
    for name in "add atan2 divide equal less maximum pow remainder subtract".split():
        for b in (a, a_, 2.0, np.float64(2.0), 2):
            found = getattr(np, name)(b, a)
            assert isinstance(found, hp.Array)
            assert np.allclose(np.asarray(found), getattr(np, name)(np.asarray(b), a_), rtol=1e-15)
    assert isinstance(a_ + a, hp.Array) and (a_ + a).tolist() == [0.5, 1, 1.5]
    assert isinstance(a_ < a, hp.Array) and (a_ < a).tolist() == [False] * 3
    square = hp.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert np.matmul(square, np.eye(2)).tolist() == square.tolist()
    assert np.add(a, a, dtype=np.float32).dtype is hp.float32
    # Into memory of either.
    kept = a_.copy()
    kept += a
    assert type(kept) is np.ndarray and kept.tolist() == [0.5, 1, 1.5]
    assert np.multiply(a, 2, out=kept) is kept and kept.tolist() == [0.5, 1, 1.5]
    target = hp.zeros(3)
    assert np.multiply(a, 2, out=target) is target and target.tolist() == [0.5, 1, 1.5]
    with pytest.raises(hologram.errors.ShapeError):
        np.multiply(a, 2, out=hp.zeros(4))
    # Functions that the standard does not have, and other ways to call them, are NumPy's.
    for work in (
        lambda x: np.float_power(x, 2),
        lambda x: np.add.reduce(x),
        lambda x: np.multiply.outer(x, x),
        lambda x: np.maximum.accumulate(x),
        lambda x: np.ptp(x),
        lambda x: np.modf(x)[1],
        lambda x: np.divmod(x, 0.3)[0],
        lambda x: np.add(x, 1, where=[True] * 3),
    ):
        found = work(a)
        assert isinstance(found, hp.Array) and np.allclose(np.asarray(found), work(a_), rtol=1e-15)
    whole, parts = hp.zeros(3), np.zeros(3)
    assert np.modf(a * 5, out=(parts, whole)) == (parts, whole) and whole.tolist() == [1, 2, 3] and parts[0] == 0.25
    for wrong in (lambda: np.add.at(a, [0], 1), lambda: np.add(a, "1"), lambda: np.add(np.ma.masked, a)):
        with pytest.raises(TypeError):
            wrong()
    # Types are those of operators: arrays of no dimensions are arrays, other results of NumPy's are NumPy's.
    single = hp.asarray([1, 2], dtype="float32")
    assert (np.asarray(2.0) * single).dtype is (single * np.asarray(2.0)).dtype is hp.float64
    assert (np.float64(2.0) * single).dtype is hp.float32 and (np.float64(2.0) < single).tolist() == [False, False]
    assert np.equal(a, hp.asarray([0.25, 1, 1]), dtype=bool).tolist() == [True, False, False]
    with pytest.raises(TypeError):
        np.add(a, a, dtype=np.int64)
    assert [part.tolist() for part in divmod(np.float64(5), single)] == [[5, 2], [0, 1]]
    kept = np.eye(2)
    kept @= square
    assert type(kept) is np.ndarray and kept.tolist() == square.tolist()

    class Foreign:
        def __array_ufunc__(self, function, method, *inputs, **options):
            return "asked"

    assert np.add(a, Foreign()) == np.add(a, 1, out=Foreign()) == "asked"
    assert issubclass(a.dtype.type, np.float64)
