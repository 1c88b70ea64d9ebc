"""The actor of one device."""

import ctypes
import os
import platform
import threading
import time
from typing import TYPE_CHECKING, Any

from ..errors import OpenVmMetalError, ProveError
from .returned import pack_about, pack_times

if TYPE_CHECKING:
    from .. import SegmentWorker


# glibc's name for the size from which a block is mapped by itself.
_M_MMAP_THRESHOLD = -3


def _map_large_blocks() -> None:
    """Where the C library is glibc, blocks of 1 MiB and more are mapped by themselves: freed, they are the system's again. Otherwise the heap of
    each thread grows to the most that a task needs, and keeps it in pieces."""
    try:
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 20)
    except (OSError, AttributeError):
        pass


def _give_back() -> None:
    """Returns freed memory to the system where the C library is glibc: every thread that was begun and ended leaves some with it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        pass


class Worker:
    """A prover that keeps program and keys on its device. Ray makes an actor of it, which is given several tasks at a time: while one is
    proved, the next segments are executed and traced. Every method gives bytes, which the driver does not unpickle: `returned.py`."""

    def __init__(
        self,
        device: str,
        threads: int | None,
        share: int,
        memory: tuple[int | None, int | None],
        program: tuple[bytes, str | None, str],
        keys: tuple[bytes, bytes | None],
    ) -> None:
        # Before the native module uses threads.
        if threads is not None:
            os.environ["RAYON_NUM_THREADS"] = str(threads)
        _map_large_blocks()
        self._share = share
        self._asked_for, self._part = memory
        self._lock = threading.Lock()
        self._times = threading.Lock()
        # When the last task ended.
        self._ended = 0.0
        self._job: str | None = None
        self._worker: SegmentWorker | None = None
        self._failed: Exception | None = None
        clock = time.monotonic()
        try:
            self._load(device, program, keys)
        except OpenVmMetalError as error:
            # An error here would reach the driver as text only; `about` raises it.
            self._failed = error
        self._loading = time.monotonic() - clock

    def _load(self, device: str, program: tuple[bytes, str | None, str], keys: tuple[bytes, bytes | None]) -> None:
        from .. import Keys, Program, Prover

        # The driver decides about their security.
        self._prover = Prover(Program.from_bytes(*program), Keys.from_bytes(*keys), device=device, allow_insecure=True)
        self._machines, self._in_flight = self._prover.worker_threads(self._share)
        self._prover.warm_up()

    def about(self) -> bytes:
        """What this process is. Raises why the device cannot be used."""
        if self._failed is not None:
            raise self._failed
        return pack_about(self.describe())

    def describe(self) -> dict[str, Any]:
        """What `about` tells."""
        import ray

        from .. import __version__

        return {
            "openvm_metal": __version__,
            "ray": ray.__version__,
            "python": platform.python_version(),
            "pid": os.getpid(),
            "segment_max_memory": self._prover.segment_max_memory,
            "in_flight": self._in_flight,
            "loading": self._loading,
        }

    def _begin(self, job: str, data: list[Any]) -> tuple[Any, Any]:
        """Takes up a job: its plan, and the worker of its segments. `data` holds the reference to plan and input, so that they are fetched once
        for each job."""
        import ray

        from .. import Plan

        with self._lock:
            if self._job != job:
                if self._job is not None:
                    self._job, self._worker = None, None
                    _give_back()
                text, values = ray.get(data[0])
                self._plan = Plan.from_json(text)
                self._worker = self._prover.worker(self._plan, values, machines=self._machines, host_memory=self._host_memory())
                self._job = job
            return self._plan, self._worker

    def _host_memory(self) -> int:
        """Bytes of records and traces: what was asked for; otherwise this device's part of the node's memory, or what is free if that is less."""
        if self._asked_for is not None:
            return self._asked_for
        free = self._prover.host_memory
        return free if self._part is None else min(free, self._part)

    def segment(self, job: str, data: list[Any], index: int, attempt: int) -> tuple[bytes, bytes]:
        """What it took, and the proof of a segment. `attempt` is what `forget` names this call by."""
        clock = time.monotonic()
        _, worker = self._begin(job, data)
        return self._made(clock, worker.prove(index, call=attempt))

    def end(self, job: str, data: list[Any]) -> tuple[bytes, bytes]:
        """What it took, and what the guest revealed."""
        clock = time.monotonic()
        _, worker = self._begin(job, data)
        return self._made(clock, worker.end())

    def node(self, job: str, data: list[Any], level: int, index: int, *below: bytes) -> tuple[bytes, bytes]:
        """What it took, and the proof of a node over the proofs of its children."""
        clock = time.monotonic()
        plan, _ = self._begin(job, data)
        return self._made(clock, self._prover.prove_node(plan, level, index, below))

    def forget(self, job: str, index: int, attempt: int) -> None:
        """A call for a segment is not wanted any more: it ends with a `CancelledError`, soon. Others for the same segment go on."""
        # Not behind the lock: taking up another job may take long.
        worker = self._worker
        if self._job == job and worker is not None:
            worker.cancel(index, call=attempt)

    def _made(self, clock: float, proof: bytes) -> tuple[bytes, bytes]:
        if not proof:
            raise ProveError("an empty proof was made")
        with self._times:
            # Behind the lock, so that no other task ends later than now.
            now = time.monotonic()
            seconds, self._ended = now - max(clock, self._ended), now
        return pack_times(seconds, now - clock), proof
