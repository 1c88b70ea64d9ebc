"""Distinct elements, on the host; each NaN is one of its own."""

from typing import NamedTuple

import numpy as np

from . import dtypes, host
from .core import Array

__all__ = ["unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """Result of `unique_all`."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Result of `unique_counts`."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Result of `unique_inverse`."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """Distinct elements in order, the index of the first of each, which one each element is, and how often each is there."""
    at = x.device
    at.executor.count_host_operation()
    found = np.unique_all(host.view(x))
    values = host.from_numpy(found.values, at, x.dtype)
    rest = (found.indices, found.inverse_indices, found.counts)
    return UniqueAll(values, *(host.from_numpy(part, at, dtypes.int64) for part in rest))


def unique_counts(x: Array, /) -> UniqueCounts:
    """Distinct elements in order, and how often each is there."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """Distinct elements in order, and which one each element is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """Distinct elements in order."""
    return host.call(np.unique_values, x, device=x.device, result=x.dtype)
