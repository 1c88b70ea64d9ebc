"""Proofs by real Ray clusters on this machine. A sample runs always, every fault with `--faults`."""

import json
import os
import signal
import subprocess
import sys
import time

import clusters
import faulty
import guests
import pytest
from conftest import INPUT, ROUNDS, SETTINGS

import openvm_metal as om
from openvm_metal import errors
from openvm_metal.ray import Pool, command, prove

pytest.importorskip("ray")


@pytest.fixture
def all_faults(request):
    if not request.config.getoption("--faults"):
        pytest.skip("a fault outside of the sample: --faults")


class Log(list):
    def __call__(self, event):
        self.append(event)

    def of(self, name):
        return [event for event in self if event["event"] == name]


def proved(result, whole, twice=(0, 6)):
    """What every job has to give: a proof of the same execution as one process, verified; and how much work may be done twice, overtaken
    devices included."""
    om.verify(result.proof, result.verifying_key)
    whole.equals(result.proof)
    least, most = twice
    print(f"made {sum(result.made.values())} by {len(result.made)}, begun again {result.twice}, resumed {result.resumed}, removed {len(result.removed)}")
    assert least <= result.twice <= most


def run(made, program, keys, worker, log, **more):
    settings = {"segment_max_memory": 1, "children": SETTINGS["children"], "devices": "cpu:1", "events": log}
    with Pool(program, made.address, keys=keys, worker=worker, **settings) as pool:
        return pool.prove(INPUT, **more)


# The sample.


def test_the_proof_is_that_of_one_process_and_faults_do_not_change_it(tmp_path, program, keys, whole):
    """One cluster of four nodes for what a sample needs: equality, a worker that is killed, a job's folder, two jobs on one pool, and nothing that
    listens beyond this machine."""
    with clusters.cluster(4, tmp_path) as made:
        log = Log()
        folder = tmp_path / "job"
        settings = {"segment_max_memory": 1, "children": SETTINGS["children"], "devices": "cpu:1"}
        with Pool(program, made.address, keys=keys, worker=faulty.KilledInSegment, events=log, **settings) as pool:
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
        prove(program, INPUT, f"127.0.0.1:{port}", keys=keys)
    assert time.monotonic() - clock < 30
    for bad in ("nowhere", "127.0.0.1:x", "ray://127.0.0.1:10001"):
        with pytest.raises(errors.ClusterUnreachableError):
            prove(program, INPUT, bad, keys=keys)
    with pytest.raises(errors.ConfigError, match="abacus"):
        prove(program, INPUT, keys=keys, devices="abacus")
    more = om.Program.from_bytes(guests.sums(ROUNDS), guests.CONFIG + "[app_vm_config.rv32m]\n")
    with pytest.raises(errors.ForeignKeyError, match="another configuration"):
        prove(more, INPUT, keys=keys)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(errors.RayMissingError, match="pip install 'openvm-metal\\[ray\\]'"):
        prove(program, INPUT, keys=keys)


def test_a_cluster_of_this_machine_alone_listens_on_no_other_address(program, keys):
    log = Log()
    with Pool(program, keys=keys, devices="cpu:1", segment_max_memory=1, local={"num_cpus": 1}, events=log) as pool:
        while not log.of("ready"):
            pool._wait_for_one()
        beyond, loopback = clusters.listening()
    assert not beyond and loopback > 4
    # All of it has ended.
    assert clusters.listening() == (set(), 0)


