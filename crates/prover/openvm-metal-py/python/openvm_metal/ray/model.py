"""A job on devices that one does not have: what `simulate` calculates.

The model follows the tasks of a job one by one. The device that is the next one without work takes the next ready task, nodes of the aggregation
before segments, as the real driver does; a proof counts when the driver has received and verified it. What it leaves out: jitter beyond the failures,
memory, and links between nodes other than the driver's.
"""

import heapq
import math
import random
from collections import deque
from dataclasses import dataclass, field, replace

from ..tasks import Task
from .board import Board
from .rates import too_slow


@dataclass(frozen=True)
class Kind:
    """Devices of one kind."""

    count: int
    segment: float
    """Seconds for a segment."""
    node: float
    """Seconds for a node of the aggregation."""
    link: float = 1.25e9
    """Bytes a second of its node's network."""
    loading: float = 0.0
    """Seconds to load keys and program, also after a failure."""
    mean_life: float = math.inf
    """Mean seconds until it fails; its tasks are lost then."""
    price: float = 0.0
    """For each hour."""
    in_flight: int = 1
    """Tasks that it has at a time: with 2 or more the next one is there when one ends."""


@dataclass(frozen=True)
class Model:
    """A job, its devices, and the driver."""

    segments: int
    kinds: tuple[Kind, ...]
    children: tuple[int, int] = (4, 3)
    proof_bytes: float = 1.5e6
    placed_bytes: float = 0.0
    """Program and keys, which every device fetches once."""
    execution: float = 0.0
    """Seconds to execute the whole program without proving it: a device goes through it up to its segments."""
    planning: float = 0.0
    """Seconds until the driver knows the segments."""
    dispatch: float = 0.001
    """Seconds of the driver's loop for each task: choosing, sending, receiving."""
    verify: float = 0.03
    """Seconds to verify one proof on one core."""
    driver_cores: int = 8
    driver_link: float = 1.25e9
    latency: float = 0.001
    """Seconds that a message takes."""
    seed: int = 1

    def scaled(self, devices: int) -> "Model":
        """The same with so many devices in all, in the same proportions."""
        total = sum(kind.count for kind in self.kinds)
        counts = [max(1, round(kind.count * devices / total)) for kind in self.kinds]
        return replace(self, kinds=tuple(replace(k, count=c) for k, c in zip(self.kinds, counts, strict=True)))


@dataclass
class Outcome:
    """What a simulated job took. Shares are of the time from the first task to the last proof."""

    seconds: float
    devices: int
    segments_done: float
    """When the last segment was verified."""
    busy: float
    """Share of their time in which devices prove, lost work included."""
    walking: float
    """Share of that in which they execute up to their segments."""
    failures: int
    lost: float
    """Device seconds of tasks that failed."""
    dispatching: float
    """Share in which the driver's loop is busy."""
    verifying: float
    """Share in which the driver's cores verify."""
    receiving: float
    """Share in which proofs fill the driver's link."""
    price: float
    limit: str = field(default="")

    def __post_init__(self) -> None:
        shares = {
            "devices": self.busy * (1 - self.walking),
            "execution": self.busy * self.walking,
            "driver's loop": self.dispatching,
            "driver's verification": self.verifying,
            "driver's link": self.receiving,
        }
        name, share = max(shares.items(), key=lambda item: item[1])
        # With nothing half full, devices wait for each other: for the last segments, or for children.
        self.limit = name if share > 0.5 else "order of the tasks"


