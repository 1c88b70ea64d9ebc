"""Ray, if it is installed."""

import os
from importlib.metadata import requires
from types import ModuleType

from ..errors import RayMissingError


def _install() -> str:
    """The command that installs what the extra `ray` of this package asks for."""
    asked = (line.partition(";") for line in requires("openvm-metal") or [])
    return " ".join(["pip install", *(f"'{name.strip()}'" for name, _, when in asked if "ray" in when)])


def ray() -> ModuleType:
    """The module `ray`, which sends no reports of its use from here on unless the user asked for them.

    Raises:
        RayMissingError: with the command that installs it.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray as module
    except ImportError as error:
        raise RayMissingError(f"Ray is not installed ({error}); {_install()}") from error
    return module
