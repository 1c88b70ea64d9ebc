"""Ray, if it is installed."""

import os
from types import ModuleType

from ..errors import RayMissingError

INSTALL = "pip install 'openvm-metal[ray]'"


def ray() -> ModuleType:
    """The module `ray`, which sends no reports of its use from here on unless the user asked for them.

    Raises:
        RayMissingError: with the command that installs it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray as module
    except ImportError as error:
        raise RayMissingError(f"Ray is not installed ({error}); {INSTALL}") from error
    return module
