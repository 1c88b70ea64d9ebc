"""One proof on a Ray cluster: `prove` for one, `Pool` for many of the same program.

Ray has the queue, the transport and the object store; this package decides which ready actor gets which task, verifies every proof before
it counts, and keeps what is finished in the job's folder. `docs/guide/cluster.md` of the repository describes it.
"""

from .events import Events, JsonLines
from .pool import Pool, prove
from .result import Result

__all__ = ["Events", "JsonLines", "Pool", "Result", "prove"]
