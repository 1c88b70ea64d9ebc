"""What happens during a job, for programs and for people."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

Events = Callable[[dict[str, Any]], None]
"""Is called with each event: its name under "event", seconds since the start of the job under "time", and its own fields."""


class JsonLines:
    """One JSON object a line."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout

    def __call__(self, event: dict[str, Any]) -> None:
        print(json.dumps(event), file=self._out, flush=True)


class Lines:
    """What a person wants to know, a line each, where no bar can be drawn."""

    _SHOWN = frozenset({"planned", "resumed", "set_aside", "removed", "strike", "died", "joined", "ready", "proved"})

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stderr

    def __call__(self, event: dict[str, Any]) -> None:
        if event["event"] in self._SHOWN:
            fields = ", ".join(f"{key} {value}" for key, value in event.items() if key not in ("event", "time"))
            print(f"{event['time']:8.1f} s  {event['event']}: {fields}", file=self._out, flush=True)


class Bars:
    """One bar for each phase, the devices with their rates, and the expected end, on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description:<14}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=False,
        )
        self._bars: dict[str, Any] = {}
        self._progress.start()

    def stop(self) -> None:
        """The terminal is free again, also if the job failed before it began."""
        self._progress.stop()

    def _print(self, text: str) -> None:
        self._progress.console.print(text, markup=False, highlight=False)

    def __call__(self, event: dict[str, Any]) -> None:
        name = event["event"]
        if name == "planned":
            for phase, total in (("segments", event["segments"]), ("aggregation", event["nodes"])):
                self._bars[phase] = self._progress.add_task(phase, total=total, note="")
        elif name in ("done", "resumed") and event["level"] >= 0:
            phase = "segments" if event["level"] == 0 else "aggregation"
            self._progress.advance(self._bars[phase])
        elif name == "rates":
            devices = ", ".join(f"{device} {rate / 1e6:.2f} M/s" for device, rate in event["devices"].items())
            end = event["left"]
            left = "" if end is None else f", {end:.0f} s left"
            self._progress.update(self._bars["segments"], note=devices + left)
        elif name in ("removed", "died", "strike", "joined"):
            self._print(f"{event['device']}: {name} {event.get('reason', '')}")
        elif name == "set_aside":
            self._print(f"set aside as {event['file']}: {event['reason']}")
        elif name in ("proved", "failed"):
            self.stop()


def for_people() -> Events:
    """Bars on a terminal, if they can be drawn, otherwise lines."""
    if sys.stderr.isatty():
        try:
            return Bars()
        except ImportError:
            pass
    return Lines()


class Teller:
    """Tells events with the time."""

    def __init__(self, events: Events | None) -> None:
        self._events = events
        self._start = time.monotonic()

    def __call__(self, event: str, **fields: Any) -> None:
        if self._events is not None:
            self._events({"event": event, "time": round(time.monotonic() - self._start, 3), **fields})
