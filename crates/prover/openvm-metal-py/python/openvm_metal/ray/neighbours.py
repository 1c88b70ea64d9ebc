"""Segments that do not join: each proof is valid, but one of two neighbours proves something else."""

from dataclasses import dataclass, field

from .. import Span
from ..errors import ProveError

# Most conflicts before the job is given up.
_CONFLICTS = 8


@dataclass
class Neighbours:
    """Which proofs did not join, and who is found to have made a wrong one once the segment was proved again."""

    suspects: dict[int, tuple[Span, str]] = field(default_factory=dict)
    conflicts: int = 0

    def conflict(self, index: int, span: Span, before: Span | None, behind: Span | None) -> int | None:
        """The neighbour that a segment does not join: it has to begin where the one before ends, and to end where the next one begins."""
        if before is not None and not before.joins(span):
            neighbour = index - 1
        elif behind is not None and not span.joins(behind):
            neighbour = index + 1
        else:
            return None
        self.conflicts += 1
        if self.conflicts > _CONFLICTS:
            raise ProveError(f"segments {index} and {neighbour} do not join, whoever proves them")
        return neighbour

    def suspect(self, index: int, span: Span, maker: str) -> None:
        """Remembers a proof of which it is not known yet whether it is the wrong one."""
        self.suspects[index] = (span, maker)

    def wrong(self, index: int, span: Span) -> str | None:
        """The maker of the first proof of a segment, if the second one, made by another device, differs from it."""
        first, maker = self.suspects.pop(index, (span, ""))
        if first == span:
            return None
        # Its maker has a strike: that ends some time, however many devices do it.
        self.conflicts = 0
        return maker
