"""Devices, NumPy, DLPack, pickles, text, views and what is recorded."""

import ctypes
import pickle

import numpy as np
import pytest

import hologram
from hologram import array as hp
from hologram.array import core

from standard import DEVICE, to_numpy

ON_CPU = pytest.mark.skipif(DEVICE != "cpu", reason="the memory is the device's own")


def test_devices():
    assert hologram.default_device() == DEVICE
    x = hologram.asarray([1.0])
    assert x.device == DEVICE and str(x.device) == DEVICE and repr(x.device) == f"hologram.device({DEVICE!r})"
    assert x.to_device(DEVICE) is x
    with hologram.device("cpu") as inner:
        assert hologram.default_device() is inner
        assert hologram.asarray([1]).device == "cpu"
    assert hologram.default_device() == DEVICE
    with pytest.raises(ValueError, match="none of auto, cpu"):
        hologram.device("abacus")
    assert hologram.Array is hp.Array
    with pytest.raises(TypeError, match="asarray"):
        hologram.Array([1])


def test_text():
    x = hologram.asarray([[1, 2], [3, 4]], dtype="int16")
    assert repr(x) == f"Array([[1, 2],\n       [3, 4]], dtype=int16, device={DEVICE!r})"
    assert str(x) == "[[1, 2],\n [3, 4]]"
    assert "..." in repr(hp.arange(100_000))
    assert repr(hp.zeros((0, 3), dtype="float32")) == f"Array([], shape=(0, 3), dtype=float32, device={DEVICE!r})"


def test_numbers_and_lists():
    x = hologram.asarray([[1, 2], [3, 4]])
    assert x.tolist() == [[1, 2], [3, 4]] and len(x) == 2 and x.shape == (2, 2) and x.size == 4 and x.nbytes == 32
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    one = hp.sum(x)
    assert (int(one), float(one), complex(one), bool(one), one.item()) == (10, 10.0, 10 + 0j, True, 10)
    assert range(5)[hologram.asarray(3)] == 3
    with pytest.raises(TypeError, match="2 dimensions"):
        float(x)
    with pytest.raises(TypeError, match="no length"):
        len(one)
    with pytest.raises(TypeError, match="no index"):
        range(5)[hologram.asarray(3.0)]
    with pytest.raises(TypeError):
        hash(x)


@ON_CPU
def test_numpy_sees_the_memory():
    x = hp.arange(6, dtype="float32") * 2
    seen = np.asarray(x)
    seen[1] = 50
    assert x.tolist() == [0, 50, 4, 6, 8, 10]
    # What is written by others is seen by operations from then on, which are not put off.
    y = x + 1
    seen[0] = 7
    assert not y.pending and y.tolist() == [1, 51, 5, 7, 9, 11] and (x + 1).tolist()[0] == 8
    assert np.array(x, copy=True) is not seen
    assert np.shares_memory(np.asarray(x[1:]), seen)
    np.testing.assert_array_equal(np.asarray(x, dtype="f8"), seen.astype("f8"))
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, dtype="f8", copy=False)


@ON_CPU
@pytest.mark.parametrize("export", [np.asarray, np.from_dlpack], ids=["asarray", "from_dlpack"])
def test_operations_recorded_before_an_export_read_what_was_there(export):
    values = np.arange(4.0)
    x = hp.asarray(values)
    doubled, chain, part = x * 2, (x + 1) * (x - 1), x[1:] + 5
    seen = export(x)
    seen[:] = 50
    assert doubled.tolist() == (values * 2).tolist() and part.tolist() == (values[1:] + 5).tolist()
    assert chain.tolist() == ((values + 1) * (values - 1)).tolist()
    assert (x * 2).tolist() == [100] * 4
    # A part of the memory is the same memory; an array that is not computed yet is computed for it.
    y = hp.asarray(values) + 1
    doubled = y * 2
    export(y[:2])[0] = 50
    assert doubled.tolist() == [2, 4, 6, 8] and y.tolist() == [50, 2, 3, 4]
    further = y * 2
    export(y)[1] = 60
    assert further.tolist() == [100, 4, 6, 8]


