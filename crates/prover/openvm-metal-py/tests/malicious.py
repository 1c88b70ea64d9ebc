"""Workers that return what would do harm. The cluster's processes find this module by PYTHONPATH."""

import math
import os
import pathlib
import struct

from faulty import NOTES, first_of, note

from openvm_metal.ray.returned import MAX_PROOF_BYTES, pack_about
from openvm_metal.ray.worker import Worker


class Opened:
    """Leaves a file where it is unpickled, with the process that did it."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return leave_mark, (self.folder,)


class OpenedError(Exception):
    """The same as an exception, which Ray pickles beside its text."""

    def __reduce__(self):
        return leave_mark, (os.environ[NOTES],)


def leave_mark(folder):
    (pathlib.Path(folder) / f"opened-by-{os.getpid()}").touch()


def marks(folder):
    """Processes in which something was unpickled."""
    return [file.name for file in pathlib.Path(folder).glob("opened-by-*")]


TIMES = struct.pack("<2d", 1e-3, 1e-3)


class Endless:
    """Is iterated without end, where something iterates."""

    def __iter__(self):
        while True:
            yield b"\0" * (1 << 20)


def _raise():
    raise OpenedError("of my own\x1b[2J\nand a second line")


def _pickle():
    return Opened(os.environ[NOTES])


# What a task returns: both parts, or what makes them.
RETURNED = {
    "a pickle for a proof": lambda: (TIMES, _pickle()),
    "a pickle for the times": lambda: (_pickle(), b"proof"),
    "a class that is iterated": lambda: (TIMES, Endless()),
    "None": lambda: (None, None),
    "text": lambda: (TIMES, "proof"),
    "a dictionary, as it was once": lambda: ({"seconds": 1.0, "through": 1.0, "bytes": 5}, b"proof"),
    "a missing field": lambda: (TIMES[:8], b"proof"),
    "one thing instead of two": lambda: b"proof",
    "no proof": lambda: (TIMES, b""),
    "noise for a proof": lambda: (TIMES, bytes(range(256)) * 4000),
    "a proof without end": lambda: (TIMES, bytes(MAX_PROOF_BYTES + 1)),
    "times without end": lambda: (bytes(8 << 20), b"proof"),
    "not a number": lambda: (struct.pack("<2d", math.nan, math.nan), b"proof"),
    "negative seconds": lambda: (struct.pack("<2d", -1.0, 1.0), b"proof"),
    "infinite seconds": lambda: (struct.pack("<2d", 1.0, math.inf), b"proof"),
    "more seconds than passed": lambda: (struct.pack("<2d", 1.0, 1e6), b"proof"),
    "an exception that is code": _raise,
}


class Returns(Worker):
    """The first worker returns what `RETURNED` has, one after another, and then proofs."""

    def segment(self, job, data, index, attempt):
        return self._bad() or super().segment(job, data, index, attempt)

    def node(self, job, data, level, index, *below):
        return self._bad() or super().node(job, data, level, index, *below)

    def end(self, job, data):
        return self._bad() or super().end(job, data)

    def _bad(self):
        if not first_of(self):
            return None
        for number, make in enumerate(RETURNED.values()):
            if note(f"returned-{number}"):
                return make()
        return None


SAID = {
    "a pickle": _pickle,
    "an exception that is code": _raise,
    "no JSON": lambda: b"\xff{",
    "a list": lambda: b"[]",
    "brackets": lambda: b"[" * 4000,
    "a field missing": lambda: pack_about({"openvm_metal": "1"}),
    "too much": lambda: b" " * (1 << 20),
}


class Says(Worker):
    """The first worker says of itself what a file names."""

    def about(self):
        said = (pathlib.Path(os.environ[NOTES]) / "said").read_text()
        return SAID[said]() if first_of(self) else super().about()
