"""Values that come in: every way in takes a number exactly or raises, arrays of NumPy's numbers and of ours among them."""

import enum
import math
import operator
import pickle
import random
import sys

import numpy as np
import pytest
from standard import DEVICE, to_numpy

import hologram
from hologram import array as hp

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
EDGES = sorted({sign * (1 << bits) + by for bits in (0, 7, 8, 15, 16, 31, 32, 53, 63, 64, 70) for sign in (1, -1) for by in (-1, 0, 1)})
NAN, INF = float("nan"), float("inf")


def asarray(values, **named):
    return hologram.asarray(values, device=DEVICE, **named)


def wanted(value, dtype):
    """The integer that a number becomes, or None if it is an error."""
    if isinstance(value, complex) or not math.isfinite(value):
        return None
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    return int(value) if least <= int(value) <= most else None


def ways(value, dtype):
    """Every way in for a number, by name."""
    like = hp.zeros(3, dtype=dtype, device=DEVICE)

    def put(key, given):
        x = hp.zeros(3, dtype=dtype, device=DEVICE)
        x[key] = given
        return x[0]

    return {
        "asarray of a number": lambda: asarray(value, dtype=dtype),
        "asarray of a list": lambda: asarray([value, 0], dtype=dtype)[0],
        "asarray of lists": lambda: asarray([[0], [value]], dtype=dtype)[1, 0],
        "full": lambda: hp.full(2, value, dtype=dtype, device=DEVICE)[0],
        "full_like": lambda: hp.full_like(like, value)[0],
        "an index": lambda: put(0, value),
        "a slice": lambda: put(slice(0, 2), value),
        "a list in a slice": lambda: put(slice(0, 2), [value, value]),
        "a mask": lambda: put(asarray([True, False, False]), value),
        "indices": lambda: put(asarray([0]), value),
    }


def outcome(work):
    try:
        return work().tolist()
    except (OverflowError, ValueError, TypeError):
        return None


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_exact_or_an_error(dtype):
    for value in [*EDGES, *(float(edge) for edge in EDGES), 0.5, -0.5, 127.9, 128.0, NAN, INF, -INF, 1j]:
        expected = wanted(value, dtype)
        found = {name: outcome(way) for name, way in ways(value, dtype).items()}
        assert found == dict.fromkeys(found, expected), f"{value} in {dtype}"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_lists_as_numpy_has_them(dtype):
    draw = random.Random(7)
    info = np.iinfo(dtype)
    inside = [edge for edge in EDGES if info.min <= edge <= info.max]
    for _ in range(100):
        values = [draw.choice([draw.choice(inside), draw.randint(int(info.min), int(info.max))]) for _ in range(draw.randint(1, 6))]
        np.testing.assert_array_equal(to_numpy(asarray(values, dtype=dtype)), np.array(values, dtype=dtype))
        mixed = [*values, 0.5]
        assert asarray(mixed, dtype=dtype).tolist() == [*values, 0], "floats beside integers take nothing from them"
        outside = draw.choice([edge for edge in EDGES if not info.min <= edge <= info.max])
        with pytest.raises(OverflowError):
            asarray([*values, outside], dtype=dtype)


def test_types_of_lists():
    for values in ([1, 2], [1.0, 2], [True], [True, 2], [1j], [], [[1, 2], [3.0, 4]], [2**63], [np.float32(1), 2]):
        ours, theirs = asarray(values), np.asarray(values)
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_array_equal(to_numpy(ours), theirs)
    whole = asarray([[2**64 - 1, 1], [0, 2**53 + 1]])
    assert whole.dtype is hp.uint64 and whole.tolist() == [[2**64 - 1, 1], [0, 2**53 + 1]]
    for values in ([2**64], [2**63, -1], [[2**64, 0], [0, -1]]):
        with pytest.raises(OverflowError, match="dtype"):
            asarray(values)
    for values in (["a"], [None], [{}], "a", [object()]):
        with pytest.raises(TypeError, match="numbers"):
            asarray(values)
    with pytest.raises(OverflowError):
        asarray([10**400], dtype="float64")


