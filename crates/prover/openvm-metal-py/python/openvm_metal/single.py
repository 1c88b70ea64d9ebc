"""One thing each, without an object that is kept."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ._openvm_metal import Plan, Program, Proof, Prover, VerifyingKey
from .errors import PlanError

if TYPE_CHECKING:
    from ._openvm_metal import Input


def execute(
    program: Program,
    input: "Input" = None,
    *,
    max_instructions: int | None = None,
    output: Callable[[bytes], Any] | None = None,
) -> bytes:
    """Runs a program without proving it, and returns the values that it revealed. `output` is called with the bytes of each print."""
    return Prover(program, device="cpu").execute(input, max_instructions=max_instructions, output=output)


def prove(program: Program, input: "Input" = None, *, device: str = "auto", **settings: Any) -> tuple[Proof, VerifyingKey]:
    """Proves an execution: one proof of the whole, and what verifies it. `settings` are those of `Prover`."""
    prover = Prover(program, device=device, **settings)
    proof, _ = prover.prove(input)
    return proof, prover.verifying_key


def prove_segment(prover: Prover, plan: Plan, index: int, input: "Input" = None) -> bytes:
    """Proves one segment of a plan. For several, `Prover.worker` goes on from where the last one ended."""
    return prover.worker(plan, input).prove(index)


def aggregate(prover: Prover, plan: Plan, segments: Sequence[bytes], values: bytes) -> Proof:
    """Aggregates the proofs of all segments of a plan, in order, into one; `values` is from `SegmentWorker.end`. Every proof is verified
    before it is used."""
    if len(segments) != plan.levels[0]:
        raise PlanError(f"the plan has {plan.levels[0]} segments, {len(segments)} proofs are given")
    verifier = prover.verifier()
    below = [(proof, verifier.segment(plan, index, proof)) for index, proof in enumerate(segments)]
    verifier.end(plan, below[-1][1], values)
    for level, nodes in enumerate(plan.levels[1:], start=1):
        above = []
        for index in range(nodes):
            children = [below[child] for child in plan.below(level, index)]
            proof = prover.prove_node(plan, level, index, [proof for proof, _ in children])
            span = verifier.node(plan, level, index, [span for _, span in children], proof)
            above.append((proof, span))
        below = above
    return verifier.assemble(below[0][0], values)


def verify(proof: Proof, vk: VerifyingKey, *, allow_insecure: bool = False) -> bytes:
    """Verifies a proof with OpenVM's own verifier, and returns what the guest revealed. Arguments and errors are those of `Proof.verify`."""
    proof.verify(vk, allow_insecure=allow_insecure)
    return proof.public_values
