"""What is kept, and who keeps it: full object stores, full disks and a killed driver. All but one run with `--faults`."""

import json
import os
import signal
import subprocess

import clusters
import faulty
import pytest
from conftest import INPUT
from jobs import Log, proved, run

from openvm_metal import errors

pytest.importorskip("ray")


DRIVER = """
import conftest, faulty, guests, json, sys
import openvm_metal as om
from openvm_metal.ray import JsonLines, Pool
address, folder, keys = sys.argv[1:]
program = om.Program.from_bytes(guests.sums(conftest.ROUNDS), guests.CONFIG, "sums")
loaded = om.Keys.load(keys + "/app.pk", keys + "/internal_recursive.pk")
with Pool(program, address, keys=loaded, worker=faulty.Paused, devices="cpu:1", **conftest.SETTINGS, events=JsonLines()) as pool:
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


NO_ROOM = """
import conftest, guests, resource, signal, sys
import openvm_metal as om
from openvm_metal.ray import Pool
address, folder, keys = sys.argv[1:]
program = om.Program.from_bytes(guests.sums(conftest.ROUNDS), guests.CONFIG, "sums")
loaded = om.Keys.load(keys + "/app.pk", keys + "/internal_recursive.pk")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def room(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
def full_after_two(event):
    seen.append(event["event"])
    if seen.count("done") == 2:
        room(1000)
seen = []
with Pool(program, address, keys=loaded, devices="cpu:1", **conftest.SETTINGS) as pool:
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
