"""The one module that uses more of Ray than its public interface; `tests/test_internals.py` fails where a version of Ray differs.

`ray.get` unpickles what a task returned, and what it raised: code of the worker's choice would run in the driver. `read` takes the bytes of an object as
they are, whatever they say that they are. A worker also decides whether an object counts as an error of Ray, so that those are claims, too.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Any

# More of an error's bytes is not looked at, and more of its text is not told.
_ERROR_BYTES = 1 << 20
_ERROR_TEXT = 1000
# What stands before the MessagePack data of an object: their length, in MessagePack.
_LENGTH_BYTES = 9

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_MODULES = re.compile(r"\A(?:\w+\.)+(?=\w+(?::|\Z))")


class Why(Enum):
    """Why a task gave nothing."""

    MALFORMED = auto()
    """It returned something else than bytes, or too many."""
    RAISED = auto()
    """It raised an exception."""
    DIED = auto()
    """The process or the node is gone."""
    UNAVAILABLE = auto()
    """The process is being started again, or does not answer."""
    LOST = auto()
    """What it returned, or what it was given, is gone."""


class NotReturnedError(Exception):
    """A task gave no bytes."""

    def __init__(self, why: Why, reason: str) -> None:
        super().__init__(reason)
        self.why = why


_DIED = (
    "WORKER_DIED",
    "ACTOR_DIED",
    "ACTOR_CREATION_FAILED",
    "RUNTIME_ENV_SETUP_FAILED",
    "LOCAL_RAYLET_DIED",
    "ACTOR_PLACEMENT_GROUP_REMOVED",
    "ACTOR_UNSCHEDULABLE_ERROR",
    "NODE_DIED",
    "OUT_OF_MEMORY",
    "WORKER_STARTUP_FAILED",
)
_LOST = ("OBJECT_LOST", "OWNER_DIED", "OBJECT_DELETED", "OBJECT_FREED", "OBJECT_FETCH_TIMED_OUT", "DEPENDENCY_RESOLUTION_FAILED")


def read(ref: Any, most: int, timeout: float) -> bytes:
    """The bytes that a task returned. Nothing of them is executed, and no more than `most` are fetched from another node.

    Raises:
        NotReturnedError: it returned something else, or nothing.
    """
    import ray
    from ray.experimental import get_local_object_locations

    size = get_local_object_locations([ref]).get(ref, {}).get("object_size")
    # Ray's size contains the few bytes of the object's type. That of an error may be more: it has come with the message that it is there.
    if size is not None and size > max(most, _ERROR_BYTES) + 64:
        raise NotReturnedError(Why.MALFORMED, f"it returned {size} bytes, expected are {most} at most")
    try:
        ((data, kind, _),) = ray._private.worker.global_worker.core_worker.get_objects([ref], int(timeout * 1000))
    except ray.exceptions.GetTimeoutError:
        raise NotReturnedError(Why.LOST, f"what it returned did not come within {timeout:.0f} s") from None
    except ray.exceptions.RayError as error:
        raise NotReturnedError(Why.LOST, str(error)) from error
    if kind == ray._private.ray_constants.OBJECT_METADATA_TYPE_RAW:
        size = 0 if data is None else data.size
        if size > most:
            raise NotReturnedError(Why.MALFORMED, f"it returned {size} bytes, expected are {most} at most")
        return b"" if data is None else data.to_pybytes()
    raise _error(data, kind)


def _error(data: Any, kind: bytes | None) -> NotReturnedError:
    from ray.core.generated.common_pb2 import ErrorType

    number = (kind or b"").split(b",")[0]
    names = {str(value).encode(): name for name, value in ErrorType.items()}
    name = names.get(number)
    if name is None:
        return NotReturnedError(Why.MALFORMED, "it returned an object of Python, expected are bytes")
    text = "" if data is None or data.size > _ERROR_BYTES else _text(data.to_pybytes(), raised=name == "TASK_EXECUTION_EXCEPTION")
    said = f"{name.lower().replace('_', ' ')}: {text}" if text else name.lower().replace("_", " ")
    if name == "TASK_EXECUTION_EXCEPTION":
        return NotReturnedError(Why.RAISED, text or "it raised an exception of which Ray gives no text")
    if name in _DIED:
        return NotReturnedError(Why.DIED, said)
    if name == "ACTOR_UNAVAILABLE":
        return NotReturnedError(Why.UNAVAILABLE, said)
    if name in _LOST or name.startswith("OBJECT_UNRECONSTRUCTABLE_"):
        return NotReturnedError(Why.LOST, said)
    return NotReturnedError(Why.RAISED, said)


def _text(data: bytes, raised: bool) -> str:
    """The text beside the pickled exception of an error of Ray; empty if there is none."""
    import msgpack
    from google.protobuf.message import DecodeError
    from ray.core.generated.common_pb2 import RayErrorInfo, RayException

    try:
        header = msgpack.Unpacker()
        header.feed(data[:_LENGTH_BYTES])
        length = header.unpack()
        message = msgpack.unpackb(data[_LENGTH_BYTES : _LENGTH_BYTES + length])
        if raised:
            return _of_traceback(RayException.FromString(message).formatted_exception_string)
        info = RayErrorInfo.FromString(message)
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException, DecodeError):
        return ""
    died = info.actor_died_error
    if died.HasField("creation_task_failure_context"):
        return _of_traceback(died.creation_task_failure_context.formatted_exception_string)
    return printable(info.error_message or died.actor_died_error_context.error_message)


def _of_traceback(text: str) -> str:
    """The exception at the end of a traceback, as it would be printed."""
    lines = _COLOURS.sub("", text).strip().splitlines()
    first = max((number for number, line in enumerate(lines) if line.startswith('  File "')), default=0) + 1
    while first < len(lines) and lines[first].startswith("    "):
        first += 1
    return printable(_MODULES.sub("", "\n".join(lines[first:] or lines)))


def printable(text: str) -> str:
    """Text of another process without what would steer a terminal, cut to a length."""
    text = "".join(c if c.isprintable() or c == "\n" else "?" for c in _COLOURS.sub("", text)).strip()
    return text if len(text) <= _ERROR_TEXT else text[:_ERROR_TEXT] + " ..."


def never_unpickle_unread_errors() -> None:
    """From here on Ray does not print errors of tasks that nobody read: it would unpickle them, also where `RAY_IGNORE_UNHANDLED_ERRORS` is set. That
    stays so until the process ends, because such an object may be dropped at any time."""
    from ray._private.worker import global_worker

    global_worker.raise_errors = lambda *_: None


def greet(address: str) -> None:
    """Raises what Ray says if a head node does not answer, or not to this process's token. `ray.init` would wait for minutes.

    Raises:
        ray.exceptions.RayError
    """
    from ray._raylet import AuthenticationMode, AuthenticationTokenLoader, GcsClient, get_authentication_mode
    from ray.exceptions import AuthenticationError

    # Ray's native part would end the process.
    if get_authentication_mode() == AuthenticationMode.TOKEN and not AuthenticationTokenLoader.instance().has_token():
        raise AuthenticationError("RAY_AUTH_MODE is token, and there is none")
    GcsClient(address=address)


@contextmanager
def private_token() -> Iterator[None]:
    """Clusters that are started meanwhile take a token that this user alone can read, and which is gone behind it. Whoever set `RAY_AUTH_MODE` to something
    else, or a token of one's own, keeps that."""
    own = os.environ.get("RAY_AUTH_MODE", "token").lower() != "token" or "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    if own:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="openvm-metal-") as folder:
        path = Path(folder) / "auth_token"
        with _environment({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)}):
            from ray._private.authentication.authentication_token_generator import generate_new_authentication_token

            path.touch(mode=0o600, exist_ok=False)
            path.write_text(generate_new_authentication_token())
            _read_environment_again()
            yield
        _read_environment_again()


def _read_environment_again() -> None:
    """Ray's native part reads mode and token once."""
    from ray._raylet import AuthenticationTokenLoader, Config

    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()


@contextmanager
def on_loopback() -> Iterator[None]:
    """Clusters that are started meanwhile listen on the loopback interface alone. Ray does that by itself on macOS and Windows only."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        with _environment({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}):
            yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
