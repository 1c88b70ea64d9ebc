"""Which nodes offer which devices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ConfigError

KINDS = ("cuda", "metal", "cpu")


@dataclass(frozen=True)
class Seat:
    """A place for one worker: a GPU, a Mac or a group of cores of one node."""

    node: str
    host: str
    device: str
    number: int
    cpus: float
    share: int
    """Cores of the node that its machines may count on: a group's own, or a GPU's part of all."""
    gpus: float = 0
    resources: dict[str, float] = field(default_factory=dict, hash=False)
    beside: int = 1
    """Seats of the node, this one included: they share its memory."""
    memory: int | None = None
    """Bytes of the node's memory when Ray was started there, if Ray says it."""

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.host}/{self.node[:6]} {self.device} {self.number}"

    @property
    def threads(self) -> int | None:
        """How many threads the worker's host part may use; None for as many as the machine has."""
        return max(1, int(self.cpus)) if self.device == "cpu" else None

    def host_memory(self, of_node: int | None) -> tuple[int | None, int | None]:
        """This seat's part of the memory: of what was asked for on each node, and otherwise most of what Ray found there."""
        if of_node is not None:
            return of_node // self.beside, None
        return None, None if self.memory is None else self.memory * 3 // 4 // self.beside


@dataclass(frozen=True)
class Wanted:
    """A kind of device, and of CPUs how many cores make one."""

    kind: str
    cores: int | None = None


def wanted(devices: Iterable[str]) -> list[Wanted]:
    """Reads "auto", "cuda", "metal", "cpu" or "cpu:4".

    Raises:
        ConfigError: none of these.
    """
    result = []
    for text in devices:
        kind, _, cores = text.partition(":")
        if kind == "auto" and not cores:
            result.append(Wanted("auto"))
        elif kind in KINDS and not cores:
            result.append(Wanted(kind))
        elif kind == "cpu" and cores.isdecimal() and int(cores) > 0:
            result.append(Wanted("cpu", int(cores)))
        else:
            raise ConfigError(f"{text!r} names no devices of a cluster: auto, cuda, metal, cpu, or cpu:N for groups of N cores")
    if not result:
        raise ConfigError("no devices are asked for")
    return result


def _kinds(want: Wanted, gpus: int, metal: int) -> list[str]:
    if want.kind != "auto":
        return [want.kind]
    return [kind for kind, count in (("cuda", gpus), ("metal", metal)) if count] or ["cpu"]


def seats(nodes: Sequence[dict[str, Any]], devices: Sequence[Wanted]) -> list[Seat]:
    """The seats of the nodes of `ray.nodes()` that are alive. "auto" takes a node's GPUs if it has any, otherwise its cores as one group.
    Beside GPUs a group has the cores that they leave."""
    result = []
    for node in nodes:
        if not node["Alive"]:
            continue
        has = node["Resources"]
        place = {"node": node["NodeID"], "host": node["NodeManagerAddress"]}
        cpus, gpus, metal = has.get("CPU", 0), int(has.get("GPU", 0)), int(has.get("metal", 0))
        gpu_cpus = min(1.0, cpus / max(1, gpus + metal))
        share = max(1, int(cpus) // max(1, gpus + metal))
        kinds = [kind for want in devices for kind in _kinds(want, gpus, metal)]
        first = len(result)
        taken = gpu_cpus * sum({"cuda": gpus, "metal": metal}.get(kind, 0) for kind in set(kinds))
        for want in devices:
            for kind in _kinds(want, gpus, metal):
                if kind == "cuda":
                    result += [Seat(**place, device=kind, number=n, cpus=gpu_cpus, share=share, gpus=1) for n in range(gpus)]
                elif kind == "metal":
                    one = {"metal": 1.0}
                    result += [Seat(**place, device=kind, number=n, cpus=gpu_cpus, share=share, resources=one) for n in range(metal)]
                else:
                    cores = want.cores or int(cpus - taken)
                    count = int((cpus - taken) // cores) if cores else 0
                    result += [Seat(**place, device=kind, number=n, cpus=cores, share=cores) for n in range(count)]
        memory = int(has["memory"]) if "memory" in has else None
        result[first:] = [replace(seat, beside=len(result) - first, memory=memory) for seat in result[first:]]
    return result


def offers(nodes: Sequence[dict[str, Any]]) -> str:
    """What the nodes have, for messages."""
    alive = [node for node in nodes if node["Alive"]]
    parts = []
    for node in alive:
        has = node["Resources"]
        counts = {"GPU": has.get("GPU", 0), "metal": has.get("metal", 0), "CPU": has.get("CPU", 0)}
        text = ", ".join(f"{int(count)} {kind}" for kind, count in counts.items() if count) or "nothing"
        parts.append(f"{node['NodeManagerAddress']}: {text}")
    return "; ".join(parts) or "no node is alive"
