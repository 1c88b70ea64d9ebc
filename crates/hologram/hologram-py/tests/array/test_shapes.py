"""Creation, indexing, and other shapes of the same elements, against array-api-strict."""

import inspect

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hologram
from hologram import array as hp

from standard import arrays, both, campaign, dtypes_of, mutual_shapes, numpys, same, shapes, to_numpy

ALL = dtypes_of("bool", "int", "uint", "float", "complex")


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
@campaign
@given(data=st.data())
def test_constant_arrays(name, data):
    shape, dtype = data.draw(shapes()), data.draw(st.sampled_from([None, *ALL]))
    ours = getattr(hp, name)(shape, dtype=dtype)
    theirs = getattr(xp, name)(shape, dtype=dtype and getattr(xp, dtype))
    like, like_ = getattr(hp, f"{name}_like")(ours), getattr(xp, f"{name}_like")(theirs)
    if name == "empty":
        # What they hold is not defined.
        assert ours.shape == theirs.shape == like.shape and ours.dtype == like.dtype == (dtype or "float64")
        return
    same(ours, theirs)
    same(like, like_)


@campaign
@given(data=st.data())
def test_full(data):
    shape = data.draw(shapes())
    value = data.draw(st.sampled_from([True, 3, -2.5, 1 + 2j]))
    same(hp.full(shape, value), xp.full(shape, value))
    dtype = data.draw(st.sampled_from(dtypes_of("int", "uint", "float", "complex")))
    same(hp.full(shape, 3, dtype=dtype), xp.full(shape, 3, dtype=getattr(xp, dtype)))
    same(hp.full_like(hp.zeros(shape), 3), xp.full_like(xp.zeros(shape), 3))


@campaign
@given(data=st.data())
def test_ranges(data):
    start, count = data.draw(st.integers(-9, 9)), data.draw(st.integers(0, 9))
    step = data.draw(st.sampled_from([1, 2, -3]))
    same(hp.arange(start, start + count * step, step), xp.arange(start, start + count * step, step))
    same(hp.arange(count), xp.arange(count))
    same(hp.arange(0.0, count, 0.5), xp.arange(0.0, count, 0.5))
    same(hp.arange(count, dtype="float32"), xp.arange(count, dtype=xp.float32))
    for endpoint in (True, False):
        same(hp.linspace(start, 7.5, count, endpoint=endpoint), xp.linspace(start, 7.5, count, endpoint=endpoint))
    same(hp.linspace(0, 1, count, dtype="float32"), xp.linspace(0, 1, count, dtype=xp.float32))
    k = data.draw(st.integers(-3, 3))
    same(hp.eye(count, k=k), xp.eye(count, k=k))
    same(hp.eye(count, 4, k=k, dtype="int8"), xp.eye(count, 4, k=k, dtype=xp.int8))


@campaign
@given(data=st.data())
def test_triangles_and_grids(data):
    a, a_ = data.draw(arrays(ALL, least=2))
    k = data.draw(st.integers(-2, 2))
    same(hp.tril(a, k=k), xp.tril(a_, k=k))
    same(hp.triu(a, k=k), xp.triu(a_, k=k))
    vectors = [data.draw(arrays(["int32"], least=1, most=1)) for _ in range(data.draw(st.integers(1, 3)))]
    indexing = data.draw(st.sampled_from(["xy", "ij"]))
    ours = hp.meshgrid(*(v for v, _ in vectors), indexing=indexing)
    same(ours, xp.meshgrid(*(v for _, v in vectors), indexing=indexing))


@campaign
@given(data=st.data())
def test_asarray(data):
    values = data.draw(numpys(ALL))
    ours, theirs = both(values)
    same(ours, theirs)
    if values.ndim and values.size:
        listed = hp.asarray(values.tolist())
        if listed.dtype == "uint64":
            # NumPy makes floats of lists in which only some integers are beyond int64, and loses their last bits.
            assert listed.tolist() == values.tolist()
        else:
            same(listed, xp.asarray(values.tolist()))
    same(hp.asarray(ours, copy=True), theirs)
    same(hp.from_dlpack(theirs), theirs)


