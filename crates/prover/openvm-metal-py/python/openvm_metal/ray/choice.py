"""Which device gets which task."""

import heapq
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ..tasks import Task
from .board import Board
from .crew import Attempt, Crew, Member
from .events import Teller
from .rates import expected, kind_of, too_slow, worth_a_second

Running = dict[Task, list[tuple[Member, Attempt]]]
"""Who is at which task, those whose proofs are verified included."""

Start = Callable[[Member, Task, float | None, float | None], Attempt]
"""Gives a device a task: the seconds by which the task is expected to keep it, and those until its end."""


@dataclass(eq=False)
class Choice:
    """Hands out the tasks of one job."""

    crew: Crew
    board: Board
    work: list[int]
    """Instructions of each segment."""
    avoid: dict[Task, set[str]]
    """Devices that failed at a task: others do it, if there are any."""
    tell: Teller

    def amount(self, task: Task) -> float:
        """Units of work: instructions of a segment, or 1."""
        return float(self.work[task[1]]) if task[0] == 0 else 1.0

    def assign(self, running: Running, start: Start) -> None:
        """Hands out what can be done: always to the device that is expected to be the next one without work, and of those to the fastest."""
        now = time.monotonic()
        ready = [task for task in self.board.ready() if task not in running]
        left = Counter(kind_of(task) for task in ready)
        members = self.crew.members
        others = len(members) > 1

        def place(number: int) -> tuple[float, int, float, int]:
            member = members[number]
            return member.queue(now), len(member.attempts), member.rate.seconds.get("segment", 0.0), number

        free = [place(number) for number, member in enumerate(members) if member.free(others)]
        heapq.heapify(free)
        while free:
            number = heapq.heappop(free)[-1]
            member = members[number]
            task = self._next(member, ready, left, now) or self._late(member, running, now)
            if task is None:
                continue
            attempt = start(member, task, self._keeps(member, task), self._end(member, task, now))
            if task in running:
                running[task].append((member, attempt))
            else:
                running[task] = [(member, attempt)]
                ready.remove(task)
                left[kind_of(task)] -= 1
            if member.free(others):
                heapq.heappush(free, place(number))

    def _keeps(self, member: Member, task: Task) -> float | None:
        """Seconds by which a task is expected to keep a device."""
        rates = (other.rate for other in self.crew.members)
        return expected(member.rate, rates, kind_of(task), self.amount(task))

    def _end(self, member: Member, task: Task, now: float) -> float | None:
        """Seconds until a device is expected to have done a task, behind what it is at."""
        keeps = self._keeps(member, task)
        if keeps is None:
            return None
        return max(member.rate.least(kind_of(task), self.amount(task)), member.queue(now) + keeps)

    def _next(self, member: Member, ready: list[Task], left: Counter[str], now: float) -> Task | None:
        """The first task that the device should not leave to the others."""
        others = [other for other in self.crew.members if other is not member and other.about]
        for task in ready:
            avoid = self.avoid.get(task, ())
            able = [other for other in others if other.name not in avoid]
            if able and member.name in avoid:
                continue
            theirs, queued = [], 0.0
            for other in able:
                seconds = self._keeps(other, task)
                if seconds is not None and not other.is_late(now):
                    theirs.append(seconds)
                    queued += other.queue(now) / max(seconds, 1e-9)
            own = self._keeps(member, task)
            behind = None if own is None else member.queue(now) + own
            if not too_slow(behind, theirs, left[kind_of(task)], queued):
                return task
        return None

    def _late(self, member: Member, running: Running, now: float) -> Task | None:
        """A task that another device is slow or late with, if this one has nothing to do."""
        if member.attempts:
            return None
        for task, attempts in running.items():
            first, attempt = attempts[0]
            if len(attempts) > 1 or first is member or attempt.returned or task in self.board.done:
                continue
            if worth_a_second(self._end(member, task, now), attempt.expected, now - attempt.started):
                self.tell("overtaking", level=task[0], index=task[1], device=member.name, slow=first.name)
                return task
        return None
