"""Fourier transforms, on the host: NumPy's."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ArgumentError
from . import dtypes, host
from .core import Array
from .devices import Device, device_of
from .dtypes import DType
from .elementwise.steps import check_kind, named
from .layout import axes_of, axis_of
from .manipulation import roll

__all__ = [
    "fft", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft",
    "rfftfreq", "rfftn",
]  # fmt: skip

def _result(x: Array, real: bool) -> DType:
    result = dtypes.complex_of(x.dtype)
    return dtypes.of(result.buffer) if real else result


def _checked(name: str, x: Array, kinds: Sequence[str], norm: str) -> None:
    check_kind(name, x, kinds)
    if norm not in ("backward", "ortho", "forward"):
        raise ArgumentError(f"norm: {norm!r}, must be 'backward', 'ortho' or 'forward'")


def _one(name: str, kinds: Sequence[str], real: bool, meaning: str) -> Callable[..., Array]:
    transform = getattr(np.fft, name)

    def function(x: Array, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Array:
        _checked(name, x, kinds, norm)
        return host.call(transform, x, n=n, axis=axis_of(axis, x.ndim), norm=norm, device=x.device, result=_result(x, real))

    return named(function, name, f"{meaning} along an axis, cut or filled with zeros to n elements.")


def _many(name: str, kinds: Sequence[str], real: bool, meaning: str) -> Callable[..., Array]:
    transform = getattr(np.fft, name)

    def function(
        x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str = "backward"
    ) -> Array:
        _checked(name, x, kinds, norm)
        if s is not None and axes is None:
            axes = range(-len(s), 0)
        if axes is not None:
            axes = [axis_of(axis, x.ndim, "axes") for axis in axes]
        return host.call(transform, x, s=s, axes=axes, norm=norm, device=x.device, result=_result(x, real))

    return named(function, name, f"{meaning} along several axes, cut or filled with zeros to s elements of each.")


_ANY = ("float", "complex")
fft = _one("fft", _ANY, False, "The transform")
ifft = _one("ifft", _ANY, False, "The inverse transform")
rfft = _one("rfft", ("float",), False, "The transform of real numbers, its first half,")
irfft = _one("irfft", _ANY, True, "The inverse of `rfft`")
hfft = _one("hfft", _ANY, True, "The transform of a Hermitian half")
ihfft = _one("ihfft", ("float",), False, "The inverse of `hfft`")
fftn = _many("fftn", _ANY, False, "The transform")
ifftn = _many("ifftn", _ANY, False, "The inverse transform")
rfftn = _many("rfftn", ("float",), False, "The transform of real numbers, its first half,")
irfftn = _many("irfftn", _ANY, True, "The inverse of `rfftn`")


def _frequencies(values: Any, dtype: Any, device: str | Device | None) -> Array:
    to = dtypes.float64 if dtype is None else dtypes.of(dtype)
    check_kind("fftfreq", to, ("float",))
    return host.from_numpy(values, device_of(device), to)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Frequencies of the elements of `fft` of n samples at distance d."""
    return _frequencies(np.fft.fftfreq(n, d), dtype, device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: str | Device | None = None) -> Array:
    """Frequencies of the elements of `rfft` of n samples at distance d."""
    return _frequencies(np.fft.rfftfreq(n, d), dtype, device)


def _shift(x: Array, axes: int | Sequence[int] | None, by: Callable[[int], int]) -> Array:
    check_kind("fftshift", x, _ANY)
    along = axes_of(axes, x.ndim, "axes")
    return roll(x, tuple(by(x.shape[d]) for d in along), axis=along)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The frequency 0 moved to the middle, on the device."""
    return _shift(x, axes, lambda extent: extent // 2)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """The inverse of `fftshift`, on the device."""
    return _shift(x, axes, lambda extent: -(extent // 2))
