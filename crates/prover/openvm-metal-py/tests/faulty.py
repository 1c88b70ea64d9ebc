"""Workers with faults. The cluster's processes find this module by PYTHONPATH."""

import os
import pathlib
import threading
import time

from openvm_metal.ray.returned import pack_times
from openvm_metal.ray.worker import Worker

# A folder in which workers note what they did, so that a fault happens once in a cluster and not once in a process.
NOTES = "OPENVM_METAL_TEST_NOTES"


def note(name):
    """Whether this is the first time."""
    try:
        (pathlib.Path(os.environ[NOTES]) / name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def first_of(worker):
    """Whether this process is the worker that has the fault: the first one that asks."""
    file = pathlib.Path(os.environ[NOTES]) / "first"
    try:
        with file.open("x") as out:
            out.write(str(os.getpid()))
    except FileExistsError:
        pass
    return file.read_text() == str(os.getpid())


class KilledInSegment(Worker):
    def segment(self, job, data, index, attempt):
        if index == 1 and note("killed"):
            os.kill(os.getpid(), 9)
        return super().segment(job, data, index, attempt)


class KilledInAggregation(Worker):
    def node(self, job, data, level, index, *below):
        if level == 1 and note("killed"):
            os.kill(os.getpid(), 9)
        return super().node(job, data, level, index, *below)


class Wrong(Worker):
    """The first worker gives damaged proofs, always."""

    def _damaged(self, info, proof):
        if first_of(self):
            proof = bytearray(proof)
            proof[len(proof) // 3] ^= 4
        return info, bytes(proof)

    def segment(self, job, data, index, attempt):
        return self._damaged(*super().segment(job, data, index, attempt))

    def node(self, job, data, level, index, *below):
        return self._damaged(*super().node(job, data, level, index, *below))


class Elsewhere(Worker):
    """The first worker gives a valid proof of another segment."""

    def segment(self, job, data, index, attempt):
        return super().segment(job, data, max(1, index - 1) if first_of(self) else index, attempt)


class Slow(Worker):
    """The first worker takes ten times as long for everything, one task at a time."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._one = threading.Lock()

    def _slowly(self, work, *arguments):
        if not first_of(self):
            return work(*arguments)
        began = time.monotonic()
        with self._one:
            clock = time.monotonic()
            _, proof = work(*arguments)
            time.sleep(9 * (time.monotonic() - clock))
            now = time.monotonic()
        return pack_times(now - clock, now - began), proof

    def segment(self, job, data, index, attempt):
        return self._slowly(super().segment, job, data, index, attempt)

    def node(self, job, data, level, index, *below):
        return self._slowly(super().node, job, data, level, index, *below)


class OfAnotherVersion(Worker):
    """The first worker has another version of the package."""

    def describe(self):
        return super().describe() | ({"openvm_metal": "0.0.7"} if first_of(self) else {})


class LaterOfAnotherVersion(Worker):
    """Every worker but the first has another version of the package."""

    def describe(self):
        return super().describe() | ({} if first_of(self) else {"openvm_metal": "0.0.7"})


class Paused(Worker):
    """Every segment takes a moment longer, so that something can happen meanwhile."""

    def segment(self, job, data, index, attempt):
        time.sleep(0.4)
        return super().segment(job, data, index, attempt)


class AwaitsAnother(Worker):
    """The first worker makes one segment, and the others when another worker has begun one, or after a minute."""

    def segment(self, job, data, index, attempt):
        if not first_of(self):
            note("another")
        elif not note("one"):
            another = pathlib.Path(os.environ[NOTES]) / "another"
            end = time.monotonic() + 60
            while not another.exists() and time.monotonic() < end:
                time.sleep(0.1)
        return super().segment(job, data, index, attempt)
