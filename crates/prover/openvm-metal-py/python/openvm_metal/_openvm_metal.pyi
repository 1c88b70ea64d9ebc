"""Types of the native module. Work lets the interpreter's lock go; Ctrl-C ends it after the step at hand."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, final

_Path = str | os.PathLike[str]
Input = bytes | Sequence[bytes] | None
"""The values that a program reads: one, several, or none."""
_Task = tuple[int, int]

@final
class Program:
    """A program for the virtual machine, and the machine's configuration. Can be pickled."""

    def __new__(cls, path: _Path, config: _Path | None = None, *, as_cargo_openvm: bool = False) -> Self:
        """An ELF or a `.vmexe`.

        Args:
            config: an `openvm.toml`; if absent, the one that the command finds for the program, or RV32IM with input and output.
            as_cargo_openvm: the executable of an ELF is made by cargo-openvm's rule, for its commitment: `unimp`, which abort and unreachable
                code compile to, does nothing there. If false, it ends the guest with exit code 2.

        Raises:
            FileError: a file cannot be read.
            ProgramError: it is no program, or needs an extension that the configuration lacks.
            ConfigError: the configuration does not parse.
        """
    @staticmethod
    def from_bytes(data: bytes, config: str | None = None, name: str = "program", *, as_cargo_openvm: bool = False) -> Program:
        """The bytes of an ELF or a `.vmexe`, and the text of an `openvm.toml`."""
    def to_bytes(self) -> bytes:
        """The `.vmexe`."""
    @property
    def name(self) -> str:
        """The file's name without its ending."""
    @property
    def config(self) -> str | None:
        """The text of the configuration."""
    @property
    def digest(self) -> str:
        """SHA-256 of everything that a proof depends on, in hexadecimal."""
    @property
    def instructions(self) -> int:
        """Number of instructions in the program."""
    @property
    def ignored_traps(self) -> int:
        """Number of traps (`unimp`) in the code at which the program does nothing, as executables of cargo-openvm do."""

@final
class Keys:
    """The proving keys of a configuration: of the application, and of the aggregation above it. Files are cargo-openvm's."""

    @staticmethod
    def load(app_pk: _Path, agg_pk: _Path | None = None, agg_prefix_pk: _Path | None = None) -> Keys:
        """Reads keys from files, which are mapped into memory while they are decoded.

        `agg_pk` is an `internal_recursive.pk`; with `agg_prefix_pk` the one in `~/.openvm` if it is absent.
        `agg_prefix_pk` is an `agg_prefix.pk`; with `agg_pk` the one beside `app_pk` if it is absent.

        Raises:
            FileError: there is none, or it is damaged.
        """
    def save(self, folder: _Path) -> list[Path]:
        """Writes `app.pk`, `app.vk`, `agg_prefix.pk`, `internal_recursive.pk` and `internal_recursive.vk`; returns their paths."""
    @staticmethod
    def from_bytes(app_pk: bytes, agg_pk: bytes | None = None) -> Keys:
        """What `to_bytes` gave."""
    def to_bytes(self) -> tuple[bytes, bytes | None]:
        """The bytes of the application key and of the aggregation keys, for `from_bytes`."""
    @property
    def has_aggregation(self) -> bool:
        """Whether the aggregation keys are there."""