@pytest.mark.parametrize("number", [np.float32(2.5), np.float64(2.5), np.int8(2), np.int64(3), np.uint64(3), np.bool_(True), np.complex64(1j)])
def test_numbers_of_numpy_are_numbers(number):
    """As Python's are: results keep the array's type where it is of the same kind."""
    plain = number.item()
    for dtype in ("int16", "float32", "complex64"):
        x = hp.asarray([1, 2, 3], dtype=dtype, device=DEVICE)
        functions = [hp.add, hp.multiply, hp.equal, operator.sub, operator.ne]
        if not isinstance(plain, complex) and dtype != "complex64":
            functions += [hp.maximum, hp.less, operator.ge]
        for function in functions:
            if isinstance(plain, bool) and function is hp.maximum:
                continue
            for ours, theirs in ((function(x, number), function(x, plain)), (function(number, x), function(plain, x))):
                assert ours.dtype is theirs.dtype and ours.tolist() == theirs.tolist(), function
        chosen = hp.where(x == 1, number, x)
        assert chosen.dtype is hp.where(x == 1, plain, x).dtype and chosen.tolist() == hp.where(x == 1, plain, x).tolist()
        assert hp.result_type(x, number) is hp.result_type(x, plain)
    made = hp.full(2, number, device=DEVICE)
    assert made.dtype == number.dtype and made.tolist() == [plain, plain]
    assert hp.full(2, asarray(number), device=DEVICE).tolist() == [plain, plain]


def test_ranges_of_numbers_of_numpy():
    assert hp.arange(np.int64(5)).dtype is hp.int64 and hp.arange(asarray(3), dtype=None).tolist() == [0, 1, 2]
    assert hp.arange(np.float32(2)).dtype is hp.float64
    for start, stop, step, dtype in [(2**63 - 3, 2**63 - 1, 1, "int64"), (2**64 - 3, 2**64, 2, "uint64"), (2**53, 2**53 + 3, 1, None), (5, -6, -3, None)]:
        assert hp.arange(start, stop, step, dtype=dtype).tolist() == list(range(start, stop, step))
    for arguments in [(300,), (-129, 0)]:
        with pytest.raises(OverflowError):
            hp.arange(*arguments, dtype="int8")
    assert hp.linspace(-1.5, 1.5, 4, dtype="int32").tolist() == np.linspace(-1.5, 1.5, 4, dtype="int32").tolist()
    with pytest.raises(OverflowError):
        hp.linspace(0, 300, 3, dtype="uint8")


COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float32", "float64"])
def test_comparisons_with_numbers_of_any_size(dtype):
    if dtype == "bool":
        values = [True, False]
    elif dtype in INTEGERS:
        values = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max), 0, 1]
    else:
        values = [0.0, 1.5, -1.5, INF, -INF, NAN]
    x = asarray(values, dtype=dtype)
    # Floats of the array's type themselves are compared, so that only small and huge numbers have the answer of Python.
    numbers = EDGES if dtype in INTEGERS or dtype == "bool" else [0, 1, -1, 10**400, -(10**400)]
    for number in numbers:
        for compare in COMPARISONS:
            expected = [compare(value, number) for value in values]
            assert compare(x, number).tolist() == expected, (compare, number)
            assert compare(number, x).tolist() == [compare(number, value) for value in values], (compare, number)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("other", INTEGERS)
def test_bounds_of_other_types_cut(dtype, other):
    """A bound that x's type does not have cuts nothing, or all."""
    info, bounds = np.iinfo(dtype), np.iinfo(other)
    values = [int(info.min), 0, 1, int(info.max)]
    x = asarray(values, dtype=dtype)
    for low in (int(bounds.min), 0, 3, int(bounds.max)):
        bound = asarray([low], dtype=other)
        cut = [max(int(info.min), min(int(info.max), max(value, low))) for value in values]
        assert hp.clip(x, bound, None).tolist() == cut
        assert hp.clip(x, None, bound).tolist() == [max(int(info.min), min(int(info.max), min(value, low))) for value in values]
    for out in (info.min - 1, info.max + 1):
        with pytest.raises(OverflowError):
            hp.clip(x, None, int(out))


