"""Real clusters on this machine, on the loopback interface, ended by their own handles."""

import ipaddress
import os
import socket
import sys
from contextlib import contextmanager

from openvm_metal.ray.internals import private_token

LOOPBACK = "127.0.0.1"


def free_port():
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return found.getsockname()[1]


@contextmanager
def environment(notes):
    """What workers need to find the modules of the tests, and where they note what they did."""
    changes = {"OPENVM_METAL_TEST_NOTES": str(notes), "PYTHONPATH": os.path.dirname(__file__)}
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


@contextmanager
def cluster(nodes, notes, *, store=78 * 1024 * 1024):
    """A head node without cores and `nodes` nodes of one core each, which want a token. Gives Ray's Cluster and its address."""
    with environment(notes), private_token():
        yield from _cluster(nodes, store)


def _cluster(nodes, store):
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={
            "num_cpus": 0,
            "node_ip_address": LOOPBACK,
            "gcs_server_port": free_port(),
            "include_dashboard": False,
            "object_store_memory": store,
        },
    )
    try:
        for _ in range(nodes):
            add_node(made, store=store)
        yield made
    finally:
        if ray.is_initialized():
            ray.shutdown()
        made.shutdown()


def add_node(made, store=78 * 1024 * 1024):
    return made.add_node(num_cpus=1, node_ip_address=LOOPBACK, include_dashboard=False, object_store_memory=store)


def python(script, **more):
    """Arguments of a process that runs a script with the tests' modules."""
    return [sys.executable, "-c", script], {"env": {**os.environ, "PYTHONPATH": os.path.dirname(__file__)}, **more}


def listening():
    """Sockets that this process and those that it started listen on, and that others than this machine reach: process, host and port. Those of this
    machine alone are counted."""
    # Ray brings it.
    import ray  # noqa: F401

    import psutil  # isort: skip

    found, loopback = set(), 0
    here = psutil.Process()
    for process in [here, *here.children(recursive=True)]:
        try:
            connections = process.net_connections("inet")
            name = process.name()
        except (psutil.NoSuchProcess, psutil.ZombieProcess):
            continue
        # A UDP socket without a peer receives from anybody.
        open_to = [c for c in connections if c.status == psutil.CONN_LISTEN or (c.type == socket.SOCK_DGRAM and not c.raddr)]
        for connection in open_to:
            host = ipaddress.ip_address(connection.laddr.ip)
            host = getattr(host, "ipv4_mapped", None) or host
            if host.is_loopback:
                loopback += 1
            else:
                found.add((name, str(host), connection.laddr.port))
    return found, loopback
