"""`openvm-metal-cluster simulate`: time, price, losses and limits of a job on many devices."""

import argparse
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from statistics import mean, median
from typing import Any

from ..errors import ConfigError, FileError
from .model import Kind, Model, Outcome, simulate

# What times are divided by.
_RATES = ("driver_link", "driver_cores")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    parser.add_argument("--segments", type=int, default=209, help="segments of the job (default: 209)")
    parser.add_argument("--devices", default="10,100,1000,10000", help="how many devices in all, several with commas (default: %(default)s)")
    parser.add_argument(
        "--kind",
        action="append",
        metavar="NAME=VALUE,...",
        help="a kind of device: count, segment, node (seconds), in_flight (tasks at a time), link (bytes/s), loading (s), mean_life (s), "
        "price (an hour); several times for a mixture, whose proportions are the counts'",
    )
    parser.add_argument("--measured", type=Path, help="JSON lines of a real run, from which times and sizes are taken")
    for name, help_text in (
        ("proof_bytes", "bytes of a proof"),
        ("placed_bytes", "bytes of program and keys"),
        ("execution", "seconds to execute the whole program"),
        ("planning", "seconds until the segments are known"),
        ("dispatch", "seconds of the driver's loop for a task"),
        ("verify", "seconds to verify a proof on one core"),
        ("driver_link", "bytes/s of the driver's network"),
        ("latency", "seconds of a message"),
    ):
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, help=help_text)
    parser.add_argument("--driver-cores", type=int, help="cores that verify")
    parser.add_argument("--seed", type=int, help="of the failures")
    parser.add_argument("--json", action="store_true", help="print JSON")


def kind_from(text: str) -> Kind:
    """Reads `count=8,segment=0.108,node=0.2`.

    Raises:
        ConfigError: it is not of this form.
    """
    try:
        values = dict(part.split("=") for part in text.split(","))
        count = int(values.pop("count", "1"))
        in_flight = int(values.pop("in_flight", "1"))
        kind = Kind(count=count, in_flight=in_flight, **{name: float(value) for name, value in values.items()})
        given = [kind.segment, kind.node, kind.link, kind.mean_life]
    except (ValueError, TypeError) as error:
        raise ConfigError(f"--kind {text}: {error}") from None
    if min(count, in_flight) < 1 or any(value <= 0 or math.isnan(value) for value in given) or kind.loading < 0 or kind.price < 0:
        raise ConfigError(f"--kind {text}: counts, times and rates must be positive")
    return kind


def measured(events: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Times and sizes of a real run, from its events: `segment` and `node` (seconds of the device), `proof_bytes`, `placed_bytes`,
    `in_flight`, `loading`, `planning`, `verify`, and half of what a task takes beside the device as `latency`."""
    made: dict[bool, list[float]] = {True: [], False: []}
    sizes, loading, verified, overhead, found = [], [], [], [], {}
    for event in events:
        match event.get("event"):
            case "done" if event["level"] >= 0:
                made[event["level"] == 0].append(event["seconds"])
                sizes.append(event["bytes"])
                verified.append(event["verified"])
                overhead.append(event["overhead"])
            case "ready":
                loading.append(event["seconds"])
                found["in_flight"] = event["in_flight"]
            case "placed":
                found["placed_bytes"] = sum(event[name] for name in ("program", "app_pk", "agg_pk"))
            case "planned":
                found["planning"] = event["time"]
                found["segments"] = event["segments"]
    if not made[True] or not made[False]:
        raise ConfigError("the run has no finished segment or no finished node")
    found.update(segment=mean(made[True]), node=mean(made[False]), proof_bytes=mean(sizes))
    found.update(verify=mean(verified), latency=max(0.0, median(overhead)) / 2)
    if loading:
        found["loading"] = mean(loading)
    return found


def model_from(arguments: argparse.Namespace) -> Model:
    """The model of the options."""
    taken: dict[str, Any] = {}
    if arguments.measured is not None:
        try:
            lines = arguments.measured.read_text().splitlines()
            taken = measured(json.loads(line) for line in lines if line.startswith("{"))
        except (OSError, ValueError) as error:
            raise FileError(f"{arguments.measured}: {error}") from error
    kinds = [kind_from(text) for text in arguments.kind or []]
    if not kinds:
        if not taken:
            raise ConfigError("give --kind count=1,segment=SECONDS,node=SECONDS, or --measured FILE of a real run")
        in_flight = taken.get("in_flight", 1)
        kinds = [Kind(count=1, segment=taken["segment"], node=taken["node"], loading=taken.get("loading", 0.0), in_flight=in_flight)]
    if arguments.segments < 1:
        raise ConfigError("a job has at least one segment")
    model = Model(segments=arguments.segments, kinds=tuple(kinds))
    for name in ("proof_bytes", "placed_bytes", "verify", "latency"):
        if name in taken:
            model = replace(model, **{name: taken[name]})
    names = ("proof_bytes", "placed_bytes", "execution", "planning", "dispatch", "verify", "driver_link", "latency", "driver_cores", "seed")
    given = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    for name, value in given.items():
        option = f"--{name.replace('_', '-')} {value}"
        if name in _RATES and not 0 < value < math.inf:
            raise ConfigError(f"{option}: a finite number above 0 is needed")
        if name not in ("seed", *_RATES) and not 0 <= value < math.inf:
            raise ConfigError(f"{option}: a finite number from 0 on is needed")
    return replace(model, **given)


def run(arguments: argparse.Namespace) -> None:
    """Simulates and prints."""
    model = model_from(arguments)
    try:
        counts = [int(count) for count in arguments.devices.split(",")]
    except ValueError:
        raise ConfigError(f"--devices {arguments.devices}: numbers with commas") from None
    if min(counts) < len(model.kinds):
        raise ConfigError(f"--devices: at least {len(model.kinds)}, one of each kind")
    outcomes = [simulate(model.scaled(count)) for count in counts]
    if arguments.json:
        print(json.dumps([asdict(outcome) for outcome in outcomes]))
        return
    print(table(model, outcomes))


def table(model: Model, outcomes: list[Outcome]) -> str:
    """For people."""
    head = ("devices", "time", "segments", "busy", "executing", "loop", "verify", "link", "failures", "lost", "price", "limit")
    rows = [head]
    for o in outcomes:
        rows.append(
            (
                str(o.devices),
                f"{o.seconds:.1f} s",
                f"{o.segments_done:.1f} s",
                f"{o.busy:.0%}",
                f"{o.walking:.0%}",
                f"{o.dispatching:.0%}",
                f"{o.verifying:.0%}",
                f"{o.receiving:.0%}",
                str(o.failures),
                f"{o.lost:.1f} s",
                f"{o.price:.2f}",
                o.limit,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join([f"{model.segments} segments", *lines])