def test_arrays_are_converted_as_astype_does():
    x = hp.zeros(2, dtype="int8", device=DEVICE)
    x[:] = asarray([300, 5])
    assert x.tolist() == hp.astype(asarray([300, 5]), "int8").tolist()
    for single in (asarray(300), asarray(NAN), asarray(1j), np.int64(300)):
        with pytest.raises((OverflowError, ValueError, TypeError)):
            x[0] = single
    with pytest.raises(TypeError):
        x[:] = asarray([1j, 2j])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "complex64"])
def test_writes_by_index_are_numpys(dtype):
    draw = np.random.default_rng(3)
    for trial in range(150):
        shape = tuple(draw.integers(0, 5, draw.integers(1, 4)))
        theirs = draw.integers(0, 3, shape).astype(dtype)
        ours = asarray(theirs)
        form = trial % 3
        if form == 1:
            theirs, ours = theirs[::-1], ours[::-1]
        elif form == 2:
            theirs, ours = theirs.T, hp.permute_dims(ours, tuple(reversed(range(ours.ndim))))
        if trial % 2:
            key = draw.random(theirs.shape[: draw.integers(1, theirs.ndim + 1)]) < 0.5
        else:
            high = max(theirs.shape[0], 1)
            key = draw.integers(-high, high + (trial % 8 == 0), draw.integers(0, 4)).astype(draw.choice(["int8", "int64", "uint8"]))
        value = [True, 1, 0][trial % 3] if trial % 5 else draw.integers(0, 2, 1).astype(dtype)
        raised = []
        for x, at, given in ((theirs, key, value), (ours, asarray(key), asarray(value) if isinstance(value, np.ndarray) else value)):
            try:
                x[at] = given
                raised.append(None)
            except IndexError:
                raised.append(IndexError)
        assert raised[0] is raised[1]
        np.testing.assert_array_equal(to_numpy(ours), theirs)
        if raised[0] is None:
            np.testing.assert_array_equal(to_numpy(ours[asarray(key)]), theirs[key])


def test_writes_by_index_of_what_is_read_elsewhere():
    x = hp.arange(10, device=DEVICE)
    doubled, part = x * 2, x[::2]
    x[x > 5] = 0
    assert doubled.tolist() == list(range(0, 20, 2)) and x.tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 0, 0]
    part[asarray([0, -1])] = 7
    assert x.tolist() == [7, 1, 2, 3, 4, 5, 0, 0, 7, 0]
    itself = hp.arange(5, device=DEVICE)
    itself[itself] = 1
    assert itself.tolist() == [1] * 5
    with pytest.raises(IndexError):
        x[asarray([0, 10])] = 5
    assert x.tolist()[0] == 7, "nothing is written where one is out of bounds"
    # The largest uint64 is -1 to whoever reads it as int64.
    for to, count in ((x, 5000), (x[::2], 1)):
        with pytest.raises(IndexError):
            to[asarray(np.full(count, 2**64 - 1, "uint64"))] = 5
    assert 5 not in x.tolist()[6:], "nothing is written where one is out of bounds"


def test_masks_in_the_memory_that_is_written():
    size = 10

    def flags():
        return asarray([True] + [False] * (size - 1))

    # Each bool is read before any is written, whichever comes first in memory.
    for value in (True, asarray(True), asarray([True])):
        x = flags()
        x[1:][x[:-1]] = value
        assert x.tolist() == [True, True] + [False] * (size - 2)
        x = flags()[::-1]
        x[:-1][x[1:]] = value
        assert x.tolist() == [False] * (size - 2) + [True, True]
    x = flags()
    x[-1] = True
    x[::-1][x] = False
    assert not hp.any(x)
    x = flags()
    x[x] = False
    assert not hp.any(x)
    # Indices as well: the second element becomes 1 by the first index, and the third by what the second was.
    for value in (1, asarray([1, 1, 1])):
        y = asarray([0, 2, 2, 5])
        y[1:][y[:-1]] = value
        assert y.tolist() == [0, 1, 2, 1]


class Row(enum.IntEnum):
    SECOND = 1


