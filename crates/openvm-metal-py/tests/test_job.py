"""What a job makes of what its devices return: without a cluster and without proofs."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest

from openvm_metal import errors
from openvm_metal.ray.crew import Crew, Member
from openvm_metal.ray.job import Done, Job
from openvm_metal.ray.model import _Plan
from openvm_metal.ray.seats import Seat

exceptions = pytest.importorskip("ray.exceptions")


class Calls:
    """An actor's method: keeps what it was called with."""

    def __init__(self):
        self.made = []

    def options(self, **_):
        return self

    def remote(self, *arguments):
        self.made.append(arguments)
        return object(), object()


class Now:
    """Verifies at once, and accepts all."""

    def submit(self, work, attempt):
        check = Future()
        check.set_result((b"proof", None))
        return check


class Plan(_Plan):
    job = "job"
    segments = (1000, 1000)


def job_of(devices, told):
    """A job of two segments on devices whose answers the test gives."""
    answers, killed = {}, []

    def get(ref, timeout=None):
        answer = answers.pop(ref)
        if isinstance(answer, Exception):
            raise exceptions.RayTaskError("segment", "", answer)
        return answer

    ray = SimpleNamespace(get=get, kill=lambda actor, **_: killed.append(actor), remote=lambda worker: worker)
    crew = Crew(ray, [], (None, None), lambda event, **fields: told.append((event, fields)), {}, object)
    for number in range(devices):
        actor = SimpleNamespace(segment=Calls(), node=Calls(), end=Calls(), forget=Calls())
        seat = Seat(f"node{number}", "10.0.0.1", "cuda", number, 1, 1, 1)
        crew.members.append(Member(seat, actor, None, 0.0, about={"in_flight": 3}))
    job = Job(
        ray=ray, put=None, crew=crew, plan=Plan(2, (4, 3)), verifier=None, verifiers=Now(), data=[], folder=None,
        tell=crew.tell, patience=1.0, task_timeout=1.0,
    )  # fmt: skip
    return job, answers


def returns(job, answers, member, attempt, answer):
    answers[attempt.info] = answer
    if isinstance(answer, Exception):
        answers[attempt.proof] = answer
    job._returned(member, attempt)
    # Ray prints errors that nobody reads.
    assert not any(isinstance(answer, Exception) for answer in answers.values())
    for check in job._checked():
        job._judge(check, *job.checks.pop(check))


def test_a_device_that_stops_as_it_was_told_has_no_strike():
    told = []
    job, answers = job_of(2, told)
    fast, slow = job.crew.members
    task = (0, 1)
    late = job._start(slow, task, None, None)
    first = job._start(fast, task, None, None)
    returns(job, answers, fast, first, {"seconds": 1.0, "through": 1.0})
    assert job.board.done == {task}
    assert slow.actor.forget.made == [("job", 1, late.number)] and not fast.actor.forget.made
    # What the other one made turns out to be wrong, and its neighbour has it made again, before the slow one answers.
    job._undo(task)
    again = job._start(slow, task, None, None)
    assert [attempt for _, attempt in job._running()[task]] == [again], "what was stopped will not come"
    returns(job, answers, slow, late, errors.CancelledError("cancelled"))
    assert not slow.strikes and not job.avoid and slow.attempts == [again]
    returns(job, answers, slow, again, {"seconds": 1.0, "through": 1.0})
    assert job.board.done == {task} and job.made == {fast.name: 1, slow.name: 1}


def test_a_device_that_fails_has_a_strike():
    told = []
    job, answers = job_of(1, told)
    (member,) = job.crew.members
    for strikes in (1, 2):
        attempt = job._start(member, (0, 0), None, None)
        returns(job, answers, member, attempt, errors.DeviceError("the cable was pulled"))
        assert len(member.strikes) == strikes
    assert job.crew.members == [] and "the cable was pulled" in job.crew.removed[member.name]


def test_a_later_job_of_the_same_plan_is_not_stopped():
    job, _ = job_of(1, [])
    (member,) = job.crew.members
    old = job._start(member, (0, 0), None, None)
    job.give_up()
    later = Job(**{name: getattr(job, name) for name in job.__dataclass_fields__ if name not in ("done", "avoid", "checks", "begun", "made", "neighbours", "resumed")})
    new = later._start(member, (0, 0), None, None)
    assert old.void and not new.void
    assert member.actor.forget.made == [("job", 0, old.number)] and new.number != old.number
    assert [call[-1] for call in member.actor.segment.made] == [old.number, new.number]


def test_done_nodes_are_not_told_to_stop():
    job, _ = job_of(1, [])
    (member,) = job.crew.members
    for index in range(2):
        job._finish((0, index), Done(b"proof", None, object(), None))
    attempt = job._start(member, (1, 0), None, None)
    job.give_up()
    assert attempt.void and not member.actor.forget.made
