"""What Ray adds to a segment: one worker of a local cluster beside the same worker called directly, in a process of its own too.

    python benches/overhead.py [--rounds N] [--times N]                                         a small guest, toy parameters, one core
    python benches/overhead.py --device cuda --program ELF --input HEX --segment-max-memory N    a guest of one's own on a GPU

Both do every task of a job in the same order, segments and nodes. `gap`: what the job took longer by Ray, for each task: the driver's work and its
verification of every proof are in it. `transport`: from the driver's call to its result, less the time on the worker; where a worker has its next
tasks before it ends one, nobody waits for it.
"""

import argparse
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


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3000, help="of the small guest")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--device", choices=("cpu", "cuda", "metal"), default="cpu")
    parser.add_argument("--program", help="an executable in place of the small guest, with default parameters")
    parser.add_argument("--input", default="", help="the program's, in hexadecimal")
    parser.add_argument("--segment-max-memory", type=int)
    parser.add_argument("--direct", help=argparse.SUPPRESS)
    return parser.parse_args()


class Subject:
    """What is proved, and how."""

    def __init__(self, asked):
        from conftest import INPUT, SETTINGS, TOY

        import guests
        import openvm_metal as om

        self.device = asked.device
        # One core for the worker of a processor: the driver has another.
        self.cores = 1 if asked.device == "cpu" else os.cpu_count()
        if asked.program:
            self.program, self.input, self.toy, self.settings = om.Program(asked.program), bytes.fromhex(asked.input), False, {}
        else:
            rounds = asked.rounds
            elf = guests.sums(min(rounds, 2000), times=-(-rounds // 2000))
            self.program, self.input, self.toy, self.settings = om.Program.from_bytes(elf, guests.CONFIG, "sums"), INPUT, TOY, SETTINGS
        if asked.segment_max_memory:
            self.settings = {**self.settings, "segment_max_memory": asked.segment_max_memory}

    def keys(self):
        import openvm_metal as om

        return om.Prover(self.program, device=self.device, toy=self.toy).keys()


def direct(subject, folder):
    """Does all tasks in this process. Prints the seconds of the second job, as with Ray."""
    import openvm_metal as om

    keys = om.Keys.load(f"{folder}/app.pk", f"{folder}/internal_recursive.pk")
    prover = om.Prover(subject.program, keys, subject.device, **subject.settings)
    plan = prover.plan(subject.input)
    prover.warm_up()
    machines, in_flight = prover.worker_threads(subject.cores)
    for _ in range(2):
        worker = prover.worker(plan, subject.input, machines=machines)
        began = time.monotonic()
        segments = tasks_in_order(prover, worker, plan, in_flight)
        ended = time.monotonic()
    print(json.dumps({"segments": segments - began, "all": ended - began}))


def tasks_in_order(prover, worker, plan, in_flight):
    """Does all tasks of a plan, so many at a time, in the order of a cluster's job. Gives the clock at the end of the last segment."""
    from openvm_metal.ray.board import Board
    from openvm_metal.tasks import END

    board, proofs, begun, segments, failed = Board(plan), {}, set(), [], []
    changed = threading.Condition()

    def make(task):
        level, index = task
        if task == END:
            return worker.end()
        if level == 0:
            return worker.prove(index)
        return prover.prove_node(plan, level, index, [proofs[child] for child in board.below(task)])

    def work():
        while True:
            with changed:
                while not (task := next((task for task in board.ready() if task not in begun), None)):
                    if board.complete or failed:
                        return
                    changed.wait()
                begun.add(task)
            try:
                proof = make(task)
            except BaseException as error:
                with changed:
                    failed.append(error)
                    changed.notify_all()
                return
            with changed:
                proofs[task] = proof
                if task[0] == 0:
                    segments.append(time.monotonic())
                board.finish(task)
                changed.notify_all()

    threads = [threading.Thread(target=work) for _ in range(in_flight)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return max(segments)


def by_ray(subject, keys):
    """One job on one worker: its result, the seconds to the last segment and to the proof, and the events of its tasks."""
    from openvm_metal.ray import Pool

    events = []
    # One worker, with as many of the machine's cores as the one in a process of its own.
    local = {"cpu": {"num_cpus": 1}, "cuda": {"num_gpus": 1}, "metal": {}}[subject.device]
    one = {"devices": "cpu:1" if subject.device == "cpu" else subject.device, "local": local}
    with Pool(subject.program, keys=keys, **one, **subject.settings) as pool:
        pool.prove(subject.input)
        result = pool.prove(subject.input, events=events.append)
    (planned,) = [event for event in events if event["event"] == "planned"]
    tasks = [event for event in events if event["event"] == "done"]
    segments = max(event["time"] for event in tasks if event["level"] == 0)
    return result, segments - planned["time"], result.seconds - planned["time"], tasks


def main():
    asked = options()
    subject = Subject(asked)
    if asked.direct:
        direct(subject, asked.direct)
        return
    keys = subject.keys()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([TESTS, *filter(None, [os.environ.get("PYTHONPATH")])])}
    if subject.device == "cpu":
        environment["RAYON_NUM_THREADS"] = "1"
    print("segments  tasks   direct: segments, all      Ray: segments, all   gap of a segment, a task   transport (median, most)  a segment")
    with tempfile.TemporaryDirectory() as folder:
        keys.save(folder)
        for _ in range(asked.times):
            command = [sys.executable, __file__, *sys.argv[1:], "--direct", folder]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            alone = json.loads(done.stdout)
            result, segments, seconds, tasks = by_ray(subject, keys)
            transport = [1000 * task["overhead"] for task in tasks]
            print(
                f"{result.segments:8}  {len(tasks):5}  {alone['segments']:8.2f} s {alone['all']:8.2f} s   {segments:8.2f} s {seconds:8.2f} s   "
                f"{1000 * (segments - alone['segments']) / result.segments:8.1f} ms {1000 * (seconds - alone['all']) / len(tasks):8.1f} ms   "
                f"{median(transport):8.1f} ms, {max(transport):6.1f} ms  {1000 * alone['segments'] / result.segments:6.0f} ms",
                flush=True,
            )


if __name__ == "__main__":
    main()