@final
class Prover:
    """A program with its keys on a device. Usable from many threads; a GPU makes two proofs at once, the processor one."""

    def __new__(
        cls,
        program: Program,
        keys: Keys | None = None,
        device: str = "auto",
        *,
        toy: bool | tuple[int, int] = False,
        allow_insecure: bool = False,
        segment_max_memory: int | None = None,
        children: tuple[int, int] | None = None,
    ) -> Self:
        """
        Args:
            keys: made when they are first needed, if absent.
            device: "auto", "metal", "cuda", "cuda:1" and so on, "cpu", or several with commas between them, which prove
                together: never silently another.
            toy: small parameters WITHOUT SECURITY; or the heights of the stacked matrices of application and aggregation as powers of two. Implies
                `allow_insecure`.
            allow_insecure: parameters of less than 80 bits of security are taken, which keys or the configuration may have.
            segment_max_memory: segments are cut so that the proof of one is estimated to need at most this many bytes.
            children: how many proofs a node verifies, a leaf and an internal node; (4, 3) if absent.

        Raises:
            ConfigError: settings that contradict each other.
            ForeignKeyError: keys of another configuration.
            InsecureError: parameters of less than 80 bits of security; raised when keys are first used.
            DeviceUnavailableError: no device has this name.
        """
    def warm_up(self) -> None:
        """Opens the device, brings the keys to it and commits the program, which the first proof would do.

        Raises:
            DeviceUnavailableError: this machine does not have the device.
        """
    @property
    def device(self) -> str:
        """What was asked for."""
    @property
    def segment_max_memory(self) -> int:
        """What segments are cut by: what was set, or what the device has room for."""
    @property
    def security_bits(self) -> float:
        """Bits of security of the application's key, and of aggregation keys if they were given.

        Raises:
            InsecureError: they are fewer than 80, and that is not allowed.
        """
    def keys(self) -> Keys:
        """The keys, made if they were not."""
    @property
    def verifying_key(self) -> VerifyingKey:
        """What verifies proofs of the program, whatever its input."""
    def execute(
        self,
        input: Input = None,
        *,
        max_instructions: int | None = None,
        output: Callable[[bytes], Any] | None = None,
    ) -> bytes:
        """Runs the program without proving it, and returns the values that it revealed.

        Args:
            output: is called with the bytes of each print of the guest, which are of any encoding; if absent they go to the standard
                output of the process. What it raises ends the execution.

        Raises:
            GuestError, InputError, InstructionBoundError: what went wrong in the guest.
        """
    def plan(
        self,
        input: Input = None,
        *,
        max_instructions: int | None = None,
        progress: Callable[..., Any] | None = None,
        output: Callable[[bytes], Any] | None = None,
    ) -> Plan:
        """Runs the program and decides where it is cut into segments.

        Args:
            output: as that of `execute`; if absent, prints go to the standard error of the process.
        """
    def prove(
        self,
        input: Input = None,
        *,
        max_instructions: int | None = None,
        in_flight: int | None = None,
        host_memory: int | None = None,
        resume: _Path | None = None,
        progress: Callable[..., Any] | None = None,
        output: Callable[[bytes], Any] | None = None,
    ) -> tuple[Proof, dict[str, Any]]:
        """Proves an execution: one proof, which OpenVM's verifier has accepted, and what it took.

        Args:
            in_flight: most segments for each device that are recorded, traced or proved at the same time; by default as many as
                the machine has use for.
            host_memory: most bytes of records and traces of segments that the host holds at the same time: segments wait for each other. If
                absent, `host_memory`.
            resume: proofs of segments are kept in this folder, and taken from it.
            progress: is called with the name of each event and its fields; what it raises ends the proof.
            output: as that of `execute`. It is called once for each print, although a proof executes the guest several times.

        Raises:
            GuestError, InputError, InstructionBoundError: what went wrong in the guest.
            OutOfMemoryError: the device or the host has no room for a segment.
        """
    @property
    def host_memory(self) -> int:
        """Bytes that records and traces of segments may take on the host unless it is set: three quarters of what is free now."""
    def worker(
        self,
        plan: Plan,
        input: Input = None,
        *,
        machines: int | None = None,
        host_memory: int | None = None,
    ) -> SegmentWorker:
        """What proves segments of a plan.

        Args:
            machines: most segments that are executed, recorded or traced at the same time, on a thread each that holds the guest's memory
                twice; if absent, `worker_threads()[0]`.
            host_memory: as that of `prove`, for all segments that the worker is at. Workers of one host share its memory: each gets its part.

        Raises:
            PlanError: the plan is of another program, input or configuration.
        """
    def worker_threads(self, cores: int | None = None) -> tuple[int, int]:
        """What `prove` would take on so many of the host's cores, or on all: how many segments are executed, recorded or traced at the same
        time, and how many are in flight, those that are proved or wait for it included: with so many calls of `SegmentWorker.prove`
        at a time a device always has the next segment."""
    def prove_node(self, plan: Plan, level: int, index: int, below: Sequence[bytes]) -> bytes:
        """Proves a node of the aggregation over the proofs of its children, which are in order."""
    def verifier(self) -> Verifier:
        """What verifies single tasks."""