# Every fault: scripts/test-python openvm-metal-py --faults


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

        result = run(made, program, keys, faulty.Paused, events)
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
def test_a_full_store_spills(all_faults, tmp_path, program, keys, whole):
    import ray

    store = 78 * 1024 * 1024
    with clusters.cluster(2, tmp_path, store=store) as made:
        ray.init(address=made.address, log_to_driver=False)
        # Twice what the driver's node holds, all of it still wanted.
        wanted = [ray.put(os.urandom(8 << 20)) for _ in range(2 * store // (8 << 20))]
        result = run(made, program, keys, faulty.Worker, Log())
        assert all(len(ray.get(ref)) == 8 << 20 for ref in wanted)
    proved(result, whole)


DRIVER = """
import conftest, faulty, guests, json, sys
import openvm_metal as om
from openvm_metal.ray import JsonLines, Pool
address, folder, keys = sys.argv[1:]
program = om.Program.from_bytes(guests.sums(conftest.ROUNDS), guests.CONFIG, "sums")
loaded = om.Keys.load(keys + "/app.pk", keys + "/agg.pk")
with Pool(program, address, keys=loaded, worker=faulty.Paused, segment_max_memory=1, children=(2, 2), devices="cpu:1", events=JsonLines()) as pool:
    pool.prove(conftest.INPUT, job_folder=folder)
"""


@pytest.mark.fault
def test_a_killed_driver_goes_on_where_it_stood(all_faults, tmp_path, program, keys, whole):
    keys.save(tmp_path / "keys")
    with clusters.cluster(2, tmp_path) as made:
        command_line, more = clusters.python(DRIVER, stdout=subprocess.PIPE, text=True)
        files = [made.address, str(tmp_path / "job"), str(tmp_path / "keys")]
        process = subprocess.Popen([*command_line, *files], **more)
        done = 0
        for line in process.stdout:
            done += line.startswith("{") and json.loads(line)["event"] == "done"
            if done == 3:
                break
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        result = run(made, program, keys, faulty.Worker, Log(), job_folder=tmp_path / "job")
    proved(result, whole)
    assert result.resumed >= 3


@pytest.mark.fault
def test_a_full_store_without_a_disk_behind_it_is_told_and_the_job_goes_on(all_faults, tmp_path, program, keys, whole, monkeypatch):
    import ray

    # Every disk counts as full.
    monkeypatch.setenv("RAY_local_fs_capacity_threshold", "0.0001")
    with clusters.cluster(2, tmp_path, store=78 * 1024 * 1024) as made:
        ray.init(address=made.address, log_to_driver=False)
        wanted = []
        for size in (8 << 20, 1 << 20, 1 << 17):
            with pytest.raises(ray.exceptions.RayError):
                while True:
                    wanted.append(ray.put(os.urandom(size)))
        with pytest.raises(errors.StoreFullError, match="do not fit this node's object store"):
            run(made, program, keys, faulty.Worker, Log(), job_folder=tmp_path / "job")
        wanted.clear()
        result = run(made, program, keys, faulty.Worker, Log(), job_folder=tmp_path / "job")
    proved(result, whole)


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
                prove(program, INPUT, made.address, keys=keys, devices=missing)
        clusters_node = made.add_node(num_cpus=1, resources={"metal": 1}, node_ip_address=clusters.LOOPBACK)
        made.wait_for_nodes()
        with pytest.raises(errors.NoWorkersError, match="metal 0"):
            prove(program, INPUT, made.address, keys=keys, devices="metal", segment_max_memory=1)
        made.remove_node(clusters_node)


@pytest.mark.fault
def test_a_full_disk_ends_the_job_and_it_goes_on(all_faults, tmp_path, program, keys, whole):
    """What the driver may write to one file stands for the disk's room."""
    keys.save(tmp_path / "keys")
    folder = tmp_path / "job"
    with clusters.cluster(2, tmp_path) as made:
        command_line, more = clusters.python(NO_ROOM, capture_output=True, text=True, timeout=300, check=False)
        files = [made.address, str(folder), str(tmp_path / "keys")]
        done = subprocess.run([*command_line, *files], **more)
        assert done.returncode == 0, done.stderr
        # Again in another process.
        result = run(made, program, keys, faulty.Worker, Log(), job_folder=folder)
    proved(result, whole, twice=(0, 0))
    assert result.made == {} and not list(folder.glob("*.unfinished"))


NO_ROOM = """
import conftest, guests, resource, signal, sys
import openvm_metal as om
from openvm_metal.ray import Pool
address, folder, keys = sys.argv[1:]
program = om.Program.from_bytes(guests.sums(conftest.ROUNDS), guests.CONFIG, "sums")
loaded = om.Keys.load(keys + "/app.pk", keys + "/agg.pk")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
def full_after_two(event):
    seen.append(event["event"])
    if seen.count("done") == 2:
        room(1000)
seen = []
with Pool(program, address, keys=loaded, segment_max_memory=1, children=(2, 2), devices="cpu:1") as pool:
    try:
        pool.prove(conftest.INPUT, job_folder=folder, events=full_after_two)
    except om.errors.JobFolderError as error:
        print(error)
    else:
        raise SystemExit("it was proved")
    room(resource.RLIM_INFINITY)
    result = pool.prove(conftest.INPUT, job_folder=folder)
    assert result.resumed == 2, result
"""


FULL_DISK = """
import conftest, guests, resource, signal, sys
import openvm_metal as om
program = om.Program.from_bytes(guests.sums(conftest.ROUNDS), guests.CONFIG)
prover = om.Prover(program, device="cpu", toy=conftest.TOY, **conftest.SETTINGS)
plan = prover.plan(conftest.INPUT)
folder = om.JobFolder(sys.argv[1], plan)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    folder.store((0, 0), bytes(5000))
except om.errors.JobFolderError as error:
    assert folder.load((0, 0)) is None
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    folder.store((0, 0), bytes(5000))
    assert folder.load((0, 0)) == bytes(5000)
    print(error)
"""


def test_a_disk_without_room_is_a_typed_error(tmp_path):
    command_line, more = clusters.python(FULL_DISK, capture_output=True, text=True, timeout=300, check=False)
    done = subprocess.run([*command_line, str(tmp_path / "job")], **more)
    assert done.returncode == 0, done.stderr
    assert "segment-0" in done.stdout


@pytest.mark.fault
def test_many_jobs_in_a_row(all_faults, tmp_path, keys, program):
    """`OPENVM_METAL_TEST_JOBS` jobs of other inputs on one pool: none is lost, memory stays. `benches/many_jobs.py` prints it for 1000."""
    import many_jobs

    jobs = int(os.environ.get("OPENVM_METAL_TEST_JOBS", "20"))
    with clusters.cluster(2, tmp_path) as made:
        settings = {"segment_max_memory": 1, "children": SETTINGS["children"], "devices": "cpu:1"}
        with Pool(program, made.address, keys=keys, **settings) as pool:
            memory = many_jobs.run(pool, jobs)
    assert len(memory) == jobs
    third = max(1, jobs // 3)
    for process in zip(*memory, strict=True):
        assert max(process[-third:]) < 1.1 * max(process[third : 2 * third]) + (32 << 20)


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
    assert om.verify(proof, om.VerifyingKey.load(tmp_path / "sums.stark.vk"))[4:8] == INPUT
