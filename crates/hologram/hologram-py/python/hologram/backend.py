"""Which backends there are."""

from enum import StrEnum

from ._hologram import backends
from .errors import ArgumentError

__all__ = [
    "BackendType",
    "get_default_backend",
    "is_cuda_available",
    "is_metal_available",
    "validate_backend",
]


class BackendType(StrEnum):
    """Values of `Executor(backend=...)`."""

    AUTO = "auto"
    CPU = "cpu"
    INTERPRETER = "interpreter"
    METAL = "metal"
    CUDA = "cuda"


def _available(name: str) -> bool:
    return any(found == name and present for found, present, _ in backends())


def is_metal_available() -> bool:
    """Whether an Apple GPU can be used."""
    return _available("metal")


def is_cuda_available() -> bool:
    """Whether an NVIDIA GPU can be used."""
    return _available("cuda")


def get_default_backend() -> str:
    """What `Executor("auto")` takes: metal, else cuda, else cpu."""
    present = {name for name, there, _ in backends() if there}
    return next(name for name in ("metal", "cuda", "cpu") if name in present)


def validate_backend(name: str) -> str:
    """The name, if it is one of a backend or `auto`.

    Raises:
        ArgumentError: (a `ValueError`) it is not.
    """
    try:
        return BackendType(name).value
    except ValueError:
        names = ", ".join(kind.value for kind in BackendType)
        raise ArgumentError(f"backend: `{name}` is none of {names}") from None
