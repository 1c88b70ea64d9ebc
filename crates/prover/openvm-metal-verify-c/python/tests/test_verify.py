"""A real proof with OpenVM's default parameters, from Python, by the installed wheel."""

import json
import threading
from pathlib import Path

import pytest

from openvm_metal_verify import MIN_SECURITY_BITS, Verified, VerifyError, verify

DATA = Path(__file__).parents[3] / "openvm-metal-cli/tests/data"
PROOF, KEY = DATA / "fibonacci.stark.proof", DATA / "fibonacci.stark.vk"
BASELINE, COMMIT = DATA / "fibonacci.baseline.json", DATA / "fibonacci.commit.json"


@pytest.mark.parametrize(
    ("expected", "options", "compared_with"),
    [(BASELINE, {}, "baseline"), (COMMIT, {}, "commitments"), (None, {"trust_vk": True}, "nothing")],
)
def test_a_proof_says_what_it_proves(expected, options, compared_with):
    """Catches a field that is read at another place, or is not the proof's."""
    commit = json.loads(COMMIT.read_text())
    verified = verify(PROOF, KEY, expected, **options)
    assert isinstance(verified, Verified)
    assert verified.app_exe_commit == commit["app_exe_commit"]
    assert verified.app_vm_commit == commit["app_vm_commit"]
    assert verified.public_values[:8] == bytes.fromhex("4b60c05cc74d590b")
    assert len(verified.public_values) == 32
    assert verified.exit_code == 0
    assert int(verified.security_bits) == 100
    assert verified.is_of_all_circuits == (expected is not None)
    assert verified.compared_with == compared_with
    assert 0 < verified.seconds < 600
    assert MIN_SECURITY_BITS == 80


def test_bytes_and_paths_are_the_same():
    files = [path.read_bytes() for path in (PROOF, KEY, BASELINE)]
    assert verify(*files).public_values == verify(str(PROOF), memoryview(files[1]), bytearray(files[2])).public_values


def refused(message, *args, **options):
    with pytest.raises(VerifyError, match=message):
        verify(*args, **options)


def test_refusals():
    """Catches a proof, a key or a file of commitments that is accepted although it is something else."""
    proof = bytearray(PROOF.read_bytes())
    refused("a key of unknown origin", PROOF, KEY)
    refused("a proof cannot be taken from bytes", bytes(proof[: len(proof) // 2]), KEY, BASELINE)
    refused("a proof cannot be taken from bytes", b"", KEY, BASELINE)
    refused("a verifying key cannot be taken from bytes", PROOF, PROOF, BASELINE)
    refused("pair of commitments cannot be taken from bytes", PROOF, KEY, b"")
    refused("at least 120 are required", PROOF, KEY, BASELINE, min_bits=120)
    refused("at least nan are required|at least NaN are required", PROOF, KEY, BASELINE, min_bits=float("nan"))
    toy_proof, toy_key = DATA / "toy.stark.proof", DATA / "toy.stark.vk"
    refused("gives 5.2 bits of security", toy_proof, toy_key, trust_vk=True)
    refused("not the key that the baseline names", PROOF, toy_key, BASELINE, min_bits=0)
    refused("Stark verifier failed", toy_proof, KEY, BASELINE)
    assert verify(toy_proof, toy_key, min_bits=0, trust_vk=True).security_bits < 6
    middle = len(proof) // 2
    proof[middle] = ord("2") if proof[middle] == ord("1") else ord("1")
    refused("the proof is not accepted", proof, KEY, BASELINE)
    commit = json.loads(COMMIT.read_text())
    commit["app_exe_commit"] = "0x" + "0" * 64
    refused("the program is 0x", PROOF, KEY, json.dumps(commit).encode())
    refused("more than 1048576 bytes", PROOF, KEY, "/dev/zero")


def test_arguments_of_another_kind():
    with pytest.raises(TypeError, match="proof: expected are bytes or a path, not int"):
        verify(7, KEY)
    with pytest.raises(FileNotFoundError):
        verify(DATA / "none.proof", KEY)


def test_threads_do_not_disturb_each_other():
    """Catches a result that two calls share."""
    found = []

    def one(expected):
        found.append(verify(PROOF, KEY, expected).compared_with)

    threads = [threading.Thread(target=one, args=(expected,)) for expected in (BASELINE, COMMIT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == ["baseline", "commitments"]
