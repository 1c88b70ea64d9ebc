"""The package as type checkers and editors see it: names, operators and methods, without an error in a program that uses them."""

import subprocess
import sys
from pathlib import Path

import hologram
from hologram import array as hp

PROGRAM = Path(__file__).with_name("typed_program.py")


def test_a_program_is_typed(tmp_path):
    """`mypy --strict` finds what the program uses, and a wrong use."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import hologram\nx: str = hologram.zeros(3) + 1\nhologram.no_such_function(x)\nhologram.ones(2).no_such_method()\n")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), PROGRAM, wrong], capture_output=True, text=True, check=False
    )
    errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert [line.rsplit("[")[-1] for line in errors] == ["assignment]", "attr-defined]", "attr-defined]"], checked.stdout
    assert all("wrong.py" in line for line in errors), checked.stdout


def test_the_program_runs(capsys):
    namespace = {"__name__": "program"}
    exec(compile(PROGRAM.read_text(), PROGRAM, "exec"), namespace)
    namespace["main"]()
    assert "15 cpu" in capsys.readouterr().out


def test_what_the_namespaces_show():
    for module in (hologram, hp):
        shown = {name for name in dir(module) if not name.startswith("_")}
        assert shown == set(module.__all__) and len(module.__all__) == len(shown)
        assert all(hasattr(module, name) for name in shown)
        assert not {"Any", "sys", "np", "creation", "host", "elementwise"} & shown
    assert set(hp.__all__) <= set(hologram.__all__)
    assert hologram.zeros is hp.zeros and hologram.random.Generator is hp.random.Generator
