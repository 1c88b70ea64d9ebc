"""`linalg` and `fft` against array-api-strict."""

import array_api_strict as xp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hologram import array as hp

from standard import arrays, both, campaign, dtypes_of, same, to_numpy

FIELDS = dtypes_of("float", "complex")


def batches(data):
    return data.draw(st.sampled_from([(), (2,), (2, 3), (0,)]))


def field(data, shape, names=FIELDS):
    return data.draw(arrays(names, shape=shape, tame=True))


@campaign
@given(data=st.data())
def test_matmul(data):
    names = data.draw(st.sampled_from([dtypes_of("int"), dtypes_of("uint"), dtypes_of("float"), dtypes_of("complex")]))
    m, k, n = (data.draw(st.integers(0, 5)) for _ in range(3))
    left, right = data.draw(st.sampled_from([((), ()), ((2,), ()), ((), (3,)), ((3, 1), (2,)), ((2,), (2,))]))
    name = data.draw(st.sampled_from(names))
    a, a_ = field(data, (*left, m, k), [name])
    b, b_ = field(data, (*right, k, n), [name])
    same(hp.matmul(a, b), xp.matmul(a_, b_), 64, 8.0)
    same(a @ b, a_ @ b_, 64, 8.0)
    v, v_ = field(data, (k,), [name])
    same(hp.matmul(a, v), xp.matmul(a_, v_), 64, 8.0)
    same(hp.matmul(v, b), xp.matmul(v_, b_), 64, 8.0)
    same(hp.vecdot(v, v), xp.vecdot(v_, v_), 64, 8.0)
    same(hp.linalg.outer(v, v), xp.linalg.outer(v_, v_), 4)
    if k:
        same(hp.vecdot(a, v), xp.vecdot(a_, v_), 64, 8.0)


@campaign
@given(data=st.data())
def test_tensordot(data):
    name = data.draw(st.sampled_from(dtypes_of("int", "float", "complex")))
    a, a_ = field(data, (2, 3, 4), [name])
    b, b_ = field(data, (4, 3, 2), [name])
    for axes in (0, 1, ((0, 1), (2, 1)), ((2,), (0,))):
        same(hp.tensordot(a, b, axes=axes), xp.tensordot(a_, b_, axes=axes), 64, 8.0)


@campaign
@given(data=st.data())
def test_diagonals(data):
    a, a_ = data.draw(arrays(dtypes_of("int", "float"), least=2, tame=True))
    offset = data.draw(st.integers(-3, 3))
    same(hp.linalg.diagonal(a, offset=offset), xp.linalg.diagonal(a_, offset=offset))
    same(hp.linalg.trace(a, offset=offset), xp.linalg.trace(a_, offset=offset), 16, 8.0)
    c, c_ = field(data, (2, 3), dtypes_of("int", "float"))
    same(hp.linalg.cross(c, c[::-1, :]), xp.linalg.cross(c_, c_[::-1, :]), 8, 8.0)


@campaign
@given(data=st.data())
def test_norms(data):
    a, a_ = data.draw(arrays(FIELDS, least=1, tame=True, sides=(1, 4)))
    axis = data.draw(st.sampled_from([None, *range(a.ndim), tuple(range(a.ndim))]))
    for order in (2, 1, float("inf"), -float("inf"), 0, 3):
        keepdims = data.draw(st.booleans())
        ours = hp.linalg.vector_norm(a, axis=axis, ord=order, keepdims=keepdims)
        same(ours, xp.linalg.vector_norm(a_, axis=axis, ord=order, keepdims=keepdims), 64, 1.0)
    m, m_ = field(data, (2, 3, 4))
    for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")):
        same(hp.linalg.matrix_norm(m, ord=order), xp.linalg.matrix_norm(m_, ord=order), 256, 8.0)


def definite(data):
    """A positive definite matrix, and a batch of them."""
    name = data.draw(st.sampled_from(FIELDS))
    n = data.draw(st.integers(1, 4))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    shape = (*batches(data), n, n)
    made = rng.normal(size=shape)
    if name.startswith("complex"):
        made = made + 1j * rng.normal(size=shape)
    made = made @ np.conj(np.swapaxes(made, -1, -2)) + np.eye(n) * n
    return both(made.astype(name))


