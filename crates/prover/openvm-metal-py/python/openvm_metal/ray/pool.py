"""`Pool`: a program and its keys on the devices of a cluster; `prove`: one proof by one."""

import os
import platform
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from .. import JobFolder, Keys, Program, Prover
from ..errors import StoreFullError
from .cluster import connected
from .crew import Crew
from .events import Events, Teller
from .job import Job
from .result import Result
from .seats import wanted
from .worker import Worker

if TYPE_CHECKING:
    from .._openvm_metal import Input


# Seconds that the first device waits for the others before segments are cut for those that are there.
_OTHERS = 60.0
# Bytes of memory that OpenVM lets the proof of a segment need.
_DEFAULT_SEGMENT_MEMORY = 15 << 30


def bound_for_all(bounds: Sequence[int]) -> int:
    """Bound on the memory of a segment for devices with these bounds. Large segments, which one device proves in less time, would leave others
    without work: several devices share what is above OpenVM's default."""
    least = min(bounds)
    return min(least, max(_DEFAULT_SEGMENT_MEMORY, least // len(bounds)))


class Pool:
    """A program and its keys on the devices of a cluster, for one proof after another: calls from several threads wait for each other.

    Args:
        program: what is proved.
        address: HOST:PORT of the cluster's head node; "auto" for the cluster that this machine is part of; None for this machine alone.
        keys: made once, here, if absent.
        devices: "auto" takes each node's GPUs, or its cores where it has none; "cuda", "metal", "cpu", or "cpu:4" for groups of 4 cores; or several.
        toy: small parameters WITHOUT SECURITY, as `Prover`'s.
        allow_insecure: keys of less than 80 bits of security are taken.
        segment_max_memory: segments are cut so that the proof of one needs at most this many bytes; if absent, what fits every device; several share what is above OpenVM's default.
        children: how many proofs a node verifies, a leaf and an internal node.
        host_memory: most bytes of records and traces of segments that each node holds at the same time, in equal parts for its devices; if
            absent, three quarters of the memory that Ray found there, or of what is free if that is less.
        driver_device: what runs the program first and commits it for the verifications, which are made on the processor.
        patience: seconds to wait for the first device.
        task_timeout: seconds; a device that is at one task for longer is started again.
        events: is called with each event of `docs/guide/cluster.md`.
        local: further arguments of `ray.init` if `address` is None.
    """

    def __init__(
        self,
        program: Program,
        address: str | None = None,
        *,
        keys: Keys | None = None,
        devices: str | Sequence[str] = "auto",
        toy: bool | tuple[int, int] = False,
        allow_insecure: bool = False,
        segment_max_memory: int | None = None,
        children: tuple[int, int] | None = None,
        host_memory: int | None = None,
        driver_device: str = "cpu",
        patience: float = 300.0,
        task_timeout: float = 3600.0,
        events: Events | None = None,
        local: dict[str, Any] | None = None,
        worker: type[Worker] = Worker,
    ) -> None:
        wants = wanted([devices] if isinstance(devices, str) else devices)
        self._tell = Teller(events)
        self._patience, self._task_timeout = patience, task_timeout
        self._program, self._children = program, children
        self._allow_insecure = allow_insecure or bool(toy)
        self._driver_device = driver_device
        self._host_memory = host_memory
        self._segment_max_memory = segment_max_memory
        self._prover: Prover | None = None
        self._proving = threading.Lock()
        # Settings that do not go together, foreign keys and those without security are told before anything starts.
        maker = Prover(
            program, keys, driver_device, toy=toy, allow_insecure=allow_insecure, segment_max_memory=segment_max_memory, children=children
        )
        _ = maker.security_bits
        with ExitStack() as stack:
            self._ray = stack.enter_context(connected(address, local))
            if keys is None or not keys.has_aggregation:
                keys = maker.keys()
            self._keys = keys
            self._verifiers = stack.enter_context(ThreadPoolExecutor(os.cpu_count() or 1, "verify"))
            self._crew = self._hire(wants, worker)
            stack.callback(self._crew.stop)
            self._crew.start()
            self._stack = stack.pop_all()

    def _hire(self, wants: Any, worker: type[Worker]) -> Crew:
        program = (self._program.to_bytes(), self._program.config, self._program.name)
        keys = self._keys.to_bytes()
        self.bytes_placed = {"program": len(program[0]), "app_pk": len(keys[0]), "agg_pk": len(keys[1] or b"")}
        self._tell("placed", **self.bytes_placed)
        from .. import __version__

        versions = {
            "openvm_metal": __version__,
            "ray": self._ray.__version__,
            "python": platform.python_version(),
        }
        arguments = (self._put(program, "program"), self._put(keys, "keys"))
        return Crew(self._ray, wants, arguments, self._tell, versions, worker, self._host_memory)

    def _put(self, value: Any, what: str) -> Any:
        from ray.exceptions import ObjectStoreFullError, OutOfDiskError

        try:
            return self._ray.put(value)
        except (ObjectStoreFullError, OutOfDiskError) as error:
            raise StoreFullError(f"the {what} do not fit this node's object store: {error}") from error

    def _driver(self) -> Prover:
        """The driver's own prover, whose segments fit every device that is ready."""
        if self._prover is None:
            memory = self._segment_max_memory
            if memory is None:
                deadline = None
                while deadline is None or time.monotonic() < deadline:
                    self._wait_for_one()
                    ready = [member.about is not None for member in self._crew.members]
                    if ready and all(ready):
                        break
                    if deadline is None and any(ready):
                        deadline = time.monotonic() + min(self._patience, _OTHERS)
                memory = bound_for_all([m.about["segment_max_memory"] for m in self._crew.members if m.about])
            self._prover = Prover(
                self._program,
                self._keys,
                self._driver_device,
                allow_insecure=self._allow_insecure,
                segment_max_memory=memory,
                children=self._children,
            )
            self._verifier = self._prover.verifier()
        return self._prover

    def _wait_for_one(self) -> None:
        self._crew.look()
        self._crew.check(self._patience)
        greetings = self._crew.greetings()
        if not greetings:
            time.sleep(0.1)
            return
        ready, _ = self._ray.wait(list(greetings), num_returns=1, timeout=1.0, fetch_local=False)
        for ref in ready:
            self._crew.answered(greetings[ref])

    def prove(
        self,
        input: "Input" = None,
        *,
        job_folder: str | os.PathLike[str] | None = None,
        max_instructions: int | None = None,
        events: Events | None = None,
    ) -> Result:
        """Proves an execution.

        Args:
            job_folder: finished tasks are kept here and not done again, also by another call or process.
            events: is called with the events of this proof, in place of the pool's: those of its devices too.

        Raises:
            GuestError, InputError, InstructionBoundError: what went wrong in the guest.
            JobFolderError: the folder is of another job, damaged, or cannot be written.
            NoWorkersError, StoreFullError, VersionMismatchError: what went wrong in the cluster. With a folder the same call goes on.
        """
        with self._proving:
            return self._prove(input, job_folder, max_instructions, events)

    def _prove(
        self,
        input: "Input",
        job_folder: str | os.PathLike[str] | None,
        max_instructions: int | None,
        events: Events | None,
    ) -> Result:
        tell = Teller(events) if events is not None else self._tell
        self._crew.tell = tell
        try:
            return self._told(input, job_folder, max_instructions, tell)
        finally:
            self._crew.tell = self._tell

    def _told(
        self,
        input: "Input",
        job_folder: str | os.PathLike[str] | None,
        max_instructions: int | None,
        tell: Teller,
    ) -> Result:
        clock = time.monotonic()
        prover = self._driver()
        plan = prover.plan(input, max_instructions=max_instructions)
        tell(
            "planned",
            job=plan.job,
            segments=plan.levels[0],
            nodes=sum(plan.levels[1:]),
            instructions=plan.instructions,
        )
        folder = None if job_folder is None else JobFolder(job_folder, plan)
        values = bytes(input) if isinstance(input, (bytes, bytearray, memoryview)) else input if input is None else list(input)
        job = Job(
            ray=self._ray,
            put=self._put,
            crew=self._crew,
            plan=plan,
            verifier=self._verifier,
            verifiers=self._verifiers,
            data=[self._put((plan.to_json(), values), "input")],
            folder=folder,
            tell=tell,
            patience=self._patience,
            task_timeout=self._task_timeout,
        )
        try:
            proof = job.run()
        except BaseException as error:
            job.give_up()
            tell("failed", error=type(error).__name__, reason=str(error))
            raise
        seconds = time.monotonic() - clock
        tell("proved", seconds=round(seconds, 3), resumed=job.resumed, twice=job.twice(), removed=list(self._crew.removed))
        return Result(
            proof=proof,
            verifying_key=self._verifier.verifying_key,
            security_bits=prover.security_bits,
            public_values=proof.public_values,
            segments=plan.levels[0],
            instructions=plan.instructions,
            made=dict(job.made),
            resumed=job.resumed,
            twice=job.twice(),
            removed=dict(self._crew.removed),
            bytes_placed=self.bytes_placed,
            seconds=seconds,
        )

    def close(self) -> None:
        """Ends the workers, and the connection if the pool made it."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def prove(
    program: Program,
    input: "Input" = None,
    address: str | None = None,
    *,
    job_folder: str | os.PathLike[str] | None = None,
    max_instructions: int | None = None,
    **settings: Any,
) -> Result:
    """Proves an execution on a cluster. `settings` are those of `Pool`, errors those of `Pool` and `Pool.prove`."""
    with Pool(program, address, **settings) as pool:
        return pool.prove(input, job_folder=job_folder, max_instructions=max_instructions)
