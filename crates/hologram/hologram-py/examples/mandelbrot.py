"""The Mandelbrot set by an Atlas program, and how fast the operations are, with a plot of both.

Run it cell by cell in an editor that knows `# %%`, or as a script:

    python examples/mandelbrot.py [--backend auto|cpu|metal|cuda] [--size 640] [--out mandelbrot.png]
"""

# %% Which device
import argparse
import sys
import time

import numpy as np

import hologram
from hologram import ops

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
parser.add_argument("--backend", default="auto")
parser.add_argument("--size", type=int, default=640, help="pixels of a side")
parser.add_argument("--steps", type=int, default=100)
parser.add_argument("--out", default="mandelbrot.png")
options = parser.parse_args([] if "ipykernel" in sys.modules else None)

ex = hologram.Executor(options.backend)
print(f"{ex.backend}: {ex.device}")

# %% A lane for each pixel: z = z^2 + c until |z| > 2, and the number of steps
program = hologram.Program(
    """
    set.ge.u64 p0, r255, r2         ; r2: number of pixels
    bra @end, p0
    div.u64 r10, r255, r3           ; r3: pixels of a side
    mul.u64 r11, r10, r3
    sub.u64 r11, r255, r11          ; r10, r11: row and column
    cvt.f32.u64 r12, r11
    cvt.f32.u64 r13, r10
    fma.f32 r12, r12, r4, r5        ; c = (r12, r13); r4: a pixel's width
    fma.f32 r13, r13, r4, r6
    mov_imm.f32 r20, 0              ; z = (r20, r21)
    mov_imm.f32 r21, 0
    mov_imm.f32 r22, 0x40800000     ; 4
    mov_imm.u32 r23, 0              ; steps
    mov_imm.u32 r24, 1
@step:
    mul.f32 r30, r20, r20
    mul.f32 r31, r21, r21
    add.f32 r32, r30, r31
    set.gt.f32 p1, r32, r22
    bra @done, p1
    sub.f32 r33, r30, r31
    mul.f32 r34, r20, r21
    add.f32 r20, r33, r12
    add.f32 r34, r34, r34
    add.f32 r21, r34, r13
    add.u32 r23, r23, r24
    loop r7, @step                  ; r7: most steps
@done:
    mov_imm.u64 r40, 4
    mul.u64 r41, r255, r40
    stg.u32 r23, [r1 + r41]         ; r1: the result
@end:
    """
)
size = options.size
steps = ex.allocate(size * size, "uint32")
width = 3.0 / size
start = time.perf_counter()
ex.run(
    program,
    grid=-(-size * size // 256),
    block=256,
    registers={
        1: steps,
        2: size * size,
        3: size,
        4: ("float32", width),
        5: ("float32", -2.2),
        6: ("float32", -1.5),
        7: ("uint32", options.steps - 1),
    },
)
seconds = time.perf_counter() - start
picture = steps.to_numpy().reshape(size, size)
print(f"{size} x {size} pixels in {seconds * 1e3:.1f} ms, {int(picture.sum()):,} steps")

# The same in NumPy, of every eighth pixel.
x = (np.arange(0, size, 8, dtype=np.float32) * np.float32(width) + np.float32(-2.2))[None, :]
y = (np.arange(0, size, 8, dtype=np.float32) * np.float32(width) + np.float32(-1.5))[:, None]
c = x + 1j * y
z, expected = np.zeros_like(c), np.zeros(c.shape, np.uint32)
for _ in range(options.steps):
    z = np.where(np.abs(z) <= 2, z * z + c, z)
    expected += np.abs(z) <= 2
# Rounding may decide a step more or less at the border of the set.
agree = np.mean(np.abs(picture[::8, ::8].astype(int) - expected) <= 1)
print(f"NumPy agrees on {agree:.1%} of the pixels")
assert agree > 0.97

# %% Operations on buffers that stay on the device
sizes = [2**k for k in range(8, 23, 2)]
rates = {"hologram": [], "NumPy": []}
for n in sizes:
    u, v = np.random.default_rng(0).random((2, n), dtype=np.float32)
    w = np.empty_like(u)
    a, b, out = ex.from_numpy(u), ex.from_numpy(v), ex.allocate(n)

    def ours():
        ops.vector_mul(ex, a, b, out)
        ex.synchronize()

    def numpys():
        np.multiply(u, v, out=w)

    for name, work in (("hologram", ours), ("NumPy", numpys)):
        best = float("inf")
        for _ in range(15):
            start = time.perf_counter()
            work()
            best = min(best, time.perf_counter() - start)
        rates[name].append(12 * n / best / 1e9)
    assert np.array_equal(out.to_numpy(), w)

# %% The plot
import matplotlib

if "ipykernel" not in sys.modules:
    matplotlib.use("Agg")
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), width_ratios=(1, 1.2))
left.imshow(np.log1p(picture), cmap="magma", extent=(-2.2, 0.8, 1.5, -1.5))
left.set(title=f"{size} x {size} lanes, {seconds * 1e3:.0f} ms", xlabel="Re c", ylabel="Im c")
for name, values in rates.items():
    right.loglog(sizes, values, marker="o", label=name)
right.set(title=f"a * b, float32, on {ex.device}", xlabel="elements", ylabel="GB/s read and written")
right.grid(alpha=0.3)
right.legend()
figure.tight_layout()
figure.savefig(options.out, dpi=110)
print(f"plot in {options.out}")
print(ex.stats())
