"""Arrays as text."""

import numpy as np

from . import dtypes, host
from .core import Array

def values_text(x: Array, prefix: str = "") -> str:
    """The values, as NumPy shows them; of many the first and the last."""
    values = host.view(x)
    if x.dtype is dtypes.bfloat16:
        values = values.astype(np.float32)
    return np.array2string(values, separator=", ", prefix=prefix)


def text(x: Array) -> str:
    """The values with type, device and, where they do not show it, the shape."""
    shape = f", shape={x.shape}" if x.size == 0 else ""
    return f"Array({values_text(x, 'Array(')}{shape}, dtype={x.dtype.name}, device={x.device.name!r})"