@ON_CPU
def test_bfloat16_goes_out_as_other_types_do():
    x = hp.astype(hp.arange(3, dtype="float32"), "bfloat16").compute()
    y = x + 1
    x.__dlpack__(copy=True)
    assert (x + 1).pending, "nothing went out but a copy"
    capsule = x.__dlpack__()
    # Writes as who has the capsule does; NumPy does not know the type.
    x.data()[0].host_bytes().view("u2")[0] = 0x4110
    after = x + 1
    x.data()[0].host_bytes().view("u2")[0] = 0
    assert y.tolist() == [1, 2, 3] and not after.pending and after.tolist() == [10, 2, 3]
    del capsule


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "complex64", "bool"])
def test_exchange_with_numpy(dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    x = hologram.asarray(values)
    np.testing.assert_array_equal(np.asarray(x), values)
    np.testing.assert_array_equal(np.asarray(x[:, ::-1, 1:3]), values[:, ::-1, 1:3])
    values[0, 0, 0] = 1
    assert x[0, 0, 0].item() == 0, "the elements were copied"
    with pytest.raises(ValueError, match="copied"):
        hologram.asarray(values, copy=False)
    assert hologram.asarray(x, copy=False) is x and hologram.asarray(x) is x
    assert x.tolist() == np.asarray(x).tolist()
    assert pickle.loads(pickle.dumps(x.mT)).tolist() == np.asarray(x).swapaxes(1, 2).tolist()
    assert pickle.loads(pickle.dumps(x)).dtype is x.dtype


@ON_CPU
def test_dlpack():
    x = hp.arange(6, dtype="int32")
    view = np.from_dlpack(x[::2])
    assert view.tolist() == [0, 2, 4] and x.__dlpack_device__() == (1, 0)
    x[0] = 9
    assert view[0] == 9
    assert hp.from_dlpack(x, copy=True).tolist() == x.tolist() and hp.from_dlpack(x) is x
    assert hp.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    with pytest.raises(BufferError):
        hp.from_dlpack(np.arange(3), copy=False)
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0))
    copied = np.from_dlpack(x, copy=True)
    x[1] = 77
    assert copied[1] == 1


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch cannot be imported")


