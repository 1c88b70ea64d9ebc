"""Arrays, buffers, operations and Atlas programs on CPUs, Apple GPUs and NVIDIA GPUs.

>>> import hologram, numpy as np
>>> x = hologram.asarray([1.0, 2.0, 3.0])
>>> x * x + x
Array([ 2.,  6., 12.], dtype=float64, device='cpu')
>>> with hologram.Executor("cpu") as ex:
...     a = ex.from_numpy(np.arange(4, dtype=np.float32))
...     c = ex.allocate(4)
...     hologram.ops.vector_add(ex, a, a, c)
...     print(c.to_numpy())
[0. 2. 4. 6.]
"""

from importlib.metadata import PackageNotFoundError, version

from . import array, backend, errors, ops
from ._hologram import Buffer, Executor, Program, backends
from .array import *
from .array import Device as device
from .errors import HologramError

try:
    __version__ = version("openvm-hologram")
except PackageNotFoundError:  # The sources are used without being installed.
    __version__ = "unknown"

__all__ = ["Buffer", "Executor", "HologramError", "Program", "array", "backend", "backends", "device", "errors", "ops"]
__all__ += array.__all__


def __dir__() -> list[str]:
    return sorted([*__all__, "__doc__", "__name__", "__version__"])