def test_integers_of_other_types_are_indices():
    x = hp.zeros((3, 2), dtype="int64", device=DEVICE)
    x[Row.SECOND][0] = 5
    x[Row.SECOND, Row.SECOND] = 7
    x[np.int8(2)][Row.SECOND] = 9
    assert x.tolist() == [[0, 0], [5, 7], [0, 9]]
    assert x[True].shape == (1, 3, 2), "a bool is a mask"
    with pytest.raises(IndexError):
        x[Row.SECOND, Row.SECOND, Row.SECOND]


def test_steps_of_any_length():
    theirs = np.arange(12).reshape(3, 4)
    ours = asarray(theirs)
    for step in (sys.maxsize, -sys.maxsize, 10**30, -(10**30), 3, 2, -2):
        for rows in (slice(None, None, step), slice(1, 1, step), slice(1, None, step)):
            for key in (rows, (slice(None), rows), (rows, rows)):
                assert ours[key].tolist() == theirs[key].tolist()
        ours[::step, ::step] = step % 7
        theirs[::step, ::step] = step % 7
        assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_rounded_once(dtype):
    ones = hp.ones(5000, dtype=dtype, device=DEVICE)
    exact = hp.astype(hp.arange(1, 5001, dtype="float32", device=DEVICE), dtype)
    assert hp.all(hp.cumulative_sum(ones) == exact)
    assert hp.all(hp.cumulative_sum(hp.reshape(ones, (5000, 1)), axis=0)[:, 0] == exact)
    large = hp.full(1000, 100.0, dtype=dtype, device=DEVICE)
    for order, wide in ((2, 100 * math.sqrt(1000)), (1, 1e5), (3, 100 * 10.0)):
        found = hp.linalg.vector_norm(large, ord=order)
        assert found.dtype == dtype and found == hp.astype(asarray(wide, dtype="float32"), dtype)
    assert hp.linalg.matrix_norm(hp.reshape(large, (10, 100))) == hp.astype(asarray(100 * math.sqrt(1000), dtype="float32"), dtype)
    small = hp.full(3, 2.0**-9, dtype=dtype, device=DEVICE)
    assert hp.linalg.vecdot(small * 1.5, small) == hp.astype(asarray(3 * 1.5 * 2.0**-18, dtype="float32"), dtype)


def test_types_compare_with_anything():
    for other in ("no such, type", {"a": [1]}, [1], None, 3, object(), "float16", int, np.float16, np.dtype(">f4"), "f4"):
        assert not hp.float32 == other and hp.float32 != other
    for other in ("float32", np.float32, np.dtype("float32"), hp.float32):
        assert hp.float32 == other and not hp.float32 != other
    assert hp.bool == bool == hp.bool and hp.bool == np.bool_ and hp.float64 == float and hp.int64 == int
    assert len({*hp.__array_namespace_info__().dtypes().values(), hp.int8, hp.float32}) == 13
    x = hp.ones(1, device=DEVICE)
    for call in (lambda: hp.astype(x, None), lambda: hp.isdtype(None, "bool"), lambda: hp.result_type(None, hp.float32), lambda: hp.finfo(None)):
        with pytest.raises(TypeError, match="None"):
            call()
    assert np.dtype(hp.float32) == np.float32 and np.zeros(2, dtype=hp.int8).dtype == np.int8
    assert not hp.can_cast(hp.float64, hp.float32) and hp.can_cast(hp.float32, hp.float64)


def test_what_python_asks_of_numbers():
    x = asarray([1.25, -2.0, 3.5])
    assert f"{hp.mean(asarray([1.0, 2.0])):.3f}" == "1.500" and f"{x}" == str(x) and f"{asarray(7):>4d}" == "   7"
    with pytest.raises(TypeError, match="dimensions"):
        format(x, ".2f")
    assert round(x[2]) == 4 and isinstance(round(x[2]), int) and round(x, 1).tolist() == [1.2, -2.0, 3.5]
    quotient, rest = divmod(asarray([7, -7]), 2)
    assert quotient.tolist() == [3, -4] and rest.tolist() == [1, 1] and divmod(7, asarray([2]))[1].tolist() == [1]
    assert 3.5 in x and 3 not in x
    assert np.mean(x) == x.mean() and np.std(x) == x.std() and np.var(x, ddof=1) == x.var(correction=1) and np.sum(x) == x.sum()
    z = asarray([1 + 2j])
    assert z.real.tolist() == [1] and z.imag.tolist() == [2] and z.conj().tolist() == [1 - 2j] and x.imag.tolist() == [0] * 3
    copy = x.copy()
    copy[0] = 0
    assert x[0].item() == 1.25 and asarray([[1]]).squeeze().shape == ()
    with pytest.raises(ValueError, match="any"):
        bool(x)


