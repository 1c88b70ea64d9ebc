"""Operations against NumPy, at sizes that fill no vector."""

import math

import numpy as np
import pytest

import hologram
from hologram import errors, ops

SIZES = [0, 1, 7, 1000, 40_001]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def sample(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-4, 4, n).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)


def tolerance(dtype):
    # Halves are rounded once, subnormal ones too.
    rtol, atol = {"float16": (1e-3, 1e-7), "float32": (3e-6, 3e-6), "float64": (1e-12, 1e-12)}[dtype]
    return {"rtol": rtol, "atol": atol}


@pytest.mark.parametrize("dtype", INTS + FLOATS)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (ops.vector_add, np.add),
        (ops.vector_sub, np.subtract),
        (ops.vector_mul, np.multiply),
        (ops.vector_min, np.fmin),
        (ops.vector_max, np.fmax),
    ],
)
def test_binary(ex, op, expected, dtype):
    for n in SIZES:
        x, y = sample(n, dtype, 1), sample(n, dtype, 2)
        a, b, c = ex.from_numpy(x), ex.from_numpy(y), ex.allocate(n, dtype)
        op(ex, a, b, c)
        with np.errstate(over="ignore"):
            assert (c.to_numpy() == expected(x, y)).all()
            op(ex, a, b, b)
            assert (b.to_numpy() == expected(x, y)).all()


