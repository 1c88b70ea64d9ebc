"""What this package uses of Ray beside its public interface: fails where a version of Ray differs. No proofs."""

import gc
import os
import stat
import subprocess
import time

import clusters
import malicious
import pytest

from openvm_metal.ray import internals
from openvm_metal.ray.cluster import connected
from openvm_metal.ray.internals import NotReturnedError, Why, printable, read

ray = pytest.importorskip("ray")


class Returns:
    """An actor that returns whatever it is asked for."""

    def part(self, name):
        return malicious.RETURNED[name]()

    def bytes_of(self, size):
        return bytes(size)

    def die(self):
        os._exit(1)


class Missing:
    """An actor whose module is on no worker."""

    def __init__(self):
        import no_module_of_this_name  # noqa: F401

    def part(self):
        return b""


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A cluster of this machine with one worker of each class."""
    notes = tmp_path_factory.mktemp("notes")
    with clusters.environment(notes), connected(None, {"num_cpus": 2}):
        yield notes, ray.remote(Returns).remote(), ray.remote(Missing).remote()


def refused(ref, most=1000):
    """Why what a task returned is not read, and in which words."""
    ray.wait([ref], fetch_local=False)
    with pytest.raises(NotReturnedError) as error:
        read(ref, most, 60.0)
    return error.value.why, str(error.value)


def test_bytes_are_read_and_nothing_else_is_unpickled(here):
    notes, actor, missing = here
    for size in (0, 1, 1000, 300_000):
        assert read(actor.bytes_of.remote(size), max(size, 1), 60.0) == bytes(size)
    # In the message, and in the object store.
    for size in (1001, 3_000_000):
        why, said = refused(actor.bytes_of.remote(size))
        assert why is Why.MALFORMED and said.endswith("bytes, expected are 1000 at most")
    for name in ("a pickle for a proof", "text", "None"):
        _, second = actor.part.options(num_returns=2).remote(name)
        assert refused(second) == (Why.MALFORMED, "it returned an object of Python, expected are bytes"), name
    why, said = refused(actor.part.remote("an exception that is code"))
    assert why is Why.RAISED and said == "OpenedError: of my own?[2J\nand a second line"
    why, said = refused(missing.part.remote())
    assert why is Why.DIED and said.endswith("No module named 'no_module_of_this_name'")
    assert not malicious.marks(notes)
    # What would have happened.
    with pytest.raises(Exception):  # noqa: B017
        ray.get(actor.part.remote("an exception that is code"))
    assert malicious.marks(notes) == [f"opened-by-{os.getpid()}"]
    next(notes.glob("opened-by-*")).unlink()


def test_errors_that_nobody_reads_are_not_unpickled(here):
    notes, actor, _ = here
    ref = actor.part.remote("an exception that is code")
    # Asking whether it is there would count as reading it: the next answer says so.
    read(actor.bytes_of.remote(1), 1, 60.0)
    del ref
    gc.collect()
    time.sleep(0.5)
    assert not malicious.marks(notes)


def test_the_token_is_this_users_alone(here):
    path = os.environ["RAY_AUTH_TOKEN_PATH"]
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    from ray._raylet import AuthenticationMode, AuthenticationTokenLoader, get_authentication_mode

    assert get_authentication_mode() == AuthenticationMode.TOKEN
    with open(path) as file:
        token = file.read()
    assert len(token) == 64 and AuthenticationTokenLoader.instance().get_raw_token() == token


@pytest.mark.parametrize("mode", ["token", "disabled"])
def test_a_cluster_that_wants_a_token_says_so(here, mode, tmp_path):
    script = f"from openvm_metal.ray.cluster import connected\nwith connected({ray.get_runtime_context().gcs_address!r}):\n    pass\n"
    command_line, more = clusters.python(script, capture_output=True, text=True, timeout=60, check=False)
    others = {name: value for name, value in more["env"].items() if not name.startswith("RAY_AUTH_")}
    done = subprocess.run(command_line, **more | {"env": others | {"RAY_AUTH_MODE": mode, "HOME": str(tmp_path)}})
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and "ClusterUnreachableError" in last and "set RAY_AUTH_MODE=token" in last, done.stderr


def test_a_dead_process_is_told(here):
    _, actor, _ = here
    why, said = refused(actor.die.remote())
    assert why is Why.DIED and said.startswith("actor died: ")


def test_an_own_choice_of_authentication_is_kept(monkeypatch):
    for name, value in (("RAY_AUTH_MODE", "disabled"), ("RAY_AUTH_TOKEN", "a" * 64), ("RAY_AUTH_TOKEN_PATH", "/nowhere")):
        for other in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            monkeypatch.delenv(other, raising=False)
        monkeypatch.setenv(name, value)
        before = dict(os.environ)
        with internals.private_token():
            assert dict(os.environ) == before


def test_text_of_others_steers_no_terminal():
    assert printable("a\x1b[31mb\x1b[0m\x07\r\u202ec\nd ") == "ab???c\nd"
    assert len(printable("x" * 5000)) < 1100