@final
class Plan:
    """Where an execution is cut, and what has to be proved of it. Can be pickled."""

    @staticmethod
    def from_json(text: str) -> Plan:
        """What `to_json` gave."""
    def to_json(self) -> str:
        """The plan as JSON."""
    @property
    def job(self) -> str:
        """SHA-256 of program, verifying key, input and the rule by which segments are cut."""
    @property
    def segments(self) -> list[int]:
        """Instructions of each segment."""
    @property
    def instructions(self) -> int:
        """Instructions of all segments."""
    @property
    def levels(self) -> list[int]:
        """How many proofs each level has, from the segments to the one that ends the aggregation."""
    @property
    def public_values(self) -> bytes:
        """What the guest revealed."""
    @property
    def segment_max_memory(self) -> int:
        """What segments were cut by, in bytes."""
    @property
    def children(self) -> tuple[int, int]:
        """How many proofs a node verifies: a leaf, and an internal node."""
    def below(self, level: int, index: int) -> list[int]:
        """The proofs of the level below that a node verifies."""
    def id(self, task: _Task) -> str:
        """SHA-256 of everything that the proof of a segment, or the public values, are determined by.

        Raises:
            PlanError: there is no such task, or it is a node: its key and the proofs below it identify that.
        """

@final
class SegmentWorker:
    """Proves any segment of a plan: it goes on from where it stands, and starts again for an earlier one. If several threads call,
    segments are executed and traced beside each other while others are proved."""

    def prove(self, index: int, *, call: int | None = None, progress: Callable[..., Any] | None = None) -> bytes:
        """The proof of a segment.

        Args:
            call: what `cancel` may name this call by.
            progress: is called when the segment is traced and when it is proved, as that of `Prover.prove`.

        Raises:
            CancelledError: another thread called `cancel`.
            OutOfMemoryError: the device or the host has no room for the segment.
        """
    def cancel(self, index: int, *, call: int | None = None) -> None:
        """Stops the calls of `prove` for a segment, soon; those with the name `call` alone if it is given."""
    @property
    def waiting(self) -> int:
        """Segments that were asked for and that no machine has begun."""
    def end(self) -> bytes:
        """What the guest revealed, with its path in the memory at the end of the execution."""

@final
class Span:
    """The part of an execution that a proof is about."""

    def joins(self, next: Span) -> bool:
        """Whether `next` begins where this span ends."""
    def __eq__(self, other: object) -> bool: ...

@final
class Verifier:
    """Whether what another process made is the proof of its task. A valid proof of something else is a `RejectedError`, too."""

    def segment(self, plan: Plan, index: int, proof: bytes) -> Span:
        """Verifies the proof of a segment. Its neighbours decide whether its ends are right."""
    def node(self, plan: Plan, level: int, index: int, below: Sequence[Span], proof: bytes) -> Span:
        """Verifies the proof of a node whose children have these spans."""
    def end(self, plan: Plan, last: Span, values: bytes) -> None:
        """Verifies what the guest revealed against the last segment."""
    def assemble(self, last: bytes, values: bytes) -> Proof:
        """The proof of the whole execution, which OpenVM's verifier has accepted."""
    @property
    def verifying_key(self) -> VerifyingKey:
        """What verifies the proof of the whole."""

