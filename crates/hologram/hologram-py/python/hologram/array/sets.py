"""Distinct elements, on the host; each NaN is one of its own."""

from typing import Any, NamedTuple

import numpy as np

from . import dtypes, host, reductions
from .core import Array
from .elementwise import astype, equal, logical_not
from .elementwise.steps import check_arrays, common_device, known

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


# Results of the functions of these names.
UniqueAll = NamedTuple("UniqueAll", [("values", Array), ("indices", Array), ("inverse_indices", Array), ("counts", Array)])
UniqueCounts = NamedTuple("UniqueCounts", [("values", Array), ("counts", Array)])
UniqueInverse = NamedTuple("UniqueInverse", [("values", Array), ("inverse_indices", Array)])


def unique_all(x: Array, /) -> UniqueAll:
    """Distinct elements in order, the index of the first of each, which one each element is, and how often each is there."""
    check_arrays("unique_all", x)
    return UniqueAll(*host.call(np.unique_all, x, device=x.device))


def unique_counts(x: Array, /) -> UniqueCounts:
    """Distinct elements in order, and how often each is there."""
    check_arrays("unique_counts", x)
    # Without places NumPy sorts values alone, in a tenth of the time.
    return UniqueCounts(*host.call(np.unique_counts, x, device=x.device))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Distinct elements in order, and which one each element is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """Distinct elements in order."""
    check_arrays("unique_values", x)
    return host.call(lambda seen: np.unique(seen, equal_nan=False), x, device=x.device, result=x.dtype)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """True for each element of x1 that is one of x2's; NaN is none. One of them may be a number."""
    x1, x2 = (x if isinstance(x, Array) else known("isin", x) for x in (x1, x2))
    if not isinstance(x2, Array):
        check_arrays("isin", x1)
        found = equal(x1, x2)
    elif not isinstance(x1, Array):
        found = reductions.any(equal(x2, x1))
    else:
        device, dtype = common_device([x1, x2]), dtypes.promote(x1.dtype, x2.dtype)
        both = astype(x1, dtype, copy=False), astype(x2, dtype, copy=False)
        found = host.call(lambda a, b: np.asarray(np.isin(a, b)), *both, device=device, result=dtypes.bool)
    return logical_not(found) if invert else found
