"""Operations on buffers, run where the buffers are.

`n` is how many elements are used; without it all buffers must have the same length. Element-wise
operations may write over one of their inputs. Operations of floats take float16, bfloat16, float32
and float64; the first two are calculated in float32 and rounded once.

Raises (all of them): `DTypeError` for types that differ or that the operation does not allow,
`ShapeError` for buffers that are too short, `ArgumentError` for buffers of another executor,
`ClosedError` for what was closed or freed.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from . import _hologram as _native
from ._hologram import Buffer, Executor
from .errors import ShapeError

__all__ = [
    "binary_cross_entropy_loss", "cast", "copy", "cross_entropy_loss", "gelu", "gemm", "layer_norm", "matvec", "mse_loss",
    "reduce_max", "reduce_min", "reduce_product", "reduce_sum", "scalar_add", "scalar_atan2", "scalar_div", "scalar_max",
    "scalar_min", "scalar_mul", "scalar_pow", "scalar_sub", "sigmoid", "softmax", "softmax_rows", "tanh", "vector_abs",
    "vector_add", "vector_atan2", "vector_ceil", "vector_clip", "vector_cos", "vector_div", "vector_erf", "vector_exp",
    "vector_floor", "vector_log", "vector_max", "vector_min", "vector_mul", "vector_neg", "vector_pow", "vector_reciprocal",
    "vector_relu", "vector_round", "vector_rsqrt", "vector_sin", "vector_sqrt", "vector_sub", "vector_tan",
]  # fmt: skip

_F = TypeVar("_F", bound=Callable[..., object])

# Functions that differ in their operation alone: their types, and what makes them.


class _Unary(Protocol):
    __name__: str

    def __call__(self, ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None: ...


class _Binary(Protocol):
    __name__: str

    def __call__(self, ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None) -> None: ...


class _Scalar(Protocol):
    __name__: str

    def __call__(self, ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None) -> None: ...


class _Reduction(Protocol):
    __name__: str

    def __call__(self, ex: Executor, input: Buffer, output: Buffer | None = None, n: int | None = None) -> float: ...


class _Loss(Protocol):
    __name__: str

    def __call__(
        self, ex: Executor, pred: Buffer, target: Buffer, output: Buffer | None = None, n: int | None = None
    ) -> float: ...


def _named(function: _F, name: str, meaning: str) -> _F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


def _unary(name: str, meaning: str) -> _Unary:
    operation = name.removeprefix("vector_")

    def function(ex: Executor, a: Buffer, c: Buffer, n: int | None = None) -> None:
        _native.unary(ex, operation, a, c, n)

    return _named(function, name, meaning)


def _binary(name: str, meaning: str) -> _Binary:
    operation = name.removeprefix("vector_")

    def function(ex: Executor, a: Buffer, b: Buffer, c: Buffer, n: int | None = None) -> None:
        _native.binary(ex, operation, a, b, c, n)

    return _named(function, name, meaning)


def _scalar(name: str, meaning: str) -> _Scalar:
    operation = name.removeprefix("scalar_")

    def function(ex: Executor, a: Buffer, c: Buffer, scalar: float, n: int | None = None) -> None:
        _native.scalar(ex, operation, a, c, scalar, n)

    return _named(function, name, meaning)


def _reduction(name: str, meaning: str) -> _Reduction:
    operation = name.removeprefix("reduce_")

    def function(ex: Executor, input: Buffer, output: Buffer | None = None, n: int | None = None) -> float:
        return _native.reduce(ex, operation, input, output, n)

    return _named(function, name, meaning)


def _loss(name: str, meaning: str) -> _Loss:
    operation = name.removesuffix("_loss")

    def function(
        ex: Executor, pred: Buffer, target: Buffer, output: Buffer | None = None, n: int | None = None
    ) -> float:
        return _native.loss(ex, operation, pred, target, output, n)

    return _named(function, name, meaning)


vector_add = _binary("vector_add", "c = a + b; integers wrap.")
vector_sub = _binary("vector_sub", "c = a - b; integers wrap.")
vector_mul = _binary("vector_mul", "c = a * b; integers wrap.")
vector_div = _binary("vector_div", "c = a / b; integers truncate, and dividing one by zero is a `FaultError`.")
vector_min = _binary("vector_min", "c = the smaller; a NaN yields the other.")
vector_max = _binary("vector_max", "c = the larger; a NaN yields the other.")
vector_pow = _binary("vector_pow", "c = a to the b; floats.")
vector_atan2 = _binary("vector_atan2", "c = angle of the point (b, a); floats.")

vector_abs = _unary("vector_abs", "c = |a|; the minimum integer stays.")
vector_neg = _unary("vector_neg", "c = -a; the minimum integer stays.")
vector_relu = _unary("vector_relu", "c = max(a, 0); NaN gives 0.")
vector_exp = _unary("vector_exp", "c = e to the a; floats.")
vector_log = _unary("vector_log", "c = natural logarithm of a; floats.")
vector_sqrt = _unary("vector_sqrt", "c = square root of a; floats.")
vector_rsqrt = _unary("vector_rsqrt", "c = 1 / square root of a; floats.")
vector_sin = _unary("vector_sin", "c = sine of a; floats.")
vector_cos = _unary("vector_cos", "c = cosine of a; floats.")
vector_tan = _unary("vector_tan", "c = tangent of a; floats.")
vector_erf = _unary("vector_erf", "c = error function of a; floats.")
vector_ceil = _unary("vector_ceil", "c = a rounded towards plus infinity; floats.")
vector_floor = _unary("vector_floor", "c = a rounded towards minus infinity; floats.")
vector_round = _unary("vector_round", "c = a rounded to the nearest, halves to even; floats.")
vector_reciprocal = _unary("vector_reciprocal", "c = 1 / a; floats.")
sigmoid = _unary("sigmoid", "c = 1 / (1 + exp(-a)); floats.")
tanh = _unary("tanh", "c = hyperbolic tangent of a; floats.")
gelu = _unary("gelu", "c = a / 2 * (1 + tanh(sqrt(2 / pi) * (a + 0.044715 a^3))); floats.")

scalar_add = _scalar("scalar_add", "c = a + scalar.")
scalar_sub = _scalar("scalar_sub", "c = a - scalar.")
scalar_mul = _scalar("scalar_mul", "c = a * scalar.")
scalar_div = _scalar("scalar_div", "c = a / scalar; an integer scalar of zero is a `FaultError`.")
scalar_min = _scalar("scalar_min", "c = the smaller of a and scalar; a NaN yields the other.")
scalar_max = _scalar("scalar_max", "c = the larger of a and scalar; a NaN yields the other.")
scalar_pow = _scalar("scalar_pow", "c = a to the scalar; floats.")
scalar_atan2 = _scalar("scalar_atan2", "c = angle of the point (scalar, a); floats.")


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


reduce_sum = _reduction("reduce_sum", "Sum of all elements, 0 of none; integers wrap. It is also left in `output[0]`.")
reduce_product = _reduction(
    "reduce_product",
    "Product of all elements, 1 of none; integers wrap. It is also left in `output[0]`.",
)
reduce_min = _reduction(
    "reduce_min",
    "Smallest element; infinity or the largest integer of none. It is also left in `output[0]`.",
)
reduce_max = _reduction(
    "reduce_max",
    "Largest element; minus infinity or the smallest integer of none. It is also left in `output[0]`.",
)

mse_loss = _loss("mse_loss", "Mean of (p - t)^2; NaN of none. It is also left in `output[0]`.")
cross_entropy_loss = _loss(
    "cross_entropy_loss",
    "Minus the mean of t ln p; NaN of none. It is also left in `output[0]`.",
)
binary_cross_entropy_loss = _loss(
    "binary_cross_entropy_loss",
    "Minus the mean of t ln p + (1 - t) ln(1 - p); NaN of none. It is also left in `output[0]`.",
)


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
