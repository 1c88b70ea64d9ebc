"""Operations of float16 and bfloat16 against NumPy: calculated in float32, rounded once."""

import numpy as np
import pytest

from hologram import ops

SIZES = [0, 1, 7, 1000, 40_001]


def sample(n, seed=0):
    return np.random.default_rng(seed).uniform(-4, 4, n).astype(np.float16)


def close(actual, expected):
    """One place of float16, subnormal ones too."""
    expected = np.asarray(expected, np.float64).astype(np.float16)
    np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (ops.vector_add, np.add),
        (ops.vector_sub, np.subtract),
        (ops.vector_mul, np.multiply),
        (ops.vector_div, np.divide),
        (ops.vector_min, np.fmin),
        (ops.vector_max, np.fmax),
    ],
)
def test_binary(ex, op, expected):
    for n in SIZES:
        x, y = sample(n, 1), sample(n, 2)
        a, b, c = ex.from_numpy(x), ex.from_numpy(y), ex.allocate(n, "float16")
        op(ex, a, b, c)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(c.to_numpy(), expected(x, y))
        op(ex, a, b, b)
        np.testing.assert_array_equal(b.to_numpy(), c.to_numpy())


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (ops.vector_abs, np.abs),
        (ops.vector_neg, np.negative),
        (ops.vector_relu, lambda x: np.maximum(x, 0)),
        (ops.vector_sqrt, np.sqrt),
        (ops.vector_ceil, np.ceil),
        (ops.vector_floor, np.floor),
        (ops.vector_round, np.rint),
        (ops.vector_exp, np.exp),
        (ops.vector_log, np.log),
        (ops.vector_sin, np.sin),
        (ops.tanh, np.tanh),
        (ops.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_unary(ex, op, expected):
    for n in SIZES:
        x = sample(n, 3)
        a, c = ex.from_numpy(x), ex.allocate(n, "float16")
        op(ex, a, c)
        with np.errstate(all="ignore"):
            close(c.to_numpy(), expected(x.astype(np.float64)))


def test_scalars_bounds_and_fill(ex):
    x = sample(1001, 4)
    a, c = ex.from_numpy(x), ex.allocate(1001, "float16")
    ops.scalar_mul(ex, a, c, 0.1)
    np.testing.assert_array_equal(c.to_numpy(), x * np.float16(0.1))
    ops.vector_clip(ex, a, c, -1.5, 0.25)
    np.testing.assert_array_equal(c.to_numpy(), np.clip(x, np.float16(-1.5), np.float16(0.25)))
    c.fill(2.5)
    assert (c.to_numpy() == 2.5).all()


def test_folds_and_losses(ex):
    for n in SIZES[1:]:
        x = sample(n, 5)
        a = ex.from_numpy(x)
        exact = float(np.float16(x.astype(np.float64).sum()))
        assert ops.reduce_sum(ex, a) == pytest.approx(exact, rel=1e-3, abs=1e-3)
        assert ops.reduce_min(ex, a) == x.min()
        assert ops.reduce_max(ex, a) == x.max()
        y = sample(n, 6)
        exact = ((x.astype(np.float64) - y) ** 2).mean()
        assert ops.mse_loss(ex, a, ex.from_numpy(y)) == pytest.approx(exact, rel=1e-3)
    # More than halves can count.
    assert ops.reduce_sum(ex, ex.from_numpy(np.ones(60_000, np.float16))) == 60_000


def test_rows(ex):
    x = sample(7 * 65, 7).reshape(7, 65)
    gamma, beta = sample(65, 8), sample(65, 9)
    wide = x.astype(np.float64)
    a, c = ex.from_numpy(x.ravel()), ex.allocate(x.size, "float16")
    ops.softmax_rows(ex, a, c, 7, 65)
    e = np.exp(wide - wide.max(axis=1, keepdims=True))
    close(c.to_numpy().reshape(x.shape), e / e.sum(axis=1, keepdims=True))
    ops.layer_norm(ex, a, ex.from_numpy(gamma), ex.from_numpy(beta), c, 7, 65, 1e-5)
    centred = wide - wide.mean(axis=1, keepdims=True)
    normal = centred / np.sqrt(wide.var(axis=1, keepdims=True) + 1e-5)
    expected = (normal * gamma + beta).astype(np.float16)
    np.testing.assert_allclose(c.to_numpy().reshape(x.shape), expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (12, 34, 56), (33, 1, 500), (3, 70, 1100)])
def test_products(ex, m, n, k):
    x, y = sample(m * k, 1).reshape(m, k), sample(k * n, 2).reshape(k, n)
    a, b, c = ex.from_numpy(x.ravel()), ex.from_numpy(y.ravel()), ex.allocate(m * n, "float16")
    ops.gemm(ex, a, b, c, m, n, k)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    np.testing.assert_allclose(c.to_numpy().reshape(m, n), exact, rtol=6e-4, atol=1e-4 * k)


def test_bfloat16(ex):
    x, y = (np.random.default_rng(s).uniform(-4, 4, 1001).astype(np.float32) for s in (1, 2))
    a, b = (ex.from_numpy(v).astype("bfloat16") for v in (x, y))
    ops.vector_mul(ex, a, b, b)
    rounded = ex.from_numpy(x).astype("bfloat16").astype("float32").to_numpy()
    exact = rounded * ex.from_numpy(y).astype("bfloat16").astype("float32").to_numpy()
    expected = ex.from_numpy(exact).astype("bfloat16").to_bytes()
    assert b.to_bytes() == expected
