"""Proofs by real Ray clusters on this machine: the sample that always runs."""

import sys
import time

import clusters
import faulty
import guests
import pytest
from conftest import INPUT, ROUNDS, SETTINGS
from jobs import Log, proved

import openvm_metal as om
from openvm_metal import errors
from openvm_metal.ray import Pool, prove

pytest.importorskip("ray")


def test_the_proof_is_that_of_one_process_and_faults_do_not_change_it(tmp_path, program, keys, whole):
    """One cluster of four nodes for what a sample needs: equality, a worker that is killed, a job's folder, two jobs on one pool, and nothing that
    listens beyond this machine."""
    with clusters.cluster(4, tmp_path) as made:
        log = Log()
        folder = tmp_path / "job"
        with Pool(program, made.address, keys=keys, devices="cpu:1", worker=faulty.KilledInSegment, events=log, **SETTINGS) as pool:
            mine = Log()
            first = pool.prove(INPUT, job_folder=folder, events=mine)
            proved(first, whole, twice=(1, 6))
            plan = pool._driver().plan(INPUT)
            kept = om.JobFolder(folder, plan)
            # Byte for byte, whoever made them.
            assert [kept.load((0, index)) for index in range(plan.levels[0])] == whole.segments
            # On a busy machine the killed worker may come back when nothing is left to prove.
            assert 1 <= len(first.made) <= 4 and sum(first.made.values()) == sum(plan.levels) + 1
            assert set(first.made) <= {event["device"] for event in mine.of("ready") + log.of("ready")}
            # A call's events are told to that call, its devices' too.
            assert mine.of("died") and mine.of("proved") and not log.of("died") and not first.removed
            beyond, loopback = clusters.listening()
            assert not beyond and loopback > 8
            again = pool.prove(INPUT, job_folder=folder)
            proved(again, whole, twice=(0, 0))
            assert again.made == {} and again.resumed == sum(first.made.values())
            other = pool.prove(bytes(4))
            assert other.public_values[4:8] == bytes(4) and other.resumed == 0
            with pytest.raises(errors.JobFolderError, match="another program"):
                pool.prove(bytes(4), job_folder=folder)
            with pytest.raises(errors.InputError):
                pool.prove()
        (placed,) = log.of("placed")
        assert placed["app_pk"] > 1000 and first.bytes_placed == {name: placed[name] for name in ("program", "app_pk", "agg_pk")}


def test_bad_requests_are_refused_before_work(tmp_path, program, keys, monkeypatch):
    port = clusters.free_port()
    clock = time.monotonic()
    with pytest.raises(errors.ClusterUnreachableError, match="ray start --head"):
        prove(program, INPUT, f"127.0.0.1:{port}", keys=keys, **SETTINGS)
    assert time.monotonic() - clock < 30
    for bad in ("nowhere", "127.0.0.1:x", "ray://127.0.0.1:10001"):
        with pytest.raises(errors.ClusterUnreachableError):
            prove(program, INPUT, bad, keys=keys, **SETTINGS)
    with pytest.raises(errors.InsecureError, match="bits of security, at least 80"):
        prove(program, INPUT, keys=keys)
    with pytest.raises(errors.ConfigError, match="abacus"):
        prove(program, INPUT, keys=keys, devices="abacus")
    more = om.Program.from_bytes(guests.sums(ROUNDS), guests.CONFIG + "[app_vm_config.rv32m]\n")
    with pytest.raises(errors.ForeignKeyError, match="another configuration"):
        prove(more, INPUT, keys=keys)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.RayMissingError, match="pip install 'ray>="):
        prove(program, INPUT, keys=keys, **SETTINGS)


def test_a_cluster_of_this_machine_alone_listens_on_no_other_address(program, keys):
    log = Log()
    with Pool(program, keys=keys, devices="cpu:1", local={"num_cpus": 1}, events=log, **SETTINGS) as pool:
        while not log.of("ready"):
            pool._wait_for_one()
        beyond, loopback = clusters.listening()
    assert not beyond and loopback > 4
    # All of it has ended.
    assert clusters.listening() == (set(), 0)