def test_functions_beyond_the_standard():
    draw = np.random.default_rng(5)
    values = [0.0, 1.0, 1.0 + 1e-9, 1.1, INF, -INF, NAN, 1e-9]
    for equal_nan in (False, True):
        a, b = (draw.choice(values, 200) for _ in range(2))
        np.testing.assert_array_equal(to_numpy(hp.isclose(asarray(a), asarray(b), equal_nan=equal_nan)), np.isclose(a, b, equal_nan=equal_nan))
        for number in values:
            np.testing.assert_array_equal(to_numpy(hp.isclose(asarray(a), number, equal_nan=equal_nan)), np.isclose(a, number, equal_nan=equal_nan))
    assert hp.allclose(asarray([1.0]), 1.0) and not hp.allclose(asarray([1.0]), 1.1)
    a, b = draw.random((3, 4)), draw.random((4, 5))
    np.testing.assert_allclose(to_numpy(hp.einsum("ij,jk->ki", asarray(a), asarray(b))), (a @ b).T)
    np.testing.assert_array_equal(to_numpy(hp.median(asarray(a), axis=1)), np.median(a, axis=1))
    np.testing.assert_array_equal(to_numpy(hp.pad(asarray(a), ((1, 0), (0, 2)), constant_values=7)), np.pad(a, ((1, 0), (0, 2)), constant_values=7))
    assert hp.pad(asarray([1, 2]), 1, "edge").tolist() == [1, 1, 2, 2]
    with pytest.raises(OverflowError):
        hp.pad(asarray([1], dtype="int8"), 1, constant_values=300)


def test_newer_functions_of_the_standard():
    assert hp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    with pytest.raises(ValueError, match="broadcast"):
        hp.broadcast_shapes((2,), (3,))
    x = asarray([1, 2, 3, 2])
    assert hp.isin(x, asarray([2, 9])).tolist() == [False, True, False, True] == hp.isin(x, 2).tolist()
    assert hp.isin(2, x, invert=True).tolist() is False and hp.isin(asarray([NAN]), asarray([NAN])).tolist() == [False]
    assert hp.searchsorted(asarray([1, 2, 3]), 2).tolist() == 1 and hp.searchsorted(asarray([1.0, 2.0]), 1.5, side="right").tolist() == 1
    assert hp.searchsorted(asarray([]), asarray([1.0, 2.0, 3.0])).tolist() == [0, 0, 0]
    assert isinstance(hp.meshgrid(x, x), tuple) and isinstance(hp.broadcast_arrays(x, x), tuple)
    turn = asarray([[0.0, 1.0], [-1.0, 0.0]], dtype="float32")
    values, vectors = hp.linalg.eig(turn)
    assert values.dtype is hp.complex64 and sorted(values.imag.tolist()) == [-1, 1]
    assert hp.allclose(hp.astype(turn, "complex64") @ vectors, vectors * values) and hp.linalg.eigvals(turn).dtype is hp.complex64
    assert hp.unique_values(asarray([3, 1, 0, 1])).tolist() == [0, 1, 3]
    for call in (lambda: hp.expand_dims(x, axis=5), lambda: hp.sum(x, axis=1), lambda: hp.flip(x, axis=-2)):
        with pytest.raises(IndexError):
            call()
    with pytest.raises(ValueError, match="negative"):
        hp.diff(x, n=-1)


