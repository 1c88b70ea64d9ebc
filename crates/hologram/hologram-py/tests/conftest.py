"""The executor that tests run on: `HOLOGRAM_TEST_BACKEND`, the CPU if it is not set."""

import os
import signal

import pytest

import hologram


@pytest.fixture(scope="session")
def backend():
    return os.environ.get("HOLOGRAM_TEST_BACKEND", "cpu")


@pytest.fixture
def ex(backend):
    with hologram.Executor(backend) as executor:
        yield executor


@pytest.fixture
def host(ex):
    """An executor whose memory is the host's."""
    if ex.backend == "cpu":
        return ex
    return hologram.Executor("cpu")


@pytest.fixture
def heard():
    """Ctrl-C is heard: a shell that starts the tests in the background lets them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
