"""Which device arrays are made on, and the executor of each.

A process has one executor for each device, opened when an array first needs it. Without a word said it is `HOLOGRAM_DEVICE`,
else Metal, CUDA or the processor, the first that is there.
"""

import os
import warnings
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Self

from .._hologram import Executor, backends, passed_over
from ..backend import get_default_backend
from ..errors import ArgumentError

__all__ = ["Device", "default_device"]

_NAMES = ("cpu", "metal", "cuda")
_executors: dict[str, Executor] = {}
_devices: dict[str, "Device"] = {}
_chosen: ContextVar[tuple["Device", ...]] = ContextVar("hologram_device", default=())


class Device:
    """Where arrays live: `hologram.device("cuda")`, one object for each device. Equal to its name; in a `with`, where arrays are
    made.

    >>> with hologram.device("cpu"):
    ...     x = hologram.asarray([1.0, 2.0])
    """

    __slots__ = ("name", "on_host")

    name: str
    on_host: bool
    """Whether its memory is the host's."""

    def __new__(cls, name: "str | Device") -> "Device":
        wanted = name.name if isinstance(name, Device) else name
        if wanted == "auto":
            wanted = get_default_backend()
        if wanted not in _NAMES:
            raise ArgumentError(f"device: {name!r} is none of auto, {', '.join(_NAMES)}")
        found = _devices.get(wanted)
        if found is None:
            made = super().__new__(cls)
            made.name, made.on_host = wanted, wanted == "cpu"
            found = _devices.setdefault(wanted, made)
        return found

    @property
    def executor(self) -> Executor:
        """The process's executor of this device, with its `stats`."""
        return executor(self.name)

    def __enter__(self) -> Self:
        executor(self.name)
        _chosen.set((*_chosen.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _chosen.set(_chosen.get()[:-1])

    def __eq__(self, other: object) -> bool:
        return self is other or self.name == other

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"hologram.device({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return Device, (self.name,)


def executor(name: str) -> Executor:
    """The executor of a device, opened now if it is not.

    Raises:
        BackendUnavailableError: the device is missing; no other takes its place.
    """
    found = _executors.get(name)
    if found is None:
        found = _executors.setdefault(name, Executor(name))
    return found


def default_device() -> Device:
    """Where arrays are made: the innermost `with`, else `HOLOGRAM_DEVICE`, else the first of metal, cuda and cpu."""
    chosen = _chosen.get()
    return chosen[-1] if chosen else _named(os.environ.get("HOLOGRAM_DEVICE") or "auto")


@lru_cache
def _named(name: str) -> Device:
    """A device, looked for once; a GPU that is there and cannot compute is passed over with a warning."""
    if name == "auto":
        for reason in passed_over():
            warnings.warn(f"{reason}; arrays are made elsewhere unless a device is named", RuntimeWarning, stacklevel=2)
    return Device(name)


def device_of(device: str | Device | None) -> Device:
    """The device that an argument means; None is the default."""
    if device is None:
        return default_device()
    return device if isinstance(device, Device) else Device(device)


def all_devices() -> list[Device]:
    """Every device of this machine."""
    return [Device(name) for name, there, _ in backends() if there and name in _NAMES]
