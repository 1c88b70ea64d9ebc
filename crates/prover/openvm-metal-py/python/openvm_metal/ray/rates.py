"""How fast devices are, and which task an idle one should take."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..tasks import Task

# The weight of the newest measurement.
_NEW = 0.3
# By what the least time of a task grows with each one that takes longer.
_SLOWER = 1.05
# A device that needs this much longer than the others together need for all that is left takes no task of it.
_TOO_SLOW = 1.5
# A second attempt begins if it is expected to end in this part of the time that the first one still needs.
_WORTH = 0.7
# A task is late after this many seconds at least.
_LATE = 0.5


@dataclass
class Rate:
    """What tasks of a device take, by kind of task and for a unit of work: an instruction of a segment, a node, the public values."""

    seconds: dict[str, float] = field(default_factory=dict)
    """Between two results, when the device has enough to do: it is at several tasks at a time."""
    through: dict[str, float] = field(default_factory=dict)
    """From the beginning of a task to its end, when none is before it."""

    def measure(self, kind: str, work: float, seconds: float, through: float) -> None:
        """A task was done: `seconds` after the one before it, or after its beginning if there was none; `through` after its beginning."""
        unit, least = seconds / max(work, 1.0), through / max(work, 1.0)
        old = self.seconds.get(kind, unit)
        self.seconds[kind] = old + _NEW * (unit - old)
        # Most tasks wait for others: those that did not tell how long one takes.
        self.through[kind] = min(least, _SLOWER * self.through.get(kind, least))

    def expect(self, kind: str, work: float) -> float | None:
        """Seconds by which a task will keep the device, if one of its kind was measured."""
        unit = self.seconds.get(kind)
        return None if unit is None else unit * work

    def least(self, kind: str, work: float) -> float:
        """Seconds that a task will take at least; 0 if none of its kind was measured."""
        return self.through.get(kind, 0.0) * work


def kind_of(task: Task) -> str:
    """What a task's time is compared with."""
    return {-1: "end", 0: "segment"}.get(task[0], "node")


def expected(own: Rate, all_rates: Iterable[Rate], kind: str, work: float) -> float | None:
    """Seconds a task will take on a device. One that has done no such task is taken to be as fast as the mean of the others, or, if it has
    done another kind, as much slower as it was there."""
    known = own.expect(kind, work)
    if known is not None:
        return known
    others = [rate for rate in all_rates if rate is not own and kind in rate.seconds]
    if not others:
        return None
    mean = sum(rate.seconds[kind] for rate in others) / len(others)
    factors = [
        own.seconds[other] / rate.seconds[other] for rate in others for other in own.seconds if other in rate.seconds and rate.seconds[other] > 0
    ]
    factor = sum(factors) / len(factors) if factors else 1.0
    return mean * factor * work


def too_slow(own: float | None, others: list[float], left: int, queued: float = 0.0) -> bool:
    """Whether a device should leave a task to the others: it would end behind all of them. `own` is when it would end the task, `others`
    are the seconds by which such a task keeps each of them, `left` is how many are left, this one included, and `queued` how many of
    such tasks what the others are at makes."""
    if own is None or not others:
        return False
    together = (left + queued) / sum(1 / max(seconds, 1e-9) for seconds in others)
    return own > _TOO_SLOW * (together + min(others))


def is_late(keeps: float | None, elapsed: float) -> bool:
    """Whether a device is at a task for much longer than it was expected to be kept by it. What it said of its rate counts no more then."""
    return keeps is not None and elapsed > max(_LATE, 2 * keeps)


def worth_a_second(own: float | None, first: float | None, elapsed: float) -> bool:
    """Whether an idle device should do a task that another has done for `elapsed` seconds and was expected to do in `first`."""
    if own is None:
        return False
    if first is None or elapsed >= first:
        # Late: as long again is the best guess.
        return elapsed > max(_LATE, 2 * own)
    return own < _WORTH * (first - elapsed)
