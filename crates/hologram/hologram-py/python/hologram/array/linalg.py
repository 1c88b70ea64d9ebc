"""Products of matrices and vectors, on the device or by NumPy's library; factorisations on the host."""

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._hologram import product
from ..errors import ArgumentError, ShapeError
from . import core, dtypes, host, layout
from .core import Array, into
from .dtypes import DType
from .elementwise import abs, astype, conj, multiply, not_equal, pow, sqrt, square, subtract
from .elementwise.steps import check_arrays, check_kind, common_device, computed_in, matrix_of
from .indexing import basic_view
from .layout import axes_of
from .manipulation import broadcast_to, expand_dims, matrix_transpose, permute_dims, reshape
from .reductions import max, min, sum

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul", "matrix_norm", "matrix_power",
    "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve", "svd", "svdvals", "tensordot",
    "trace", "vecdot", "vector_norm",
]  # fmt: skip

_NUMBERS = ("int", "uint", "float", "complex")
_FIELDS = ("float", "complex")


def _pair(name: str, x1: Array, x2: Array) -> tuple[Array, Array, DType]:
    check_arrays(name, x1, x2)
    dtype = dtypes.promote(x1.dtype, x2.dtype)
    check_kind(name, dtype, _NUMBERS)
    common_device([x1, x2])
    return astype(x1, dtype, copy=False), astype(x2, dtype, copy=False), dtype


def matmul(x1: Array, x2: Array, /, *, out: Array | None = None) -> Array:
    """Products of matrices, of all pairs of a batch; an array of one dimension is a row on the left, a column on the right.

    Floats on GPUs and halves on the device, with sums in float32 for halves; others by NumPy on the host.
    """
    return into(out, _matmul(x1, x2))


def _matmul(x1: Array, x2: Array) -> Array:
    check_arrays("matmul", x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        raise ShapeError("matmul: a number is no matrix; use multiply")
    a, b, dtype = _pair("matmul", x1, x2)
    inner = a.shape[-1], b.shape[-2 if b.ndim > 1 else -1]
    if inner[0] != inner[1]:
        raise ShapeError(f"matmul: shapes {x1.shape} and {x2.shape}, {inner[0]} and {inner[1]} must be equal")
    if dtype.kind != "float" or (a.device.on_host and not dtype.half):
        batch = layout.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        shape = (*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))
        with core.changes:
            # Both factors are of one moment.
            return host.ufunc(np.matmul, _readable(a), _readable(b), device=a.device, shape=shape, dtype=dtype)
    left, right = a.ndim == 1, b.ndim == 1
    a = expand_dims(a, axis=0) if left else a
    b = expand_dims(b, axis=1) if right else b
    result = _products(a, b, dtype)
    if right:
        result = basic_view(result, (..., 0))
    if left:
        result = basic_view(result, (..., 0) if right else (..., 0, slice(None)))
    return result


def _products(a: Array, b: Array, dtype: DType) -> Array:
    """Products on the device, a call for each of a stack."""
    batch = layout.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    made = core.new(a.device, (*batch, m, n), dtype, zeroed=k == 0)
    if made.size == 0 or k == 0:
        return made
    a = broadcast_to(_rows_dense(a), (*batch, m, k))
    b = broadcast_to(_rows_dense(b), (*batch, k, n))
    for index in np.ndindex(*batch):
        product(basic_view(a, index), basic_view(b, index), basic_view(made, index))
    return made


def _readable(x: Array) -> Array:
    """Matrices, or a vector, that BLAS reads where they are; NumPy multiplies others by slow loops."""
    if x.ndim < 2:
        _, _, (step,) = x.data()
        return x if step > 0 or x.size < 2 else core.copied(x)
    return x if _is_turned(x) else _rows_dense(x)


def _is_turned(x: Array) -> bool:
    """True if each matrix is a row-major one with rows and columns exchanged."""
    _, _, strides = x.data()
    down, right = strides[-2:]
    return down == 1 and right >= x.shape[-2] > 1


