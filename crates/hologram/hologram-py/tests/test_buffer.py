"""Buffers: to and from NumPy, views without copies, wrong uses."""

import gc
import sys

import numpy as np
import pytest

import hologram
from hologram import errors

DTYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip(ex, dtype):
    x = np.arange(-3, 14).astype(dtype)
    a = ex.from_numpy(x)
    assert a.dtype == np.dtype(dtype)
    assert (a.size, len(a), a.nbytes) == (17, 17, x.nbytes)
    back = a.to_numpy()
    assert back.dtype == x.dtype and (back == x).all()
    assert a.to_bytes() == x.tobytes()
    a.fill(3)
    assert (a.to_numpy() == 3).all()


@pytest.mark.parametrize("dtype", DTYPES + ["bfloat16"])
def test_new_buffers_are_zero(ex, dtype):
    assert ex.allocate(5, dtype).to_bytes() == bytes(ex.allocate(5, dtype).nbytes)


@pytest.mark.parametrize("dtype", [np.float64, np.dtype("i2"), float, "u4", "<f8"])
def test_forms_of_dtypes(ex, dtype):
    assert ex.allocate(2, dtype).dtype == np.dtype(dtype)
    assert ex.allocate(1).dtype == np.float32


@pytest.mark.parametrize("dtype", ["complex64", "bool", "U3", "M8[s]", "object", "no", 17, ">f4"])
def test_other_dtypes_are_refused(ex, dtype):
    with pytest.raises(errors.DTypeError):
        ex.allocate(2, dtype)


def test_lists_and_conversion(ex):
    assert ex.from_numpy([1, 2]).dtype == np.int64
    assert ex.from_numpy([1, 2], dtype="float32").to_numpy().tolist() == [1, 2]
    assert ex.from_numpy(3.5).to_numpy().tolist() == [3.5]


def test_strided_arrays(ex):
    x = np.arange(24, dtype=np.int32).reshape(4, 6)
    for view in (x.T, x[::2, ::-1], x[1:, 2:4], np.broadcast_to(x[0], (3, 6))):
        assert (ex.from_numpy(view).to_numpy() == view.ravel()).all()


def test_write_into(ex):
    a = ex.allocate(4)
    a.from_numpy(np.array([[1, 2], [3, 4]], np.float32))
    assert a.to_numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(errors.ShapeError, match="5 elements given, 4 expected"):
        a.from_numpy(np.zeros(5, np.float32))
    with pytest.raises(errors.DTypeError, match="float64, float32 expected"):
        a.from_numpy(np.zeros(4))
    assert a.to_numpy().tolist() == [1, 2, 3, 4]


def test_bytes(ex):
    a = ex.allocate(2, "uint16")
    a.from_bytes(b"\x01\x02\x03\x04")
    assert a.to_numpy().tolist() == [0x0201, 0x0403]
    a.from_bytes(bytearray(4))
    a.from_bytes(memoryview(np.array([7, 8], np.uint16)))
    assert a.to_numpy().tolist() == [7, 8]
    with pytest.raises(errors.ShapeError, match="3 bytes given, 4 expected"):
        a.from_bytes(b"123")
    with pytest.raises(TypeError):
        a.from_bytes("1234")
    with pytest.raises(BufferError):
        a.from_bytes(memoryview(bytes(8))[::2])


def test_empty(ex):
    a = ex.allocate(0)
    assert len(a) == 0 and a.to_numpy().size == 0 and a.to_bytes() == b""
    a.fill(1)
    a.from_numpy(np.zeros(0, np.float32))
    assert np.asarray(a).size == 0


def test_a_result_owns_its_memory(ex):
    a = ex.from_numpy(np.ones(3, np.float32))
    x = a.to_numpy()
    a.fill(2)
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("dtype", "value", "kind"),
    [
        ("int8", 128, OverflowError),
        ("int8", -129, OverflowError),
        ("uint8", -1, OverflowError),
        ("uint32", 2**32, OverflowError),
        ("uint64", 2**64, OverflowError),
        ("int32", 1.5, TypeError),
        ("float32", "1", TypeError),
        ("float32", None, TypeError),
    ],
)
def test_values_that_do_not_fit(ex, dtype, value, kind):
    a = ex.allocate(1, dtype)
    with pytest.raises(kind):
        a.fill(value)
    assert a.to_numpy()[0] == 0