def test_arguments_that_are_no_arrays():
    x = asarray([[1.0]])
    calls = [
        lambda: x @ 3, lambda: hp.sum([1.0]), lambda: hp.matmul(x, np.ones((1, 1))), lambda: hp.concat([x, np.ones((1, 1))]),
        lambda: hp.mean(3), lambda: hp.take(x, [0]), lambda: hp.where([True], x, x), lambda: hp.argmax([1]), lambda: hp.any([True]),
        lambda: hp.clip([1], 0, 1), lambda: hp.linalg.inv([[1]]), lambda: hp.diff([1]), lambda: hp.astype([1], "int8"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="an array expected"):
            call()
    for call in (lambda: hp.stack([]), lambda: hp.concat([])):
        with pytest.raises(ValueError, match="no arrays"):
            call()


def test_pickles_leave_their_elements_out():
    for dtype in ("float32", "bfloat16", "complex128", "bool"):
        x = hp.astype(hp.reshape(hp.arange(2000, device=DEVICE), (50, 40)), dtype)
        for given in (x, x.mT, x[::2, 1:], x[:0], x[0, 0]):
            left = []
            text = pickle.dumps(given, protocol=5, buffer_callback=left.append)
            assert len(text) < 400 and len(left) == 1
            back = pickle.loads(text, buffers=left)
            assert back.dtype is given.dtype and back.tolist() == given.tolist()
            assert all(pickle.loads(pickle.dumps(given, protocol)).tolist() == given.tolist() for protocol in range(2, 6))


class Shown:
    """An object with DLPack and nothing else."""

    dtype = "bfloat16"

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **named):
        return self.x.__dlpack__(**named)

    def __dlpack_device__(self):
        return (1, 0)


def test_bfloat16_comes_and_goes_in_any_order():
    x = hp.astype(hp.reshape(hp.arange(24, dtype="float32"), (2, 3, 4)), "bfloat16")
    x = hologram.asarray(x, device="cpu")
    for given in (x, x[:, 1:, ::2], x.mT, x[0, 0, 0], x[:0], hp.flip(x)):
        for shown in (Shown(given), given):
            back = hp.from_dlpack(Shown(given), device="cpu") if shown is not given else hologram.asarray(Shown(given), device="cpu")
            assert back.dtype is hp.bfloat16 and back.tolist() == given.tolist()
    buffer = hologram.Executor("cpu").from_numpy(np.arange(3, dtype="f4")).astype("bfloat16")
    assert hologram.asarray(buffer, device="cpu").tolist() == [0, 1, 2]


def test_products_of_stacks_and_of_turned_matrices():
    draw = np.random.default_rng(2)
    for dtype in ("float32", "float64"):
        for a, b in [((7, 4, 4), (7, 4, 4)), ((2, 1, 3, 5), (4, 5, 2)), ((3, 4), (6, 4, 2)), ((5, 3), (3,)), ((0, 2, 2), (2, 2)), ((2, 0), (0, 3))]:
            left, right = draw.random(a).astype(dtype), draw.random(b).astype(dtype)
            np.testing.assert_allclose(to_numpy(asarray(left) @ asarray(right)), left @ right, rtol=1e-5)
        x = draw.random((40, 30)).astype(dtype)
        ours = asarray(x)
        for part, wide in ((ours.T, x.T), (ours[::2, ::2].T, x[::2, ::2].T), (ours[:, 5:].T, x[:, 5:].T), (hp.flip(ours).T, np.flip(x).T)):
            np.testing.assert_allclose(to_numpy(part @ hp.permute_dims(part, (1, 0))), wide @ wide.T, rtol=1e-5)
            np.testing.assert_allclose(to_numpy(hp.ones(part.shape[0], dtype=dtype, device=DEVICE) @ part), np.ones(wide.shape[0], dtype) @ wide, rtol=1e-5)


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_are_rounded_to_the_type_of_the_array_beside_them(dtype):
    x = asarray([0.1, -2.5, 1e-3, 300, 0.7], dtype=dtype)
    works = [hp.equal, hp.less_equal, hp.add, hp.multiply, hp.divide, hp.remainder, hp.floor_divide, hp.atan2, hp.maximum, hp.copysign, hp.isclose, hp.isin, hp.pow]
    works += [operator.contains, operator.imod, operator.imul]
    for n in (0.1, 0.7, 1 + 2.0**-11 + 2.0**-40, 1e5, 1e39, 2**70, -0.0, NAN, np.float64(0.1), True):
        one = asarray(n, dtype=dtype)
        for work in works:
            for swapped in (False, True)[: 1 if work in works[-3:] else 2]:
                found, right = (work(*(y, x + 0)[:: 1 if swapped else -1]) for y in (n, one))
                np.testing.assert_array_equal(np.asarray(found, dtype=float), np.asarray(right, dtype=float), err_msg=f"{work} {n}")
    if dtype == "float16":
        assert math.isnan(float((x * 1e5 * 0)[0])) and float(hp.full((), 1 + 2.0**-11 + 2.0**-40, dtype=dtype)) == 1 + 2.0**-10


