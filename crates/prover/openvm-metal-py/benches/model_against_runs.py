"""The simulation beside real runs: clusters of 1 to N workers on this machine, a small program with toy parameters.

    python benches/model_against_runs.py [WORKERS,...]

Each run gives the times of its tasks to the model, which then says how long the run should have taken. On a machine with fewer cores than
workers the tasks get slower, which the measured times contain.
"""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

from conftest import INPUT, SETTINGS, TOY

import guests
import openvm_metal as om
from openvm_metal.ray import Pool
from openvm_metal.ray.model import Kind, Model, simulate
from openvm_metal.ray.simulate import measured

ROUNDS = int(os.environ.get("OPENVM_METAL_BENCH_ROUNDS", "2000"))


def main():
    counts = sys.argv[1] if len(sys.argv) > 1 else "1,2,4,8"
    program = om.Program.from_bytes(guests.sums(ROUNDS), guests.CONFIG, "sums")
    keys = om.Prover(program, device="cpu", toy=TOY).keys()
    print("workers  segments  segment     node        measured  simulated  ratio  transport of a task (median)")
    for workers in map(int, counts.split(",")):
        events = []
        settings = {"keys": keys, "devices": "cpu:1", "segment_max_memory": SETTINGS["segment_max_memory"], "allow_insecure": True}
        with Pool(program, local={"num_cpus": workers}, **settings) as pool:
            # The first job waits for the workers.
            while True:
                pool.prove(INPUT)
                if all(member.about for member in pool._crew.members):
                    break
            result = pool.prove(INPUT, events=events.append)
            in_flight = pool._crew.members[0].about["in_flight"]
        found = measured(events)
        kind = Kind(workers, found["segment"], found["node"], in_flight=in_flight)
        model = Model(
            segments=result.segments,
            kinds=(kind,),
            proof_bytes=found["proof_bytes"],
            verify=found["verify"],
            latency=found["latency"],
            driver_cores=os.cpu_count(),
        )
        real, simulated = result.seconds - found["planning"], simulate(model).seconds
        print(
            f"{workers:7}  {result.segments:8}  {found['segment']:.4f} s  {found['node']:.4f} s  "
            f"{real:7.2f} s  {simulated:8.2f} s  {simulated / real:5.2f}  {2000 * found['latency']:.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main()