def test_values_at_the_edges(ex):
    for dtype in DTYPES:
        info = np.finfo(dtype) if dtype.startswith("f") else np.iinfo(dtype)
        for value in (info.min, info.max):
            a = ex.allocate(2, dtype)
            a.fill(value)
            assert (a.to_numpy() == value).all()
    a = ex.allocate(1, "float16")
    a.fill(float("nan"))
    assert np.isnan(a.to_numpy()[0])


def test_bfloat16(ex):
    a = ex.allocate(2, "bfloat16")
    a.fill(1.0)
    assert a.to_bytes() == b"\x80\x3f" * 2
    assert str(a.dtype) == "bfloat16"


def test_bfloat16_is_never_read_as_integers(ex, monkeypatch):
    """By no protocol: the values, or an error."""
    values = [1.0, -2.5, 0.15625]
    a = ex.from_numpy(np.array(values, np.float32)).astype("bfloat16")
    for read in (memoryview, bytes):
        with pytest.raises(BufferError, match="to_bytes" if ex.backend == "cpu" else "to_numpy"):
            read(a)
    # Numbers of another type cannot be stored into it either.
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(a)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    for dtype in ("f4", "f8", "f2"):
        array = np.asarray(a, dtype=dtype)
        assert array.dtype == dtype and array.tolist() == values
    assert np.asarray(a, dtype="i4").tolist() == [1, -2, 0]
    for read in (np.asarray, np.sum, np.max, lambda a: a.to_numpy(), lambda a: np.asarray(a, copy=False)):
        with pytest.raises(errors.DTypeError, match="ml_dtypes"):
            read(a)
    monkeypatch.undo()
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for array in (np.asarray(a), a.to_numpy()):
        assert array.dtype == ml_dtypes.bfloat16 and array.astype("f4").tolist() == values
    assert np.asarray(a, dtype="f4").tolist() == values
    assert float(np.sum(a)) == sum(values)
    assert np.shares_memory(np.asarray(a), np.asarray(a)) == (ex.backend == "cpu")


def test_copy_from(ex):
    a = ex.from_numpy(np.arange(5, dtype=np.float32))
    b = ex.allocate(5)
    b.copy_from(a)
    assert b.to_numpy().tolist() == [0, 1, 2, 3, 4]
    other = hologram.Executor("cpu").from_numpy(np.full(5, 9, np.float32))
    b.copy_from(other)
    assert b.to_numpy().tolist() == [9] * 5
    with pytest.raises(errors.ShapeError):
        b.copy_from(ex.allocate(4))
    with pytest.raises(errors.DTypeError, match="other: elements are int32, float32 expected"):
        b.copy_from(ex.allocate(5, "int32"))
    with pytest.raises(errors.ArgumentError, match="other: is the buffer itself"):
        b.copy_from(b)


def test_free(ex):
    a = ex.allocate(3)
    assert not a.freed
    a.free()
    assert a.freed and repr(a) == "Buffer(freed)"
    for use in (
        a.free,
        a.to_numpy,
        a.to_bytes,
        lambda: a.size,
        lambda: a.handle,
        lambda: a.fill(1),
        lambda: memoryview(a),
        lambda: hologram.ops.vector_neg(ex, a, a),
    ):
        with pytest.raises(errors.ClosedError):
            use()


def test_free_by_with(ex):
    with ex.allocate(3) as a:
        a.fill(1)
    assert a.freed
    with ex.allocate(3) as a:
        a.free()


def test_views_share_memory(host):
    a = host.from_numpy(np.arange(6, dtype=np.float32))
    for view in (np.asarray(a), np.frombuffer(a, np.float32), np.from_dlpack(a)):
        assert view.tolist() == [0, 1, 2, 3, 4, 5]
        a.fill(9)
        assert (view == 9).all()
        a.from_numpy(np.arange(6, dtype=np.float32))
    view = np.asarray(a)
    view[2] = -1
    assert a.to_numpy()[2] == -1


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_of_every_type(host, dtype):
    x = np.arange(5).astype(dtype)
    a = host.from_numpy(x)
    for view in (np.asarray(a), np.asarray(memoryview(a)), np.from_dlpack(a)):
        assert view.dtype == x.dtype and (view == x).all()


