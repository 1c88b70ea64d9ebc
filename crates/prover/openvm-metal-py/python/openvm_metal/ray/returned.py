"""What workers return: bytes of a fixed form. The driver believes none of it before it is checked."""

import json
import struct
from typing import Any

from .internals import NotReturnedError, Why, printable, read

# Far above every proof: with default parameters a segment's has 0.5 MB for fibonacci's 889 columns, and grows with them. The largest circuit of the examples
# has eight times as many.
MAX_PROOF_BYTES = 64 << 20
_MAX_ABOUT_BYTES = 4096
# No device that proves has less to spare. Whoever says so would have the driver cut the execution into millions of segments.
_LEAST_SEGMENT_MEMORY = 16 << 20
_MOST_MEMORY = 1 << 60
# Seconds that a few bytes may take that Ray says are there.
_SOON = 30.0
# Seconds that a proof may take from its node to this one.
_FETCH = 120.0
# Seconds by which a worker's clock and the driver's may differ.
_CLOCKS = 1.0
_LEAST_SECONDS = 1e-6

# Seconds since the worker's result before, or since the task began, and seconds since it began.
_TIMES = struct.Struct("<2d")


def pack_times(seconds: float, through: float) -> bytes:
    """What a worker returns beside a proof."""
    return _TIMES.pack(seconds, through)


def times(ref: Any, elapsed: float) -> tuple[float, float]:
    """What `pack_times` was given by a worker, which had the task for `elapsed` seconds at most.

    Raises:
        NotReturnedError: there is nothing, or something else.
    """
    data = read(ref, _TIMES.size, _SOON)
    if len(data) != _TIMES.size:
        raise NotReturnedError(Why.MALFORMED, f"it returned {len(data)} bytes beside the proof, expected are {_TIMES.size}")
    seconds, through = _TIMES.unpack(data)
    # NaN is between no numbers, nor is infinity.
    if not 0.0 <= seconds <= through <= elapsed + _CLOCKS:
        raise NotReturnedError(Why.MALFORMED, f"it says that it took {seconds:g} of {through:g} s, and had {elapsed:.3f} s")
    # A clock may stand still between two results.
    return max(seconds, _LEAST_SECONDS), max(through, _LEAST_SECONDS)


def proof(ref: Any) -> bytes:
    """The bytes that a worker says are a proof.

    Raises:
        NotReturnedError: there are none, or too many.
    """
    return read(ref, MAX_PROOF_BYTES, _FETCH)


def pack_about(about: dict[str, Any]) -> bytes:
    """What a worker says of itself."""
    return json.dumps(about).encode()


def about(ref: Any) -> dict[str, Any]:
    """What a worker says of itself, with every field that the driver uses.

    Raises:
        NotReturnedError: there is nothing, or something else.
    """
    data = read(ref, _MAX_ABOUT_BYTES, _SOON)
    try:
        said = json.loads(data, parse_constant=_refused)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise NotReturnedError(Why.MALFORMED, "what it says of itself is no JSON object")
    return {name: _checked(name, said.get(name), kind, least, most) for name, (kind, least, most) in _ABOUT.items()}


_ABOUT: dict[str, tuple[type, float, float]] = {
    "openvm_metal": (str, 0, 0),
    "ray": (str, 0, 0),
    "python": (str, 0, 0),
    "pid": (int, 1, 1 << 32),
    "segment_max_memory": (int, _LEAST_SEGMENT_MEMORY, _MOST_MEMORY),
    "in_flight": (int, 1, 1 << 16),
    "loading": (float, 0, 1 << 20),
}
"""Fields with their kinds and, of numbers, the least and the most."""


def _checked(name: str, value: Any, kind: type, least: float, most: float) -> Any:
    if kind is str and isinstance(value, str):
        return printable(value)
    is_number = isinstance(value, (int, float) if kind is float else int) and not isinstance(value, bool)
    # Neither NaN nor infinity is between numbers.
    if kind is not str and is_number and least <= value <= most:
        return value
    said = printable(str(value)) if isinstance(value, str | int | float) else "nothing" if value is None else f"a {type(value).__name__}"
    raise NotReturnedError(Why.MALFORMED, f"what it says of itself has {said} for {name}")


def _refused(constant: str) -> None:
    raise ValueError(constant)
