"""What is recorded, by many threads at once and for a long time."""

import itertools
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hologram
from hologram import _hologram
from hologram import array as hp
from hologram.array import core

from standard import DEVICE, to_numpy


def in_threads(work, count=8):
    """Results of a work in threads that start together."""
    gate = threading.Barrier(count)

    def start(number):
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(start, range(count)))


def test_threads_record_on_shared_arrays():
    for _ in range(30):
        x = hp.arange(3000.0, device=DEVICE)
        shared = x * 2
        further = shared + 1

        def work(number):
            mine = further * number + shared
            if number % 3 == 0:
                shared.compute()
            total = float(hp.sum(mine - shared))
            return total, mine.tolist()[10], further.tolist()[7]

        for number, found in enumerate(in_threads(work)):
            assert found == (sum(range(1, 6001, 2)) * number, 21.0 * number + 20, 15.0)


def test_what_is_read_is_never_half_written():
    x = hp.zeros(70_000)
    done = threading.Event()

    def read(_):
        seen = 0
        while not done.is_set() or seen < 20:
            values = to_numpy(x + 0)
            assert values.min() == values.max()
            seen += 1
        return seen

    def write():
        for number in range(200):
            x[...] = number
        done.set()

    def work(number):
        return write() if number == 0 else read(number)

    in_threads(work, 4)
    assert float(x[5]) == 199


def test_readers_are_computed_before_a_write():
    x = hp.arange(1000)
    pending = [x * k for k in range(50)]
    sums = [y + 1 for y in pending[::2]]
    del pending[::2]
    x[...] = -1
    assert all(not y.pending for y in pending)
    assert [y.tolist()[3] for y in pending] == [3 * k for k in range(1, 50, 2)]
    assert [y.tolist()[3] for y in sums] == [3 * k + 1 for k in range(0, 50, 2)]
    # A reader of what was computed for it reads that memory: it is computed before the write, too.
    first = x + 5
    second = first * 2
    first.compute()
    first[...] = 0
    assert second.tolist()[0] == 8


def test_many_writers():
    x = hp.zeros(1000, dtype="int64")

    def work(number):
        mine = x[number::8]
        for _ in range(50):
            mine += 1

    in_threads(work)
    assert (to_numpy(x) == 50).all()


def test_scans_and_positions_see_whole_writes():
    count = 500_000
    x, everywhere = hp.ones(count, dtype=hp.int64), hp.ones(count, dtype=hp.bool)
    done = threading.Event()

    def write():
        number = 1
        while not done.is_set():
            number = number % 5 + 1
            x[everywhere] = number

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(60):
            assert int(hp.cumulative_sum(x)[-1]) % count == 0
            assert int(hp.argmax(x)) == 0
    finally:
        done.set()
        writer.join()



def test_ctrl_c_while_another_thread_computes(heard):
    x = hp.ones(10) + 1
    held, done = threading.Event(), threading.Event()

    def hold():
        with core.changes:
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    ticks = []

    def tick():
        while not done.is_set():
            ticks.append(0)
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            x.compute()
    finally:
        done.set()
        for thread in (holder, ticker, timer):
            thread.join()
    assert len(ticks) > 20
    assert x.pending and x.tolist() == [2] * 10


def test_the_lock_may_be_taken_again():
    with core.changes, core.changes:
        assert (hp.ones(3) + 1).tolist() == [2, 2, 2]
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: (hp.ones(3) + 1).tolist()).result(60) == [2, 2, 2]


def test_nothing_is_left_behind():
    executor = hologram.device(DEVICE).executor
    x, y = hp.ones(100), hp.ones(100)
    lasting = x + 1

    def memory():
        stats = executor.stats()
        return stats["live_buffers"]

    for work in (
        lambda: x + y,
        lambda: (x + y).compute(),
        lambda: lasting * 2 - x,
        lambda: hp.sum(x * y),
        lambda: hp.add(x, y, out=y),
        lambda: x.__iadd__(1),
        lambda: hp.where(x > y, x, 0.0),
    ):
        work()
        nodes, buffers = _hologram.recorded_operations(), memory()
        for _ in range(10_000):
            work()
        assert _hologram.recorded_operations() == nodes
        assert memory() == buffers
    before = _hologram.recorded_operations()
    chain = x
    for _ in range(10_000):
        chain = chain + 1
    chain.compute()
    del chain
    assert _hologram.recorded_operations() <= before


def test_more_structures_than_are_known():
    """Known expressions are forgotten and made again."""
    values = np.array([1.0, 2.0, -3.0])
    x = hp.asarray(values)
    steps = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: b - a, lambda a, b: a * b]
    chains = list(itertools.product(range(4), repeat=6))[::3]
    assert len(chains) > 1024
    for chain in [*chains, *chains[:200], *chains[-200:]]:
        found, expected = x, values
        for step in chain:
            found, expected = steps[step](found, x), steps[step](expected, values)
        assert to_numpy(found).tolist() == expected.tolist()


def test_zeros_of_both_signs_are_two_numbers():
    x = hp.ones(2)
    found = hp.concat([x * 0.0, x * -0.0])
    assert np.signbit(to_numpy(found)).tolist() == [False, False, True, True]
    both = (x * 0.0) / (x * -0.0 + x) + (x * -0.0)
    assert to_numpy(both).tolist() == [0, 0]
    assert np.signbit(to_numpy(hp.full(2, -0.0) + x * -0.0)).all()


NUMBERS = [2, 0.5, 2**40, -(2**63), 2**63, 1e300, float("nan"), 10**400, -1, 255, 256]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: str(number)[:12])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64"])
def test_numbers_beside_arrays(number, dtype):
    """The shortest way to a node gives and raises what the longer one does."""

    class Same(type(number)):
        """The number as one of another class, which takes the longer way."""

    x = hp.asarray([1, 0, 1], dtype=dtype)

    def outcome(work, other):
        try:
            found = to_numpy(work(x, other))
            return found.dtype, found.tolist().__repr__()
        except (TypeError, OverflowError) as error:
            return type(error), str(error)

    for work in (hp.add, hp.multiply, hp.maximum, hp.less, hp.equal, lambda a, b: hp.subtract(b, a), lambda a, b: hp.where(a > 0, a, b)):
        assert outcome(work, number) == outcome(work, Same(number))


def test_numpys_part_reads_no_half_written_array():
    """Products, functions of NumPy's and copies, while another thread writes all elements at once."""
    ones = hp.eye(700, dtype="float64", device=DEVICE)
    reads = (lambda a: a @ ones, hp.sort, lambda a: hp.hypot(a, a), lambda a: hp.unique_counts(a).values, lambda a: a.tolist())
    for read in (*reads, lambda a: hp.asarray(a, copy=True), lambda a: pickle.loads(pickle.dumps(a, 4)), lambda a: round(a, 1)):
        a = hp.zeros((700, 700), dtype="float64", device=DEVICE).compute()
        done = threading.Event()

        def write(a=a, done=done):
            while not done.is_set():
                a[...] = a + 1.0
                a[...] = a - 1.0

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(6):
                found = np.asarray(read(a))
                assert np.unique(found).size == 1
        finally:
            done.set()
            writer.join()


def test_many_readers_of_what_is_written():
    x = hp.zeros(8)
    readers = [x + number for number in range(20_000)]
    x[0] = 1.0
    assert readers[0].tolist() == [0.0] * 8 and readers[-1].tolist() == [19_999.0] * 8
