"""What can go wrong. Every error of this package is a `HologramError`."""


class HologramError(RuntimeError):
    """Base of all errors of this package."""

    pc: int | None = None
    """Index of the program's instruction, where there is one."""
    lane: int | None = None
    """Global linear lane of a fault."""
    instruction: str | None = None
    """Text of the instruction."""


class BackendUnavailableError(HologramError):
    """A backend that this machine does not have."""


class DeviceError(HologramError):
    """The device or its driver failed."""


class CompilationError(HologramError):
    """Run-time compilation failed: no compiler, or its message."""


class OutOfMemoryError(HologramError, MemoryError):
    """Memory that the device does not give."""


class ArgumentError(HologramError, ValueError):
    """An argument outside its range, or a buffer of another executor."""


class ShapeError(HologramError, ValueError):
    """Lengths or shapes that do not fit."""


class AxisError(ShapeError, IndexError):
    """An axis that an array does not have."""


class DTypeError(HologramError, TypeError):
    """An element type that is unknown, differs, or that an operation does not allow."""


class ClosedError(HologramError):
    """An executor or a buffer that was closed or freed."""


class ForkError(HologramError):
    """Use of a device in a process that was forked after one was opened: start it with "spawn"."""


class ProgramError(HologramError, ValueError):
    """A program that is not well formed or not valid."""


class LaunchError(HologramError, ValueError):
    """A launch over the limits."""


class UnsupportedError(HologramError, NotImplementedError):
    """Something that this backend cannot run."""


class FaultError(HologramError, ArithmeticError):
    """A lane's fault: `lane`, `pc` and `instruction` say where."""


class TimeLimitError(FaultError, TimeoutError):
    """A program that was still running at its time limit."""
