"""One proof: what was done before, what devices are given and return, until all is done."""

import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .. import JobFolder, Plan, Proof, Span, Verifier
from ..errors import (
    CancelledError,
    DataError,
    ForkError,
    JobFolderError,
    OpenVmMetalError,
    OutOfMemoryError,
    PlanError,
    ProveError,
    RejectedError,
)
from ..tasks import END, Task, task_name
from . import returned
from .board import Board
from .choice import Choice, Running
from .crew import Attempt, Crew, Member
from .events import Teller
from .internals import NotReturnedError, Why
from .neighbours import Neighbours
from .rates import kind_of

# What goes wrong in this process while a proof is verified, and not with the proof.
_OF_THE_DRIVER = (CancelledError, ForkError, OutOfMemoryError, PlanError)
# How often a device may say that what it was given or made is gone, for each task. Ray's word for it is the worker's, too.
_LOSSES = 2
# Seconds between two looks while a proof is verified, and otherwise.
_SOON, _LATER = 0.005, 0.5
# Seconds between two tellings of rates.
_RATES = 2.0


@dataclass
class Done:
    """A finished task, as long as something needs it."""

    proof: bytes
    span: Span | None
    ref: Any
    maker: str | None


@dataclass(eq=False)
class Job:
    """One plan on a crew."""

    ray: Any
    put: Callable[[Any, str], Any]
    """Puts something with a name into the object store."""
    crew: Crew
    plan: Plan
    verifier: Verifier
    verifiers: ThreadPoolExecutor
    data: list[Any]
    """The reference to plan and input, in a list so that Ray does not fetch it for each task."""
    folder: JobFolder | None
    tell: Teller
    patience: float
    task_timeout: float
    done: dict[Task, Done] = field(default_factory=dict)
    avoid: dict[Task, set[str]] = field(default_factory=dict)
    checks: dict[Future[tuple[bytes, Span | None]], tuple[Member, Attempt]] = field(default_factory=dict)
    begun: Counter[Task] = field(default_factory=Counter)
    lost: Counter[tuple[str, Task]] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    neighbours: Neighbours = field(default_factory=Neighbours)
    resumed: int = 0

    def __post_init__(self) -> None:
        self.board = Board(self.plan)
        self.work = self.plan.segments
        self.choice = Choice(self.crew, self.board, self.work, self.avoid, self.tell)
        self.told = time.monotonic()

    def run(self) -> Proof:
        """Works until the proof is there."""
        self._resume()
        while not self.board.complete:
            self.crew.look()
            self.crew.check(self.patience)
            self.choice.assign(self._running(), self._start)
            self._collect()
            self._tell_rates()
        return self.verifier.assemble(self.done[self.board.root].proof, self.done[END].proof)

    # What was done before.

    def _resume(self) -> None:
        """Takes what is in the folder: segments, then the nodes over them."""
        if self.folder is None:
            return
        for index in range(self.plan.levels[0]):
            self._take((0, index))
        for level, nodes in enumerate(self.plan.levels[1:], start=1):
            for index in range(nodes):
                task = (level, index)
                if all(child in self.board.done for child in self.board.below(task)):
                    self._take(task)
        if self.board.last_segment in self.board.done:
            self._take(END)

    def _take(self, task: Task) -> None:
        """Takes a task that is in the folder. A file that is damaged, or holds no proof of the task, is set aside."""
        try:
            proof = self._load(task)
            if proof is None:
                return
            span = self._verify(task, proof)
            self._check_before(task, span)
        except (DataError, JobFolderError, ProveError, RejectedError) as error:
            self._set_aside(task, str(error))
            return
        self.resumed += 1
        self._finish(task, Done(proof, span, None, None))
        self.tell("resumed", level=task[0], index=task[1])

    def _check_before(self, task: Task, span: Span | None) -> None:
        """Raises if a segment does not begin where the one before it ends, which was in the folder, too."""
        before = self.done.get((0, task[1] - 1)) if task[0] == 0 else None
        if before is not None and before.span is not None and span is not None and not before.span.joins(span):
            raise RejectedError(f"it does not begin where {task_name((0, task[1] - 1))} ends")

    def _set_aside(self, task: Task, reason: str) -> None:
        """The task is done again. The file stays under another name.

        Raises:
            JobFolderError: it cannot be renamed.
        """
        if self.folder is not None:
            file = self.folder.set_aside(*task, reason)
            self.tell("set_aside", level=task[0], index=task[1], file=file, reason=reason)

    def _load(self, task: Task) -> bytes | None:
        if self.folder is None:
            return None
        if task[0] > 0:
            return self.folder.load_node(self.verifier, *task, self._below(task))
        return self.folder.load(task)

    def _store(self, task: Task, proof: bytes) -> None:
        if self.folder is None:
            return
        if task[0] > 0:
            self.folder.store_node(self.verifier, *task, self._below(task), proof)
        else:
            self.folder.store(task, proof)

    def _below(self, node: Task) -> list[bytes]:
        return [self.done[child].proof for child in self.board.below(node)]

    # Who does what.

    def _is_own(self, attempt: Attempt) -> bool:
        return attempt.owner is self and not attempt.void

    def _running(self) -> Running:
        running: Running = {}
        for member in self.crew.members:
            for attempt in member.attempts:
                if self._is_own(attempt):
                    running.setdefault(attempt.task, []).append((member, attempt))
        for member, attempt in self.checks.values():
            if not attempt.void:
                running.setdefault(attempt.task, []).append((member, attempt))
        return running

    def _start(self, member: Member, task: Task, keeps: float | None, expected: float | None) -> Attempt:
        level, index = task
        actor = member.actor
        attempt = Attempt(self, task, None, None, time.monotonic(), keeps, expected)
        if task == END:
            refs = actor.end.options(num_returns=2).remote(self.plan.job, self.data)
        elif level == 0:
            refs = actor.segment.options(num_returns=2).remote(self.plan.job, self.data, index, attempt.number)
        else:
            below = [self._ref(child) for child in self.board.below(task)]
            refs = actor.node.options(num_returns=2).remote(self.plan.job, self.data, level, index, *below)
        attempt.info, attempt.proof = refs
        member.attempts.append(attempt)
        self.begun[task] += 1
        self.tell("started", level=level, index=index, device=member.name)
        return attempt

    def _ref(self, task: Task) -> Any:
        done = self.done[task]
        if done.ref is None:
            done.ref = self.put(done.proof, task_name(task))
        return done.ref

    # What became of it.

    def _collect(self) -> None:
        attempts = {attempt.info: (member, attempt) for member in self.crew.members for attempt in member.attempts}
        greetings = self.crew.greetings()
        waiting = [*attempts, *greetings]
        pause = _SOON if self.checks else _LATER
        if waiting:
            # What is there is fetched when its size is known.
            ready, _ = self.ray.wait(waiting, num_returns=len(waiting), timeout=0, fetch_local=False)
            if not ready and not self._checked():
                ready, _ = self.ray.wait(waiting, num_returns=1, timeout=pause, fetch_local=False)
            for ref in ready:
                if ref in greetings:
                    self.crew.answered(greetings[ref])
                else:
                    self._returned(*attempts[ref])
        else:
            time.sleep(pause)
        for check in self._checked():
            self._judge(check, *self.checks.pop(check))
        now = time.monotonic()
        for member in self.crew.members:
            if member.is_stuck(now, self.task_timeout):
                self.ray.kill(member.actor, no_restart=False)

    def _checked(self) -> list[Future[tuple[bytes, Span | None]]]:
        return [check for check in self.checks if check.done()]

    def _returned(self, member: Member, attempt: Attempt) -> None:
        if attempt not in member.attempts:
            return
        own = self._is_own(attempt)
        try:
            took, through = returned.times(attempt.info, time.monotonic() - attempt.started)
        except NotReturnedError as error:
            if error.why in (Why.DIED, Why.UNAVAILABLE):
                for lost in filter(self._is_own, member.attempts):
                    self.tell("lost", level=lost.task[0], index=lost.task[1], device=member.name)
                self.crew.died(member, str(error))
                return
            self._ended(member, attempt)
            if own:
                self._failed(member, attempt, error)
            return
        self._ended(member, attempt)
        if not own or attempt.task in self.board.done:
            return
        attempt.took, attempt.through, attempt.returned = took, through, member.heard
        self.checks[self.verifiers.submit(self._check, attempt)] = (member, attempt)

    def _ended(self, member: Member, attempt: Attempt) -> None:
        member.attempts.remove(attempt)
        member.heard = time.monotonic()

    def _failed(self, member: Member, attempt: Attempt, error: Exception) -> None:
        """A device returned no proof of its task. That is its fault whatever it says: the driver has executed the program and made the plan."""
        if attempt.task in self.board.done:
            # Another device was faster.
            return
        if isinstance(error, NotReturnedError) and error.why is Why.LOST:
            # A child's proof went with its node, which the driver has, or the task's own.
            for child in self.board.below(attempt.task):
                self.done[child].ref = None
            self.tell("lost", level=attempt.task[0], index=attempt.task[1], device=member.name)
            self.lost[member.name, attempt.task] += 1
            if self.lost[member.name, attempt.task] <= _LOSSES:
                return
        self.avoid.setdefault(attempt.task, set()).add(member.name)
        self.crew.strike(member, f"{task_name(attempt.task)}: {error}")

    def _check(self, attempt: Attempt) -> tuple[bytes, Span | None]:
        proof = returned.proof(attempt.proof)
        return proof, self._verify(attempt.task, proof)

    def _verify(self, task: Task, proof: bytes) -> Span | None:
        level, index = task
        if task == END:
            self.verifier.end(self.plan, self._span(self.board.last_segment), proof)
            return None
        if level == 0:
            return self.verifier.segment(self.plan, index, proof)
        below = [self._span(child) for child in self.board.below(task)]
        return self.verifier.node(self.plan, level, index, below, proof)

    def _span(self, task: Task) -> Span:
        span = self.done[task].span
        if span is None:
            raise ProveError(f"{task_name(task)} has no span")
        return span

    def _judge(self, check: Future[tuple[bytes, Span | None]], member: Member, attempt: Attempt) -> None:
        if attempt.void or attempt.task in self.board.done:
            return
        try:
            proof, span = check.result()
        except _OF_THE_DRIVER:
            raise
        except (NotReturnedError, OpenVmMetalError) as error:
            self._failed(member, attempt, error)
            return
        member.rate.measure(kind_of(attempt.task), self.choice.amount(attempt.task), attempt.took, attempt.through)
        done = Done(proof, span, attempt.proof, member.name)
        if not self._joins_neighbours(attempt.task, done):
            return
        self._store(attempt.task, proof)
        member.made += 1
        self.made[member.name] += 1
        self._finish(attempt.task, done)
        self.tell(
            "done",
            level=attempt.task[0],
            index=attempt.task[1],
            device=member.name,
            seconds=round(attempt.took, 4),
            through=round(attempt.through, 4),
            overhead=round(attempt.returned - attempt.started - attempt.through, 4),
            verified=round(time.monotonic() - attempt.returned, 4),
            bytes=len(proof),
        )

    def _joins_neighbours(self, task: Task, done: Done) -> bool:
        """Whether a segment joins both neighbours. If not, it and that neighbour are made again, with all that was made of them."""
        if task[0] != 0 or done.span is None:
            return True
        index = task[1]
        wrong = self.neighbours.wrong(index, done.span)
        for member in list(self.crew.members):
            if member.name == wrong:
                self.crew.strike(member, f"{task_name(task)}: a valid proof of another part of an execution")
        before, behind = self.done.get((0, index - 1)), self.done.get((0, index + 1))
        neighbour = self.neighbours.conflict(index, done.span, before and before.span, behind and behind.span)
        if neighbour is None:
            return True
        self.tell("conflict", level=0, index=index, neighbour=neighbour)
        for number, found in ((index, done), (neighbour, self.done[0, neighbour])):
            if found.maker is None:
                self._set_aside((0, number), f"it does not join {task_name((0, index))}")
            elif found.span is not None:
                self.neighbours.suspect(number, found.span, found.maker)
                self.avoid.setdefault((0, number), set()).add(found.maker)
            self._undo((0, number))
        return False

    def _undo(self, task: Task) -> None:
        """Has a task done again, with everything above it, and with what that needs and was given away."""
        undone = self.board.undo(task)
        for gone in undone:
            self.done.pop(gone, None)
            # A node that is being made of it.
            for parent in self.board.above(gone):
                for _, attempt in self._running().get(parent, ()):
                    attempt.void = True
        for node in undone:
            for child in self.board.below(node):
                if child in self.board.done and not self.done[child].proof:
                    self._undo(child)

    def _finish(self, task: Task, done: Done) -> None:
        self.done[task] = done
        self.board.finish(task)
        self._forget(task)
        # Proofs that nothing needs any more; spans stay.
        for child in self.board.below(task):
            if all(parent in self.board.done for parent in self.board.above(child)):
                self.done[child].proof = b""
                self.done[child].ref = None

    def _tell_rates(self) -> None:
        now = time.monotonic()
        if now - self.told < _RATES:
            return
        self.told = now
        rates = {member.name: round(1 / seconds) for member in self.crew.members if (seconds := member.rate.seconds.get("segment"))}
        left = sum(self.work[index] for index in range(len(self.work)) if (0, index) not in self.board.done)
        total = sum(rates.values())
        self.tell("rates", devices=rates, left=round(left / total, 1) if total else None)

    def twice(self) -> int:
        """Tasks that were begun more often than needed."""
        return sum(count - 1 for count in self.begun.values() if count > 1)

    def _forget(self, task: Task) -> None:
        """Nobody waits for what devices do for a task. Those that are at a segment are told to stop: nodes are short."""
        level, index = task
        for member in self.crew.members:
            for attempt in member.attempts:
                if self._is_own(attempt) and attempt.task == task:
                    attempt.void = True
                    if level == 0:
                        member.actor.forget.options(num_returns=0).remote(self.plan.job, index, attempt.number)

    def give_up(self) -> None:
        """Stops what has begun, as far as that is possible."""
        for check in self.checks:
            check.cancel()
        for task in {attempt.task for member in self.crew.members for attempt in member.attempts if attempt.owner is self}:
            self._forget(task)
