"""What a job makes of what its devices return: without a cluster and without proofs."""

import math
import struct
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from tree import Tree

from openvm_metal import errors
from openvm_metal.ray import crew, returned
from openvm_metal.ray.crew import Crew, Member
from openvm_metal.ray.internals import NotReturnedError, Why
from openvm_metal.ray.job import Done, Job
from openvm_metal.ray.pool import bound_for_all
from openvm_metal.ray.returned import MAX_PROOF_BYTES, pack_about, pack_times
from openvm_metal.ray.seats import Seat

TIMES = pack_times(0.5, 0.5)


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
    """Runs at once."""

    def submit(self, work, attempt):
        check = Future()
        try:
            check.set_result(work(attempt))
        except Exception as error:  # noqa: BLE001
            check.set_exception(error)
        return check


class Verifier:
    """Accepts what is `b"proof"`."""

    def segment(self, plan, index, proof):
        if proof != b"proof":
            raise errors.DataError(f"{proof!r} is no proof")

    def node(self, plan, level, index, below, proof):
        return self.segment(plan, index, proof)


class Plan(Tree):
    job = "job"
    segments = (1000, 1000)


@pytest.fixture
def answers(monkeypatch):
    """What a test has devices return, by reference."""
    given = {}

    def read(ref, most, timeout):
        answer = given.pop(ref)
        if isinstance(answer, NotReturnedError):
            raise answer
        if len(answer) > most:
            raise NotReturnedError(Why.MALFORMED, f"it returned {len(answer)} bytes")
        return answer

    monkeypatch.setattr(returned, "read", read)
    return given


def job_of(devices, told, folder=None):
    """A job of two segments on devices whose answers the test gives."""
    killed = []
    ray = SimpleNamespace(
        kill=lambda actor, **_: killed.append(actor),
        remote=lambda worker: worker,
        nodes=lambda: [{"NodeID": f"node{number}", "Alive": True} for number in range(devices)],
    )
    crew = Crew(ray, [], (None, None), lambda event, **fields: told.append((event, fields)), {}, object)
    for number in range(devices):
        actor = SimpleNamespace(segment=Calls(), node=Calls(), end=Calls(), forget=Calls())
        seat = Seat(f"node{number}", "10.0.0.1", "cuda", number, 1, 1, 1)
        crew.members.append(Member(seat, actor, None, 0.0, about={"in_flight": 3}))
    return Job(
        ray=ray, put=None, crew=crew, plan=Plan(2, (4, 3)), verifier=Verifier(), verifiers=Now(), data=[], folder=folder,
        tell=crew.tell, patience=1.0, task_timeout=1.0,
    )  # fmt: skip


def returns(job, answers, member, attempt, times, proof=b"proof"):
    answers[attempt.info], answers[attempt.proof] = times, proof
    job._returned(member, attempt)
    for check in job._checked():
        job._judge(check, *job.checks.pop(check))
    answers.clear()


def test_a_device_that_stops_as_it_was_told_has_no_strike(answers):
    told = []
    job = job_of(2, told)
    fast, slow = job.crew.members
    task = (0, 1)
    late = job._start(slow, task, None, None)
    first = job._start(fast, task, None, None)
    returns(job, answers, fast, first, TIMES)
    assert job.board.done == {task}
    assert slow.actor.forget.made == [("job", 1, late.number)] and not fast.actor.forget.made
    # What the other one made turns out to be wrong, and its neighbour has it made again, before the slow one answers.
    job._undo(task)
    again = job._start(slow, task, None, None)
    assert [attempt for _, attempt in job._running()[task]] == [again], "what was stopped will not come"
    returns(job, answers, slow, late, NotReturnedError(Why.RAISED, "CancelledError: cancelled"))
    assert not slow.strikes and not job.avoid and slow.attempts == [again]
    returns(job, answers, slow, again, TIMES)
    assert job.board.done == {task} and job.made == {fast.name: 1, slow.name: 1}


