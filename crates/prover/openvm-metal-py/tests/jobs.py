"""Jobs on a cluster of a test: what they tell, and what each of them has to give."""

from conftest import INPUT, SETTINGS

import openvm_metal as om
from openvm_metal.ray import Pool


class Log(list):
    def __call__(self, event):
        self.append(event)

    def of(self, name):
        return [event for event in self if event["event"] == name]


def proved(result, whole, twice=(0, 6)):
    """What every job has to give: a proof of the same execution as one process, verified; and how much work may be done twice, overtaken
    devices included."""
    om.verify(result.proof, result.verifying_key, allow_insecure=True)
    whole.equals(result.proof)
    least, most = twice
    print(f"made {sum(result.made.values())} by {len(result.made)}, begun again {result.twice}, resumed {result.resumed}, removed {len(result.removed)}")
    assert least <= result.twice <= most


def run(made, program, keys, worker, log, **more):
    with Pool(program, made.address, keys=keys, worker=worker, devices="cpu:1", events=log, **SETTINGS) as pool:
        return pool.prove(INPUT, **more)
