"""The command `openvm-metal-cluster`."""

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import ConfigError, FileError, OpenVmMetalError
from ..inputs import read_input
from . import printed
from .events import Bars, JsonLines, for_people

# Proofs of fewer bits of security can be forged.
_SECURE_BITS = 80


def _bytes(text: str) -> int:
    """A number of bytes: digits, and K, M or G for 2^10, 2^20 or 2^30."""
    units = {"K": 10, "M": 20, "G": 30}
    unit = units.get(text[-1:].upper())
    digits = text if unit is None else text[:-1]
    if not digits.isdecimal() or int(digits) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes, as 8G or 500M are")
    return int(digits) << (unit or 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="openvm-metal-cluster", description="OpenVM programs proved on a Ray cluster: GPUs, Macs and CPUs together."
    )
    commands = parser.add_subparsers(dest="command", required=True)

    prove = commands.add_parser("prove", help="prove an execution: one proof of the whole")
    prove.add_argument("program", type=Path, help="an ELF or a .vmexe")
    prove.add_argument("--address", help="HOST:PORT of the head node, or auto for the cluster of this machine; if absent, this machine alone")
    prove.add_argument("--config", type=Path, help="openvm.toml; if absent, the one that openvm-metal finds for the program")
    prove.add_argument("--as-cargo-openvm", action="store_true", help="make the executable of an ELF by cargo-openvm's rule, for its commitment: traps do nothing")
    prove.add_argument("--input", help='one value in hexadecimal, a file *.json with a list of values under "input", or any other file')
    prove.add_argument("--devices", default="auto", help="auto, cuda, metal, cpu, cpu:N for groups of N cores; several with commas")
    prove.add_argument("--job-folder", type=Path, help="keep what is finished here, and go on from it")
    prove.add_argument("--proof", type=Path, help="the proof's file; if absent, NAME.stark.proof here, NAME.insecure.stark.proof below 80 bits of security")
    prove.add_argument("--vk", type=Path, help="the file for what verifies the proof; if absent, as the proof's, with the ending .vk")
    prove.add_argument("--commitments", type=Path, metavar="FOLDER", help="the folder for NAME.commit.json and NAME.baseline.json; if absent, the proof's")
    prove.add_argument("--app-pk", type=Path, help="the application's proving key; made if absent")
    prove.add_argument("--agg-pk", type=Path, help="internal_recursive.pk; with --agg-prefix-pk the one in ~/.openvm if absent; without both aggregation keys are made")
    prove.add_argument("--agg-prefix-pk", type=Path, help="agg_prefix.pk; with --agg-pk the one beside --app-pk if absent")
    prove.add_argument("--toy", action="store_true", help="small parameters WITHOUT SECURITY; implies --allow-insecure")
    prove.add_argument("--allow-insecure", action="store_true", help="take parameters of less than 80 bits of security: such proofs can be forged")
    prove.add_argument("--segment-max-memory", type=_bytes, help="most memory that the proof of one segment needs")
    prove.add_argument("--host-memory", type=_bytes, help="most memory that records and traces of segments take on each node")
    prove.add_argument("--max-instructions", type=int, help="a program that executes more is stopped")
    prove.add_argument("--json", action="store_true", help="events as JSON lines on standard output; what the guest prints goes to standard error")

    nodes = commands.add_parser("nodes", help="what the nodes of a cluster offer")
    nodes.add_argument("--address", default="auto", help="HOST:PORT of the head node, or auto")
    return parser


def _prove(arguments: argparse.Namespace) -> None:
    from .. import Keys, Program
    from .pool import prove

    folders = [file.absolute().parent for file in (arguments.proof, arguments.vk) if file is not None]
    for folder in [*folders, *filter(None, [arguments.commitments])]:
        if not folder.is_dir():
            raise FileError(f"{folder}: the folder does not exist")
    if arguments.proof is not None and arguments.vk is not None and arguments.proof.absolute() == arguments.vk.absolute():
        raise ConfigError(f"--proof and --vk are the same file, {arguments.proof}")
    if (arguments.agg_pk or arguments.agg_prefix_pk) is not None and arguments.app_pk is None:
        raise ConfigError("--agg-pk and --agg-prefix-pk need the application key that they were made for: --app-pk")
    program = Program(arguments.program, arguments.config, as_cargo_openvm=arguments.as_cargo_openvm)
    values = None if arguments.input is None else read_input(arguments.input)
    keys = None if arguments.app_pk is None else Keys.load(arguments.app_pk, arguments.agg_pk, arguments.agg_prefix_pk)
    with ExitStack() as stack:
        events = JsonLines(stack.enter_context(printed.to_stderr())) if arguments.json else for_people()
        if isinstance(events, Bars):
            stack.callback(events.stop)
        result = prove(
            program,
            values,
            arguments.address,
            keys=keys,
            devices=arguments.devices.split(","),
            toy=arguments.toy,
            allow_insecure=arguments.allow_insecure,
            segment_max_memory=arguments.segment_max_memory,
            host_memory=arguments.host_memory,
            max_instructions=arguments.max_instructions,
            job_folder=arguments.job_folder,
            events=events,
        )
    # A proof that can be forged says so wherever its file goes.
    name = arguments.program.stem + (".insecure" if result.security_bits < _SECURE_BITS else "")
    proof_file = arguments.proof or Path(f"{name}.stark.proof")
    vk_file = arguments.vk or Path(f"{name}.stark.vk")
    folder = arguments.commitments or proof_file.parent
    commit_file, baseline_file = folder / f"{name}.commit.json", folder / f"{name}.baseline.json"
    result.proof.save(proof_file)
    result.verifying_key.save(vk_file)
    result.verifying_key.save_commit(commit_file, result.security_bits)
    result.verifying_key.save_baseline(baseline_file, result.security_bits)
    summary: dict[str, Any] = {
        "event": "written",
        "proof": str(proof_file),
        "vk": str(vk_file),
        "commit": str(commit_file),
        "baseline": str(baseline_file),
        "security_bits": round(result.security_bits, 1),
        "public_values": result.public_values.hex(),
        "segments": result.segments,
        "instructions": result.instructions,
        "seconds": round(result.seconds, 3),
        "made": result.made,
        "resumed": result.resumed,
        "twice": result.twice,
        "removed": result.removed,
    }
    if arguments.json:
        print(json.dumps(summary))
        return
    print(f"{result.instructions} instructions in {result.segments} segments, {result.seconds:.1f} s")
    for device, count in sorted(result.made.items()):
        print(f"{device}: {count} proofs")
    for reason in result.removed.values():
        print(f"taken out: {reason}")
    forged = "; below 80 proofs can be forged" if result.security_bits < _SECURE_BITS else ""
    print(f"{result.security_bits:.1f} bits of security{forged}")
    print(f"public values {result.public_values.hex()}")
    print(f"{proof_file}: accepted by OpenVM's verifier\n{vk_file}: what verifies it")
    print(f"{commit_file}: the commitments\n{baseline_file}: the baseline")


def _nodes(arguments: argparse.Namespace) -> None:
    from .cluster import connected
    from .seats import seats, wanted

    with connected(arguments.address) as ray:
        for seat in seats(ray.nodes(), wanted(["auto"])):
            cores = f", {seat.cpus:g} cores" if seat.device == "cpu" else ""
            print(f"{seat.name}{cores}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 success, 1 the work could not be done, 2 wrong usage, 130 stopped by Ctrl-C."""
    given = _parser().parse_args(arguments)
    try:
        match given.command:
            case "prove":
                _prove(given)
            case "nodes":
                _nodes(given)
    except OpenVmMetalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
