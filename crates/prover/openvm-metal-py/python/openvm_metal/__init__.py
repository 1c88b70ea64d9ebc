"""OpenVM programs proved on Apple GPUs, NVIDIA GPUs and CPUs, on one machine or on a Ray cluster.

>>> import openvm_metal as om                                               # doctest: +SKIP
>>> program = om.Program("examples/guests/fibonacci/fibonacci.elf")         # doctest: +SKIP
>>> prover = om.Prover(program, device="auto")                              # doctest: +SKIP
>>> proof, report = prover.prove(om.read_input("examples/guests/fibonacci/input.json"))  # doctest: +SKIP
>>> proof.verify(prover.verifying_key)                                      # doctest: +SKIP

The functions `execute`, `prove`, `prove_segment`, `aggregate` and `verify` do one thing each; `Prover` keeps keys and program on its
device for many. `openvm_metal.ray` spreads one proof over a cluster.
"""

from importlib.metadata import PackageNotFoundError, version

from . import errors
from ._openvm_metal import (
    JobFolder,
    Keys,
    Plan,
    Program,
    Proof,
    Prover,
    SegmentWorker,
    Span,
    Verifier,
    VerifyingKey,
)
from .errors import OpenVmMetalError
from .inputs import read_input
from .single import aggregate, execute, prove, prove_segment, verify
from .tasks import END, Task, task_name

try:
    __version__ = version("openvm-metal")
except PackageNotFoundError:  # The sources are used without being installed.
    __version__ = "unknown"

__all__ = [
    "END",
    "JobFolder",
    "Keys",
    "OpenVmMetalError",
    "Plan",
    "Program",
    "Proof",
    "Prover",
    "SegmentWorker",
    "Span",
    "Task",
    "Verifier",
    "VerifyingKey",
    "aggregate",
    "errors",
    "execute",
    "prove",
    "prove_segment",
    "read_input",
    "task_name",
    "verify",
]