# What a device returns beside the proof, the proof, and what the strike says.
BAD = {
    "an error of its own": (NotReturnedError(Why.RAISED, "DeviceError: the cable was pulled"), b"", "the cable was pulled"),
    "an error that would be the job's": (NotReturnedError(Why.RAISED, "GuestError: no"), b"", "GuestError: no"),
    "a pickle": (NotReturnedError(Why.MALFORMED, "an object of Python"), b"", "an object of Python"),
    "a pickle for a proof": (TIMES, NotReturnedError(Why.MALFORMED, "an object of Python"), "an object of Python"),
    "an error for a proof": (TIMES, NotReturnedError(Why.DIED, "actor died"), "actor died"),
    "a wrong proof": (TIMES, b"other", "b'other' is no proof"),
    "too much": (TIMES, bytes(MAX_PROOF_BYTES + 1), f"{MAX_PROOF_BYTES + 1} bytes"),
    "too little": (TIMES[:8], b"proof", "8 bytes beside the proof"),
    "nothing": (b"", b"proof", "0 bytes beside the proof"),
    "not a number": (pack_times(math.nan, 1.0), b"proof", "nan"),
    "not a number behind": (pack_times(0.0, math.nan), b"proof", "nan"),
    "negative": (pack_times(-1e-9, 0.5), b"proof", "-1e-09"),
    "infinite": (pack_times(0.5, math.inf), b"proof", "inf"),
    "more than there was": (pack_times(0.5, 100.0), b"proof", "of 100 s"),
    "more than in all": (pack_times(0.5, 0.25), b"proof", "0.5 of 0.25 s"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_device_that_returns_no_proof_has_a_strike_and_the_job_goes_on(name, answers):
    times, proof, said = BAD[name]
    told = []
    job = job_of(2, told)
    bad, good = job.crew.members
    for strikes in (1, 2):
        attempt = job._start(bad, (0, 0), None, None)
        returns(job, answers, bad, attempt, times, proof)
        assert len(bad.strikes) == strikes and said in bad.strikes[-1] and not job.board.done and not bad.attempts
    assert job.avoid == {(0, 0): {bad.name}} and not bad.rate.seconds, "what it says of its rate does not count"
    assert job.crew.members == [good] and said in job.crew.removed[bad.name]
    returns(job, answers, good, job._start(good, (0, 0), None, None), TIMES)
    assert job.board.done == {(0, 0)} and not good.strikes


def test_times_of_no_duration_are_a_clocks(answers):
    job = job_of(1, [])
    (member,) = job.crew.members
    for index in range(2):
        returns(job, answers, member, job._start(member, (0, index), None, None), struct.pack("<2d", 0.0, 5e-324))
    assert member.rate.seconds == pytest.approx({"segment": 1e-9})
    job.told = 0.0
    job._tell_rates()


def test_a_device_that_says_that_all_is_lost_has_a_strike_some_time(answers):
    told = []
    job = job_of(1, told)
    (member,) = job.crew.members
    lost = NotReturnedError(Why.LOST, "object lost")
    for strikes in (0, 0, 1, 2):
        returns(job, answers, member, job._start(member, (0, 0), None, None), TIMES, lost)
        assert len(member.strikes) == strikes
    assert not job.crew.members and [event for event, _ in told].count("lost") == 4


@pytest.mark.parametrize("why", [Why.DIED, Why.UNAVAILABLE])
def test_a_device_that_says_that_it_died_is_given_up_some_time(answers, why):
    job = job_of(1, [])
    (member,) = job.crew.members
    for deaths in range(1, crew.RESTARTS + 2):
        member.about = {"in_flight": 3}
        returns(job, answers, member, job._start(member, (0, 0), None, None), NotReturnedError(why, "actor died"))
        assert member.deaths == deaths and not member.strikes
        assert bool(job.crew.members) == (deaths <= crew.RESTARTS)


GOOD = {
    "openvm_metal": "1", "ray": "2", "python": "3", "pid": 7, "segment_max_memory": 1 << 30, "in_flight": 2, "loading": 0.5, "more": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "no JSON object"),
        (b"\x80\x05.", "no JSON object"),
        (b"[" * 4000, "no JSON object"),
        (b"[]", "no JSON object"),
        (b'{"pid": NaN}', "no JSON object"),
        (b"{}", "nothing for openvm_metal"),
        (b" " * 5000, "5000 bytes"),
        (pack_about(GOOD | {"ray": 7}), "7 for ray"),
        (pack_about(GOOD | {"pid": True}), "True for pid"),
        (pack_about(GOOD | {"pid": 1.5}), "1.5 for pid"),
        (pack_about(GOOD | {"in_flight": 0}), "0 for in_flight"),
        (pack_about(GOOD | {"in_flight": "3"}), "3 for in_flight"),
        (pack_about(GOOD | {"segment_max_memory": 1}), "1 for segment_max_memory"),
        (pack_about(GOOD | {"segment_max_memory": 10**400}), "for segment_max_memory"),
        (pack_about(GOOD | {"loading": -1}), "-1 for loading"),
        (pack_about(GOOD | {"loading": [0.5]}), "a list for loading"),
        (pack_about(GOOD).replace(b"0.5", b"1e999"), "inf for loading"),
        (NotReturnedError(Why.RAISED, "DeviceUnavailableError: no GPU"), "no GPU"),
    ],
)
def test_a_device_that_says_nonsense_of_itself_is_taken_out(answers, said, why):
    job = job_of(1, [])
    (member,) = job.crew.members
    member.about, member.hello = None, "hello"
    answers["hello"] = said
    job.crew.answered(member)
    assert not job.crew.members and why in job.crew.removed[member.name]
    with pytest.raises(errors.NoWorkersError, match="no device is left"):
        job.crew.check(1.0)


