"""Workers that return what would do harm, by real clusters: a strike each, and the job ends as one process would."""

import malicious
import pytest
from clusters import cluster
from conftest import INPUT, SETTINGS
from jobs import Log, proved

from openvm_metal.ray import Pool, crew

pytest.importorskip("ray")


def test_whatever_a_worker_returns_is_a_strike(tmp_path, program, keys, whole, monkeypatch):
    """A device that is never taken out, so that one cluster sees it all."""
    monkeypatch.setattr(crew, "STRIKES", len(malicious.RETURNED) + 1)
    log = Log()
    with (
        cluster(2, tmp_path) as made,
        Pool(program, made.address, keys=keys, devices="cpu:1", worker=malicious.Returns, events=log, **SETTINGS) as pool,
    ):
        # No device does a task again in which it failed, so that a job is not enough.
        for _ in range(len(malicious.RETURNED)):
            proved(pool.prove(INPUT), whole, twice=(0, 100))
            if len(log.of("strike")) == len(malicious.RETURNED):
                break
    strikes = log.of("strike")
    assert len(strikes) == len(malicious.RETURNED) and len({strike["device"] for strike in strikes}) == 1
    assert not log.of("removed") and not log.of("died") and not log.of("lost")
    text = "\n".join(strike["reason"] for strike in strikes)
    assert "an object of Python" in text and "OpenedError: of my own?[2J" in text and "expected are 67108864 at most" in text
    assert not malicious.marks(tmp_path)


@pytest.mark.fault
@pytest.mark.parametrize("said", malicious.SAID)
def test_a_worker_that_says_nonsense_of_itself_is_taken_out(all_faults, tmp_path, program, keys, whole, said):
    (tmp_path / "said").write_text(said)
    log = Log()
    with (
        cluster(2, tmp_path) as made,
        Pool(program, made.address, keys=keys, devices="cpu:1", worker=malicious.Says, events=log, **SETTINGS) as pool,
    ):
        result = pool.prove(INPUT)
    proved(result, whole)
    assert len(result.removed) == len(result.made) == 1 and not malicious.marks(tmp_path)
