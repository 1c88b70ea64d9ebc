"""Proofs: of the whole, and by single tasks."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import guests
import pytest
from conftest import INPUT, ROUNDS, SETTINGS, TOY

import openvm_metal as om
from openvm_metal import errors


def test_a_proof_goes_through_files_and_is_verified(tmp_path, prover, whole):
    proof_file, vk_file = tmp_path / "sums.stark.proof", tmp_path / "sums.stark.vk"
    whole.proof.save(proof_file)
    prover.verifying_key.save(vk_file)
    prover.verifying_key.save_commit(tmp_path / "commit.json", 5.0)
    prover.verifying_key.save_baseline(tmp_path / "baseline.json", 5.0)
    commit, baseline = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("commit", "baseline"))
    assert commit["app_vm_commit"] == prover.verifying_key.app_vm_commit and commit["security_bits"] == 5.0
    assert baseline["app_exe_commit"] == prover.verifying_key.app_exe_commit
    proof, vk = om.Proof.load(proof_file), om.VerifyingKey.load(vk_file, trust_vk=True)
    assert om.verify(proof, vk, allow_insecure=True) == prover.execute(INPUT)
    data = whole.proof.to_bytes()
    assert proof.to_bytes() == data == om.Proof.from_bytes(data).to_bytes()
    other = om.Prover(om.Program.from_bytes(guests.sums(ROUNDS + 1), guests.CONFIG), prover.keys(), "cpu", **SETTINGS)
    with pytest.raises(errors.RejectedError):
        om.verify(proof, other.verifying_key, allow_insecure=True)
    with pytest.raises(errors.InsecureError, match="bits of security, at least 80"):
        om.verify(proof, vk)
    with pytest.raises(errors.DataError):
        om.Proof.from_bytes(data[:100])
    # Written under another name and renamed: whoever reads the old file has it whole.
    os.link(vk_file, tmp_path / "before")
    prover.verifying_key.save(vk_file)
    assert not os.path.samefile(vk_file, tmp_path / "before") and vk_file.read_bytes() == (tmp_path / "before").read_bytes()
    proof_file.write_text("{}")
    with pytest.raises(errors.FileError, match="sums.stark.proof"):
        om.Proof.load(proof_file)


def test_prints_go_to_a_function(capfd):
    """Each print once, although a proof executes the guest several times; what the function raises ends the work."""
    program = om.Program.from_bytes(guests.prints("a line\nand half of one"), guests.CONFIG)
    prover = om.Prover(program, None, "cpu", toy=TOY, **SETTINGS)
    om.execute(program, output=lambda data: None)
    for work in (prover.execute, prover.plan, prover.prove):
        printed = []
        work(output=printed.append)
        assert b"".join(printed) == b"a line\nand half of one", work
        assert all(isinstance(data, bytes) for data in printed)

        def fails(data):
            raise KeyError("full")

        with pytest.raises(KeyError, match="full"):
            work(output=fails)
    assert capfd.readouterr().out == ""


def test_tasks_become_the_proof_of_one_process(prover, whole):
    plan = om.Plan.from_json(prover.plan(INPUT).to_json())
    worker = prover.worker(plan, INPUT)
    segments = [worker.prove(index) for index in range(plan.levels[0])]
    assert om.prove_segment(prover, plan, 1, INPUT) == segments[1]
    proof = om.aggregate(prover, plan, segments, worker.end())
    whole.equals(proof, segments)


def test_a_worker_is_at_several_segments_at_a_time(prover, whole):
    machines, in_flight = prover.worker_threads(4)
    assert (machines, in_flight) == (2, 4) and prover.worker_threads(1) == (1, 3)
    plan = prover.plan(INPUT)
    worker = prover.worker(plan, INPUT, machines=machines)
    with ThreadPoolExecutor(in_flight) as pool:
        whole.equals(whole.proof, list(pool.map(worker.prove, range(plan.levels[0]))))


def test_calls_that_wait_are_cancelled_by_name_or_segment(prover, whole):
    plan = prover.plan(INPUT)
    nothing = prover.worker(plan, INPUT, host_memory=1)
    room = 0
    for index in range(plan.levels[0]):
        with pytest.raises(errors.OutOfMemoryError, match="host_memory") as error:
            nothing.prove(index)
        room = max(room, int(re.search(r"take (\d+) MiB", str(error.value)).group(1)) << 20)
    # Room for one segment: while the first is traced and not proved, the others wait.
    worker = prover.worker(plan, INPUT, host_memory=room)
    calls = []

    def first_is_there(event, **_):
        if event != "segment_traced":
            return
        calls.extend(pool.submit(worker.prove, index, call=call) for index, call in ((1, 7), (1, 8), (2, 7), (2, None)))
        while worker.waiting < 4:
            time.sleep(0.001)
        worker.cancel(1, call=7)
        worker.cancel(2)
        for call in (calls[0], calls[2], calls[3]):
            with pytest.raises(errors.CancelledError):
                call.result()

    with ThreadPoolExecutor(4) as pool:
        assert worker.prove(0, progress=first_is_there) == whole.segments[0]
        assert calls[1].result() == whole.segments[1], "the other call for the segment goes on"
    assert worker.prove(2) == whole.segments[2]
    with pytest.raises(errors.OutOfMemoryError, match="host_memory"):
        prover.prove(INPUT, host_memory=1)
    whole.equals(prover.prove(INPUT, host_memory=room)[0])


def test_what_is_not_the_tasks_proof_is_refused(prover):
    plan = prover.plan(INPUT)
    worker = prover.worker(plan, INPUT)
    first, second = worker.prove(0), worker.prove(1)
    verifier = prover.verifier()
    spans = [verifier.segment(plan, 0, first), verifier.segment(plan, 1, second)]
    assert spans[0].joins(spans[1]) and not spans[1].joins(spans[0])
    with pytest.raises(errors.RejectedError, match="segment 0"):
        verifier.segment(plan, 0, second)
    with pytest.raises(errors.DataError):
        verifier.segment(plan, 0, first[:-1])
    values = worker.end()
    last = verifier.segment(plan, plan.levels[0] - 1, worker.prove(plan.levels[0] - 1))
    verifier.end(plan, last, values)
    for longer in (values + b"\0", values + bytes(1 << 20)):
        with pytest.raises(errors.DataError, match="bytes follow them"):
            verifier.end(plan, last, longer)
    damaged = bytearray(first)
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises((errors.RejectedError, errors.DataError)):
        verifier.segment(plan, 0, bytes(damaged))
    with pytest.raises(errors.PlanError, match="children"):
        prover.prove_node(plan, 1, 0, [first])
    with pytest.raises(errors.PlanError):
        prover.worker(plan, b"\0\0\0\0")
    with pytest.raises(errors.PlanError, match="no task"):
        plan.id((-2, 0))


def test_a_job_folder_is_also_for_one_process(tmp_path, prover, whole):
    plan = prover.plan(INPUT)
    proof = prover.worker(plan, INPUT).prove(2)
    folder = om.JobFolder(tmp_path / "job", plan)
    folder.store((0, 2), proof)
    folder.store(om.END, b"values")
    assert (folder.load((0, 2)), folder.load((0, 1)), folder.load(om.END)) == (proof, None, b"values")
    again, report = prover.prove(INPUT, resume=tmp_path / "job")
    assert report["resumed"] == 1
    segments = [om.JobFolder(tmp_path / "job", plan).load((0, index)) for index in range(plan.levels[0])]
    whole.equals(again, segments)
    # Nodes of the one process, by what they are made of.
    verifier = prover.verifier()
    node = folder.load_node(verifier, 1, 0, segments[:2])
    assert node is not None and folder.load_node(verifier, 1, 0, segments[1:3]) is None
    folder.store_node(verifier, 1, 0, segments[1:3], b"a node")
    assert folder.load_node(verifier, 1, 0, segments[1:3]) == b"a node"
    for refused in (lambda: folder.load((1, 0)), lambda: plan.id((1, 0)), lambda: folder.load_node(verifier, 1, 99, [])):
        with pytest.raises(errors.PlanError):
            refused()
    with pytest.raises(errors.JobFolderError, match="another program"):
        om.JobFolder(tmp_path / "job", prover.plan(b"\0\0\0\0"))


def test_keys_go_through_files_and_bytes(tmp_path, program, keys, whole):
    files = keys.save(tmp_path)
    assert sorted(os.path.basename(file) for file in files) == [
        "agg_prefix.pk", "app.pk", "app.vk", "internal_recursive.pk", "internal_recursive.vk",
    ]
    loaded = om.Keys.load(tmp_path / "app.pk", tmp_path / "internal_recursive.pk")
    assert loaded.to_bytes() == om.Keys.from_bytes(*keys.to_bytes()).to_bytes() == keys.to_bytes()
    proof, _ = om.Prover(program, loaded, "cpu", **SETTINGS).prove(INPUT)
    whole.equals(proof)
    (tmp_path / "app.pk").write_bytes(b"")
    with pytest.raises(errors.FileError, match="app.pk"):
        om.Keys.load(tmp_path / "app.pk")
    with pytest.raises(errors.ConfigError, match="toy"):
        om.Prover(program, keys, toy=True)
    with_more = om.Program.from_bytes(guests.sums(3), guests.CONFIG + "[app_vm_config.rv32m]\n")
    with pytest.raises(errors.ForeignKeyError):
        om.Prover(with_more, keys, "cpu")


def test_missing_devices_are_errors(program):
    with pytest.raises(errors.DeviceUnavailableError):
        om.Prover(program, device="abacus")
    with pytest.raises(errors.DeviceUnavailableError):
        om.Prover(program, device="metal" if sys.platform == "linux" else "cuda", toy=TOY, **SETTINGS).warm_up()


def test_progress_is_told_and_its_errors_end_the_proof(prover):
    told = []
    prover.prove(INPUT, progress=lambda name, **fields: told.append((name, fields)))
    assert told[-1] == ("verified", {})
    assert sum(name == "segment_proved" for name, _ in told) == prover.plan(INPUT).levels[0]

    def refuse(name, **_):
        raise LookupError(name)

    with pytest.raises(LookupError):
        prover.prove(INPUT, progress=refuse)


def test_the_interpreters_lock_is_let_go(prover):
    ticks = 0
    ended = threading.Event()

    def tick():
        nonlocal ticks
        while not ended.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    prover.prove(INPUT)
    ended.set()
    thread.join()
    assert ticks > 20


# Takes minutes when it is not interrupted, so that a busy machine cannot prove it before the signal.
INTERRUPTED = """
import signal, sys
# A shell that starts the tests in the background lets its children ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, {tests!r})
import conftest, guests, openvm_metal as om
program = om.Program.from_bytes(guests.sums(2000, times=100), guests.CONFIG)
prover = om.Prover(program, device="cpu", toy=conftest.TOY, **conftest.SETTINGS)
def say(name, **_):
    print(name, flush=True)
try:
    prover.prove(conftest.INPUT, progress=say)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT there")
def test_ctrl_c_ends_a_proof(tmp_path):
    script = INTERRUPTED.format(tests=os.path.dirname(__file__))
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        for line in process.stdout:
            if line.strip() == "segment_proved":
                break
        clock = time.monotonic()
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=120)
        assert rest.splitlines()[-1] == "interrupted"
        assert "verified" not in rest
        assert time.monotonic() - clock < 100
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork there")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_told_to_spawn(prover):
    child = os.fork()
    if child == 0:
        try:
            prover.execute(INPUT)
        except errors.ForkError:
            os._exit(0)
        except BaseException:
            os._exit(2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
