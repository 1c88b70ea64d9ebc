"""Arrays on every device: the Python array API standard 2025.12, with its extensions `linalg` and `fft`.

>>> import hologram
>>> from hologram import array as hp
>>> x = hologram.asarray([1.0, 2.0, 3.0])
>>> hp.sum(x * x + x)
Array(20., dtype=float64, device='cpu')

Elementwise operations are recorded and computed together when a value is needed: `x * x + x` is one pass over memory, and with
a sum behind it still one. `README.md` says which functions run on the device and which on the host.
"""

from . import (
    beyond, creation, devices, dtypes, elementwise, fft, indexing, inspection, interchange, linalg, manipulation, operators, random,
    reductions, searching, sets, sorting,
)  # fmt: skip
from .beyond import *
from .core import Array
from .creation import *
from .devices import *
from .dtypes import *
from .elementwise import *
from .indexing import *
from .inspection import *
from .interchange import *
from .manipulation import *
from .reductions import *
from .searching import *
from .sets import *
from .sorting import *
from .linalg import matmul, matrix_transpose, tensordot, vecdot

# Each module names what it has for everybody; `__init__.pyi` is this for type checkers.
__all__ = [
    "Array", "e", "fft", "inf", "linalg", "matmul", "matrix_transpose", "nan", "newaxis", "pi", "random", "tensordot", "vecdot",
]  # fmt: skip
_PARTS = (
    beyond, creation, devices, dtypes, elementwise, indexing, inspection, interchange, manipulation, reductions, searching, sets, sorting,
)  # fmt: skip
__all__ += [name for part in _PARTS for name in part.__all__]

__array_api_version__ = "2025.12"

e = 2.718281828459045
inf = float("inf")
nan = float("nan")
newaxis = None
pi = 3.141592653589793


def __array_namespace_info__() -> Info:
    """Devices, types and capabilities."""
    return Info()


def __dir__() -> list[str]:
    return sorted([*__all__, "__array_api_version__", "__array_namespace_info__", "__doc__", "__name__"])


operators.install()
