"""What a job gives."""

from dataclasses import dataclass

from .. import Proof, VerifyingKey


@dataclass(frozen=True)
class Result:
    """A proof of a whole execution, which OpenVM's verifier has accepted, and how it was made."""

    proof: Proof
    verifying_key: VerifyingKey
    security_bits: float
    """Of the weakest circuit of the proof. Below 80 proofs can be forged."""
    public_values: bytes
    segments: int
    instructions: int
    made: dict[str, int]
    """Tasks that each device made."""
    resumed: int
    """Tasks found in the job's folder."""
    twice: int
    """Tasks that were begun again, or done by two devices: lost or wrong, or a slow device was overtaken."""
    removed: dict[str, str]
    """Devices that were taken out, and why."""
    bytes_placed: dict[str, int]
    """What went through the object store to every node once: program and keys."""
    seconds: float