def index_of(data, extent):
    """An integer or a slice."""
    number = st.integers(-extent, extent - 1) if extent else st.just(slice(None))
    bound = st.none() | st.integers(-extent, extent)
    return data.draw(number | st.just(slice(None)) | st.builds(slice, bound, bound, st.sampled_from([None, 1, 2])))


@campaign
@given(data=st.data())
def test_basic_indexing(data):
    a, a_ = data.draw(arrays(ALL))
    key = [index_of(data, extent) for extent in a.shape]
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(key)))
        key = [*key[:at], None, *key[at:]]
    if data.draw(st.booleans()) and a.ndim:
        key = [..., key[-1]] if not isinstance(key[-1], type(None)) else key
    key = tuple(key)
    if sum(part is not None and part is not ... for part in key) < a.ndim and ... not in key:
        key = (*key, ...)
    same(a[key], a_[key])
    # What was recorded before sees the old values, views the new ones.
    if a.dtype.kind in ("int", "float") and None not in key:
        before, before_ = a + a, a_ + a_
        a[key] = 5
        a_[key] = 5
        same(before, before_)
    same(a, a_)


@campaign
@given(data=st.data())
def test_masks_and_indices(data):
    a, a_ = data.draw(arrays(dtypes_of("int", "float"), least=1, sides=(1, 4)))
    mask, mask_ = data.draw(arrays(["bool"], shape=a.shape))
    same(a[mask], a_[mask_])
    a[mask] = 3
    a_[mask_] = 3
    same(a, a_)
    extent = a.shape[0]
    indices = np.array(data.draw(st.lists(st.integers(-extent, extent - 1), min_size=1, max_size=6)))
    rows, rows_ = both(indices)
    if a.ndim == 1:
        same(a[rows], a_[rows_])
    axis = data.draw(st.sampled_from(range(a.ndim)))
    chosen = np.array(data.draw(st.lists(st.integers(0, a.shape[axis] - 1), max_size=6)), dtype=np.int64)
    at, at_ = both(chosen)
    same(hp.take(a, at, axis=axis), xp.take(a_, at_, axis=axis))
    order, order_ = hp.argsort(a, axis=axis), xp.argsort(a_, axis=axis)
    same(hp.take_along_axis(a, order, axis=axis), xp.take_along_axis(a_, order_, axis=axis))


