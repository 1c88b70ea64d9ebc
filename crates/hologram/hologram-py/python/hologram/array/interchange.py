"""Exchange with NumPy, PyTorch and others: DLPack, NumPy's protocol, Python lists and pickles.

Memory goes out without a copy from the processor: what the other side writes is seen here. Operations on such an array that were
recorded before are computed when it goes out, and further ones at once from then on. Memory of others comes in by one copy, a GPU's by way of the host. GPUs give copies alone, and only if they are asked for. Of tensors
that record gradients the elements come in.
"""

from pickle import PickleBuffer
from typing import Any

import numpy as np

from .._hologram import retype
from ..errors import ArgumentError, DTypeError
from . import core, dtypes, host
from .core import Array
from .devices import Device, device_of

__all__ = ["from_dlpack"]

# DLPack's number of the processor's memory.
_HOST = (1, 0)
# Kinds of memory that the processor reads: its own, and what it shares with a GPU.
_READABLE = (1, 3)
# DLPack's codes of types; NumPy knows bfloat16 as uint16 alone.
_UINT, _BFLOAT = 1, 4


def to_numpy(self: Array, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """The elements as NumPy's array: the memory itself on the processor, a copy from elsewhere."""
    if copy is False and not self.device.on_host:
        raise ArgumentError(f"copy: the memory is {self.device}'s own, it is read by a copy")
    values = host.view(self)
    if dtype is not None and np.dtype(dtype) != values.dtype:
        if copy is False:
            raise ArgumentError(f"copy: {self.dtype.name} becomes {np.dtype(dtype)} only by a copy")
        if values.dtype.kind == "c" and np.dtype(dtype).kind in "biuf":
            raise DTypeError(f"dtype: {self.dtype.name} to {np.dtype(dtype)} loses the imaginary part; take real(x)")
        with core.changes, np.errstate(all="ignore"):
            return values.astype(dtype)
    if copy:
        with core.changes:
            return values.copy()
    if self.device.on_host:
        storage, _, _ = self.data()
        storage.exported = True
        if self.readonly:
            values.flags.writeable = False
    return values


def dlpack(
    self: Array,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """A capsule over the elements.

    Raises:
        BufferError: a stream for host memory; the memory of a GPU without a copy.
    """
    if stream is not None:
        raise BufferError("stream: host memory has none")
    if dl_device is not None and tuple(dl_device) != _HOST:
        raise BufferError(f"dl_device: {dl_device}, only host memory {_HOST} is given")
    if not self.device.on_host and (copy is False or copy is None and dl_device is None):
        raise BufferError(f"the memory is {self.device}'s own: ask for a copy, from_dlpack(x, device=\"cpu\")")
    given = self
    if self.dtype is dtypes.bfloat16:
        _, offset, strides = self.data()
        given = self.view(self.shape, offset, strides, dtypes.uint16)
    capsule = to_numpy(given, copy=bool(copy) or not self.device.on_host or None).__dlpack__(max_version=max_version)
    if given is not self:
        retype(capsule, _UINT, _BFLOAT)
    return capsule


def dlpack_device(self: Array) -> tuple[int, int]:
    """DLPack's device of the array: the host's of one on the processor, CUDA's or Metal's else."""
    return {"cpu": _HOST, "cuda": (2, 0), "metal": (8, 0)}[self.device.name]


def from_dlpack(x: Any, /, *, device: str | Device | None = None, copy: bool | None = None) -> Array:
    """An array of what knows DLPack, by one copy; an array of ours on the same device is taken as it is.

    Raises:
        BufferError: `copy` is false, and a copy is needed.
    """
    to = device_of(device)
    if isinstance(x, Array) and (device is None or x.device == to):
        return host.from_numpy(host.view(x), x.device, x.dtype) if copy else x
    if copy is False:
        raise BufferError("copy: memory of others is copied")
    if isinstance(x, Array):
        return host.from_numpy(host.view(x), to, x.dtype)
    if not hasattr(x, "__dlpack_device__"):
        raise TypeError(f"from_dlpack: {type(x).__name__} does not know DLPack")
    if getattr(x, "requires_grad", False) and hasattr(x, "detach"):
        # The elements alone are taken, not how they came about.
        x = x.detach()
    elsewhere = tuple(x.__dlpack_device__())[0] not in _READABLE
    if elsewhere and hasattr(x, "cpu"):
        # PyTorch's way to memory of the host.
        x, elsewhere = x.cpu(), False
    if elsewhere:
        return host.from_numpy(np.from_dlpack(x, device="cpu", copy=True), to)
    if "bfloat16" in str(getattr(x, "dtype", "")):
        capsule = x.__dlpack__()
        is_bfloat16 = retype(capsule, _BFLOAT, _UINT)
        found = np.from_dlpack(_Given(capsule))
        return host.from_numpy(found.view(dtypes.bfloat16.numpy) if is_bfloat16 else found, to)
    return host.from_numpy(np.from_dlpack(x), to)


class _Given:
    """A capsule, as the protocol asks for it."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return _HOST


def pickled(x: Array, protocol: Any = 4) -> tuple[Any, ...]:
    """The elements for a pickle, which protocol 5 may leave out of its bytes: then they are the memory itself, if they are dense."""
    if protocol < 5:
        with core.changes:
            values = host.view(x).tobytes()
        return unpickled, (values, x.dtype, x.shape)
    values = np.ascontiguousarray(to_numpy(x))
    return unpickled, (PickleBuffer(values.reshape(-1).view(np.uint8)), x.dtype, x.shape)


def unpickled(data: Any, dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
    """An array of a pickle, on the default device."""
    return host.from_numpy(np.frombuffer(data, dtype.numpy).reshape(shape), device_of(None), dtype)