TORCH_TYPES = ["int8", "int16", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64", "complex128", "bool"]


@ON_CPU
@pytest.mark.parametrize("dtype", TORCH_TYPES)
def test_torch_sees_the_memory(torch, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    x = hologram.asarray(values)
    t = torch.from_dlpack(x)
    assert t.dtype == getattr(torch, dtype) and tuple(t.shape) == (2, 3, 4)
    assert t.data_ptr() == np.asarray(x).ctypes.data, "the elements were copied"
    np.testing.assert_array_equal(t.numpy(), values)
    # What one side writes the other sees.
    t[0, 0, 0] = 1
    x[1, 2, 3] = 0
    assert x[0, 0, 0].item() == 1 and t[1, 2, 3].item() == 0
    # Views with steps and other orders are the same memory too.
    part = torch.from_dlpack(x.mT[:, 1:, ::2])
    np.testing.assert_array_equal(part.numpy(), np.asarray(x).swapaxes(1, 2)[:, 1:, ::2])
    part[0, 0, 0] = 0
    assert x[0, 0, 1].item() == 0
    # The memory lives as long as the tensor.
    del x
    assert t[0, 0, 0].item() == 1


@ON_CPU
@pytest.mark.parametrize("dtype", TORCH_TYPES)
def test_memory_of_torch_is_copied_once(torch, dtype):
    t = torch.arange(24).reshape(4, 6).to(getattr(torch, dtype))
    for given in (t, t.T, t[1:, ::2], t[:0]):
        for x in (hp.from_dlpack(given), hologram.asarray(given)):
            assert x.dtype.name == dtype and x.shape == tuple(given.shape)
            np.testing.assert_array_equal(np.asarray(x), given.numpy())
    x = hp.from_dlpack(t)
    t[0, 1] = 0
    assert x[0, 1].item() == 1
    with pytest.raises(BufferError, match="copied"):
        hp.from_dlpack(t, copy=False)


@ON_CPU
def test_bfloat16_of_torch(torch):
    x = hp.astype(hp.arange(6, dtype="float32"), "bfloat16")
    more = x + 1
    t = torch.from_dlpack(x)
    assert t.dtype == torch.bfloat16 and t.tolist() == [0, 1, 2, 3, 4, 5]
    t[0] = 9
    assert x.tolist()[0] == 9 and more.tolist()[0] == 1
    more = x + 1
    t[0] = 4
    assert more.tolist()[0] == 10
    t[0] = 9
    assert torch.from_dlpack(x[1::2]).tolist() == [1, 3, 5]
    back = hp.from_dlpack(t.reshape(2, 3).T)
    assert back.dtype is hp.bfloat16 and back.tolist() == [[9, 3], [1, 4], [2, 5]]
    assert hp.astype(hp.from_dlpack(t.float()), "bfloat16").tolist() == x.tolist()


class Capsule(ctypes.Structure):
    """A tensor of DLPack's version 0, without a deleter."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class SharedMemory:
    """Elements of bfloat16 in memory of one of DLPack's kinds of devices."""

    dtype = "bfloat16"

    def __init__(self, values, kind):
        self.values, self.kind = values, kind
        self.shape = (ctypes.c_int64 * 1)(len(values))
        self.tensor = Capsule(values.ctypes.data, (kind, 0), 1, 4, 16, 1, self.shape, None, 0, None, None)

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, **_named):
        made = ctypes.pythonapi.PyCapsule_New
        made.restype, made.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return made(ctypes.addressof(self.tensor), b"dltensor", None)


@pytest.mark.parametrize("kind", [1, 3])
def test_bfloat16_of_memory_that_the_host_reads(kind):
    # 3 is the kind of memory that is shared with a GPU, PyTorch's `pin_memory`.
    x = hp.from_dlpack(SharedMemory(np.array([0x3F80, 0x4000, 0xC040], dtype="u2"), kind))
    assert x.dtype is hp.bfloat16 and x.tolist() == [1, 2, -3]


@ON_CPU
def test_negative_strides_and_torch(torch):
    x = hp.arange(6, dtype="int32")
    # PyTorch has no negative strides: 2.11 ends the process that gives it some, also those of NumPy's arrays.
    t = torch.from_dlpack(hp.asarray(x[::-1], copy=True))
    assert t.tolist() == [5, 4, 3, 2, 1, 0]
    assert hp.from_dlpack(torch.arange(6).flip(0)).tolist() == [5, 4, 3, 2, 1, 0]


@ON_CPU
def test_what_torch_must_not_write(torch):
    values = np.arange(3.0)
    values.flags.writeable = False
    x = hologram.asarray(values)
    t = torch.from_dlpack(x)
    t += 1
    assert x.tolist() == [1, 2, 3] and values.tolist() == [0, 1, 2], "what is read only is copied"
    # Of a tensor that records gradients the elements come in.
    recorded = torch.ones(2, requires_grad=True)
    assert hp.from_dlpack(recorded).tolist() == [1, 1] == hologram.asarray(recorded).tolist()


def test_views_share_memory():
    x = hp.zeros((4, 5), dtype="int64")
    x[1:3, ::2] = 7
    x[:, -1] += 1
    expected = np.zeros((4, 5), np.int64)
    expected[1:3, ::2] = 7
    expected[:, -1] += 1
    np.testing.assert_array_equal(to_numpy(x), expected)
    row = x[2]
    row *= 2
    expected[2] *= 2
    np.testing.assert_array_equal(to_numpy(x), expected)
    x[...] = x[::-1, :]
    np.testing.assert_array_equal(to_numpy(x), expected[::-1])
    x[:] = 3
    assert (to_numpy(x) == 3).all()


def test_what_is_recorded():
    executor = hologram.device(DEVICE).executor
    x = hp.arange(1000, dtype="float32")
    y = x * x + x
    assert y.pending and y.shape == (1000,)
    before = executor.stats()
    np.testing.assert_array_equal(to_numpy(y), np.arange(1000, dtype="f4") ** 2 + np.arange(1000, dtype="f4"))
    after = executor.stats()
    assert after["expressions"] - before["expressions"] == 1 and after["allocations"] - before["allocations"] == 1
    # With a sum behind it still one pass, and nothing but the sum is kept.
    z = hp.exp(x / 1000) - 1
    before = executor.stats()
    total = hp.sum(z)
    after = executor.stats()
    if DEVICE == "cpu":
        assert after["expressions"] - before["expressions"] == 1 and after["allocations"] - before["allocations"] == 1
    assert z.pending
    assert abs(float(total) - (np.exp(np.arange(1000) / 1000) - 1).sum()) < 1e-2
    # A second sum keeps it.
    hp.max(z)
    assert not z.pending
    # Long chains are computed in parts.
    for _ in range(1000):
        x = x + 1
    assert x[0].item() == 1000


def test_recorded_values_are_those_of_their_time():
    x = hp.arange(5)
    y = x + 1
    x[2] = 100
    assert y.tolist() == [1, 2, 3, 4, 5] and x.tolist() == [0, 1, 100, 3, 4]
    shared = x * 2
    first, second = shared + 1, shared + 2
    del shared
    x += first
    assert x.tolist() == [1, 4, 301, 10, 13] and second.tolist() == [2, 4, 202, 8, 10]
    a = hp.ones(3)
    view = a[:]
    a += a
    assert view.tolist() == [2, 2, 2]
    a[1:] += a[:-1]
    assert a.tolist() == [2, 4, 4]


def test_what_is_written_over_is_computed_once():
    executor = hologram.device(DEVICE).executor
    a_ = np.random.default_rng(3).random((20, 20))
    a, inner = hp.asarray(a_, copy=True), slice(1, -1)
    before = executor.stats()["expressions"]
    a[inner, inner] += 0.1 * (a[:-2, inner] + a[2:, inner] + a[inner, :-2] + a[inner, 2:] - 4 * a[inner, inner])
    # The sum in memory of its own, then the addition in place.
    assert executor.stats()["expressions"] == before + 2
    a_[inner, inner] += 0.1 * (a_[:-2, inner] + a_[2:, inner] + a_[inner, :-2] + a_[inner, 2:] - 4 * a_[inner, inner])
    assert np.allclose(to_numpy(a), a_, rtol=1e-15)
    # Many arrays read it by a step that no array shows: the step alone is computed.
    x = hp.asarray([1.0, 2.0])
    step = x * 2
    users = [step + number for number in range(50)]
    del step
    before = executor.stats()["expressions"]
    x[0] = 50.0
    assert executor.stats()["expressions"] == before + 1 and all(user.pending for user in users)
    assert [user.tolist() for user in users] == [[2 + number, 4 + number] for number in range(50)]
    # A step that a value of Python alone holds.
    y = hp.asarray([1.0, 2.0])
    held = core.value_of(y + y, y.shape)
    y[0] = 50.0
    assert core.recorded(held, y.shape, y.dtype, y.device).tolist() == [2, 4]


def test_host_work_is_counted():
    executor = hologram.device(DEVICE).executor
    x = hp.arange(5.0)
    before = executor.stats()["host_operations"]
    hp.add(x, x).compute()
    hp.sum(x)
    assert executor.stats()["host_operations"] == before
    hp.nonzero(x)
    assert executor.stats()["host_operations"] == before + 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves(dtype):
    values = np.array([1.5, -2.25, 100.0, 0.1], np.float32)
    x = hologram.asarray(values, dtype=dtype)
    assert x.dtype == dtype and (x + 1).dtype == dtype and (x * hp.ones(4, dtype="float32")).dtype == "float32"
    wide = to_numpy(x.astype("float32"))
    exact = to_numpy((x * x).astype("float32"))
    np.testing.assert_allclose(exact, wide * wide, rtol=2**-8)
    np.testing.assert_allclose(float(hp.sum(x)), wide.sum(), rtol=2**-7)
    np.testing.assert_allclose(float(hp.mean(x)), wide.mean(), rtol=2**-7)
    assert hp.max(x).item() == wide.max() and hp.where(x > 0, x, 0.0).dtype == dtype
    assert hp.matmul(x, x).dtype == dtype
    assert repr(x).endswith(f"dtype={dtype}, device={DEVICE!r})")
    assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()


def test_errors_say_what_to_do():
    x = hp.ones((2, 3))
    cases = [
        (lambda: x + hp.ones((4, 3)), ValueError, r"\(2, 3\), \(4, 3\) do not broadcast"),
        (lambda: hp.reshape(x, (4,)), ValueError, "6 elements do not fit"),
        (lambda: hp.sum(x, axis=2), ValueError, "-2 to 1"),
        (lambda: x[5], IndexError, "index 5 of axis 0, which has 2"),
        (lambda: x[0, 0, 0], IndexError, "3 indices"),
        (lambda: hp.asarray(["a"]), TypeError, "numbers expected"),
        (lambda: hp.max(hp.ones((0,))), ValueError, "no elements"),
        (lambda: hp.ones(3, dtype="uint64") + hp.ones(3, dtype="int8"), TypeError, "no integer type holds both"),
        (lambda: hp.ones(2, dtype="uint8") + 300, OverflowError, "300 does not fit in uint8"),
        (lambda: hp.ones(2, dtype=bool) + hp.ones(2, dtype=bool), TypeError, "add: not defined for bool"),
        (lambda: hp.astype(hp.ones(2), "int7"), TypeError, "int7 is none of"),
        (lambda: hp.zeros((-1,)), ValueError, "must not be negative"),
        (lambda: hp.add(1, 2), TypeError, "needs an array"),
    ]
    for work, kind, match in cases:
        with pytest.raises(kind, match=match):
            # Operations are recorded: some say it when they are computed.
            work().compute()


def test_random_numbers():
    a, b = (hp.random.Generator(7) for _ in range(2))
    assert a.normal((3, 4)).tolist() == b.normal((3, 4)).tolist()
    x = a.uniform(1000, 2, 3)
    assert x.dtype == "float32" and 2 <= float(hp.min(x)) and float(hp.max(x)) <= 3
    assert sorted(a.permutation(9).tolist()) == list(range(9))
    assert set(a.integers(100, -1, 2).tolist()) == {-1, 0, 1}


def test_threads_make_arrays():
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        with hologram.device(DEVICE):
            x = hp.random.Generator(seed).uniform(10_000, dtype="float64")
            return float(hp.sum(x * 2)) - 2 * float(hp.sum(x))

    with ThreadPoolExecutor(4) as pool:
        assert max(map(abs, pool.map(work, range(16)))) < 1e-8
