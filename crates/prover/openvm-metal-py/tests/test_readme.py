"""The README's cells run, one after another."""

import pathlib
import re

import guests
from conftest import INPUT, ROUNDS, TOY

README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_tour(tmp_path, monkeypatch, capsys, whole):
    text = README.read_text()
    cells = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert len(cells) == 5
    try:
        import ray  # noqa: F401
    except ImportError:
        cells.pop()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guest.elf").write_bytes(guests.sums(ROUNDS))
    (tmp_path / "openvm.toml").write_text(guests.CONFIG)
    names = {}
    for cell in cells:
        # The guest has no multiplication: smaller parameters are enough, and one segment is cut into several.
        cell = cell.replace("toy=True", f"toy={TOY}, segment_max_memory=1, children=(2, 2)")
        cell = cell.replace('keys, device="cpu",', 'keys, device="cpu", segment_max_memory=1, children=(2, 2),')
        cell = cell.replace("keys=keys,", "keys=keys, segment_max_memory=1, children=(2, 2),")
        exec(compile(cell, str(README), "exec"), names)
    assert names["input"] == INPUT
    whole.equals(names["proof"], names["segments"])
    if "result" in names:
        whole.equals(names["result"].proof)
    out = capsys.readouterr().out
    assert "segment_proved" in out and str(names["plan"].levels) in out
    assert names["report"]["segments"] == names["plan"].levels[0]
