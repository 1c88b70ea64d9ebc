"""Processes and threads: what a child of `fork` gets, and that the interpreter's lock is let go."""

import multiprocessing
import sys
import threading
import time

import numpy as np
import pytest

import hologram
from hologram import array as hp
from hologram import errors
from hologram.array import core

FORK = pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
# Python warns of what is tested here.
WARNS = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")

# Enough for several threads.
SIZE = 1_000_000


def run_in_child(method, work, *arguments):
    """What `work` sends from a child; one that hangs is ended and fails the test."""
    context = multiprocessing.get_context(method)
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(send, *arguments))
    child.start()
    send.close()
    try:
        if not receive.poll(60):
            pytest.fail("the child hangs")
        found = receive.recv()
        child.join(60)
        assert child.exitcode == 0
        return found
    finally:
        if child.is_alive():
            child.kill()
        child.join()


def refused(use):
    try:
        use()
    except errors.ForkError as error:
        return "spawn" in str(error)
    return False


@FORK
@WARNS
def test_a_forked_process_is_told_to_spawn(ex, host, backend):
    a = ex.from_numpy(np.ones(SIZE, np.float32))
    hologram.ops.vector_add(ex, a, a, a)
    view = np.asarray(host.from_numpy(np.ones(SIZE, np.float32)))
    program = hologram.Program("exit")

    def work(send):
        found = [
            refused(use)
            for use in (
                lambda: hologram.Executor(backend),
                ex.__enter__,
                ex.synchronize,
                ex.stats,
                lambda: ex.closed,
                lambda: ex.allocate(1),
                lambda: ex.run(program, grid=1000),
                lambda: hologram.ops.vector_add(ex, a, a, a),
                lambda: hologram.ops.reduce_sum(ex, a),
                a.__enter__,
                a.to_numpy,
                a.free,
                lambda: a.freed,
                lambda: np.asarray(a),
            )
        ]
        # What ends a `with`, and what shows an object, goes through; what NumPy holds can be read.
        a.__exit__(None, None, None)
        ex.close()
        found.append("another process" in repr(a) and "another process" in repr(ex))
        found.append(bool(view.sum() == SIZE))
        send.send(found)

    found = run_in_child("fork", work)
    assert found == [True] * 16
    # The parent goes on.
    assert a.to_numpy()[0] == 2 and not a.freed and not ex.closed


def sum_of_ones(send, backend):
    with hologram.Executor(backend) as ex:
        a = ex.from_numpy(np.ones(SIZE, np.float32))
        hologram.ops.vector_add(ex, a, a, a)
        send.send(hologram.ops.reduce_sum(ex, a))


def sum_in_a_fork(send, backend):
    """Forks before a device is opened."""
    send.send(run_in_child("fork", sum_of_ones, backend))


@FORK
@WARNS
def test_children_open_devices_of_their_own(ex, backend):
    assert hologram.ops.reduce_sum(ex, ex.from_numpy(np.ones(SIZE, np.float32))) == SIZE
    assert run_in_child("spawn", sum_of_ones, backend) == 2 * SIZE
    assert run_in_child("spawn", sum_in_a_fork, backend) == 2 * SIZE


def sum_of_an_array(send):
    with hologram.device("cpu"):
        send.send(float(hp.sum(hp.ones(SIZE))))


def sum_of_an_array_in_a_fork(send):
    """Forks while another thread holds the lock of all arrays."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with core.changes:
            held.set()
            done.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        send.send(run_in_child("fork", sum_of_an_array))
    finally:
        done.set()
        holder.join()


@FORK
@WARNS
def test_a_fork_does_not_wait_for_arrays_of_other_threads():
    assert run_in_child("spawn", sum_of_an_array_in_a_fork) == SIZE


@FORK
@WARNS
def test_a_forked_process_is_told_so_by_arrays():
    with hologram.device("cpu"):
        x = hp.ones(SIZE)
        recorded, view = x + 1, x[::2]
        waiting = threading.Thread(target=lambda: [float(hp.sum(x)) for _ in range(50)])
        waiting.start()

    def work(send):
        found = [
            refused(recorded.compute),
            refused(lambda: hp.sum(x)),
            refused(lambda: hp.zeros(3)),
            refused(lambda: view.__setitem__(0, 1)),
            refused(lambda: hp.add(x, 1, out=x)),
            (x * 2).pending,
        ]
        send.send(found)

    assert run_in_child("fork", work) == [True] * 6
    waiting.join()
    assert float(recorded[0]) == 2


@pytest.mark.parametrize(
    "use",
    [
        lambda ex, a: ex.stats(),
        lambda ex, a: np.asarray(a),
        lambda ex, a: memoryview(a),
        lambda ex, a: np.from_dlpack(a),
        lambda ex, a: ex.allocate_boundary(3, 48, 256),
        lambda ex, a: a.fill(1),
        lambda ex, a: ex.count_host_operation(),
    ],
    ids=["stats", "asarray", "memoryview", "from_dlpack", "allocate_boundary", "fill", "count_host_operation"],
)
def test_other_threads_run_while_one_waits(host, use):
    """One thread runs a program, another waits for the device: a third must not stand still."""
    a = host.allocate(SIZE)
    endless = hologram.Program("mov_imm.u32 r0, 1\n@l:\nbra @l")
    # Compiled before, so that the device is busy from the start.
    with pytest.raises(errors.FaultError):
        host.run(endless, step_budget=2**60, time_limit=0.01)
    begun = threading.Event()

    def run():
        with pytest.raises(errors.FaultError):
            begun.set()
            host.run(endless, step_budget=2**60, time_limit=0.5)

    def wait():
        use(host, a)

    runner = threading.Thread(target=run)
    runner.start()
    begun.wait()
    time.sleep(0.02)
    waiter = threading.Thread(target=wait)
    waiter.start()
    ticks = 0
    while runner.is_alive():
        time.sleep(0.001)
        ticks += 1
    waiter.join()
    runner.join()
    assert ticks > 20
