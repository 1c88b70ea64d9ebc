"""The workers of a pool: one actor for each seat."""

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import DeviceMissingError, NoWorkersError, VersionMismatchError
from . import returned
from .internals import NotReturnedError, Why
from .rates import Rate, is_late
from .seats import Seat, Wanted, offers, seats
from .worker import Worker

# A device that made this many wrong proofs, or failed this often, is taken out.
STRIKES = 2
# How often the process of a device may die before it is given up.
RESTARTS = 3
# Seconds between looks for new nodes.
_LOOK = 1.0
# Calls that an actor serves at the same time: its tasks, and what is asked beside them.
_CALLS = 16
_BESIDE = 2


@dataclass
class Attempt:
    """A task that a device is at."""

    _numbers = itertools.count()

    owner: object
    """The call of `Pool.prove` that it is for: a call after another may have the same job."""
    task: tuple[int, int]
    info: Any
    proof: Any
    started: float
    keeps: float | None
    """Seconds by which it was expected to keep the device."""
    expected: float | None
    """Seconds from `started` to its expected end: behind the device's other tasks."""
    void: bool = False
    """Its result is not used, and its failure is nobody's fault: what it is made of has to be made again, or the device was told to stop."""
    took: float = 0.0
    """Seconds by which it kept the device."""
    through: float = 0.0
    """Seconds from its beginning on the device to its end."""
    returned: float = 0.0
    number: int = field(default_factory=lambda: next(Attempt._numbers))
    """Of all attempts of this process: what a device is told to stop."""


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
    heard: float = 0.0
    """When it last returned something."""
    made: int = 0

    @property
    def name(self) -> str:
        """For people."""
        return self.seat.name

    def free(self, others: bool) -> bool:
        """Whether it can take a task. As long as nobody knows how fast it is, one at a time where there are `others` for the rest."""
        if self.about is None:
            return False
        most = 1 if others and not self.rate.seconds else min(self.about["in_flight"], _CALLS - _BESIDE)
        return len(self.attempts) < most

    def queue(self, now: float) -> float:
        """Seconds until it has done what it is at, as far as that is known."""
        if not self.attempts:
            return 0.0
        first = self.attempts[0]
        so_far = min(now - max(self.heard, first.started), first.keeps or 0.0)
        return sum(attempt.keeps or 0.0 for attempt in self.attempts) - so_far

    def is_late(self, now: float) -> bool:
        """Whether its first task keeps it for much longer than expected."""
        return bool(self.attempts) and is_late(self.attempts[0].keeps, now - max(self.heard, self.attempts[0].started))

    def is_stuck(self, now: float, timeout: float) -> bool:
        """Whether it is at one task for longer than `timeout` seconds. Those behind it wait."""
        return bool(self.attempts) and now - max(self.heard, self.attempts[0].started) > timeout


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
        host_memory: int | None = None,
    ) -> None:
        self._ray = ray
        # Bytes of each node.
        self._host_memory = host_memory
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
            max_concurrency=_CALLS,
        ).remote(seat.device, seat.threads, seat.share, seat.host_memory(self._host_memory), *self._arguments)
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
        hello, member.hello = member.hello, None
        try:
            about = returned.about(hello)
        except NotReturnedError as error:
            match error.why:
                case Why.RAISED | Why.MALFORMED:
                    self.remove(member, f"{member.name}: {error}")
                case Why.UNAVAILABLE:
                    # Its process is being started again; `greetings` asks once more.
                    member.asked = time.monotonic()
                case _:
                    self.died(member, str(error))
            return
        self._greet(member, about)

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
        self.tell("ready", device=member.name, seconds=round(about["loading"], 3), pid=about["pid"], in_flight=about["in_flight"])

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
