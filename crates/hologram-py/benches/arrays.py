"""`hologram.array` against NumPy and numexpr, or against CuPy, in the same run; prints a Markdown table.

    python benches/arrays.py [--device cpu|metal|cuda] [--peer numpy|cupy] [--elements 1000000] [--turns 5]

A time is the median over turns of the shortest of each turn; the sides take turns. Results are compared before.
"""

import argparse
import importlib
import statistics
import time

import numpy as np

import hologram
from hologram import array as hp

# Threads of a peer's products spin for a while.
PAUSE = 0.1
clock = time.perf_counter


def medians(works, turns, seconds):
    """The time of each work, in seconds."""
    shortest = [[] for _ in works]
    for _ in range(turns):
        for work, times in zip(works, shortest):
            time.sleep(PAUSE)
            end = clock() + seconds
            turn = []
            while len(turn) < 2 or (clock() < end and len(turn) < 500):
                start = clock()
                work()
                turn.append(clock() - start)
            times.append(min(turn))
    return [statistics.median(times) for times in shortest]


class NumPy:
    """NumPy, and numexpr for what it can."""

    def __init__(self):
        self.numexpr = importlib.import_module("numexpr")
        self.numexpr.set_num_threads(self.numexpr.detect_number_of_cores())
        self.module = np
        self.asarray = np.asarray
        self.names = f"NumPy {np.__version__}, numexpr {self.numexpr.__version__}"

    def synchronize(self):
        pass


class CuPy:
    """CuPy by NumPy's names, on the default stream of the first GPU."""

    def __init__(self):
        self.module = self
        self.numexpr = None
        self.cupy = importlib.import_module("cupy")
        self.names = f"CuPy {self.cupy.__version__}"

    def __getattr__(self, name):
        older = {"concat": "concatenate", "cumulative_sum": "cumsum"}
        return getattr(self.cupy, name, None) or getattr(self.cupy, older[name])

    def astype(self, x, dtype):
        return x.astype(dtype)

    def asarray(self, x, copy=False):
        return self.cupy.array(x, copy=True) if copy else self.cupy.asarray(x)

    def synchronize(self):
        self.cupy.cuda.Stream.null.synchronize()


