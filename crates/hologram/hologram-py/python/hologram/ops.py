"""Operations on buffers, run where the buffers are.

`n` is how many elements are used; without it all buffers must have the same length. Element-wise
operations may write over one of their inputs. Operations of floats take float16, bfloat16, float32
and float64; the first two are calculated in float32 and rounded once.

Raises (all of them): `DTypeError` for types that differ or that the operation does not allow,
`ShapeError` for buffers that are too short, `ArgumentError` for buffers of another executor,
`ClosedError` for what was closed or freed.
"""

from . import _hologram as _native
from ._hologram import Buffer, Executor
from .errors import ShapeError

__all__ = [
    "binary_cross_entropy_loss",
    "cast",
    "copy",
    "cross_entropy_loss",
    "gelu",
    "gemm",
    "layer_norm",
    "matvec",
    "mse_loss",
    "reduce_max",
    "reduce_min",
    "reduce_product",
    "reduce_sum",
    "scalar_add",
    "scalar_atan2",
    "scalar_div",
    "scalar_max",
    "scalar_min",
    "scalar_mul",
    "scalar_pow",
    "scalar_sub",
    "sigmoid",
    "softmax",
    "softmax_rows",
    "tanh",
    "vector_abs",
    "vector_add",
    "vector_atan2",
    "vector_ceil",
    "vector_clip",
    "vector_cos",
    "vector_div",
    "vector_erf",
    "vector_exp",
    "vector_floor",
    "vector_log",
    "vector_max",
    "vector_min",
    "vector_mul",
    "vector_neg",
    "vector_pow",
    "vector_reciprocal",
    "vector_relu",
    "vector_round",
    "vector_rsqrt",
    "vector_sin",
    "vector_sqrt",
    "vector_sub",
    "vector_tan",
]