def test_numbers_are_looked_for_as_they_are_compared():
    x = hp.arange(5, dtype="uint8", device=DEVICE)
    for n in (-1, 2, 300, 2.5, 10**30):
        assert hp.isin(x, n).tolist() == (x == n).tolist() and bool(hp.isin(n, x)) == (n in x) == (not bool(hp.isin(n, x, invert=True)))
        for side in ("left", "right"):
            assert int(hp.searchsorted(x, n, side=side)) == np.searchsorted(np.arange(5.0), n, side=side)


def raises(error, *works):
    for work in works:
        with pytest.raises(error):
            work()


def test_random_numbers_are_of_their_type():
    g = hp.random.Generator(3)
    for dtype in FLOATS:
        for low, high in ((0, 1), (5, 6), (1e4, 1e4 + 1), (0.1, 0.1)):
            x = to_numpy(g.uniform(20_000, low, high, dtype=dtype)).astype(float)
            first, last = (float(asarray(bound, dtype=dtype)) for bound in (low, high))
            assert first <= x.min() and (x.max() < last or first == last)
    assert 2**63 < int(hp.max(g.integers(100, 0, 2**64, dtype="uint64"))) and g.integers(5, -128, 128, dtype="int8").dtype is hp.int8
    x = asarray([[1.5, 2], [3, 4]], dtype="float16")
    assert sorted(g.permutation(x).tolist()) == x.tolist() and g.permutation(x).dtype is hp.float16
    raises(OverflowError, lambda: g.integers(3, 0, 257, dtype="uint8"), lambda: g.integers(3, -1, 1, dtype="uint8"), lambda: g.uniform(3, 0, 1e6, dtype="float16"))
    raises(TypeError, lambda: g.uniform(3, dtype="int8"), lambda: g.normal(3, dtype="complex64"), lambda: hp.random.Generator(None))


def test_single_numbers_and_complex_ones_are_the_same_every_way_in():
    x, mask, c = hp.zeros(2, dtype="int8", device=DEVICE), asarray([True, False]), np.array([1 + 2j, 3])
    for n in (np.array(300), np.array(-1e9), asarray(300)):
        raises(OverflowError, lambda: asarray(n, dtype="int8"), lambda: x.__setitem__(0, n), lambda: x.__setitem__(mask, n), lambda: hp.full(2, n, dtype="int8"))
    raises(hologram.errors.DTypeError, lambda: asarray(c, dtype=float), lambda: x.__setitem__(..., c), lambda: x.__setitem__(mask, c[:1]), lambda: np.asarray(asarray(c), dtype=float))
    raises(OverflowError, lambda: asarray([10**400, 1.5]))
    for kind in (int, float, complex, operator.index):
        raises(TypeError, lambda: kind(asarray([1])), lambda: kind(asarray([[1]])))


@pytest.mark.filterwarnings("error")
def test_there_are_no_warnings():
    none, c = hp.zeros((0, 2), device=DEVICE), hp.zeros((0, 2), dtype="complex64", device=DEVICE)
    for x in (hp.median(none), hp.median(none, axis=0, keepdims=True)[0, 1], hp.mean(none), hp.mean(c), hp.mean(c, axis=0)[1], hp.var(none)):
        assert x.item() != x.item()
    for dtype in ("float16", "float32", "complex64"):
        for x in (asarray(1e300, dtype=dtype), hp.full(2, 1e300, dtype=dtype)[1], hp.pad(hp.ones(1, dtype=dtype), 1, constant_values=1e300)[0]):
            assert math.isinf(abs(x.item()))
    assert np.asarray(asarray([1e300]), dtype="float32")[0] == hp.linspace(1e308, 1e308, 2, dtype="float32")[0].item() == INF
    assert hp.linspace(1e308, -1e308, 3).shape == (3,)


