"""The connection to a cluster."""

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from ..errors import ClusterError, ClusterUnreachableError, VersionMismatchError
from .found import ray as found
from .internals import greet, never_unpickle_unread_errors, on_loopback, private_token

LOOPBACK = "127.0.0.1"
_PROBE_SECONDS = 5.0


@contextmanager
def connected(address: str | None, local: dict[str, Any] | None = None) -> Iterator[Any]:
    """Ray's module, connected. A connection that the process already has is used and left as it is.

    Args:
        address: HOST:PORT of the head node; "auto" for the cluster that this machine is part of; None for a cluster of this machine alone,
            which listens on the loopback interface, wants a token that this user alone can read, and ends with the connection.
        local: further arguments of `ray.init` for a cluster of this machine alone.

    Raises:
        ClusterUnreachableError: nothing answers, or it is no Ray cluster.
        VersionMismatchError: the cluster has another version of Ray or of Python.
    """
    ray = found()
    never_unpickle_unread_errors()
    if ray.is_initialized():
        yield ray
        return
    quiet = {"log_to_driver": False, "logging_level": logging.WARNING}
    with ExitStack() as stack:
        if address is None:
            stack.enter_context(private_token())
            _init_here(ray, {**quiet, **(local or {})})
        else:
            _join(ray, address, quiet)
        stack.callback(ray.shutdown)
        yield ray


def _init_here(ray: Any, arguments: dict[str, Any]) -> None:
    """Starts a cluster that listens on the loopback interface alone."""
    with on_loopback():
        ray.init(address="local", include_dashboard=False, _node_ip_address=LOOPBACK, **arguments)
    hosts = {node["NodeManagerAddress"] for node in ray.nodes()}
    if hosts != {LOOPBACK}:
        ray.shutdown()
        raise ClusterError(f"Ray {ray.__version__} listens on {', '.join(sorted(hosts))} instead of {LOOPBACK}: it was ended")


def _join(ray: Any, address: str, arguments: dict[str, Any]) -> None:
    if address.startswith("ray://"):
        raise ClusterUnreachableError(
            f"{address}: Ray's client is not supported, run this on a machine of the cluster and give HOST:PORT of the head node"
        )
    try:
        if address != "auto":
            _probe(address)
            greet(address)
        ray.init(address=address, **arguments)
    except ClusterUnreachableError:
        raise
    except Exception as error:
        raise _explained(address, error) from error


def _probe(address: str) -> None:
    """An address at which nothing answers is told at once: Ray would try for a minute."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ClusterUnreachableError(f"{address!r} is no address: expected is HOST:PORT of the head node, or auto")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterUnreachableError(
            f"nothing answers at {address} ({error}): start the head node with `ray start --head --port {port} "
            f"--node-ip-address {host}`, or look whether this machine reaches it"
        ) from error


def _explained(address: str, error: Exception) -> Exception:
    text = str(error)
    if "ersion mismatch" in text:
        return VersionMismatchError(f"{address}: {text}")
    if "oken" in text:
        return ClusterUnreachableError(
            f"{address} wants a token ({text.splitlines()[0]}): set RAY_AUTH_MODE=token, and have the cluster's token in ~/.ray/auth_token, "
            "RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN"
        )
    return ClusterUnreachableError(f"{address} is no Ray cluster that this machine can join: {text}")
