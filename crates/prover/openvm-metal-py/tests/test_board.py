"""Which task can be done when, and who takes it: without Ray and without proofs."""

import random
import time
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from tree import Tree

from openvm_metal import errors
from openvm_metal.ray.board import Board
from openvm_metal.ray.choice import Choice
from openvm_metal.ray.crew import Attempt, Member
from openvm_metal.ray.neighbours import Neighbours
from openvm_metal.ray.rates import Rate, expected, is_late, too_slow, worth_a_second
from openvm_metal.ray.seats import Seat, Wanted, offers, seats, wanted
from openvm_metal.tasks import END


@dataclass(frozen=True)
class _Span:
    """From where to where, as a proof's span."""

    begin: int
    end: int

    def joins(self, behind):
        return self.end == behind.begin


def test_the_tests_tree_is_the_provers(prover):
    from conftest import INPUT

    plan = prover.plan(INPUT)
    shape = Tree(plan.levels[0], plan.children)
    assert shape.levels == plan.levels
    for level, nodes in enumerate(plan.levels[1:], start=1):
        for index in range(nodes):
            assert shape.below(level, index) == plan.below(level, index)


@pytest.mark.parametrize("segments", [1, 2, 3, 7, 29, 209])
def test_tasks_become_ready_when_what_they_need_is_done(segments):
    board = Board(Tree(segments, (4, 3)))
    chance = random.Random(segments)
    order = []
    while not board.complete:
        ready = list(board.ready())
        assert ready == sorted(ready, key=lambda task: (task != END, -task[0], task[1]))
        task = chance.choice(ready)
        if chance.random() < 0.1:
            board.finish(task)
            board.undo(task)
            assert task in set(board.ready())
            continue
        assert all(child in board.done for child in board.below(task))
        board.finish(task)
        order.append(task)
    assert len(order) == len(set(order)) == board.tasks
    assert board.above(board.root) == []


def test_rates_are_those_of_the_newest_tasks():
    fast, slow, new = Rate(), Rate(), Rate()
    for _ in range(30):
        fast.measure("segment", 1000, 1.0, 3.0)
        slow.measure("segment", 1000, 10.0, 10.0)
        fast.measure("node", 1, 2.0, 2.0)
    assert expected(fast, [fast, slow, new], "segment", 2000) == pytest.approx(2.0)
    # One that did no node is as much slower at them as it was at segments.
    assert expected(slow, [fast, slow, new], "node", 1) == pytest.approx(20.0)
    assert expected(new, [fast, slow, new], "segment", 1000) == pytest.approx(5.5)
    assert expected(new, [new], "segment", 1000) is None
    # Behind others a task takes longer than one that is alone, which is remembered.
    assert fast.least("segment", 1000) == pytest.approx(3.0)
    fast.measure("segment", 1000, 1.0, 9.0)
    assert 3.0 < fast.least("segment", 1000) < 3.2
    fast.measure("segment", 1000, 1.0, 2.0)
    assert fast.least("segment", 1000) == pytest.approx(2.0)
    assert new.least("segment", 1000) == 0.0


def test_the_last_tasks_go_to_fast_devices():
    # Ten times slower: worth it while the fast one has enough to do, not at the end.
    assert not too_slow(10.0, [1.0], left=20)
    assert too_slow(10.0, [1.0], left=3)
    assert not too_slow(1.0, [1.0, 1.0], left=1)
    assert not too_slow(None, [1.0], left=1) and not too_slow(5.0, [], left=1)
    # What the others are at comes before what is left.
    assert too_slow(8.0, [1.0], left=3) and not too_slow(8.0, [1.0], left=3, queued=3)
    assert worth_a_second(1.0, first=10.0, elapsed=2.0)
    assert not worth_a_second(1.0, first=1.0, elapsed=0.5)
    assert worth_a_second(1.0, first=1.0, elapsed=4.0)
    assert not worth_a_second(1.0, first=None, elapsed=1.5)


def members(*rates, in_flight=3, through=1.0):
    """Devices that make 1000 instructions in so many seconds each, and one segment alone `through` times as slowly; None for one of which
    nothing is known."""
    made = []
    for number, seconds in enumerate(rates):
        seat = Seat(f"node{number}", "10.0.0.1", "cuda", number, 1, 1, 1)
        member = Member(seat, actor=None, hello=None, since=0.0, about={"in_flight": in_flight})
        if seconds is not None:
            member.rate.measure("segment", 1000, seconds, seconds * through)
        made.append(member)
    return made


