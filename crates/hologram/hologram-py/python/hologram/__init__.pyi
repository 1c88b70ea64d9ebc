"""What `hologram` has, for type checkers."""

from . import array as array
from . import backend as backend
from . import errors as errors
from . import ops as ops
from ._hologram import Buffer as Buffer
from ._hologram import Executor as Executor
from ._hologram import Program as Program
from ._hologram import backends as backends
from .array import *
from .array import Device

device = Device
from .errors import HologramError as HologramError

__version__: str