def test_memoryview(host):
    a = host.allocate(4, "int16")
    with memoryview(a) as view:
        assert (view.format, view.itemsize, view.shape, view.strides) == ("h", 2, (4,), (2,))
        assert view.contiguous and not view.readonly
        view[3] = 77
    assert a.to_numpy()[3] == 77


def test_views_keep_the_memory(host):
    a = host.from_numpy(np.arange(1000, dtype=np.int64))
    views = [np.asarray(a), np.from_dlpack(a), np.asarray(memoryview(a))]
    with pytest.raises(BufferError):
        a.free()
    del a
    host.close()
    gc.collect()
    assert all(view.sum() == 499500 for view in views)


def test_memory_is_freed_with_the_last_view(host):
    a = host.allocate(10)
    views = [np.asarray(a), np.from_dlpack(a), memoryview(a), a.__dlpack__(), a.__dlpack__(max_version=(1, 0))]
    for _ in range(len(views)):
        with pytest.raises(BufferError):
            a.free()
        views.pop()
        gc.collect()
    a.free()
    assert host.stats()["live_buffers"] == 0


def test_array_protocol(host):
    a = host.from_numpy(np.arange(3, dtype=np.float32))
    assert np.asarray(a, dtype=np.float64).dtype == np.float64
    copy = np.array(a)
    a.fill(5)
    assert copy.tolist() == [0, 1, 2]
    assert np.shares_memory(np.array(a, copy=False), np.asarray(a))
    with pytest.raises(ValueError):
        np.array(a, dtype=np.float64, copy=False)
    assert (np.asarray(a) + 1).tolist() == [6, 6, 6]


def test_dlpack_arguments(host):
    a = host.allocate(3)
    assert a.__dlpack_device__() == (1, 0)
    assert "dltensor" in repr(a.__dlpack__())
    assert "dltensor_versioned" in repr(a.__dlpack__(max_version=(1, 1)))
    for wrong in ({"stream": 1}, {"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError):
            a.__dlpack__(**wrong)


def test_boundary(ex):
    a = ex.allocate_boundary(3, 48, 256)
    assert (a.class_index, a.size, a.dtype) == (3, 3072, np.float32)
    assert ex.allocate(1).class_index is None
    with pytest.raises(errors.ArgumentError, match="live buffer"):
        ex.allocate_boundary(3, 1, 4)
    a.fill(2)
    a.free()
    assert ex.allocate_boundary(3, 1, 4).to_numpy().tolist() == [2]
    for wrong in [(96, 1, 4), (1, 49, 4), (1, 1, 257), (1, 1, 3)]:
        with pytest.raises(errors.ArgumentError):
            ex.allocate_boundary(*wrong)


@pytest.mark.parametrize("size", [2**62, 2**50])
def test_too_much_memory(ex, size):
    with pytest.raises(MemoryError):
        ex.allocate(size, "float64")
    assert ex.allocate(1).size == 1


@pytest.mark.parametrize("size", [1.5, "3", None])
def test_sizes_of_the_wrong_kind(ex, size):
    with pytest.raises(TypeError, match="size: "):
        ex.allocate(size)


def test_sizes_out_of_range(ex):
    for size in (-1, 2**63, 2**100):
        with pytest.raises(errors.ArgumentError, match=f"size: {size}, must be 0 to {2**63 - 1}"):
            ex.allocate(size)
    for arguments, message in [((-1, 1, 4), "class_index: -1"), ((256, 1, 4), "256"), ((1, -1, 4), "width: -1")]:
        with pytest.raises(errors.ArgumentError, match=message):
            ex.allocate_boundary(*arguments)
    assert ex.allocate(np.int64(3)).size == 3


def test_repr(ex):
    assert repr(ex.allocate(3, "int8")) == f"Buffer(3 x int8, {ex.backend})"