@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_division(ex, dtype):
    x, y = sample(1001, dtype, 1), sample(1001, dtype, 2)
    y[y == 0] = 1
    a, c = ex.from_numpy(x), ex.allocate(1001, dtype)
    ops.vector_div(ex, a, ex.from_numpy(y), c)
    if np.dtype(dtype).kind == "f":
        expected = x / y
    else:
        # Towards zero, unlike NumPy.
        expected = np.array([int(math.copysign(1, int(p)) * math.copysign(1, int(q))) * (abs(int(p)) // abs(int(q))) for p, q in zip(x, y)], object)
        width = np.iinfo(dtype).bits
        expected = np.array([int(v) & (2**width - 1) for v in expected], np.uint64)
        assert (c.to_numpy().astype(np.uint64) & np.uint64(2**width - 1) == expected).all()
        return
    assert (c.to_numpy() == expected).all()


def test_division_by_zero(ex):
    x = ex.from_numpy(np.array([1, 0], np.int32))
    with pytest.raises(errors.FaultError, match="division by zero"):
        ops.vector_div(ex, x, x, ex.allocate(2, "int32"))
        ex.synchronize()
    with pytest.raises(ArithmeticError):
        ops.scalar_div(ex, x, x, 0)
        ex.synchronize()
    y = ex.from_numpy(np.array([1, 0, -1], np.float32))
    ops.scalar_div(ex, y, y, 0)
    assert np.array_equal(y.to_numpy(), [np.inf, np.nan, -np.inf], equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (ops.vector_abs, np.abs),
        (ops.vector_neg, np.negative),
        (ops.vector_relu, lambda x: np.maximum(x, 0)),
        (ops.vector_exp, np.exp),
        (ops.vector_log, np.log),
        (ops.vector_sqrt, np.sqrt),
        (ops.vector_rsqrt, lambda x: 1 / np.sqrt(x)),
        (ops.vector_sin, np.sin),
        (ops.vector_cos, np.cos),
        (ops.vector_ceil, np.ceil),
        (ops.vector_floor, np.floor),
        (ops.vector_round, np.rint),
        (ops.vector_reciprocal, np.reciprocal),
        (ops.vector_erf, np.vectorize(math.erf, otypes=[float])),
        (ops.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        (ops.tanh, np.tanh),
        (
            ops.gelu,
            lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        ),
    ],
)
def test_unary_of_floats(ex, op, expected, dtype):
    for n in (1, 7, 3001):
        x = sample(n, dtype, 3)
        if op in (ops.vector_log, ops.vector_sqrt, ops.vector_rsqrt):
            x = np.abs(x) + np.asarray(0.01, dtype)
        a, c = ex.from_numpy(x), ex.allocate(n, dtype)
        op(ex, a, c)
        wide = expected(x.astype(np.float64))
        np.testing.assert_allclose(c.to_numpy(), wide, **tolerance(dtype))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_unary_of_integers(ex, dtype):
    x = np.append(sample(99, dtype), np.iinfo(dtype).min).astype(dtype)
    a, c = ex.from_numpy(x), ex.allocate(100, dtype)
    for op, expected in [
        (ops.vector_abs, np.abs),
        (ops.vector_neg, np.negative),
        (ops.vector_relu, lambda x: np.maximum(x, 0)),
    ]:
        op(ex, a, c)
        assert (c.to_numpy() == expected(x)).all()


@pytest.mark.parametrize(
    ("op", "expected"), [(ops.vector_pow, np.power), (ops.vector_atan2, np.arctan2)]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_pow_and_atan2(ex, op, expected, dtype):
    x, y = np.abs(sample(777, dtype, 1)) + 1, sample(777, dtype, 2)
    c = ex.allocate(777, dtype)
    op(ex, ex.from_numpy(x), ex.from_numpy(y), c)
    wide = expected(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(c.to_numpy(), wide, **tolerance(dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8"])
def test_scalars(ex, dtype):
    x = sample(1001, dtype, 4)
    exact = [(ops.scalar_add, np.add), (ops.scalar_sub, np.subtract), (ops.scalar_mul, np.multiply)]
    exact += [(ops.scalar_min, np.fmin), (ops.scalar_max, np.fmax)]
    near, numbers = [], [2, np.int16(2)]
    if x.dtype.kind == "f":
        x = np.abs(x) + np.asarray(0.5, dtype)
        exact += [(ops.scalar_div, np.divide)]
        near = [(ops.scalar_pow, np.power), (ops.scalar_atan2, np.arctan2)]
        numbers = [2, np.float32(2), 0.1, 1.75]
    a, c = ex.from_numpy(x), ex.allocate(1001, dtype)
    for op, expected in exact + near:
        for number in numbers:
            op(ex, a, c, number)
            with np.errstate(over="ignore"):
                wanted = expected(x, np.array(number, dtype))
            close = tolerance(dtype) if (op, expected) in near else {"rtol": 0}
            np.testing.assert_allclose(c.to_numpy(), wanted, **close)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int16"])
def test_clip(ex, dtype):
    x = sample(1001, dtype, 5)
    a, c = ex.from_numpy(x), ex.allocate(1001, dtype)
    ops.vector_clip(ex, a, c, -1, 2)
    assert (c.to_numpy() == np.clip(x, -1, 2)).all()


def test_nan_rules(ex):
    nan = float("nan")
    a = ex.from_numpy(np.array([nan, 1, nan, -2], np.float32))
    b = ex.from_numpy(np.array([3, nan, nan, 4], np.float32))
    c = ex.allocate(4)
    ops.vector_min(ex, a, b, c)
    assert np.array_equal(c.to_numpy(), [3, 1, nan, -2], equal_nan=True)
    ops.vector_relu(ex, a, c)
    assert c.to_numpy().tolist() == [0, 1, 0, 0]
    ops.vector_clip(ex, a, c, 0, 1)
    assert np.array_equal(c.to_numpy(), [nan, 1, nan, 0], equal_nan=True)


@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_reductions(ex, dtype):
    for n in (1, 7, 40_001):
        x = sample(n, dtype, 6)
        a, out = ex.from_numpy(x), ex.allocate(1, dtype)
        assert ops.reduce_min(ex, a) == x.min()
        assert ops.reduce_max(ex, a, out) == x.max() == out.to_numpy()[0]
        total = ops.reduce_sum(ex, a, out)
        if x.dtype.kind == "f":
            exact = math.fsum(x.tolist())
            wide = np.abs(x.astype(np.float64)).sum()
            scale = wide * {"float16": 1e-6, "float32": 1e-6, "float64": 1e-14}[dtype]
            if dtype == "float16":
                scale += 1e-3 * abs(exact) + 1e-3
            assert abs(total - exact) <= scale
        else:
            assert np.array(total, dtype) == x.sum(dtype=dtype)
            assert isinstance(total, int)


def test_reductions_of_nothing(ex):
    none = ex.allocate(0)
    assert ops.reduce_sum(ex, none) == 0
    assert ops.reduce_product(ex, none) == 1
    assert ops.reduce_min(ex, none) == math.inf
    assert ops.reduce_max(ex, none) == -math.inf
    assert ops.reduce_max(ex, ex.allocate(0, "int8")) == -128


def test_sums_are_accurate(ex):
    # One by one in float32 this gives 16777216.
    n = 20_000_000
    a = ex.allocate(n)
    a.fill(1)
    assert ops.reduce_sum(ex, a) == n


def test_part_of_a_buffer(ex):
    x = np.arange(10, dtype=np.float32)
    a, c = ex.from_numpy(x), ex.allocate(10)
    ops.vector_add(ex, a, a, c, 4)
    assert c.to_numpy().tolist() == [0, 2, 4, 6, 0, 0, 0, 0, 0, 0]
    assert ops.reduce_sum(ex, a, n=3) == 3
    ops.copy(ex, a, c, n=6)
    assert c.to_numpy().tolist() == [0, 1, 2, 3, 4, 5, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(ex, dtype):
    for rows, cols in [(1, 1), (3, 7), (5, 1000)]:
        x = sample(rows * cols, dtype, 7).reshape(rows, cols) * 30
        a, c = ex.from_numpy(x), ex.allocate(rows * cols, dtype)
        ops.softmax_rows(ex, a, c, rows, cols)
        e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        expected = e / e.sum(axis=1, keepdims=True)
        rtol = 1e-3 if dtype == "float16" else 2e-5
        np.testing.assert_allclose(c.to_numpy().reshape(rows, cols), expected, rtol=rtol, atol=1e-7)
    ops.softmax(ex, a, c, 7)
    assert abs(c.to_numpy()[:7].sum() - 1) < (2e-3 if dtype == "float16" else 1e-6)


def test_softmax_of_large_values(ex):
    a = ex.from_numpy(np.array([1e30, 1e30, -1e30], np.float32))
    ops.softmax(ex, a, a)
    assert a.to_numpy().tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm(ex, dtype):
    rows, cols = 6, 77
    x = sample(rows * cols, dtype, 8).reshape(rows, cols)
    g, b = sample(cols, dtype, 9), sample(cols, dtype, 10)
    c = ex.allocate(rows * cols, dtype)
    ops.layer_norm(ex, ex.from_numpy(x), ex.from_numpy(g), ex.from_numpy(b), c, rows, cols)
    w = x.astype(np.float64)
    expected = (w - w.mean(1, keepdims=True)) / np.sqrt(w.var(1, keepdims=True) + 1e-5) * g + b
    rtol = 1e-3 if dtype == "float16" else 1e-5
    np.testing.assert_allclose(c.to_numpy().reshape(rows, cols), expected, rtol=rtol, atol=1e-5)
    with pytest.raises(errors.ArgumentError, match="epsilon: -1, must be finite and not negative"):
        ops.layer_norm(ex, c, c, c, c, 1, 4, -1.0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_losses(ex, dtype):
    n = 3001
    rng = np.random.default_rng(11)
    p, t = rng.uniform(0.01, 0.99, n).astype(dtype), rng.integers(0, 2, n).astype(dtype)
    a, b, out = ex.from_numpy(p), ex.from_numpy(t), ex.allocate(1, dtype)
    wide, aim = p.astype(np.float64), t.astype(np.float64)
    close = {"rel": {"float16": 1e-3, "float32": 1e-5, "float64": 1e-11}[dtype]}
    assert ops.mse_loss(ex, a, b, out) == pytest.approx(((wide - aim) ** 2).mean(), **close)
    cross = -(aim * np.log(wide)).mean()
    assert ops.cross_entropy_loss(ex, a, b) == pytest.approx(cross, **close)
    both = cross - ((1 - aim) * np.log1p(-wide)).mean()
    assert ops.binary_cross_entropy_loss(ex, a, b, out) == pytest.approx(both, **close)
    assert out.to_numpy()[0] == pytest.approx(both, **close)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 1, 1), (3, 5, 7), (65, 33, 129), (4, 3, 0), (0, 3, 2), (200, 1, 300)]
)
def test_gemm(ex, m, n, k, dtype):
    x, y = sample(m * k, dtype, 12).reshape(m, k), sample(k * n, dtype, 13).reshape(k, n)
    c = ex.from_numpy(np.full(m * n, 9, dtype))
    ops.gemm(ex, ex.from_numpy(x), ex.from_numpy(y), c, m, n, k)
    expected = x.astype(np.float64) @ y.astype(np.float64)
    rtol = 1e-3 if dtype == "float16" else 1e-5
    atol = {"float16": 1e-4 * max(k, 1), "float32": 1e-4, "float64": 1e-10}[dtype]
    np.testing.assert_allclose(c.to_numpy().reshape(m, n), expected, rtol=rtol, atol=atol)


def test_matvec(ex):
    x, y = sample(12 * 34, "float32", 14).reshape(12, 34), sample(34, "float32", 15)
    c = ex.allocate(12)
    ops.matvec(ex, ex.from_numpy(x), ex.from_numpy(y), c, 12, 34)
    np.testing.assert_allclose(c.to_numpy(), x @ y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("to", INTS + FLOATS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint32"])
def test_conversions(ex, dtype, to):
    x = np.arange(0, 100, 0.75).astype(dtype)
    a = ex.from_numpy(x)
    assert a.astype(to).dtype == np.dtype(to)
    assert (a.astype(to).to_numpy() == x.astype(to)).all()


def test_conversions_at_the_edges(ex):
    a = ex.from_numpy(np.array([np.nan, np.inf, -np.inf, 300.7, -1.5], np.float32))
    assert a.astype("uint8").to_numpy().tolist() == [0, 255, 0, 255, 0]
    assert a.astype("int32").to_numpy().tolist() == [0, 2**31 - 1, -(2**31), 300, -1]
    assert a.astype("bfloat16").astype("float32").to_numpy()[3:].tolist() == [300, -1.5]
    assert ex.from_numpy(np.array([1e6])).astype("float16").to_numpy()[0] == np.inf
    assert a.astype("float32").to_numpy()[3] == np.float32(300.7)
    c = ex.allocate(5, "int64")
    ops.cast(ex, a, c, 0)
    ops.cast(ex, ex.from_numpy(np.arange(-2, 3, dtype=np.int8)), c)
    assert c.to_numpy().tolist() == [-2, -1, 0, 1, 2]
    with pytest.raises(errors.ShapeError):
        ops.cast(ex, a, ex.allocate(4))
    with pytest.raises(errors.ShapeError):
        ops.cast(ex, a, c, 6)
    with pytest.raises(errors.DTypeError):
        a.astype("complex64")


def test_wrong_shapes(ex):
    a, b = ex.allocate(4), ex.allocate(3)
    with pytest.raises(errors.ShapeError, match=r"\[4, 4, 3\]"):
        ops.vector_add(ex, a, a, b)
    with pytest.raises(errors.ShapeError, match="c: 4 elements needed, the buffer has 3"):
        ops.vector_add(ex, a, a, b, 4)
    with pytest.raises(errors.ShapeError):
        ops.softmax(ex, a, b)
    with pytest.raises(errors.ShapeError, match="c: 16"):
        ops.gemm(ex, a, a, b, 4, 4, 1)
    with pytest.raises(ValueError):
        ops.mse_loss(ex, a, b)
    with pytest.raises(errors.ArgumentError, match="n: -1, must be 0 to"):
        ops.vector_add(ex, a, a, a, -1)
    with pytest.raises(TypeError, match="n: 1.5"):
        ops.vector_add(ex, a, a, a, 1.5)
    with pytest.raises(errors.ArgumentError, match="rows: -2"):
        ops.softmax_rows(ex, a, b, -2, 4)
    with pytest.raises(errors.ArgumentError, match=f"k: {2**70}"):
        ops.gemm(ex, a, a, b, 1, 1, 2**70)
    with pytest.raises(MemoryError):
        ops.gemm(ex, a, a, a, 2**40, 2**40, 2**40)


def test_wrong_dtypes(ex):
    a, b = ex.allocate(4), ex.allocate(4, "float64")
    with pytest.raises(errors.DTypeError, match="b: elements are float64, float32 expected"):
        ops.vector_add(ex, a, b, a)
    ints = ex.allocate(4, "int32")
    for op in (ops.sigmoid, ops.vector_exp, ops.gelu):
        with pytest.raises(errors.DTypeError):
            op(ex, ints, ints)
    with pytest.raises(errors.DTypeError):
        ops.gemm(ex, ints, ints, ints, 1, 1, 1)


def test_buffers_of_another_executor(ex):
    a, foreign = ex.allocate(4), hologram.Executor("cpu").allocate(4)
    with pytest.raises(errors.ArgumentError, match="b: the buffer belongs to another executor"):
        ops.vector_add(ex, a, foreign, a)


def test_wrong_python_types(ex):
    a = ex.allocate(4)
    for wrong in (np.zeros(4, np.float32), None, 3):
        with pytest.raises(TypeError):
            ops.vector_add(ex, a, wrong, a)
    with pytest.raises(TypeError):
        ops.vector_add("cpu", a, a, a)


def test_gemm_must_not_overwrite_its_input(ex):
    a = ex.allocate(4)
    b = ex.allocate(4)
    with pytest.raises(errors.ArgumentError, match="c: shares memory with a"):
        ops.gemm(ex, a, b, a, 2, 2, 2)
    with pytest.raises(errors.ArgumentError, match="c: shares memory with b"):
        ops.gemm(ex, a, b, b, 2, 2, 2)
    with pytest.raises(errors.ArgumentError, match="y: shares memory with x"):
        ops.matvec(ex, a, b, b, 2, 2)
    with pytest.raises(errors.ArgumentError, match="dst: shares memory with src"):
        ops.copy(ex, a, a)


def test_bfloat16(ex):
    x, y = (np.random.default_rng(s).uniform(-4, 4, 1001).astype(np.float32) for s in (1, 2))
    a, b = (ex.from_numpy(v).astype("bfloat16") for v in (x, y))
    ops.vector_mul(ex, a, b, b)
    rounded = ex.from_numpy(x).astype("bfloat16").astype("float32").to_numpy()
    exact = rounded * ex.from_numpy(y).astype("bfloat16").astype("float32").to_numpy()
    expected = ex.from_numpy(exact).astype("bfloat16").to_bytes()
    assert b.to_bytes() == expected