def vector_add(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = a + b; integers wrap."""
    _native.binary(ex, "add", a, b, c, n)


def vector_sub(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = a - b; integers wrap."""
    _native.binary(ex, "sub", a, b, c, n)


def vector_mul(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = a * b; integers wrap."""
    _native.binary(ex, "mul", a, b, c, n)


def vector_div(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = a / b; integers truncate, and dividing one by zero is a `FaultError`."""
    _native.binary(ex, "div", a, b, c, n)


def vector_min(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = the smaller; a NaN yields the other."""
    _native.binary(ex, "min", a, b, c, n)


def vector_max(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = the larger; a NaN yields the other."""
    _native.binary(ex, "max", a, b, c, n)


def vector_pow(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = a to the b; floats."""
    _native.binary(ex, "pow", a, b, c, n)


def vector_atan2(
    ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None
) -> None:
    """c = angle of the point (b, a); floats."""
    _native.binary(ex, "atan2", a, b, c, n)


def vector_abs(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = |a|; the minimum integer stays."""
    _native.unary(ex, "abs", a, c, n)


def vector_neg(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = -a; the minimum integer stays."""
    _native.unary(ex, "neg", a, c, n)


def vector_relu(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = max(a, 0); NaN gives 0."""
    _native.unary(ex, "relu", a, c, n)


def vector_exp(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = e to the a; floats."""
    _native.unary(ex, "exp", a, c, n)


def vector_log(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = natural logarithm of a; floats."""
    _native.unary(ex, "log", a, c, n)


def vector_sqrt(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = square root of a; floats."""
    _native.unary(ex, "sqrt", a, c, n)


def vector_rsqrt(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = 1 / square root of a; floats."""
    _native.unary(ex, "rsqrt", a, c, n)


def vector_sin(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = sine of a; floats."""
    _native.unary(ex, "sin", a, c, n)


def vector_cos(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = cosine of a; floats."""
    _native.unary(ex, "cos", a, c, n)


def vector_tan(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = tangent of a; floats."""
    _native.unary(ex, "tan", a, c, n)


def vector_erf(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = error function of a; floats."""
    _native.unary(ex, "erf", a, c, n)


def vector_ceil(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = a rounded towards plus infinity; floats."""
    _native.unary(ex, "ceil", a, c, n)


def vector_floor(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = a rounded towards minus infinity; floats."""
    _native.unary(ex, "floor", a, c, n)


def vector_round(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = a rounded to the nearest, halves to even; floats."""
    _native.unary(ex, "round", a, c, n)


def vector_reciprocal(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = 1 / a; floats."""
    _native.unary(ex, "reciprocal", a, c, n)


def sigmoid(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = 1 / (1 + exp(-a)); floats."""
    _native.unary(ex, "sigmoid", a, c, n)


def tanh(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = hyperbolic tangent of a; floats."""
    _native.unary(ex, "tanh", a, c, n)


def gelu(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
    """c = a / 2 * (1 + tanh(sqrt(2 / pi) * (a + 0.044715 a^3))); floats."""
    _native.unary(ex, "gelu", a, c, n)


def scalar_add(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = a + scalar."""
    _native.scalar(ex, "add", a, c, scalar, n)


def scalar_sub(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = a - scalar."""
    _native.scalar(ex, "sub", a, c, scalar, n)


def scalar_mul(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = a * scalar."""
    _native.scalar(ex, "mul", a, c, scalar, n)


def scalar_div(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = a / scalar; an integer scalar of zero is a `FaultError`."""
    _native.scalar(ex, "div", a, c, scalar, n)


def scalar_min(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = the smaller of a and scalar; a NaN yields the other."""
    _native.scalar(ex, "min", a, c, scalar, n)


def scalar_max(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = the larger of a and scalar; a NaN yields the other."""
    _native.scalar(ex, "max", a, c, scalar, n)


def scalar_pow(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = a to the scalar; floats."""
    _native.scalar(ex, "pow", a, c, scalar, n)


def scalar_atan2(
    ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None
) -> None:
    """c = angle of the point (scalar, a); floats."""
    _native.scalar(ex, "atan2", a, c, scalar, n)


def vector_clip(
    ex: Executor,
    a: Buffer,
    c: Buffer,
    low: float,
    high: float,
    n: int | None = None,
) -> None:
    """c = low where a is less, else high where it is greater, else a; NaN stays."""
    _native.clip(ex, a, c, low, high, n)


def softmax(ex: Executor, input: Buffer, output: Buffer, n: int | None = None) -> None:
    """output = exp(x - max) / sum of them, over all n elements; floats."""
    if n is None and len(input) != len(output):
        raise ShapeError(f"n: give it, the buffers have {len(input)} and {len(output)} elements")
    _native.softmax(ex, input, output, 1, len(input) if n is None else n)


def softmax_rows(ex: Executor, input: Buffer, output: Buffer, rows: int, cols: int) -> None:
    """`softmax` of each of `rows` rows of `cols` elements."""
    _native.softmax(ex, input, output, rows, cols)


def layer_norm(
    ex: Executor,
    input: Buffer,
    gamma: Buffer,
    beta: Buffer,
    output: Buffer,
    rows: int,
    cols: int,
    epsilon: float = 1e-5,
) -> None:
    """Each row: (x - mean) / sqrt(variance + epsilon) * gamma + beta; floats."""
    _native.layer_norm(ex, input, gamma, beta, output, rows, cols, epsilon)


def reduce_sum(
    ex: Executor, input: Buffer, output: Buffer | None = None, n: int | None = None
) -> float:
    """Sum of all elements, 0 of none; integers wrap. It is also left in `output[0]`."""
    return _native.reduce(ex, "sum", input, output, n)


def reduce_product(
    ex: Executor, input: Buffer, output: Buffer | None = None, n: int | None = None
) -> float:
    """Product of all elements, 1 of none; integers wrap. It is also left in `output[0]`."""
    return _native.reduce(ex, "product", input, output, n)


def reduce_min(
    ex: Executor, input: Buffer, output: Buffer | None = None, n: int | None = None
) -> float:
    """Smallest element; infinity or the largest integer of none. It is also left in `output[0]`."""
    return _native.reduce(ex, "min", input, output, n)


def reduce_max(
    ex: Executor, input: Buffer, output: Buffer | None = None, n: int | None = None
) -> float:
    """Largest element; minus infinity or the smallest integer of none. It is also left in `output[0]`."""
    return _native.reduce(ex, "max", input, output, n)


def mse_loss(
    ex: Executor,
    pred: Buffer,
    target: Buffer,
    output: Buffer | None = None,
    n: int | None = None,
) -> float:
    """Mean of (p - t)^2; NaN of none. It is also left in `output[0]`."""
    return _native.loss(ex, "mse", pred, target, output, n)


def cross_entropy_loss(
    ex: Executor,
    pred: Buffer,
    target: Buffer,
    output: Buffer | None = None,
    n: int | None = None,
) -> float:
    """Minus the mean of t ln p; NaN of none. It is also left in `output[0]`."""
    return _native.loss(ex, "cross_entropy", pred, target, output, n)


def binary_cross_entropy_loss(
    ex: Executor,
    pred: Buffer,
    target: Buffer,
    output: Buffer | None = None,
    n: int | None = None,
) -> float:
    """Minus the mean of t ln p + (1 - t) ln(1 - p); NaN of none. It is also left in `output[0]`."""
    return _native.loss(ex, "binary_cross_entropy", pred, target, output, n)


def gemm(ex: Executor, a: Buffer, b: Buffer, c: Buffer, m: int, n: int, k: int) -> None:
    """c (m x n) = a (m x k) times b (k x n), row-major; floats."""
    _native.gemm(ex, a, b, c, m, n, k)


def matvec(ex: Executor, a: Buffer, x: Buffer, y: Buffer, m: int, n: int) -> None:
    """y (m) = a (m x n) times x (n), row-major; floats."""
    _native.matvec(ex, a, x, y, m, n)


def copy(ex: Executor, src: Buffer, dst: Buffer, n: int | None = None) -> None:
    """dst = src, on the device."""
    _native.copy(ex, src, dst, n)


def cast(ex: Executor, src: Buffer, dst: Buffer, n: int | None = None) -> None:
    """dst = src converted to the type of dst, on the device; all types, float16 and bfloat16 too.

    Integers are cut or extended, floats rounded to the nearest; floats to integers are truncated and
    bounded, NaN is 0.
    """
    _native.cast(ex, src, dst, n)