@pytest.mark.parametrize("count", [0, 1, 5000, 300_001])
def test_truths_of_many_are_found_wherever_they_are(count):
    for place in {0, count // 2, count - 1}:
        for dtype in ("bool", "float32", "int64"):
            some = np.zeros(count, dtype)
            some[place : place + 1] = 1
            for x in (some, some == 0, np.zeros(count, dtype), np.ones(count, dtype)):
                ours = asarray(x)
                assert (bool(hp.any(ours)), bool(hp.all(ours)), bool(hp.any(ours > 0))) == (x.any(), x.all(), (x > 0).any())
                wide = hp.broadcast_to(ours, (3, count))
                assert hp.any(wide, axis=1).tolist() == [x.any()] * 3 and hp.all(wide, axis=0).tolist() == x.astype(bool).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_of_few_halves(dtype):
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.standard_normal(3000) * 10.0 ** rng.integers(-30, 30, 3000), [0.0, -0.0, INF, -INF, NAN, 1, -1]]).astype(dtype)
    # Exponents are an array: for one that is a half NumPy takes roots, which differ for minus infinity.
    for exponent in np.arange(-5, 11) / 2:
        with np.errstate(all="ignore"):
            expected = np.power(x.astype(float), np.full(x.size, exponent)).astype(dtype)
        found = to_numpy(asarray(x) ** float(exponent))
        np.testing.assert_array_max_ulp(found[:3000], expected[:3000], 16 if DEVICE != "cpu" else 4 if dtype == "float64" else 1)
        np.testing.assert_array_equal(found[3000:], expected[3000:])
        np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(expected[found == 0]))


def test_complex_numbers_are_chosen():
    rng = np.random.default_rng(6)
    z = rng.standard_normal((3, 5)) + 1j * rng.standard_normal((3, 5))
    for dtype in ("complex64", "complex128"):
        x = z.astype(dtype)
        for mask in (x.real > 0, np.array([True, False, True, True, False]), np.array(True), np.zeros((2, 1, 5), bool)):
            for a, b in ((x, x[:1]), (x, 2.5), (1j, x), (x, x.real), (x.T[:3, :1], x), (1j, 2), (x, 1e300j), (x[:, :0].sum(), x)):
                ours = [asarray(v) if isinstance(v, (np.ndarray, np.generic)) else v for v in (a, b)]
                found = hp.where(asarray(mask), *ours)
                with np.errstate(all="ignore"):
                    wanted = dtype if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else "complex128"
                    expected = np.where(mask, np.asarray(a, wanted), np.asarray(b, wanted))
                assert found.dtype == expected.dtype.name and found.shape == expected.shape
                np.testing.assert_array_equal(to_numpy(found), expected)


def test_complex_numbers_are_computed_by_their_parts():
    x = np.arange(12, dtype="complex64").reshape(3, 4) * (1 - 2j)
    z = asarray(x)
    before = z.device.executor.stats()["host_operations"]
    for ours, theirs in ((z, x), (z.T, x.T), (z[::-1, 1::2], x[::-1, 1::2]), (z[:, :0], x[:, :0]), (z[1, 2], x[1, 2])):
        row, expected = (ours[:1], theirs[:1]) if ours.ndim else (ours, theirs)
        for found, wanted in ((ours + row, theirs + expected), (row - ours, expected - theirs), (-ours, -theirs)):
            assert found.shape == wanted.shape and found.dtype == hologram.complex64 and not found.pending
            np.testing.assert_array_equal(to_numpy(found), wanted)
    assert z.device.executor.stats()["host_operations"] == before
    # Their parts are of one dimension more than arrays may have.
    deep = hp.reshape(z[1, 2], (1,) * 64)
    for found in (deep + deep, hp.where(asarray(True), deep + deep, deep)):
        assert found.shape == deep.shape and found.item() == 2 * x[1, 2]
