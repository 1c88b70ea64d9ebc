"""Small jobs in a row on one cluster of this machine: how many a minute, and whether memory stays.

    python benches/many_jobs.py [JOBS] [WORKERS]

A program of one segment with toy parameters, another input for each job. Prints the memory of the driver and of the workers, and what Ray's
store and processes hold, ten times.
"""

import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))


def run(pool, jobs, told=lambda number, memory: None):
    """Proves so many inputs. Gives, for each job, the bytes of resident memory of the driver and of the workers."""
    # Ray brings it.
    import psutil

    memory = []
    for number in range(jobs):
        value = number.to_bytes(4, "little")
        result = pool.prove(value)
        # Each job's own proof: it reveals the input.
        assert result.public_values[4:8] == value, number
        workers = [member.about["pid"] for member in pool._crew.members if member.about]
        memory.append([psutil.Process(pid).memory_info().rss for pid in [os.getpid(), *workers]])
        told(number, memory[-1])
    return memory


def main():
    from conftest import SETTINGS, TOY

    import guests
    import openvm_metal as om
    from openvm_metal.ray import Pool

    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    workers = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    program = om.Program.from_bytes(guests.sums(10), guests.CONFIG, "sums")
    keys = om.Prover(program, device="cpu", toy=TOY).keys()
    clock = time.monotonic()

    def told(number, memory):
        import psutil

        if number in (0, jobs - 1) or (number + 1) % max(1, jobs // 10) == 0:
            driver, *others = (f"{size / 2**20:.0f}" for size in memory)
            rays = [p for p in psutil.Process().children(recursive=True) if p.pid not in pids]
            held = sum(p.memory_info().rss for p in rays) / 2**20
            print(f"{number + 1:5}  {time.monotonic() - clock:7.0f} s  {driver:>6}  {' + '.join(others):>12}  {held:5.0f} ({len(rays)})", flush=True)

    print(" jobs       time  driver       workers  Ray's (processes), MiB")
    with Pool(program, keys=keys, devices="cpu:1", local={"num_cpus": workers}, **SETTINGS) as pool:
        pool.prove(bytes(4))
        while not all(member.about for member in pool._crew.members):
            pool.prove(bytes(4))
        pids = {member.about["pid"] for member in pool._crew.members}
        clock = time.monotonic()
        run(pool, jobs, told)


if __name__ == "__main__":
    main()