def test_masks_of_rows_of_all_sizes():
    """Elements of all sizes and rows of several, in blocks of which all, none or some bools are set; NumPy is the oracle."""
    rng = np.random.default_rng(7)
    masks = [rng.random(n) < share for n in (1, 63, 64, 200, 1000) for share in (0, 0.1, 0.9, 1)]
    masks += [np.repeat([True, False, True], 100), np.arange(200) % 64 == 63]
    for mask_ in masks:
        mask = hp.asarray(mask_)
        for name in ("bool", "uint16", "float32", "int64", "complex128"):
            for row in ((), (2,), (3,)):
                a_ = rng.integers(0, 2 if name == "bool" else 99, (len(mask_), *row)).astype(name)
                a = hp.asarray(a_)
                assert to_numpy(a[mask]).tolist() == a_[mask_].tolist()
                sum_ = a_ if name == "bool" else a_ + a_
                before = a if name == "bool" else a + a
                few_ = rng.integers(0, 2, a_[mask_].shape).astype(name)
                kept = hp.asarray(before, copy=True) if name == "bool" else before
                a[mask] = hp.asarray(few_)
                # What was recorded before sees the old values.
                assert to_numpy(kept).tolist() == sum_.tolist()
                a_[mask_] = few_
                assert to_numpy(a).tolist() == a_.tolist(), (name, row)
    # Of two dimensions, of views, and of what is written itself.
    a_, mask_ = rng.random((40, 9)), rng.random((40, 9)) < 0.5
    a, mask = hp.asarray(a_), hp.asarray(mask_)
    assert to_numpy(a[mask]).tolist() == a_[mask_].tolist()
    assert to_numpy(a.T[mask.T]).tolist() == a_.T[mask_.T].tolist()
    a[mask] = hp.reshape(a, (-1,))[: int(mask_.sum())]
    a_[mask_] = a_.reshape(-1)[: mask_.sum()].copy()
    assert to_numpy(a).tolist() == a_.tolist()
    flags = hp.asarray([True, False, True])
    flags[flags] = hp.asarray([False, True])
    assert flags.tolist() == [False, False, True]
    with pytest.raises(ValueError):
        a[mask] = hp.zeros(int(mask_.sum()) + 1)
    # What others see is written by NumPy, elements of the mask alone; what is outside of memory by nobody.
    shown = np.asarray(a)
    a[mask] = hp.ones(int(mask_.sum()))
    assert (shown[mask_] == 1).all() and to_numpy(a[mask]).tolist() == [1] * int(mask_.sum())
    wide = hp.zeros(4).view((1 << 20,), 0, (1,))
    everything = hp.ones(1 << 20, dtype=hp.bool)
    for wrong in (lambda: wide[everything], lambda: wide.__setitem__(everything, hp.ones(1 << 20))):
        with pytest.raises((ValueError, TypeError)):
            wrong()


@campaign
@given(data=st.data())
def test_broadcasts(data):
    a, b = data.draw(mutual_shapes(2))
    a, a_ = data.draw(arrays(ALL, shape=a))
    b, b_ = data.draw(arrays(ALL, shape=b))
    ours, theirs = hp.broadcast_arrays(a, b), xp.broadcast_arrays(a_, b_)
    same(ours, theirs)
    same(hp.broadcast_to(a, ours[0].shape), xp.broadcast_to(a_, theirs[0].shape))


@campaign
@given(data=st.data())
def test_concat_and_stack(data):
    names = dtypes_of(data.draw(st.sampled_from(["bool", "int", "uint", "float", "complex"])))
    shape = data.draw(shapes(least=1))
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    parts = []
    for _ in range(data.draw(st.integers(1, 3))):
        sides = list(shape)
        if axis is not None:
            sides[axis] = data.draw(st.integers(0, 3))
        parts.append(data.draw(arrays(names, shape=tuple(sides))))
    same(hp.concat([a for a, _ in parts], axis=axis), xp.concat([a for _, a in parts], axis=axis))
    equal = [data.draw(arrays(names, shape=shape)) for _ in range(data.draw(st.integers(1, 3)))]
    at = data.draw(st.integers(-len(shape) - 1, len(shape)))
    same(hp.stack([a for a, _ in equal], axis=at), xp.stack([a for _, a in equal], axis=at))
    for wrong in (len(shape) + 1, 10**30):
        with pytest.raises(IndexError):
            hp.stack([equal[0][0]], axis=wrong)
    at = data.draw(st.integers(-len(shape), len(shape) - 1))
    same(hp.unstack(equal[0][0], axis=at), xp.unstack(equal[0][1], axis=at))


