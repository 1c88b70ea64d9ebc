"""Executors: choice of the device, life, counters."""

import threading
import weakref

import numpy as np
import pytest

import hologram
from hologram import errors
from hologram.backend import BackendType, get_default_backend, is_cuda_available, is_metal_available, validate_backend


def test_version():
    assert hologram.__version__ != "unknown"


def test_default_is_the_first_device_there_is():
    assert hologram.Executor().backend == get_default_backend()
    assert hologram.Executor("auto").backend == get_default_backend()


def test_cpu():
    ex = hologram.Executor("cpu")
    assert ex.backend == "cpu"
    assert "CPU" in ex.device
    assert 'backend="cpu"' in repr(ex)


def test_backends_are_listed_with_reasons():
    listed = {name: (there, text) for name, there, text in hologram.backends()}
    assert set(listed) == {"cpu", "interpreter", "metal", "cuda"}
    assert listed["cpu"][0]
    assert all(text for _, text in listed.values())
    assert listed["metal"][0] == is_metal_available()
    assert listed["cuda"][0] == is_cuda_available()


@pytest.mark.parametrize("name", ["metal", "cuda"])
def test_a_named_device_is_never_another(name):
    there = dict((n, t) for n, t, _ in hologram.backends())[name]
    if there:
        assert hologram.Executor(name).backend == name
    else:
        with pytest.raises(errors.BackendUnavailableError, match=name):
            hologram.Executor(name)


@pytest.mark.parametrize("name", ["tpu", "", "CPU", "cpu "])
def test_unknown_names(name):
    with pytest.raises(ValueError, match="cpu, interpreter, metal, cuda"):
        hologram.Executor(name)
    with pytest.raises(ValueError):
        validate_backend(name)


def test_names_of_the_enumeration():
    assert hologram.Executor(BackendType.CPU).backend == "cpu"
    assert validate_backend("auto") == "auto"


def test_use_after_close(backend):
    ex = hologram.Executor(backend)
    kept = ex.from_numpy(np.ones(3, np.float32))
    ex.close()
    ex.close()
    assert ex.closed
    assert "closed" in repr(ex)
    for use in (
        lambda: ex.allocate(1),
        lambda: ex.stats(),
        lambda: ex.synchronize(),
        lambda: hologram.ops.vector_neg(ex, kept, kept),
        lambda: ex.__enter__(),
    ):
        with pytest.raises(errors.ClosedError):
            use()
    # What was allocated stays.
    assert kept.to_numpy().tolist() == [1, 1, 1]


@pytest.mark.parametrize("close", [hologram.Executor.cleanup, lambda ex: ex.__exit__(None, None, None)], ids=["cleanup", "with"])
def test_other_ways_to_close(backend, close):
    with hologram.Executor(backend) as ex:
        assert not ex.closed
        close(ex)
        assert ex.closed


def test_fallback_is_a_policy(backend):
    for policy in ("never", "when-unsupported", "adaptive"):
        with hologram.Executor(backend, fallback=policy) as ex:
            assert ex.backend == backend
    with pytest.raises(errors.ArgumentError, match="fallback"):
        hologram.Executor(backend, fallback="sometimes")


def test_stats_count(ex):
    before = ex.stats()
    a = ex.from_numpy(np.zeros(100, np.float32))
    hologram.ops.vector_neg(ex, a, a)
    a.to_numpy()
    after = ex.stats()
    gained = {key: after[key] - before[key] for key in after}
    assert gained["allocations"] == gained["live_buffers"] == gained["operations"] == 1
    assert gained["live_bytes"] == gained["bytes_to_device"] == gained["bytes_from_device"] == 400
    a.free()
    assert ex.stats()["live_buffers"] == before["live_buffers"]


def test_no_limit_of_96_allocations(ex):
    kept = [ex.allocate(10) for _ in range(300)]
    assert len({buffer.handle for buffer in kept}) == 300
    for _ in range(5000):
        ex.allocate(10)
    assert ex.stats()["live_buffers"] == 300


def test_many_executors():
    for i in range(200):
        with hologram.Executor("cpu") as ex:
            assert ex.from_numpy(np.array([i])).to_numpy()[0] == i


def test_sixteen_threads(ex):
    failures = []

    def work(seed):
        try:
            rng = np.random.default_rng(seed)
            for _ in range(40):
                n = int(rng.integers(1, 2000))
                x = rng.integers(-1000, 1000, n, dtype=np.int64)
                a, c = ex.from_numpy(x), ex.allocate(n, "int64")
                hologram.ops.vector_mul(ex, a, a, c)
                assert (c.to_numpy() == x * x).all()
                assert hologram.ops.reduce_sum(ex, a) == x.sum()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert ex.stats()["live_buffers"] == 0


def test_weak_references(ex):
    buffer = ex.allocate(1)
    seen = weakref.ref(buffer)
    del buffer
    assert seen() is None


def test_errors_have_one_base():
    raised = [value for value in vars(errors).values() if isinstance(value, type)]
    assert len(raised) > 10
    assert all(issubclass(kind, hologram.HologramError) for kind in raised)
    assert issubclass(errors.OutOfMemoryError, MemoryError)
