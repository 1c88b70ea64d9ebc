"""Every fault of devices and nodes, by real Ray clusters on this machine: `scripts/test-python openvm-metal-py --faults`."""

import json
import os
import subprocess
import sys
import time

import clusters
import faulty
import guests
import pytest
from conftest import INPUT, SETTINGS
from jobs import Log, proved, run

import openvm_metal as om
from openvm_metal import errors
from openvm_metal.ray import Pool, command, prove

pytest.importorskip("ray")


@pytest.mark.fault
def test_a_worker_killed_in_aggregation(all_faults, tmp_path, program, keys, whole):
    log = Log()
    with clusters.cluster(4, tmp_path) as made:
        proved(run(made, program, keys, faulty.KilledInAggregation, log), whole, twice=(1, 6))
    assert 1 in [event["level"] for event in log.of("lost")]


@pytest.mark.fault
def test_wrong_proofs_take_the_device_out(all_faults, tmp_path, program, keys, whole):
    log = Log()
    # Two, so that the one has to make several.
    with clusters.cluster(2, tmp_path) as made:
        result = run(made, program, keys, faulty.Wrong, log)
    proved(result, whole, twice=(2, 8))
    (reason,) = result.removed.values()
    assert reason.count("not accepted") + reason.count("cannot be taken from bytes") == 2
    assert [event["strikes"] for event in log.of("strike")] == [1, 2]


@pytest.mark.fault
def test_valid_proofs_of_other_segments_are_found(all_faults, tmp_path, program, keys, whole):
    log = Log()
    with clusters.cluster(3, tmp_path) as made:
        result = run(made, program, keys, faulty.Elsewhere, log)
    proved(result, whole)
    assert log.of("strike")


@pytest.mark.fault
def test_a_slow_device_delays_nothing_at_the_end(all_faults, tmp_path, program, keys, whole):
    log = Log()
    with clusters.cluster(3, tmp_path) as made:
        result = run(made, program, keys, faulty.Slow, log)
    proved(result, whole)
    assert not result.removed
    devices = {event["device"] for event in log.of("ready")}
    assert len(devices) == 3
    # The slow one makes few, and what it is late with is made by another.
    assert 3 * min(result.made.get(device, 0) for device in devices) <= max(result.made.values())


@pytest.mark.fault
def test_a_node_that_joins_late_works(all_faults, tmp_path, program, keys, whole):
    log = Log()
    with clusters.cluster(1, tmp_path) as made:
        added = []

        def events(event):
            log(event)
            if event["event"] == "done" and not added:
                added.append(clusters.add_node(made))

        result = run(made, program, keys, faulty.AwaitsAnother, events)
    proved(result, whole)
    assert len(log.of("joined")) == 2 and len(result.made) == 2


@pytest.mark.fault
def test_a_node_that_is_gone_takes_nothing_along(all_faults, tmp_path, program, keys, whole):
    log = Log()
    with clusters.cluster(3, tmp_path) as made:
        gone = []

        def events(event):
            log(event)
            if event["event"] == "started" and event["level"] == 0 and not gone:
                name = event["device"].split("/")[1].split()[0]
                (node,) = [node for node in made.worker_nodes if node.node_id.startswith(name)]
                gone.append(node)
                made.remove_node(node, allow_graceful=False)

        result = run(made, program, keys, faulty.Paused, events)
    # Ray tells it after some time: by then others may have done its task.
    proved(result, whole, twice=(1, 6))
    assert gone and len(result.made) <= 2
    assert all("the node is gone" in reason for reason in result.removed.values())


