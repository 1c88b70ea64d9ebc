"""What Ray adds to a segment: one worker of a local cluster beside the same worker called directly, in a process of its own too.

    python benches/overhead.py [ROUNDS OF THE GUEST] [TIMES]

Both make every proof of a job, one worker thread of proofs each. `gap`: what the job took longer, for each task. `transport`: from the driver's call
to its result, less the time on the worker; where a worker has its next tasks before it ends one, nobody waits for it.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from statistics import median

TESTS = str(pathlib.Path(__file__).parent.parent / "tests")
sys.path.insert(0, TESTS)


def program_of(rounds):
    import guests
    import openvm_metal as om

    return om.Program.from_bytes(guests.sums(min(rounds, 2000), times=-(-rounds // 2000)), guests.CONFIG, "sums")


def direct(rounds, folder):
    """Makes all tasks in this process. Prints the seconds."""
    from conftest import INPUT, SETTINGS

    import openvm_metal as om

    prover = om.Prover(program_of(rounds), om.Keys.load(f"{folder}/app.pk", f"{folder}/agg.pk"), "cpu", **SETTINGS)
    plan = prover.plan(INPUT)
    prover.warm_up()
    machines, in_flight = prover.worker_threads(1)
    for _ in range(2):
        # As with Ray, the second job is the one that counts.
        worker = prover.worker(plan, INPUT, machines=machines)
        began = time.monotonic()
        proofs, waiting = {}, iter(range(plan.levels[0]))
        lock = threading.Lock()

        def segments(proofs=proofs, waiting=waiting, lock=lock, worker=worker):
            while True:
                with lock:
                    index = next(waiting, None)
                if index is None:
                    return
                proofs[index] = worker.prove(index)

        threads = [threading.Thread(target=segments) for _ in range(in_flight)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        between = time.monotonic()
        worker.end()
        below = [proofs[index] for index in range(plan.levels[0])]
        for level, nodes in enumerate(plan.levels[1:], start=1):
            below = [prover.prove_node(plan, level, index, [below[child] for child in plan.below(level, index)]) for index in range(nodes)]
        ended = time.monotonic()
    print(json.dumps({"segments": between - began, "all": ended - began}))


def by_ray(rounds, keys):
    """One job on one worker: seconds, and the events of its tasks."""
    from conftest import INPUT, SETTINGS

    from openvm_metal.ray import Pool

    events = []
    with Pool(program_of(rounds), keys=keys, devices="cpu:1", local={"num_cpus": 1}, **SETTINGS) as pool:
        pool.prove(INPUT)
        result = pool.prove(INPUT, events=events.append)
    (planned,) = [event for event in events if event["event"] == "planned"]
    return result, result.seconds - planned["time"], [event for event in events if event["event"] == "done"]


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    from conftest import TOY

    import openvm_metal as om

    keys = om.Prover(program_of(rounds), device="cpu", toy=TOY).keys()
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "PYTHONPATH": TESTS}
    print("segments  tasks     direct        Ray  gap of a task  transport (median, most)  a segment")
    with tempfile.TemporaryDirectory() as folder:
        keys.save(folder)
        for _ in range(times):
            command = [sys.executable, __file__, "direct", str(rounds), folder]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
            alone = json.loads(done.stdout)
            result, seconds, tasks = by_ray(rounds, keys)
            transport = [1000 * task["overhead"] for task in tasks]
            gap = 1000 * (seconds - alone["all"]) / len(tasks)
            segment = 1000 * alone["segments"] / result.segments
            print(
                f"{result.segments:8}  {len(tasks):5}  {alone['all']:7.2f} s  {seconds:7.2f} s  {gap:10.1f} ms  "
                f"{median(transport):8.1f} ms, {max(transport):6.1f} ms  {segment:6.0f} ms",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["direct"]:
        direct(int(sys.argv[2]), sys.argv[3])
    else:
        main()