def handed(crew, segments, running=None, told=None):
    """How many segments each device is given."""
    board = Board(Tree(segments, (4, 3)))

    def start(member, task, keeps, expected):
        attempt = Attempt("job", task, None, None, time.monotonic(), keeps, expected)
        member.attempts.append(attempt)
        return attempt

    tell = (told if told is not None else []).append
    choice = Choice(SimpleNamespace(members=crew), board, [1000] * segments, {}, lambda event, **_: tell(event))
    choice.assign({} if running is None else running, start)
    tasks = [attempt.task for member in crew for attempt in member.attempts]
    assert len(tasks) == len(set(tasks))
    return [len(member.attempts) for member in crew]


def test_a_device_has_its_next_tasks_before_it_ends_one():
    assert handed(members(1.0, 1.0), 9) == [3, 3], "as many as it can be at"
    assert handed(members(1.0, 1.0, 1.0), 4) == [2, 1, 1], "the last ones are shared out"
    # Nobody knows how fast they are: one each, but all of it for one alone.
    assert handed(members(None, None), 9) == [1, 1]
    assert handed(members(None), 9) == [3]
    # A device takes what it ends with the others.
    assert handed(members(1.0, 10.0), 40) == [3, 3]
    assert handed(members(1.0, 10.0, in_flight=8), 3) == [3, 0]
    assert handed(members(0.1, 0.1, 0.4, in_flight=8), 12) == [5, 5, 2]
    # One segment takes long on any of them, but does not keep it: somebody takes the last one.
    assert handed(members(0.1, 0.1, through=9.0), 1) == [1, 0]


def test_an_idle_device_overtakes_a_slow_one():
    def of(slow, idle):
        crew, told = members(slow, idle), []
        attempt = Attempt("job", (0, 0), None, None, time.monotonic(), slow, slow)
        crew[0].attempts.append(attempt)
        board = Board(Tree(1, (4, 3)))
        started = []
        choice = Choice(SimpleNamespace(members=crew), board, [1000], {}, lambda event, **_: told.append(event))
        choice.assign({(0, 0): [(crew[0], attempt)]}, lambda member, task, *_: started.append((member, task)) or attempt)
        return [(member is crew[1], task) for member, task in started], told

    assert of(10.0, 1.0) == ([(True, (0, 0))], ["overtaking"])
    assert of(1.0, 1.0) == ([], [])
    assert of(1.0, 10.0) == ([], [])


def test_the_time_of_a_queue_is_what_it_was_expected_to_take_less_what_passed():
    (member,) = members(1.0)
    assert member.queue(100.0) == 0.0 and not member.is_stuck(100.0, 5.0)
    member.attempts = [Attempt("job", (0, index), None, None, 100.0, 2.0, 2.0 * (index + 1)) for index in range(3)]
    assert member.queue(101.0) == pytest.approx(5.0)
    assert member.queue(150.0) == pytest.approx(4.0), "late with the first one"
    assert member.is_stuck(106.0, 5.0)
    # The others began when the one before them ended.
    member.heard = 104.0
    del member.attempts[0]
    assert member.queue(105.0) == pytest.approx(3.0) and not member.is_stuck(106.0, 5.0)


def node(name, alive=True, **resources):
    return {"NodeID": name, "NodeManagerAddress": f"10.0.0.{len(name)}", "Alive": alive, "Resources": resources}


def test_seats_are_gpus_macs_and_groups_of_cores():
    nodes = [node("a", CPU=8, GPU=2), node("bb", CPU=10, metal=1), node("ccc", CPU=6), node("d", alive=False, CPU=4)]
    auto = seats(nodes, wanted(["auto"]))
    assert [(seat.node, seat.device, seat.number) for seat in auto] == [
        ("a", "cuda", 0),
        ("a", "cuda", 1),
        ("bb", "metal", 0),
        ("ccc", "cpu", 0),
    ]
    assert [seat.threads for seat in auto] == [None, None, None, 6]
    # A GPU's machines have its part of the node's cores.
    assert [seat.share for seat in auto] == [4, 4, 10, 6]
    assert len(seats(nodes, wanted(["cpu:4"]))) == 2 + 2 + 1
    assert len(seats(nodes, wanted(["metal", "cuda"]))) == 3
    # Beside GPUs a group has the cores that they leave.
    mixed = seats(nodes[:1], wanted(["cuda", "cpu"]))
    assert [(seat.device, seat.cpus) for seat in mixed] == [("cuda", 1), ("cuda", 1), ("cpu", 6)]
    assert len(seats(nodes[:1], wanted(["cuda", "cpu:4"]))) == 3
    assert seats([node("a", CPU=0)], [Wanted("cpu")]) == []
    # Devices of one node share its memory, of which a quarter is for everything else.
    shared = seats([node("a", CPU=8, GPU=2, memory=800.0), node("bb", CPU=4, memory=400.0)], wanted(["auto"]))
    assert [seat.host_memory(None) for seat in shared] == [(None, 300), (None, 300), (None, 300)]
    assert [seat.host_memory(100) for seat in shared] == [(50, None), (50, None), (100, None)]
    assert [seat.host_memory(None) for seat in auto] == [(None, None)] * 4, "Ray does not say it"
    assert "10.0.0.1: 2 GPU, 8 CPU" in offers(nodes)
    for bad in (["abacus"], ["cpu:0"], ["cuda:1"], []):
        with pytest.raises(errors.ConfigError):
            wanted(bad)