@campaign
@given(data=st.data())
def test_orders(data):
    a, a_ = data.draw(arrays(ALL))
    axes = data.draw(st.permutations(range(a.ndim)))
    same(hp.permute_dims(a, axes), xp.permute_dims(a_, tuple(axes)))
    same(hp.flip(a), xp.flip(a_))
    at = data.draw(st.integers(-a.ndim - 1, a.ndim))
    wide, wide_ = hp.expand_dims(a, axis=at), xp.expand_dims(a_, axis=at)
    same(wide, wide_)
    same(hp.squeeze(wide, at), xp.squeeze(wide_, axis=at))
    same(hp.roll(a, 3), xp.roll(a_, 3))
    if a.ndim:
        axis = data.draw(st.sampled_from(range(-a.ndim, a.ndim)))
        same(hp.flip(a, axis=axis), xp.flip(a_, axis=axis))
        same(hp.roll(a, -2, axis=axis), xp.roll(a_, -2, axis=axis))
        axes = data.draw(st.lists(st.integers(0, a.ndim - 1), min_size=1, max_size=3))
        shifts = [data.draw(st.integers(-7, 7)) for _ in axes]
        # One axis may be named several times.
        assert np.array_equal(to_numpy(hp.roll(a, tuple(shifts), axis=tuple(axes))), np.roll(to_numpy(a), shifts, axis=axes), equal_nan=a.dtype.kind in ("float", "complex"))
        to = data.draw(st.sampled_from(range(-a.ndim, a.ndim)))
        same(hp.moveaxis(a, axis, to), xp.moveaxis(a_, axis, to))
        same(hp.repeat(a, 2, axis=axis), xp.repeat(a_, 2, axis=axis))
        times = [data.draw(st.integers(0, 3)) for _ in range(a.shape[axis])]
        if times:
            same(hp.repeat(a, hp.asarray(times), axis=axis), xp.repeat(a_, xp.asarray(times), axis=axis))
    same(hp.repeat(a, 3), xp.repeat(a_, 3))
    same(hp.tile(a, (2, 1)), xp.tile(a_, (2, 1)))
    if a.ndim >= 2:
        same(hp.matrix_transpose(a), xp.matrix_transpose(a_))
        same(a.mT, a_.mT)