def _rows_dense(x: Array) -> Array:
    """Each matrix row-major, one element after the other."""
    _, _, strides = x.data()
    return x if layout.is_dense(x.shape[-2:], strides[-2:]) else core.copied(x)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Sums of the products along an axis; complex numbers of x1 are conjugated."""
    a, b, dtype = _pair("vecdot", x1, x2)
    if not -builtins.min(a.ndim, b.ndim) <= axis < 0:
        raise ShapeError(f"axis: {axis}, must be negative and an axis of both {x1.shape} and {x2.shape}")
    if a.shape[axis] != b.shape[axis]:
        raise ShapeError(f"vecdot: {a.shape[axis]} and {b.shape[axis]} elements along axis {axis}")
    inner = computed_in(dtype)
    wide = multiply(conj(astype(a, inner, copy=False)), astype(b, inner, copy=False))
    return astype(sum(wide, axis=axis, dtype=inner), dtype, copy=False)


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Sums of products over pairs of axes: the last `axes` of x1 with the first of x2, or those that are named."""
    a, b, _ = _pair("tensordot", x1, x2)
    if not isinstance(axes, (tuple, list)):
        axes = operator.index(axes)
        if not 0 <= axes <= builtins.min(a.ndim, b.ndim):
            raise ShapeError(f"axes: {axes}, the arrays have {a.ndim} and {b.ndim} dimensions")
        from_a, from_b = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    else:
        from_a, from_b = axes_of(tuple(axes[0]), a.ndim, "axes"), axes_of(tuple(axes[1]), b.ndim, "axes")
    if [a.shape[d] for d in from_a] != [b.shape[d] for d in from_b]:
        raise ShapeError(f"axes: {axes}, shapes {x1.shape} and {x2.shape} differ along them")
    kept_a = [d for d in range(a.ndim) if d not in from_a]
    kept_b = [d for d in range(b.ndim) if d not in from_b]
    inner = math.prod(a.shape[d] for d in from_a)
    shape_a, shape_b = [a.shape[d] for d in kept_a], [b.shape[d] for d in kept_b]
    left = reshape(permute_dims(a, (*kept_a, *from_a)), (math.prod(shape_a), inner))
    right = reshape(permute_dims(b, (*from_b, *kept_b)), (inner, math.prod(shape_b)))
    return reshape(matmul(left, right), (*shape_a, *shape_b))


def outer(x1: Array, x2: Array, /) -> Array:
    """Products of each element of x1 with each of x2."""
    check_arrays("outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer: {x1.ndim} and {x2.ndim} dimensions, vectors have 1")
    return multiply(expand_dims(x1, axis=1), expand_dims(x2, axis=0))


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Cross products of vectors of 3 elements along an axis."""
    a, b, dtype = _pair("cross", x1, x2)
    if not -builtins.min(a.ndim, b.ndim) <= axis < 0:
        raise ShapeError(f"axis: {axis}, must be negative and an axis of both {x1.shape} and {x2.shape}")
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ShapeError(f"axis: {axis}, vectors of {a.shape[axis]} and {b.shape[axis]} elements, 3 expected")
    shape = layout.broadcast_shapes(a.shape, b.shape)
    at = axis % len(shape)
    a, b = broadcast_to(a, shape), broadcast_to(b, shape)
    made = core.new(a.device, shape, dtype)
    lead = (slice(None),) * at
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        aj, ak, bj, bk = (basic_view(x, (*lead, d)) for x, d in ((a, j), (a, k), (b, j), (b, k)))
        core.assign(basic_view(made, (*lead, i)), subtract(multiply(aj, bk), multiply(ak, bj)))
    return made


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """A diagonal of each matrix, as a view."""
    rows, cols = matrix_of("diagonal", x)
    _, start, strides = x.data()
    down, right = strides[-2:]
    first = offset * right if offset >= 0 else -offset * down
    count = builtins.max(builtins.min(rows + builtins.min(offset, 0), cols - builtins.max(offset, 0)), 0)
    return x.view((*x.shape[:-2], count), start + (first if count else 0), (*strides[:-2], down + right))


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sum of a diagonal of each matrix."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """Norm of vectors: 2 is the length, infinity the largest magnitude, 0 the number of elements that are not zero."""
    check_kind("vector_norm", x, _FIELDS)
    if x.dtype.half:
        # Rounded once.
        wide = vector_norm(astype(x, dtypes.float32), axis=axis, keepdims=keepdims, ord=ord)
        return astype(wide, x.dtype)
    axes = axes_of(axis, x.ndim)
    size, kept = abs(x), {"axis": axes, "keepdims": keepdims}
    if ord == 2:
        return sqrt(sum(square(size), **kept))  # type: ignore[arg-type]
    if ord == 1:
        return sum(size, **kept)  # type: ignore[arg-type]
    if ord == math.inf:
        return max(size, **kept)  # type: ignore[arg-type]
    if ord == -math.inf:
        return min(size, **kept)  # type: ignore[arg-type]
    if ord == 0:
        return sum(astype(not_equal(size, 0), size.dtype), **kept)  # type: ignore[arg-type]
    return pow(sum(pow(size, ord), **kept), 1 / ord)  # type: ignore[arg-type]


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Norm of matrices: "fro" the root of the sum of squares, "nuc" the sum of singular values, 1, 2, infinity, and their
    negatives; those of singular values on the host."""
    check_kind("matrix_norm", x, _FIELDS)
    matrix_of("matrix_norm", x)
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if x.dtype.half:
        return astype(matrix_norm(astype(x, dtypes.float32), keepdims=keepdims, ord=ord), x.dtype)
    result = dtypes.of(x.dtype.buffer)
    return _factor(np.linalg.matrix_norm, "matrix_norm", x, keepdims=keepdims, ord=ord, result=result)


def _factor(function: Any, name: str, *xs: Array, square: bool = False, **named: Any) -> Any:
    for x in xs:
        check_kind(name, x, _FIELDS)
    if xs[0].dtype.half:
        raise ArgumentError(f"{name}: of float32, float64 and complex numbers; convert {xs[0].dtype.name} with astype")
    matrix_of(name, xs[0], square)
    try:
        return host.call(function, *xs, device=common_device(xs), **named)
    except np.linalg.LinAlgError as error:
        raise ArgumentError(f"{name}: {error}") from error