@pytest.mark.fault
def test_a_drained_node_takes_nothing_along(all_faults, tmp_path, program, keys, whole):
    log = Log()
    with clusters.cluster(3, tmp_path) as made:
        drained = []

        def events(event):
            log(event)
            if event["event"] == "started" and not drained:
                import ray

                driver = ray.get_runtime_context().get_node_id()
                names = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["NodeID"] != driver and n["Resources"].get("CPU")]
                drained.append(names[0])
                done = subprocess.run(
                    [
                        os.path.join(os.path.dirname(sys.executable), "ray"), "drain-node",
                        "--address", made.address, "--node-id", names[0],
                        "--reason", "DRAIN_NODE_REASON_PREEMPTION", "--reason-message", "test",
                        "--deadline-remaining-seconds", "2",
                    ],
                    capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
                assert done.returncode == 0, done.stderr + done.stdout

        result = run(made, program, keys, faulty.Paused, events)
    proved(result, whole)
    assert drained


@pytest.mark.fault
def test_other_versions_are_refused_by_name_and_number(all_faults, tmp_path, program, keys):
    with clusters.cluster(3, tmp_path) as made:
        with pytest.raises(errors.VersionMismatchError, match="^127.0.0.1/.* cpu 0 has openvm_metal 0.0.7 instead of ") as error:
            run(made, program, keys, faulty.OfAnotherVersion, Log())
    assert str(error.value).count("cpu 0") == 1, "that node alone"


@pytest.mark.fault
def test_a_node_of_another_version_that_joins_late_is_left_out(all_faults, tmp_path, program, keys, whole):
    log, added = Log(), []
    with clusters.cluster(1, tmp_path) as made:

        def events(event):
            log(event)
            if event["event"] == "done" and not added:
                added.append(clusters.add_node(made))

        # Long enough for the other node to start.
        result = run(made, program, keys, faulty.LaterOfAnotherVersion, events)
        while not result.removed:
            time.sleep(0.1)
            result = run(made, program, keys, faulty.LaterOfAnotherVersion, log)
    proved(result, whole)
    (reason,) = result.removed.values()
    assert "openvm_metal 0.0.7 instead of" in reason and len(result.made) == 1


@pytest.mark.fault
def test_missing_devices(all_faults, tmp_path, program, keys):
    with clusters.cluster(1, tmp_path) as made:
        for missing in ("metal", "cuda"):
            with pytest.raises(errors.DeviceMissingError, match=f"no node of the cluster offers {missing} "):
                prove(program, INPUT, made.address, keys=keys, devices=missing, **SETTINGS)
        clusters_node = made.add_node(num_cpus=1, resources={"metal": 1}, node_ip_address=clusters.LOOPBACK)
        made.wait_for_nodes()
        with pytest.raises(errors.NoWorkersError, match="metal 0"):
            prove(program, INPUT, made.address, keys=keys, devices="metal", **SETTINGS)
        made.remove_node(clusters_node)


@pytest.mark.fault
def test_many_jobs_in_a_row(all_faults, tmp_path, keys):
    """`OPENVM_METAL_TEST_JOBS` jobs of one segment and other inputs on one pool: none is lost, and hardly a MiB of each is kept. `benches/many_jobs.py` prints
    it for 1000."""
    import many_jobs

    jobs = int(os.environ.get("OPENVM_METAL_TEST_JOBS", "20"))
    program = om.Program.from_bytes(guests.sums(10), guests.CONFIG, "sums")
    with clusters.cluster(2, tmp_path) as made:
        with Pool(program, made.address, keys=keys, devices="cpu:1", **SETTINGS) as pool:
            memory = many_jobs.run(pool, jobs)
    assert len(memory) == jobs
    third = jobs // 3
    # Of all together: who proved the segment of a job keeps its machine until the next, 48 MiB. The first jobs bring every buffer that is kept;
    # behind them the least that is held says what is never given back.
    held = [sum(processes) for processes in memory]
    print([size >> 20 for size in held])
    assert min(held[2 * third :]) - min(held[third : 2 * third]) < (third + 48) << 20


@pytest.mark.fault
def test_the_command_proves(all_faults, tmp_path, monkeypatch, capsys, whole):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums.elf").write_bytes(guests.sums(3))
    (tmp_path / "openvm.toml").write_text(guests.CONFIG)
    with clusters.cluster(1, tmp_path) as made:
        assert command.main(["nodes", "--address", made.address]) == 0
        assert "127.0.0.1/" in capsys.readouterr().out
        run_line = ["prove", "sums.elf", "--toy", "--json", "--input", "0x0101020304", "--address", made.address]
        assert command.main([*run_line, "--devices", "cpu:1"]) == 0
        events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert events[-1]["event"] == "written" and events[-1]["made"]
    proof = om.Proof.load(tmp_path / "sums.stark.proof")
    assert om.verify(proof, om.VerifyingKey.load(tmp_path / "sums.stark.vk", trust_vk=True), allow_insecure=True)[4:8] == INPUT
