"""What `hologram.array` has, for type checkers: each module's `__all__`."""

from . import fft as fft
from . import linalg as linalg
from . import random as random
from .core import Array as Array
from .beyond import *
from .creation import *
from .devices import *
from .dtypes import *
from .elementwise.binary import *
from .elementwise.choice import *
from .elementwise.conversion import *
from .elementwise.logic import *
from .elementwise.unary import *
from .indexing import *
from .inspection import *
from .interchange import *
from .manipulation import *
from .reductions import *
from .searching import *
from .sets import *
from .sorting import *
from .linalg import matmul as matmul
from .linalg import matrix_transpose as matrix_transpose
from .linalg import tensordot as tensordot
from .linalg import vecdot as vecdot

__array_api_version__: str
e: float
inf: float
nan: float
newaxis: None
pi: float

def __array_namespace_info__() -> Info:
    """Devices, types and capabilities."""