def _complex(function: Any, name: str, x: Array) -> Any:
    check_arrays(name, x)
    return _factor(function, name, x, square=True, result=dtypes.complex_of(x.dtype))


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """The triangular factor of positive definite matrices, on the host.

    Raises:
        ArgumentError: (a `ValueError`) one is not positive definite.
    """
    return _factor(np.linalg.cholesky, "cholesky", x, square=True, upper=upper)


def det(x: Array, /) -> Array:
    """Determinants, on the host."""
    return _factor(np.linalg.det, "det", x, square=True)


# Results of the functions of these names.
Eig = NamedTuple("Eig", [("eigenvalues", Array), ("eigenvectors", Array)])
Eigh = NamedTuple("Eigh", [("eigenvalues", Array), ("eigenvectors", Array)])
QR = NamedTuple("QR", [("Q", Array), ("R", Array)])
Slogdet = NamedTuple("Slogdet", [("sign", Array), ("logabsdet", Array)])
SVD = NamedTuple("SVD", [("U", Array), ("S", Array), ("Vh", Array)])


def eig(x: Array, /) -> Eig:
    """Eigenvalues and eigenvectors of matrices, complex, on the host."""
    return Eig(*_complex(np.linalg.eig, "eig", x))


def eigvals(x: Array, /) -> Array:
    """Eigenvalues of matrices, complex, on the host."""
    return _complex(np.linalg.eigvals, "eigvals", x)


def eigh(x: Array, /) -> Eigh:
    """Eigenvalues in order and eigenvectors of symmetric or Hermitian matrices, on the host."""
    return Eigh(*_factor(np.linalg.eigh, "eigh", x, square=True))


def eigvalsh(x: Array, /) -> Array:
    """Eigenvalues of symmetric or Hermitian matrices in order, on the host."""
    return _factor(np.linalg.eigvalsh, "eigvalsh", x, square=True)


def inv(x: Array, /) -> Array:
    """Inverse matrices, on the host.

    Raises:
        ArgumentError: (a `ValueError`) one is singular.
    """
    return _factor(np.linalg.inv, "inv", x, square=True)


def matrix_power(x: Array, n: int, /) -> Array:
    """Matrices to the power of an integer, by products on the device; the inverse of negative ones on the host."""
    rows, _ = matrix_of("matrix_power", x, square=True)
    n = operator.index(n)
    if n < 0:
        return matrix_power(inv(x), -n)
    identity = host.from_numpy(np.eye(rows), x.device, x.dtype)
    result = core.copied(broadcast_to(identity, x.shape))
    while n:
        if n & 1:
            result = matmul(result, x)
        n >>= 1
        x = matmul(x, x) if n else x
    return result


def matrix_rank(x: Array, /, *, rtol: Any = None) -> Array:
    """Number of singular values over rtol times the largest, on the host."""
    check_kind("matrix_rank", x, _FIELDS)
    wide = astype(x, computed_in(x.dtype), copy=False)
    return _factor(np.linalg.matrix_rank, "matrix_rank", wide, rtol=rtol, result=dtypes.int64)


def pinv(x: Array, /, *, rtol: Any = None) -> Array:
    """Pseudo-inverses, on the host."""
    check_kind("pinv", x, _FIELDS)
    matrix_of("pinv", x)
    wide = astype(x, computed_in(x.dtype), copy=False)
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * np.finfo(wide.dtype.numpy).eps
    return _factor(np.linalg.pinv, "pinv", wide, rtol=rtol, result=x.dtype)


def qr(x: Array, /, *, mode: str = "reduced") -> QR:
    """An orthonormal and a triangular factor, on the host; mode "reduced" or "complete"."""
    if mode not in ("reduced", "complete"):
        raise ArgumentError(f"mode: {mode!r}, must be 'reduced' or 'complete'")
    return QR(*_factor(np.linalg.qr, "qr", x, mode=mode))


def slogdet(x: Array, /) -> Slogdet:
    """Sign and logarithm of the magnitude of determinants, on the host."""
    return Slogdet(*_factor(np.linalg.slogdet, "slogdet", x, square=True))


def solve(x1: Array, x2: Array, /) -> Array:
    """x of x1 x = x2, on the host; x2 is a vector if it has one dimension, else matrices.

    Raises:
        ArgumentError: (a `ValueError`) a matrix is singular.
    """
    return _factor(np.linalg.solve, "solve", x1, x2, square=True)


def svd(x: Array, /, *, full_matrices: bool = True) -> SVD:
    """Singular values with the vectors on both sides, on the host."""
    return SVD(*_factor(np.linalg.svd, "svd", x, full_matrices=full_matrices))


def svdvals(x: Array, /) -> Array:
    """Singular values, the largest first, on the host."""
    return _factor(np.linalg.svdvals, "svdvals", x)
