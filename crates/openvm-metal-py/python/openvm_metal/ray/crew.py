"""The workers of a pool: one actor for each seat."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import DeviceMissingError, NoWorkersError, VersionMismatchError
from .rates import Rate
from .seats import Seat, Wanted, offers, seats
from .worker import Worker

# A device that made this many wrong proofs, or failed this often, is taken out.
STRIKES = 2
# How often the process of a device may die before it is given up.
RESTARTS = 3
# Seconds between looks for new nodes.
_LOOK = 1.0
# Tasks of one device at the same time: traces of the next segment are made while one is proved on a GPU.
_DEPTH = {"cuda": 2, "metal": 2, "cpu": 1}


@dataclass
class Attempt:
    """A task that a device is at."""

    owner: object
    """The call of `Pool.prove` that it is for: a call after another may have the same job."""
    task: tuple[int, int]
    info: Any
    proof: Any
    started: float
    expected: float | None
    void: bool = False
    """What it is made of has to be made again: its result is not used."""
    took: float = 0.0
    """Seconds of the device."""
    returned: float = 0.0


@dataclass(eq=False)
class Member:
    """A seat with its actor."""

    seat: Seat
    actor: Any
    hello: Any
    since: float
    asked: float = 0.0
    about: dict[str, Any] | None = None
    rate: Rate = field(default_factory=Rate)
    strikes: list[str] = field(default_factory=list)
    deaths: int = 0
    attempts: list[Attempt] = field(default_factory=list)
    made: int = 0

    @property
    def name(self) -> str:
        """For people."""
        return self.seat.name

    @property
    def free(self) -> bool:
        """Whether it can take a task."""
        return self.about is not None and len(self.attempts) < _DEPTH[self.seat.device]


class Crew:
    """Starts an actor for each seat, for those of nodes that join later too, and keeps account of those that fail."""

    def __init__(
        self,
        ray: Any,
        devices: Sequence[Wanted],
        arguments: tuple[Any, Any],
        tell: Callable[..., None],
        expected: dict[str, str],
        worker: type[Worker],
    ) -> None:
        self._ray = ray
        self._devices = devices
        self._arguments = arguments
        self.tell = tell
        self._expected = expected
        self._class = ray.remote(worker)
        self._looked = 0.0
        self._known: set[Seat] = set()
        self._first_nodes: set[str] | None = None
        self.members: list[Member] = []
        self.removed: dict[str, str] = {}

    def start(self) -> None:
        """Takes the seats that there are.

        Raises:
            DeviceMissingError: a device that was asked for is on no node.
        """
        nodes = self._ray.nodes()
        self._first_nodes = {node["NodeID"] for node in nodes}
        for want in self._devices:
            if not seats(nodes, [want]):
                kind = want.kind if want.cores is None else f"{want.kind} in groups of {want.cores} cores"
                raise DeviceMissingError(
                    f"no node of the cluster offers {kind} ({offers(nodes)}); NVIDIA GPUs are found by Ray, a Mac is started with "
                    "`ray start --resources '{\"metal\": 1}'`"
                )
        self.look(now=True)

    def look(self, now: bool = False) -> None:
        """Takes seats of nodes that joined."""
        if not now and time.monotonic() - self._looked < _LOOK:
            return
        self._looked = time.monotonic()
        for seat in seats(self._ray.nodes(), self._devices):
            if seat not in self._known:
                self._known.add(seat)
                self.members.append(self._hire(seat))
                self.tell("joined", device=seat.name)

    def _hire(self, seat: Seat) -> Member:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        actor = self._class.options(
            num_cpus=seat.cpus,
            num_gpus=seat.gpus,
            resources=seat.resources,
            scheduling_strategy=NodeAffinitySchedulingStrategy(seat.node, soft=False),
            max_restarts=RESTARTS,
            max_task_retries=0,
            max_concurrency=_DEPTH[seat.device],
        ).remote(seat.device, seat.threads, *self._arguments)
        return Member(seat, actor, actor.about.remote(), time.monotonic())

    def greetings(self) -> dict[Any, Member]:
        """What members that are starting will answer."""
        now = time.monotonic()
        for member in self.members:
            if member.hello is None and now >= member.asked + _LOOK:
                member.asked = now
                member.hello = member.actor.about.remote()
        return {member.hello: member for member in self.members if member.about is None and member.hello is not None}

    def answered(self, member: Member) -> None:
        """A member that was starting has answered, or will not."""
        from ray.exceptions import ActorUnavailableError, RayError, RayTaskError

        hello, member.hello = member.hello, None
        try:
            self._greet(member, self._ray.get(hello))
        except RayTaskError as error:
            self.remove(member, f"{member.name}: {error.cause}")
        except ActorUnavailableError:
            # Its process is being started again; `greetings` asks once more.
            member.asked = time.monotonic()
        except RayError as error:
            self.died(member, str(error))

    def _greet(self, member: Member, about: dict[str, Any]) -> None:
        """A member is ready.

        Raises:
            VersionMismatchError: its versions are not the driver's. A node that joined later is left out instead.
        """
        differ = [f"{name} {about[name]} instead of {version}" for name, version in self._expected.items() if about[name] != version]
        if differ:
            reason = f"{member.name} has {', '.join(differ)}: install the same versions on every node"
            self.remove(member, reason)
            if member.seat.node in (self._first_nodes or ()):
                raise VersionMismatchError(reason)
            return
        member.about = about
        self.tell("ready", device=member.name, seconds=round(about["loading"], 3), pid=about["pid"])

    def died(self, member: Member, reason: str) -> None:
        """The process of a member is gone. Ray starts another unless the node is gone too."""
        if member not in self.members:
            return
        member.deaths += 1
        alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        if "No module named 'openvm_metal'" in reason:
            self.remove(member, f"{member.name}: openvm-metal is not installed there")
        elif member.seat.node not in alive:
            self._known.discard(member.seat)
            self.remove(member, f"{member.name}: the node is gone")
        elif member.deaths > RESTARTS:
            self.remove(member, f"{member.name}: its process died {member.deaths} times: {reason.strip().splitlines()[-1]}")
        else:
            member.about = None
            member.attempts = []
            member.since = member.asked = time.monotonic()
            member.hello = None
            self.tell("died", device=member.name, reason=reason.strip().splitlines()[0][:300])

    def strike(self, member: Member, reason: str) -> None:
        """A member made something wrong, or failed. The second time it is taken out."""
        member.strikes.append(reason)
        self.tell("strike", device=member.name, reason=reason, strikes=len(member.strikes))
        if len(member.strikes) >= STRIKES:
            self.remove(member, f"{member.name}: taken out after {'; '.join(member.strikes)}")

    def remove(self, member: Member, reason: str) -> None:
        """A member does no more work here."""
        if member in self.members:
            self.members.remove(member)
        self.removed[member.name] = reason
        self._ray.kill(member.actor, no_restart=True)
        self.tell("removed", device=member.name, reason=reason)

    def check(self, patience: float) -> None:
        """Raises if nobody will do any work.

        Raises:
            NoWorkersError: all are gone, or none came within `patience` seconds.
        """
        if any(member.about for member in self.members):
            return
        if not self.members:
            reasons = "; ".join(self.removed.values()) or "there were none"
            raise NoWorkersError(f"no device is left: {reasons}")
        late = [member for member in self.members if time.monotonic() - member.since > patience]
        if len(late) == len(self.members):
            names = ", ".join(member.name for member in late)
            raise NoWorkersError(
                f"no device was ready within {patience:.0f} s; waiting are {names}: their nodes may be busy with other work (`ray status` shows it)"
            )

    def stop(self) -> None:
        """Ends all actors."""
        for member in self.members:
            self._ray.kill(member.actor, no_restart=True)
        self.members = []