class _Plan:
    """The shape of the aggregation, as the native module's plan has it."""

    def __init__(self, segments: int, children: tuple[int, int]) -> None:
        self.children = children
        self.levels = [segments]
        while not (len(self.levels) > 4 and self.levels[-1] == 1 and self.levels[-2] == 1):
            most = children[0] if len(self.levels) == 1 else children[1]
            self.levels.append(-(-self.levels[-1] // most))

    def below(self, level: int, index: int) -> list[int]:
        most = self.children[0] if level == 1 else self.children[1]
        return list(range(index * most, min((index + 1) * most, self.levels[level - 1])))


class _Queue:
    """Servers that take what comes in order."""

    def __init__(self, servers: int) -> None:
        self._free = [0.0] * servers
        self.busy = 0.0

    def serve(self, now: float, seconds: float) -> float:
        """When something that comes now is done."""
        start = max(now, heapq.heappop(self._free))
        heapq.heappush(self._free, start + seconds)
        self.busy += seconds
        return start + seconds


@dataclass(frozen=True)
class _Event:
    """What a device made of a task, in which of its lives."""

    task: Task
    life: int
    seconds: float
    walk: float


_NOTHING = _Event((0, 0), 0, 0.0, 0.0)


def simulate(model: Model) -> Outcome:
    """Plays a job."""
    chance = random.Random(model.seed)
    board = Board(_Plan(model.segments, model.children))
    devices = [kind for kind in model.kinds for _ in range(kind.count)]
    count = len(devices)
    loop, cores, link = _Queue(1), _Queue(model.driver_cores), _Queue(1)
    speeds = {True: sum(1 / d.segment for d in devices), False: sum(1 / d.node for d in devices)}
    fastest = {True: min(d.segment for d in devices), False: min(d.node for d in devices)}

    # Whoever has program and keys passes them on: doubling at every step.
    steps = math.ceil(math.log2(count + 1))
    waiting: deque[Task] = deque((0, index) for index in range(model.segments))
    nodes: list[tuple[int, int]] = []
    # Devices that can take a task, once for each that they can: when they are without work (0 if they are), and how fast they are.
    able: list[tuple[float, float, int]] = []
    at = [0.0] * count
    until = [0.0] * count
    lives = [0] * count
    measured = [count == 1] * count
    tasks: list[list[Task]] = [[] for _ in devices]
    events: list[tuple[float, int, str, int, _Event]] = []
    number = 0

    def push(time: float, what: str, device: int, event: _Event = _NOTHING) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (time, number, what, device, event))

    def can_take(index: int) -> None:
        heapq.heappush(able, (until[index] if until[index] > now else 0.0, devices[index].segment, index))

    for index, device in enumerate(devices):
        arrival = model.planning + steps * model.placed_bytes / min(device.link, model.driver_link)
        push(arrival + device.loading, "free", index)

    busy = lost = walked = segments_done = now = 0.0
    failures = 0

    def assign() -> None:
        left_alone = []
        while able and (waiting or nodes):
            key, _, index = heapq.heappop(able)
            if until[index] > max(now, key):
                # It was given another task meanwhile.
                can_take(index)
                continue
            device = devices[index]
            is_segment = not nodes
            own = device.segment if is_segment else device.node
            left = len(waiting) if is_segment else len(nodes)
            speed = speeds[is_segment] - 1 / own
            # One device in place of all others, as fast as they are together, and the fastest of them.
            others = [] if speed <= 0 else [1 / speed]
            if others and own > fastest[is_segment] and too_slow(own, [*others, fastest[is_segment]], left):
                left_alone.append(index)
                continue
            if nodes:
                level, position = heapq.heappop(nodes)
                task = (-level, position)
                walk = 0.0
            else:
                task = waiting.popleft()
                end = (task[1] + 1) / model.segments * model.execution
                walk = end - at[index] if end >= at[index] else end
                at[index] = end
            start = max(loop.serve(now, model.dispatch) + model.latency, until[index])
            seconds = walk + own
            until[index] = start + seconds
            tasks[index].append(task)
            life = chance.expovariate(1 / device.mean_life) if math.isfinite(device.mean_life) else math.inf
            if life < seconds:
                push(start + life, "failed", index, _Event(task, lives[index], life, 0.0))
            else:
                push(start + seconds, "made", index, _Event(task, lives[index], seconds, walk))
        for index in left_alone:
            can_take(index)

    last = 0.0
    while events:
        now, _, what, index, event = heapq.heappop(events)
        task = event.task
        if what == "free":
            until[index] = now
            # As long as nobody knows how fast it is, it has one task.
            for _ in range(devices[index].in_flight if measured[index] else 1):
                can_take(index)
        elif what in ("failed", "made") and event.life != lives[index]:
            # Lost with the device.
            continue
        elif what == "failed":
            failures += 1
            busy += event.seconds
            lost += event.seconds
            lives[index] += 1
            at[index], until[index] = 0.0, now + devices[index].loading
            for gone in reversed(tasks[index]):
                if gone[0] == 0:
                    waiting.appendleft(gone)
                else:
                    heapq.heappush(nodes, (-gone[0], gone[1]))
            tasks[index] = []
            able = [entry for entry in able if entry[2] != index]
            heapq.heapify(able)
            push(until[index], "free", index)
        elif what == "made":
            busy += event.seconds
            walked += event.walk
            tasks[index].remove(task)
            for _ in range(1 if measured[index] else devices[index].in_flight):
                can_take(index)
            measured[index] = True
            sent = link.serve(now + model.latency, model.proof_bytes / min(model.driver_link, devices[index].link))
            push(cores.serve(sent, model.verify), "verified", index, event)
        else:
            last = now
            board.finish(task)
            if task[0] == 0:
                segments_done = now
            for level, position in board.above(task):
                if level > 0 and all(child in board.done for child in board.below((level, position))):
                    heapq.heappush(nodes, (-level, position))
        assign()

    span = max(last - model.planning, 1e-9)
    hours = last / 3600
    return Outcome(
        seconds=last,
        devices=count,
        segments_done=segments_done,
        busy=busy / (span * count),
        walking=walked / max(busy, 1e-9),
        failures=failures,
        lost=lost,
        dispatching=loop.busy / span,
        verifying=cores.busy / (span * model.driver_cores),
        receiving=link.busy / span,
        price=sum(kind.count * kind.price for kind in model.kinds) * hours,
    )
