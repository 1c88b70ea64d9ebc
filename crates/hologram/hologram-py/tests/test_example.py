"""The example runs, and draws something."""

import pathlib
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "mandelbrot.py"


def test_mandelbrot(tmp_path, backend):
    out = tmp_path / "plot.png"
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--backend", backend, "--size", "96", "--out", out],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "NumPy agrees on" in done.stdout
    data = out.read_bytes()
    assert data.startswith(b"\x89PNG") and len(data) > 10_000
