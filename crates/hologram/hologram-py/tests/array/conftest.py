"""The device of the tests of arrays: `HOLOGRAM_TEST_BACKEND`."""

import pytest
from standard import DEVICE

import hologram


@pytest.fixture(autouse=True)
def on_device():
    with hologram.device(DEVICE):
        yield