@campaign
@given(data=st.data())
def test_factorisations(data):
    a, a_ = definite(data)
    n = a.shape[-1]
    for upper in (False, True):
        same(hp.linalg.cholesky(a, upper=upper), xp.linalg.cholesky(a_, upper=upper), 256, 8.0)
    same(hp.linalg.det(a), xp.linalg.det(a_), 256, 8.0)
    same(hp.linalg.inv(a), xp.linalg.inv(a_), 256, 8.0)
    same(hp.linalg.eigvalsh(a), xp.linalg.eigvalsh(a_), 256, 8.0)
    same(tuple(hp.linalg.eigh(a)), tuple(xp.linalg.eigh(a_)), 256, 8.0)
    same(tuple(hp.linalg.slogdet(a)), tuple(xp.linalg.slogdet(a_)), 256, 8.0)
    same(hp.linalg.svdvals(a), xp.linalg.svdvals(a_), 256, 8.0)
    same(hp.linalg.pinv(a), xp.linalg.pinv(a_), 1024, 8.0)
    same(hp.linalg.matrix_rank(a), xp.linalg.matrix_rank(a_))
    for mode in ("reduced", "complete"):
        same(tuple(hp.linalg.qr(a, mode=mode)), tuple(xp.linalg.qr(a_, mode=mode)), 256, 8.0)
    for full in (True, False):
        ours, theirs = hp.linalg.svd(a, full_matrices=full), xp.linalg.svd(a_, full_matrices=full)
        same(tuple(ours), tuple(theirs), 256, 8.0)
        assert ours._fields == theirs._fields
    for power in (0, 1, 3, -2):
        same(hp.linalg.matrix_power(a, power), xp.linalg.matrix_power(a_, power), 4096, 8.0)
    b, b_ = field(data, (*a.shape[:-1], 2), [a.dtype.name])
    same(hp.linalg.solve(a, b), xp.linalg.solve(a_, b_), 1024, 8.0)
    v, v_ = field(data, (n,), [a.dtype.name])
    same(hp.linalg.solve(a, v), xp.linalg.solve(a_, v_), 1024, 8.0)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@campaign
@given(data=st.data())
def test_fourier(name, data):
    names = dtypes_of("float") if name in ("rfft", "ihfft") else dtypes_of("complex")
    a, a_ = data.draw(arrays(names, least=1, tame=True, sides=(2, 6)))
    axis = data.draw(st.sampled_from(range(-a.ndim, a.ndim)))
    n = data.draw(st.sampled_from([None, 2, 5, 8]))
    norm = data.draw(st.sampled_from(["backward", "ortho", "forward"]))
    ours = getattr(hp.fft, name)(a, n=n, axis=axis, norm=norm)
    same(ours, getattr(xp.fft, name)(a_, n=n, axis=axis, norm=norm), 64, 8.0)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@campaign
@given(data=st.data())
def test_fourier_of_several_axes(name, data):
    names = dtypes_of("float") if name == "rfftn" else dtypes_of("complex")
    a, a_ = data.draw(arrays(names, least=2, tame=True, sides=(2, 4)))
    axes = data.draw(st.sampled_from([None, (0, 1), (-1,)]))
    ours = getattr(hp.fft, name)(a, axes=axes)
    same(ours, getattr(xp.fft, name)(a_, axes=axes), 64, 16.0)


@campaign
@given(data=st.data())
def test_frequencies(data):
    n, d = data.draw(st.integers(1, 9)), data.draw(st.sampled_from([1.0, 0.25]))
    same(hp.fft.fftfreq(n, d=d), xp.fft.fftfreq(n, d=d))
    same(hp.fft.rfftfreq(n, d=d), xp.fft.rfftfreq(n, d=d))
    a, a_ = data.draw(arrays(FIELDS, tame=True, least=1))
    same(hp.fft.fftshift(a), xp.fft.fftshift(a_))
    same(hp.fft.ifftshift(a), xp.fft.ifftshift(a_))
    same(hp.fft.fftshift(a, axes=-1), xp.fft.fftshift(a_, axes=-1))


def test_what_has_no_result():
    singular = hp.asarray([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(ValueError, match="inv: Singular"):
        hp.linalg.inv(singular)
    with pytest.raises(ValueError, match="not square"):
        hp.linalg.det(hp.ones((2, 3)))
    with pytest.raises(ValueError, match="3 and 2 must be equal"):
        hp.matmul(hp.ones((2, 3)), hp.ones((2, 3)))
    assert to_numpy(hp.linalg.det(singular)) == 0
