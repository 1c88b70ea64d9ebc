"""What can go wrong. Every error of this package is an `OpenVmMetalError`."""


class OpenVmMetalError(RuntimeError):
    """Base of all errors of this package."""


class ConfigError(OpenVmMetalError, ValueError):
    """An `openvm.toml` that does not parse or that another user may have put beside the program, or settings that contradict each other."""


class FileError(OpenVmMetalError):
    """A file that cannot be read or written, or does not hold what its use expects."""


class DataError(OpenVmMetalError, ValueError):
    """Bytes that do not hold what their use expects."""


class ProgramError(OpenVmMetalError, ValueError):
    """Not a guest's program, or one that the configuration cannot run."""


class GuestError(OpenVmMetalError):
    """The guest panicked, left its memory, or ended with another exit code than 0."""

    exit_code: int | None = None
    """What it ended with, if it ended."""
    pc: int | None = None
    """Where it panicked, if it did."""


class InputError(OpenVmMetalError, ValueError):
    """The guest read past its input, or an input file is not of its form."""

    pc: int | None = None
    """Where it read."""


class InstructionBoundError(OpenVmMetalError):
    """The guest did not end within the bound."""


class DeviceUnavailableError(OpenVmMetalError):
    """A device that this machine does not have; no other takes its place."""


class DeviceError(OpenVmMetalError):
    """The device or its driver failed, or the prover refused its input."""


class OutOfMemoryError(OpenVmMetalError, MemoryError):
    """Memory that the device does not have, or that the host may not hold: smaller segments need less."""


class ForeignKeyError(OpenVmMetalError, ValueError):
    """Keys of another configuration, or a verifying key that is not the one that it is taken for."""


class InsecureError(OpenVmMetalError, ValueError):
    """Parameters of less than 80 bits of security, with which proofs can be forged."""


class PlanError(OpenVmMetalError, ValueError):
    """A plan that cannot be read, is of another job, or has no such task."""


class JobFolderError(OpenVmMetalError):
    """A folder of another job, a damaged file in it, or one that cannot be written."""


class RejectedError(OpenVmMetalError):
    """A proof that is not accepted, or is not the proof of its task."""


class UnsupportedError(OpenVmMetalError, NotImplementedError):
    """Something that this package does not do."""


class CancelledError(OpenVmMetalError):
    """The work was stopped."""


class ForkError(OpenVmMetalError):
    """Use in a process that was forked after work had begun: start it with "spawn"."""


class ProveError(OpenVmMetalError):
    """A library of OpenVM gave up."""


class ClusterError(OpenVmMetalError):
    """Something between machines: the base of the errors below."""


class RayMissingError(ClusterError, ImportError):
    """Ray is not installed."""


class ClusterUnreachableError(ClusterError, ConnectionError):
    """Nothing answers at the address, or what answers is no Ray cluster."""


class VersionMismatchError(ClusterError):
    """A node with another version of this package, of Ray or of Python."""


class DeviceMissingError(ClusterError):
    """No node offers a device that was asked for."""


class NoWorkersError(ClusterError):
    """Nobody is left, or nobody came in time, to do the work. What was done is in the job's folder."""


class StoreFullError(ClusterError, MemoryError):
    """The object store or the disk behind it has no room."""
