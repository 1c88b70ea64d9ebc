"""Random numbers that depend on a seed alone: counter-based (Philox 4x64), drawn on the host, the same on every device."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes, host
from .core import Array
from .devices import Device, device_of
from .layout import shape_of

__all__ = ["Generator"]


class Generator:
    """Draws arrays: `hologram.array.random.Generator(7).normal((1000, 3))`. The same seed gives the same numbers everywhere."""

    def __init__(self, seed: int):
        self._generator = np.random.Generator(np.random.Philox(key=seed))

    def _made(self, values: Any, dtype: Any, device: str | Device | None) -> Array:
        return host.from_numpy(values, device_of(device), dtypes.of(dtype))

    def uniform(
        self, shape: int | Sequence[int], low: float = 0.0, high: float = 1.0, *, dtype: Any = "float32", device: Any = None
    ) -> Array:
        """Numbers from low to before high."""
        return self._made(self._generator.uniform(low, high, shape_of(shape)), dtype, device)

    def normal(
        self, shape: int | Sequence[int], mean: float = 0.0, std: float = 1.0, *, dtype: Any = "float32", device: Any = None
    ) -> Array:
        """Normally distributed numbers."""
        return self._made(self._generator.normal(mean, std, shape_of(shape)), dtype, device)

    def integers(self, shape: int | Sequence[int], low: int, high: int, *, dtype: Any = "int64", device: Any = None) -> Array:
        """Integers from low to before high."""
        return self._made(self._generator.integers(low, high, shape_of(shape)), dtype, device)

    def permutation(self, n: int, *, device: Any = None) -> Array:
        """The numbers from 0 to before n in a random order."""
        return self._made(self._generator.permutation(n), dtypes.int64, device)