def test_what_was_made_of_an_undone_segment_is_undone():
    board = Board(Tree(9, (2, 2)))
    for index in range(9):
        board.finish((0, index))
    board.finish(END)
    for task in ((1, 0), (1, 1), (2, 0)):
        board.finish(task)
    assert set(board.undo((0, 1))) == {(0, 1), (1, 0), (2, 0)}
    assert (1, 1) in board.done and (0, 1) in set(board.ready())
    assert not {(1, 0), (2, 0)} & set(board.ready())
    board.finish((0, 1))
    assert (1, 0) in set(board.ready())
    assert set(board.undo((0, 8))) == {(0, 8), END}


def test_of_two_segments_that_do_not_join_the_first_maker_of_a_wrong_one_is_found():
    one, other = _Span(1, 2), _Span(1, 5)
    neighbours = Neighbours()
    assert neighbours.conflict(1, one, _Span(0, 1), _Span(2, 3)) is None
    assert neighbours.conflict(1, one, None, None) is None
    assert neighbours.conflict(1, one, _Span(0, 7), _Span(2, 3)) == 0
    assert neighbours.conflict(1, one, _Span(0, 1), _Span(7, 3)) == 2
    assert neighbours.wrong(1, one) is None, "nobody is suspected"
    neighbours.suspect(1, other, "a")
    assert neighbours.wrong(1, one) == "a"
    assert neighbours.wrong(1, one) is None, "once"
    neighbours.suspect(1, one, "a")
    assert neighbours.wrong(1, one) is None, "the first proof was right"


def test_a_device_that_is_long_past_its_time_is_left_nothing():
    """What it said of its rate would have the others leave all to it."""
    now = time.monotonic()
    assert not is_late(None, 1e9) and not is_late(1.0, 1.9) and is_late(1.0, 2.1) and not is_late(1e-6, 0.4)
    crew = []
    for number in range(2):
        seat = Seat(f"node{number}", "10.0.0.1", "cuda", number, 1, 1, 1)
        crew.append(Member(seat, actor=None, hello=None, since=0.0, about={"in_flight": 1}))
    liar, honest = crew
    liar.rate.measure("segment", 1000, 1e-6, 1e-6)
    honest.rate.measure("segment", 1000, 1.0, 1.0)
    for started, given in ((now, False), (now - 10, True)):
        board = Board(Tree(3, (4, 3)))
        choice = Choice(SimpleNamespace(members=crew), board, [1000] * 3, {}, lambda event, **_: None)
        liar.attempts = [Attempt(None, (0, 0), None, None, started, 1e-6, 1e-6)]
        honest.attempts = []
        begun = []

        def start(member, task, keeps, expected, begun=begun):
            attempt = Attempt(None, task, None, None, now, keeps, expected)
            member.attempts.append(attempt)
            begun.append((member, task))
            return attempt

        choice.assign({(0, 0): [(liar, liar.attempts[0])]}, start)
        assert ((honest, (0, 1)) in begun) == given


def test_conflicts_count_as_long_as_nobody_is_found():
    neighbours = Neighbours()
    for _ in range(30):
        assert neighbours.conflict(1, _Span(1, 2), _Span(0, 7), None) == 0
        neighbours.suspect(1, _Span(5, 6), "a")
        assert neighbours.wrong(1, _Span(1, 2)) == "a"


def test_neighbours_that_never_join_end_the_job():
    neighbours = Neighbours()
    for _ in range(8):
        neighbours.conflict(1, _Span(1, 2), _Span(0, 7), None)
    with pytest.raises(errors.ProveError, match="segments 1 and 0 do not join"):
        neighbours.conflict(1, _Span(1, 2), _Span(0, 7), None)