@campaign
@given(data=st.data())
def test_reshape(data):
    a, a_ = data.draw(arrays(ALL, sides=(1, 4)))
    same(hp.reshape(a, (-1,)), xp.reshape(a_, (-1,)))
    factors = [f for f in range(1, a.size + 1) if a.size % f == 0]
    first = data.draw(st.sampled_from(factors))
    same(hp.reshape(a, (first, -1)), xp.reshape(a_, (first, -1)))
    same(hp.reshape(a, (1, first, 1, a.size // first)), xp.reshape(a_, (1, first, 1, a.size // first)))
    same(hp.reshape(a, a.shape, copy=True), a_)


def test_broadcast_views_are_not_written():
    x = hp.asarray([1.0, 2.0, 3.0])
    wide = hp.broadcast_to(x, (2, 3))
    for view in (wide, wide[0], wide.T, hp.flip(wide), hp.reshape(wide, (1, 2, 3)), hp.broadcast_arrays(x, hp.ones((2, 1)))[0], hp.meshgrid(x, x)[0]):
        for write in (
            lambda: view.__setitem__(0, 5), lambda: view.__setitem__(..., view + 1), lambda: view.__iadd__(1), lambda: view.__setitem__(view > 2, 0),
            lambda: hp.exp(view, out=view), lambda: view.__setitem__(hp.asarray([0]), view[:1]), lambda: np.add(view, 1, out=view),
        ):  # fmt: skip
            with pytest.raises(ValueError, match="read-only"):
                write()
        assert not np.asarray(view).flags.writeable or not view.device.on_host
    assert x.tolist() == [1, 2, 3] and np.asarray(x).flags.writeable
    z = hp.broadcast_to(hp.asarray([1j, 2]), (2, 2))[0]
    assert z.readonly and hp.real(z).readonly and hp.imag(z).readonly and not hp.real(z + 0).readonly


def test_shapes_that_no_memory_has():
    z = hp.asarray(3.0)
    wide, long = hp.broadcast_to(z, (2**40, 1)), hp.broadcast_to(z, (2**58,))
    makes = [hp.zeros, hp.ones, lambda shape: hp.broadcast_to(z, shape), lambda shape: hp.full(shape, 1j)]
    cases = [lambda: wide + hp.broadcast_to(z, (2**40,)), lambda: hp.zeros((1,) * 64)[None], lambda: hp.stack([long, long])]
    cases += [lambda m=m, s=s: m(s) for m in makes for s in ((1,) * 65, (2**40, 2**40), (0, 2**62, 2**62), (10**30,), 2**60)]
    for work in cases:
        with pytest.raises(ValueError, match="an array has at most"):
            work()
    assert hp.zeros((2**40, 0)).size == 0


def test_whatever_is_an_integer():
    x = hp.reshape(hp.arange(6.0), (2, 3))
    for one in (np.int64, np.array, hp.asarray):
        assert hp.reshape(x, one(6)).shape == x.reshape(one(6)).shape == hp.zeros(one(6)).shape == (6,)
        assert hp.tensordot(x, x.T, axes=one(1)).shape == (2, 2) and hp.fft.fftshift(x, axes=one(0)).shape == (2, 3)
        assert hp.sum(x, axis=one(0)).tolist() == [3, 5, 7] and hp.expand_dims(x, axis=one(0)).shape == (1, 2, 3)
        assert hp.roll(x, one(1), axis=one(0)).tolist() == [[3, 4, 5], [0, 1, 2]] and hp.median(x, axis=one(1)).tolist() == [1, 4]
        assert hp.tile(x, one(2)).shape == (2, 6) and hp.linalg.matrix_power(hp.ones((2, 2)), one(2)).tolist() == [[2, 2], [2, 2]]
    for several in (np.array, hp.asarray, list):
        assert hp.sum(x, axis=several([0, 1])).item() == 15 and hp.permute_dims(x, several([1, 0])).shape == x.transpose(several([1, 0])).shape == (3, 2)
    assert x.transpose(None).shape == x.transpose((1, 0)).shape == x.transpose(1, 0).shape == x.transpose().shape == (3, 2)
    nans = hp.full((2, 2), float("nan"))
    for work, error, match in [
        *((lambda wrong=wrong: hp.reshape(x, wrong), TypeError, "shape: .* an integer or several expected") for wrong in ("a", None, 1.5, (1, "a"))),
        (lambda: hp.fft.fft(x, axis=5), hologram.errors.AxisError, "axis: 5"), (lambda: hp.fft.fftn(x, axes=(5,)), hologram.errors.AxisError, "axes: 5"),
        (lambda: hp.fft.fftshift(x, axes=5), hologram.errors.AxisError, "axes: 5"), (lambda: pow(x, 2, 5), TypeError, "__pow__"),
        (lambda: hp.linalg.pinv(nans), hologram.errors.ArgumentError, "pinv"), (lambda: hp.linalg.matrix_rank(nans), hologram.errors.ArgumentError, "matrix_rank"),
    ]:  # fmt: skip
        with pytest.raises(error, match=match):
            work()


def test_functions_say_that_they_need_arrays():
    i = hp.arange(2)
    more = dict(astype="f4", broadcast_to=3, full_like=1, moveaxis=(0, 0), permute_dims=((0,),), repeat=2, reshape=4, roll=1, tile=2, matrix_power=2, searchsorted=1, pad=1, where=(1, 2), take=i, take_along_axis=i)  # fmt: skip
    others = "arange asarray broadcast_shapes can_cast default_device einsum empty eye fftfreq finfo full iinfo isdtype linspace ones result_type rfftfreq zeros".split()
    for module in (hp, hp.linalg, hp.fft):
        for name in {*module.__all__} - {*others}:
            function = getattr(module, name)
            if not callable(function) or isinstance(function, (type, hp.DType)):
                continue
            for wrong in ([1.0], None, "a", *([] if name == "from_dlpack" else [np.ones(2)])):
                given = more.get(name, wrong if "x2" in inspect.signature(function).parameters else ())
                with pytest.raises(TypeError, match="array|neither|iterable|DLPack") as raised:
                    function(wrong, *(given if isinstance(given, tuple) else (given,)))
                assert "has no attribute" not in str(raised.value), name
