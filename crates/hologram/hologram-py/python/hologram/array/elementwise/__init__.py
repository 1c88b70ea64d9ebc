"""Elementwise functions: steps of the graph where there is one, else NumPy's on the host."""

from . import binary, choice, conversion, logic, unary
from .binary import *
from .choice import *
from .conversion import *
from .logic import *
from .unary import *

__all__: list[str] = []
__all__ += binary.__all__
__all__ += choice.__all__
__all__ += conversion.__all__
__all__ += logic.__all__
__all__ += unary.__all__
