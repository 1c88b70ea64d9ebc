"""Memory of arrays: a buffer, and who still has to read it."""

import weakref
from typing import Any

import numpy as np

from .._hologram import Buffer
from .devices import Device

__all__ = ["Storage"]

# References to readers that may be dead before they are looked through.
_MANY = 32


class Storage:
    """A buffer that arrays and recorded operations share.

    `exported`: something outside of this package sees the memory and may change it at any time; operations on it are
    then computed at once.
    """

    __slots__ = ("_flat", "_readers", "buffer", "device", "exported")

    def __init__(self, buffer: Buffer, device: Device):
        self.buffer = buffer
        self.device = device
        self.exported = False
        self._readers: list[weakref.ref[Any]] = []
        self._flat: np.ndarray[Any, Any] | None = None

    def read_by(self, node: Any) -> None:
        """Notes an operation that is not computed yet."""
        if len(self._readers) >= _MANY:
            self._readers = [reader for reader in self._readers if reader() is not None]
        self._readers.append(weakref.ref(node))

    def take_readers(self) -> list[Any]:
        """Operations that were noted and are still wanted; they are forgotten."""
        found = [node for reader in self._readers if (node := reader()) is not None]
        self._readers = []
        return found

    def host_bytes(self) -> np.ndarray[Any, Any]:
        """All bytes: the memory itself where the device's is the host's, else a copy."""
        if self.device != "cpu":
            return np.frombuffer(self.buffer.to_bytes(), np.uint8)
        if self._flat is None:
            if self.buffer.size == 0:
                self._flat = np.empty(0, np.uint8)
            else:
                # The buffer protocol has no bfloat16.
                self._flat = np.asarray(self.buffer).view(np.uint8)
        return self._flat