@final
class Proof:
    """One proof of a whole execution. Can be pickled."""

    @staticmethod
    def load(path: _Path) -> Proof:
        """Reads cargo-openvm's file."""
    def save(self, path: _Path) -> None:
        """Writes cargo-openvm's file."""
    @staticmethod
    def from_bytes(data: bytes) -> Proof:
        """What `to_bytes` gave."""
    def to_bytes(self) -> bytes:
        """OpenVM's encoding."""
    @property
    def public_values(self) -> bytes:
        """What the guest revealed."""
    def verify(self, vk: VerifyingKey, *, allow_insecure: bool = False) -> None:
        """Verifies it with OpenVM's own verifier. `vk` has to be one's own, or of somebody whom one trusts: it says what is proved.

        Raises:
            ForeignKeyError: the key is not that of its baseline.
            InsecureError: the key has less than 80 bits of security, and that is not allowed.
            RejectedError: the proof is not accepted.
        """

@final
class VerifyingKey:
    """What verifies proofs of a program, whatever its input."""

    @staticmethod
    def load(path: _Path, *, trust_vk: bool = False) -> VerifyingKey:
        """Reads the file that `openvm-metal prove stark` and `save` write. A file of another's can be the key of any circuit, so
        `trust_vk=True` says that it is one's own; `Prover(program).verifying_key` needs no file.

        Raises:
            ForeignKeyError: `trust_vk` is not set.
            FileError: the file is damaged.
        """
    @property
    def app_exe_commit(self) -> str:
        """The commitment to the program, as `openvm-metal commit` prints it."""
    @property
    def app_vm_commit(self) -> str:
        """The commitment to the virtual machine, as `openvm-metal commit` prints it."""
    def save(self, path: _Path) -> None:
        """Writes it for `openvm-metal verify stark`."""
    def save_commit(self, path: _Path, security_bits: float) -> None:
        """Writes the commitments to program and virtual machine in cargo-openvm's file, with the bits of security of the proof."""
    def save_baseline(self, path: _Path, security_bits: float) -> None:
        """Writes the baseline in cargo-openvm's file, with the bits of security of the proof."""

@final
class JobFolder:
    """Finished tasks of one plan in files. The folder also serves `Prover.prove(resume=...)` and `openvm-metal prove --resume`."""

    def __new__(cls, path: _Path, plan: Plan) -> Self:
        """Opens it, or makes it.

        Raises:
            JobFolderError: it is of another job, or cannot be used.
        """
    def load(self, task: _Task) -> bytes | None:
        """The proof of a finished segment, or the public values, as they were stored: whether it proves its task, the `Verifier` says.

        Raises:
            JobFolderError: the file is damaged, or of another task: `set_aside` it.
            PlanError: it is a node.
        """
    def store(self, task: _Task, proof: bytes) -> None:
        """Keeps the proof of a segment, or the public values."""
    def load_node(self, verifier: Verifier, level: int, index: int, below: Sequence[bytes]) -> bytes | None:
        """The proof of a node over the proofs of its children, which are in order. One over other proofs, or with other aggregation keys,
        counts as none.

        Raises:
            JobFolderError: the file is damaged: `set_aside` it.
        """
    def store_node(self, verifier: Verifier, level: int, index: int, below: Sequence[bytes], proof: bytes) -> None:
        """Keeps the proof of a node, in place of one over other proofs."""
    def set_aside(self, level: int, index: int, reason: str) -> str:
        """Renames the file of a task that is damaged or not accepted (public values are level -1, index 0), so that the task counts as not
        done. Gives its new path, under which it is never read again. The reason is told if it cannot be renamed.

        Raises:
            JobFolderError: it cannot be renamed.
            PlanError: the plan has no such task.
        """

def values_from_json(data: bytes) -> list[bytes]: ...
