"""Verifier of OpenVM proofs: aggregated proofs of ``openvm-metal prove stark`` and cargo-openvm.

>>> from openvm_metal_verify import verify
>>> verify("fib.stark.proof", "fib.stark.vk", "fib.baseline.json").public_values.hex()
"""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Union

__all__ = ["MIN_SECURITY_BITS", "Verified", "VerifyError", "verify"]

MIN_SECURITY_BITS = 80.0
"""Bits of security that are usually required."""

_MIB = 1 << 20
_COMPARED_WITH = ("nothing", "commitments", "baseline")

File = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]
"""The bytes of a file, or its path."""


class VerifyError(Exception):
    """The reason why a proof is refused, in the words of ``openvm-metal verify``."""


@dataclass(frozen=True)
class Verified:
    """The statement of a valid proof: an execution of the program on the virtual machine ended with exit code 0 and
    revealed the public values."""

    app_exe_commit: str
    """The commitment to the program: ``0x`` and 64 digits."""
    app_vm_commit: str
    """The commitment to the virtual machine: ``0x`` and 64 digits."""
    public_values: bytes
    """The bytes that the guest revealed."""
    exit_code: int
    """0: proofs of others are refused."""
    security_bits: float
    """Of the weakest circuit if ``is_of_all_circuits``, else of the last one."""
    is_of_all_circuits: bool
    """True if the file of the caller says the bits of all circuits."""
    compared_with: Literal["baseline", "commitments", "nothing"]
    """The source that the proof was compared with."""
    seconds: float
    """The time that the verification took."""


class _Result(ctypes.Structure):
    """``openvm_metal_verified`` of openvm_metal_verify.h, field for field."""

    _fields_ = [
        ("error", ctypes.c_char_p),
        ("app_exe_commit", ctypes.c_uint8 * 32),
        ("app_vm_commit", ctypes.c_uint8 * 32),
        ("public_values", ctypes.POINTER(ctypes.c_uint8)),
        ("public_values_length", ctypes.c_size_t),
        ("exit_code", ctypes.c_uint32),
        ("compared_with", ctypes.c_uint32),
        ("security_bits", ctypes.c_double),
        ("is_of_all_circuits", ctypes.c_uint32),
        ("seconds", ctypes.c_double),
    ]


def _load() -> ctypes.CDLL:
    name = {"darwin": "libopenvm_metal_verify_c.dylib"}.get(sys.platform, "libopenvm_metal_verify_c.so")
    library = ctypes.CDLL(str(Path(__file__).with_name(name)))
    library.openvm_metal_verify.restype = ctypes.c_int
    library.openvm_metal_verify.argtypes = [
        *(ctypes.c_char_p, ctypes.c_size_t) * 3,
        ctypes.c_int,
        ctypes.c_double,
        ctypes.POINTER(_Result),
    ]
    library.openvm_metal_verified_free.restype = None
    library.openvm_metal_verified_free.argtypes = [ctypes.POINTER(_Result)]
    return library


_library = _load()


def _bytes(what: str, file: File, most: int) -> bytes:
    if isinstance(file, (bytes, bytearray, memoryview)):
        return bytes(file)
    if not isinstance(file, (str, os.PathLike)):
        raise TypeError(f"{what}: expected are bytes or a path, not {type(file).__name__}")
    # Of a device without an end no more is read than is refused.
    with open(file, "rb") as stream:
        return stream.read(most + 1)


def verify(
    proof: File,
    vk: File,
    baseline: File | None = None,
    min_bits: float = MIN_SECURITY_BITS,
    *,
    trust_vk: bool = False,
) -> Verified:
    """Verifies an aggregated proof. Files are bytes or paths. Other threads run meanwhile.

    ``proof`` is ``NAME.stark.proof``. ``vk`` is ``NAME.stark.vk``, or ``internal_recursive.vk`` together with a baseline. ``baseline`` is
    ``NAME.baseline.json`` or ``NAME.commit.json``, which ``openvm-metal commit`` makes of the program. Without it the proof
    is refused, unless ``trust_vk`` says that the key is your own: compare the commitments of the result yourself.

    Raises ``VerifyError`` if the proof is refused, ``OSError`` if a file cannot be read.
    """
    files = [_bytes("proof", proof, 64 * _MIB), _bytes("vk", vk, 64 * _MIB)]
    expected = None if baseline is None else _bytes("baseline", baseline, _MIB)
    files_and_lengths = [part for file in files for part in (file, len(file))]
    result = _Result()
    status = _library.openvm_metal_verify(
        *files_and_lengths, expected, len(expected or b""), bool(trust_vk), float(min_bits), ctypes.byref(result)
    )
    try:
        if status != 0:
            raise VerifyError((result.error or b"refused without a reason").decode())
        length = result.public_values_length
        return Verified(
            app_exe_commit="0x" + bytes(result.app_exe_commit).hex(),
            app_vm_commit="0x" + bytes(result.app_vm_commit).hex(),
            public_values=ctypes.string_at(result.public_values, length) if length else b"",
            exit_code=result.exit_code,
            security_bits=result.security_bits,
            is_of_all_circuits=bool(result.is_of_all_circuits),
            compared_with=_COMPARED_WITH[result.compared_with],
            seconds=result.seconds,
        )
    finally:
        _library.openvm_metal_verified_free(ctypes.byref(result))
