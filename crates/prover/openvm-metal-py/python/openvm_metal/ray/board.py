"""Which tasks of a plan are done, and which can be done now."""

from collections.abc import Iterator
from typing import Protocol

from ..tasks import END, Task


class Shape(Protocol):
    """What is needed of a plan."""

    @property
    def levels(self) -> list[int]: ...
    @property
    def children(self) -> tuple[int, int]: ...
    def below(self, level: int, index: int) -> list[int]: ...


class Board:
    """The tasks of one plan. A node can be done when the proofs below it are, the public values when the last segment is."""

    def __init__(self, plan: Shape) -> None:
        self._levels = plan.levels
        self._children = plan.children
        self._plan = plan
        self.done: set[Task] = set()
        self._ready: set[Task] = {(0, index) for index in range(self._levels[0])}

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return sum(self._levels) + 1

    @property
    def complete(self) -> bool:
        """Whether all are done."""
        return len(self.done) == self.tasks

    @property
    def last_segment(self) -> Task:
        """The task whose end is the end of the execution."""
        return (0, self._levels[0] - 1)

    @property
    def root(self) -> Task:
        """The node that ends the aggregation."""
        return (len(self._levels) - 1, 0)

    def below(self, task: Task) -> list[Task]:
        """The tasks that a task needs."""
        level, index = task
        if task == END:
            return [self.last_segment]
        if level == 0:
            return []
        return [(level - 1, child) for child in self._plan.below(level, index)]

    def above(self, task: Task) -> list[Task]:
        """The tasks that need a task."""
        level, index = task
        if task in (END, self.root):
            return []
        most = self._children[0 if level == 0 else 1]
        parent = [(level + 1, index // most)]
        return [*parent, END] if task == self.last_segment else parent

    def ready(self) -> Iterator[Task]:
        """What can be done now: the public values first, then the highest nodes, then segments in their order."""
        return iter(sorted(self._ready, key=lambda task: (task != END, -task[0], task[1])))

    def finish(self, task: Task) -> None:
        """A task is done."""
        self._ready.discard(task)
        self.done.add(task)
        for parent in self.above(task):
            if parent not in self.done and all(child in self.done for child in self.below(parent)):
                self._ready.add(parent)

    def undo(self, task: Task) -> list[Task]:
        """A task has to be done again, and so has everything that needs it: gives all of these."""
        undone = [task]
        self.done.discard(task)
        for parent in self.above(task):
            self._ready.discard(parent)
            if parent in self.done:
                undone += self.undo(parent)
        if all(child in self.done for child in self.below(task)):
            self._ready.add(task)
        return undone
