"""One program, its keys and its prover with toy parameters, for all tests."""

import os
import pathlib
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
# Ray's own switch for keeping to the loopback interface, whatever the system.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
sys.path.insert(1, str(pathlib.Path(__file__).parent.parent / "benches"))

import guests  # noqa: E402
import pytest  # noqa: E402

import openvm_metal as om  # noqa: E402

TOY = (18, 17)
SETTINGS = {"segment_max_memory": 1, "children": (2, 2), "allow_insecure": True}
INPUT = bytes([1, 2, 3, 4])
ROUNDS = 500


def pytest_addoption(parser):
    parser.addoption("--faults", action="store_true", help="every fault of a cluster, not only a sample")


@pytest.fixture
def all_faults(request):
    """Skips a fault outside of the sample."""
    if not request.config.getoption("--faults"):
        pytest.skip("a fault outside of the sample: --faults")


@pytest.fixture(scope="session")
def program():
    return om.Program.from_bytes(guests.sums(ROUNDS), guests.CONFIG, "sums")


@pytest.fixture(scope="session")
def prover(program):
    made = om.Prover(program, device="cpu", toy=TOY, **SETTINGS)
    made.warm_up()
    return made


@pytest.fixture(scope="session")
def keys(prover):
    return prover.keys()


class Whole:
    """What one process makes. The bytes are a function of the job alone."""

    def __init__(self, prover, folder):
        self.proof, self.report = prover.prove(INPUT, in_flight=1, resume=folder)
        plan = prover.plan(INPUT)
        kept = om.JobFolder(folder, plan)
        self.segments = [kept.load((0, index)) for index in range(plan.levels[0])]
        self.vk = prover.verifying_key

    def equals(self, proof, segments=None):
        """Checks that a proof is valid and the same, byte for byte, and so are those of the segments."""
        assert om.verify(proof, self.vk, allow_insecure=True) == self.proof.public_values
        assert proof.to_bytes() == self.proof.to_bytes()
        assert segments is None or segments == self.segments


@pytest.fixture(scope="session")
def whole(prover, tmp_path_factory):
    made = Whole(prover, tmp_path_factory.mktemp("whole"))
    assert made.report["segments"] >= 3
    return made