def gelu(m, x):
    return 0.5 * x * (1 + m.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(m, x):
    e = m.exp(x - m.max(x, axis=-1, keepdims=True))
    return e / m.sum(e, axis=-1, keepdims=True)


def layer_norm(m, x):
    d = x - m.mean(x, axis=-1, keepdims=True)
    return d / m.sqrt(m.mean(d * d, axis=-1, keepdims=True) + 1e-5)


def normalise_and_multiply(m, x, w, v):
    return softmax(m, gelu(m, layer_norm(m, x) @ w) @ v)


def rows(n):
    """Name, fused or not, work of a module and of its arrays, arrays, numexpr's text."""
    rng = np.random.default_rng(0)
    x, y = rng.random(n, dtype=np.float32) - np.float32(0.5), rng.random(n, dtype=np.float32) + np.float32(0.5)
    d = x.astype(np.float64)
    i, j = rng.integers(-1000, 1000, n, np.int32), rng.integers(1, 50, n, np.int32)
    k = i.astype(np.int64)
    b = i.astype(np.int8)
    side = 1 << (n.bit_length() - 1) // 2
    square = x[: side * side].reshape(side, side)
    tall, few = x[: n // 16 * 16].reshape(-1, 16), y[:16]
    mask = x > 0
    w, v = (rng.random((side, side), dtype=np.float32) / np.float32(side) for _ in range(2))
    return [
        ("x + y", False, lambda m, x, y: x + y, (x, y), "x + y"),
        ("x * y, float64", False, lambda m, x, y: x * y, (d, d), "x * y"),
        ("x / y", False, lambda m, x, y: x / y, (x, y), "x / y"),
        ("sqrt(y)", False, lambda m, x, y: m.sqrt(y), (x, y), "sqrt(y)"),
        ("exp(x)", False, lambda m, x: m.exp(x), (x,), "exp(x)"),
        ("sin(x)", False, lambda m, x: m.sin(x), (x,), "sin(x)"),
        ("tanh(x)", False, lambda m, x: m.tanh(x), (x,), "tanh(x)"),
        ("x < y", False, lambda m, x, y: x < y, (x, y), "x < y"),
        ("where(mask, x, y)", False, lambda m, c, x, y: m.where(c, x, y), (mask, x, y), None),
        ("maximum(x, y)", False, lambda m, x, y: m.maximum(x, y), (x, y), None),
        ("int32 + int32", False, lambda m, i, j: i + j, (i, j), None),
        ("int32 // int32", False, lambda m, i, j: i // j, (i, j), None),
        ("int32 // 7", False, lambda m, i: i // 7, (i,), None),
        ("int64 % 7", False, lambda m, k: k % 7, (k,), None),
        ("int32 to float32", False, lambda m, i: m.astype(i, m.float32), (i,), None),
        ("float64 to float32", False, lambda m, d: m.astype(d, m.float32), (d,), None),
        ("float32 to int8", False, lambda m, x: m.astype(x, m.int8), (x,), None),
        ("full(n, 3.0)", False, lambda m: m.full(n, 3.0, dtype=m.float32), (), None),
        ("copy", False, lambda m, x: m.asarray(x, copy=True), (x,), None),
        ("transposed copy", False, lambda m, x: m.reshape(x.T, (-1,)), (square,), None),
        ("[n, 16] + [16]", False, lambda m, t, f: t + f, (tall, few), None),
        ("concat", False, lambda m, x, y: m.concat([x, y]), (x, y), None),
        ("sum(x)", False, lambda m, x: m.sum(x), (x,), None),
        ("sum, axis 0", False, lambda m, x: m.sum(x, axis=0), (square,), None),
        ("sum, axis 1", False, lambda m, x: m.sum(x, axis=1), (square,), None),
        ("sum of int8", False, lambda m, b: m.sum(b), (b,), None),
        ("max(x)", False, lambda m, x: m.max(x), (x,), None),
        ("mean, axis 1", False, lambda m, x: m.mean(x, axis=1), (square,), None),
        ("var(x)", False, lambda m, x: m.var(x), (x,), None),
        ("any(x > 2)", True, lambda m, x: m.any(x > 2), (x,), None),
        ("argmax(x)", False, lambda m, x: m.argmax(x), (x,), None),
        ("cumulative_sum(x)", False, lambda m, x: m.cumulative_sum(x), (x,), None),
        ("sort(x)", False, lambda m, x: m.sort(x), (x,), None),
        ("matmul", False, lambda m, a, c: a @ c, (w, v), None),
        ("x * x + x", True, lambda m, x: x * x + x, (x,), "x * x + x"),
        ("2 x^2 + 3 y - 1", True, lambda m, x, y: 2 * x * x + 3 * y - 1, (x, y), "2 * x * x + 3 * y - 1"),
        ("sqrt(x^2 + y^2)", True, lambda m, x, y: m.sqrt(x * x + y * y), (x, y), "sqrt(x * x + y * y)"),
        ("sum(x * y)", True, lambda m, x, y: m.sum(x * y), (x, y), "sum(x * y)"),
        ("sum((x - y)^2)", True, lambda m, x, y: m.sum((x - y) ** 2), (x, y), "sum((x - y) ** 2)"),
        ("where(x > 0, x, y / 10)", True, lambda m, x, y: m.where(x > 0, x, y / 10), (x, y), "where(x > 0, x, y / 10)"),
        ("gelu(x)", True, gelu, (x,), "0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))"),
        ("softmax, rows", True, softmax, (square,), None),
        ("layer norm, rows", True, layer_norm, (square,), None),
        ("norm, gemm, gelu, gemm, softmax", True, normalise_and_multiply, (square, w, v), None),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--peer", default="numpy", choices=["numpy", "cupy"])
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each side in each turn")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--cpu-time", action="store_true", help="of this thread; with RAYON_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1")
    options = parser.parse_args()
    if options.cpu_time:
        global clock
        clock = time.thread_time

    peer = NumPy() if options.peer == "numpy" else CuPy()
    with hologram.device(options.device) as device:
        executor = device.executor
        print(f"{executor.device}; {options.elements:,} elements of float32 unless said otherwise; {peer.names};")
        other = peer.names.split()[0]
        last = (" numexpr |", "---|") if peer.numexpr else ("", "")
        print(f"microseconds\n\n| operation | hologram | {other} | of its time |{last[0]}\n|---|---|---|---|{last[1]}")
        for name, fused, work, arrays, text in rows(options.elements):
            if options.only not in name:
                continue
            ours = [hologram.asarray(a) for a in arrays]
            theirs = [peer.asarray(a) for a in arrays]

            def mine():
                work(hp, *ours).compute()
                executor.synchronize()

            def peers():
                work(peer.module, *theirs)
                peer.synchronize()

            wide = name.startswith("cumulative")
            # Sums one after the other in float32 are far from what they should be.
            expected = np.asarray(work(np, *(a.astype(np.float64) if wide else a for a in arrays)))
            expected = expected.astype(np.float32) if wide else expected
            found = np.array(work(hp, *ours))
            assert found.shape == expected.shape and found.dtype == expected.dtype, name
            scale = float(np.abs(expected).max(initial=0)) if expected.dtype.kind == "f" else 0
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5 * scale, err_msg=name)
            works = [mine, peers]
            if peer.numexpr and text:
                names = dict(zip("xy", arrays))
                works.append(lambda: peer.numexpr.evaluate(text, names))
            a, b, *rest = medians(works, options.turns, options.seconds)
            third = (f" {rest[0] * 1e6:,.0f} |" if rest else " |") if peer.numexpr else ""
            mark = " (fused)" if fused else ""
            print(f"| {name}{mark} | {a * 1e6:,.0f} | {b * 1e6:,.0f} | {a / b:.2f} |{third}", flush=True)


if __name__ == "__main__":
    main()
