"""Random numbers that depend on a seed alone: counter-based (Philox 4x64), drawn on the host, the same on every device."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes, host, values
from .core import Array
from .devices import device_of
from .dtypes import DType
from .elementwise.steps import check_kind
from .layout import shape_of

__all__ = ["Generator"]


class Generator:
    """Draws arrays: `hologram.array.random.Generator(7).normal((1000, 3))`. The same seed gives the same numbers everywhere."""

    def __init__(self, seed: int):
        self._generator = np.random.Generator(np.random.Philox(key=operator.index(seed)))

    def uniform(
        self, shape: int | Sequence[int], low: float = 0.0, high: float = 1.0, *, dtype: Any = "float32", device: Any = None
    ) -> Array:
        """Numbers from low to before high, both of the array's type."""
        to = _type("uniform", dtype, ("float",))
        least, most = _rounded(to, low, high)
        drawn = self._generator.uniform(least, most, shape_of(shape))
        # Others would be rounded to high.
        below = float(np.nextafter(to.numpy.type(most), to.numpy.type(-np.inf)))
        return host.from_numpy(np.minimum(drawn, max(least, below)), device_of(device), to)

    def normal(
        self, shape: int | Sequence[int], mean: float = 0.0, std: float = 1.0, *, dtype: Any = "float32", device: Any = None
    ) -> Array:
        """Normally distributed numbers."""
        to = _type("normal", dtype, ("float",))
        middle, spread = _rounded(to, mean, std)
        drawn = self._generator.normal(middle, spread, shape_of(shape))
        return host.from_numpy(drawn, device_of(device), to)

    def integers(self, shape: int | Sequence[int], low: int, high: int, *, dtype: Any = "int64", device: Any = None) -> Array:
        """Integers from low to before high.

        Raises:
            OverflowError: the type does not have all of them.
        """
        to = _type("integers", dtype, ("int", "uint"))
        least, most = operator.index(low), operator.index(high)
        if least < most:
            values.scalar(least, to), values.scalar(most - 1, to)
        drawn = self._generator.integers(least, most, shape_of(shape), np.uint64 if to.kind == "uint" else np.int64)
        return host.from_numpy(drawn, device_of(device), to)

    def permutation(self, n: int | Array, *, device: Any = None) -> Array:
        """The numbers from 0 to before n in a random order; of an array the parts along its first dimension."""
        if isinstance(n, Array) and n.ndim:
            return host.call(self._generator.permutation, n, device=n.device, result=n.dtype)
        return host.from_numpy(self._generator.permutation(operator.index(n)), device_of(device), dtypes.int64)


def _type(name: str, dtype: Any, kinds: Sequence[str]) -> DType:
    to = dtypes.of(dtype)
    check_kind(name, to, kinds)
    return to


def _rounded(dtype: DType, *numbers: float) -> list[Any]:
    return [values.scalar(number, dtype) for number in numbers]