def test_a_device_that_says_what_it_is_is_ready(answers):
    told = []
    job = job_of(1, told)
    (member,) = job.crew.members
    member.about, member.hello = None, "hello"
    answers["hello"] = pack_about(GOOD | {"ray": "2\x1b[2J"})
    job.crew.answered(member)
    assert member.about == {name: value for name, value in GOOD.items() if name != "more"} | {"ray": "2?[2J"}
    assert [event for event, _ in told] == ["ready"]


class Folder:
    """Has files of some tasks, and forgets those that are set aside."""

    def __init__(self, files):
        self.files = files
        self.aside = []

    def load(self, task):
        proof = self.files.get(task)
        if isinstance(proof, Exception):
            raise proof
        return proof

    def load_node(self, verifier, level, index, below):
        return self.load((level, index))

    def set_aside(self, level, index, reason):
        del self.files[level, index]
        self.aside.append(((level, index), reason))
        return f"aside/{level}-{index}"


@pytest.mark.parametrize("bad", [b"other", errors.JobFolderError("segment-1.proof is damaged")])
def test_a_bad_file_of_the_folder_is_set_aside_and_made_again(answers, bad):
    told = []
    folder = Folder({(0, 0): b"proof", (0, 1): bad, (1, 0): b"proof"})
    job = job_of(1, told, folder)
    job._resume()
    assert job.board.done == {(0, 0)} and job.resumed == 1 and set(job.board.ready()) == {(0, 1)}
    ((task, reason),) = folder.aside
    assert task == (0, 1) and ("no proof" in reason or "is damaged" in reason)
    assert [fields["file"] for event, fields in told if event == "set_aside"] == ["aside/0-1"]


class Ends:
    """A span of a test."""

    def __init__(self, begin, end):
        self.begin, self.end = begin, end

    def joins(self, behind):
        return self.end == behind.begin


def test_segments_of_the_folder_that_do_not_join_are_set_aside(answers):
    """The later one; and what was found beside a segment that is proved now."""
    spans = {b"first": Ends(0, 1), b"elsewhere": Ends(7, 8), b"second": Ends(1, 2)}
    told = []
    folder = Folder({(0, 0): b"first", (0, 1): b"elsewhere"})
    job = job_of(1, told, folder)
    job.verifier.segment = lambda plan, index, proof: spans[proof]
    job._resume()
    assert job.board.done == {(0, 0)}
    assert folder.aside == [((0, 1), "it does not begin where segment 0 ends")]
    job = job_of(2, told, Folder({(0, 1): b"elsewhere"}))
    job.verifier.segment = lambda plan, index, proof: spans[proof]
    job._resume()
    assert job.board.done == {(0, 1)}
    member = job.crew.members[0]
    returns(job, answers, member, job._start(member, (0, 0), None, None), TIMES, b"first")
    assert not job.board.done and not member.strikes
    assert job.folder.aside == [((0, 1), "it does not join segment 0")]


def test_a_later_job_of_the_same_plan_is_not_stopped():
    job = job_of(1, [])
    (member,) = job.crew.members
    old = job._start(member, (0, 0), None, None)
    job.give_up()
    names = ("done", "avoid", "checks", "begun", "lost", "made", "neighbours", "resumed")
    later = Job(**{name: getattr(job, name) for name in job.__dataclass_fields__ if name not in names})
    new = later._start(member, (0, 0), None, None)
    assert old.void and not new.void
    assert member.actor.forget.made == [("job", 0, old.number)] and new.number != old.number
    assert [call[-1] for call in member.actor.segment.made] == [old.number, new.number]


def test_done_nodes_are_not_told_to_stop():
    job = job_of(1, [])
    (member,) = job.crew.members
    for index in range(2):
        job._finish((0, index), Done(b"proof", None, object(), None))
    attempt = job._start(member, (1, 0), None, None)
    job.give_up()
    assert attempt.void and not member.actor.forget.made


def test_devices_share_what_segments_have_above_the_default():
    gib = 1 << 30
    assert bound_for_all([35 * gib]) == 35 * gib
    assert bound_for_all([40 * gib, 40 * gib]) == 20 * gib
    assert bound_for_all([35 * gib] * 4) == 15 * gib
    assert bound_for_all([35 * gib, 2 * gib]) == 2 * gib
