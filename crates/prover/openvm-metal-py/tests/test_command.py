"""The command's standard output, without a cluster."""

import json
import os
import subprocess

import clusters
import guests
import pytest

from openvm_metal.ray import command

# The driver's part that executes the guest; devices and proofs are left out.
JSON = """
import json, pathlib, types
import openvm_metal as om
from openvm_metal.ray import command, pool

def prove(program, values, address, *, events, host_memory, **settings):
    assert host_memory == 3 << 30, host_memory
    events({"event": "begun"})
    om.execute(program, values)
    print("a library's line")
    events({"event": "executed"})
    key = ("save", "save_commit", "save_baseline")
    saved = types.SimpleNamespace(**{name: lambda path, bits=None: path.touch() for name in key})
    numbers = {name: 1 for name in ("segments", "instructions", "seconds", "resumed", "twice", "security_bits")}
    return types.SimpleNamespace(proof=saved, verifying_key=saved, public_values=b"", made={}, removed={}, **numbers)

pool.prove = prove
raise SystemExit(command.main(["prove", "guest.elf", "--json", "--host-memory", "3G"]))
"""


def test_a_guests_text_stays_out_of_json(tmp_path):
    (tmp_path / "guest.elf").write_bytes(guests.prints("the guest's line\nand half of one"))
    (tmp_path / "openvm.toml").write_text(guests.CONFIG)
    command_line, more = clusters.python(JSON, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    done = subprocess.run(command_line, **more)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()] == ["begun", "executed", "written"]
    written = json.loads(done.stdout.splitlines()[-1])
    files = ("stark.proof", "stark.vk", "commit.json", "baseline.json")
    assert [written[name] for name in ("proof", "vk", "commit", "baseline")] == [f"guest.insecure.{file}" for file in files]
    assert all((tmp_path / f"guest.insecure.{file}").exists() for file in files)
    for text in ("the guest's line\n", "and half of one", "a library's line\n"):
        assert text in done.stderr


def test_numbers_of_bytes_have_units(capsys):
    with pytest.raises(SystemExit):
        command.main(["prove", "guest.elf", "--host-memory", "much"])
    assert "'much' is not a number of bytes" in capsys.readouterr().err


def test_a_guest_may_print_half_a_line(tmp_path):
    """What it printed leaves the process although no line ends."""
    script = "import guests, openvm_metal as om\nom.execute(om.Program.from_bytes(guests.prints('half'), guests.CONFIG))\n"
    command_line, more = clusters.python(script, capture_output=True, text=True, timeout=300, check=False)
    done = subprocess.run(command_line, **more)
    assert (done.returncode, done.stdout) == (0, "half"), done.stderr


def test_a_terminal_gets_no_control_characters_of_a_guest():
    ours, its = os.openpty()
    script = r"import guests, openvm_metal as om; om.execute(om.Program.from_bytes(guests.prints('a\x1b[2Jb\n'), guests.CONFIG))"
    command_line, more = clusters.python(script, stdout=its, stderr=its, timeout=300, check=True)
    subprocess.run(command_line, **more)
    os.close(its)
    shown = os.read(ours, 4096)
    os.close(ours)
    assert shown == "a\ufffd[2Jb\r\n".encode()
