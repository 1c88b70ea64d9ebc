"""`hologram.array` against NumPy with numexpr, CuPy and PyTorch in the same run; prints a Markdown table.

    python benches/arrays.py [--device cpu|metal|cuda] [--peer numpy cupy torch] [--elements 1000000] [--turns 5]

A time is the median over turns of the shortest of each turn; the sides take turns. Results are compared before. Peers are
those that are named; `--peer all` are those that are installed. PyTorch runs operation by operation, as the others do; its
`sort` gives the order as well.
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

    def __init__(self, device):
        self.numexpr = importlib.import_module("numexpr")
        self.numexpr.set_num_threads(self.numexpr.detect_number_of_cores())
        self.module = np
        self.asarray = np.asarray
        self.names = f"NumPy {np.__version__}, numexpr {self.numexpr.__version__}"

    def synchronize(self):
        pass

    def to_numpy(self, x):
        return np.asarray(x)


class CuPy:
    """CuPy by NumPy's names, on the default stream of the first GPU."""

    def __init__(self, device):
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

    def to_numpy(self, x):
        return self.cupy.asnumpy(x)


class PyTorch:
    """PyTorch by NumPy's names, on the processor, the first NVIDIA GPU, or the Apple GPU."""

    def __init__(self, device):
        self.module = self
        self.numexpr = None
        self.torch = importlib.import_module("torch")
        self.device = {"cuda": "cuda", "metal": "mps"}.get(device.split(":")[0], "cpu")
        # Nothing here asks for gradients, and products are those of float32.
        self.torch.set_grad_enabled(False)
        self.torch.set_float32_matmul_precision("highest")
        threads = f" on {self.torch.get_num_threads()} threads" if self.device == "cpu" else ""
        self.names = f"PyTorch {self.torch.__version__}{threads}"

    def __getattr__(self, name):
        return getattr(self.torch, name)

    def asarray(self, x, copy=False):
        return x.clone() if copy else self.torch.from_numpy(np.ascontiguousarray(x)).to(self.device)

    def astype(self, x, dtype):
        return x.to(dtype)

    def full(self, n, value, dtype):
        return self.torch.full((n,), value, dtype=dtype, device=self.device)

    def max(self, x, axis=None, keepdims=False):
        return self.torch.max(x) if axis is None else self.torch.amax(x, axis, keepdims)

    def var(self, x):
        return self.torch.var(x, correction=0)

    def cumulative_sum(self, x):
        return self.torch.cumsum(x, 0)

    def sort(self, x):
        return self.torch.sort(x).values

    def synchronize(self):
        if self.device != "cpu":
            getattr(self.torch, self.device).synchronize()

    def to_numpy(self, x):
        return x.cpu().numpy()


PEERS = {"numpy": NumPy, "cupy": CuPy, "torch": PyTorch}


def peers_of(names, device):
    """The peers that were asked for; of all, those that are there."""
    found = []
    for name in PEERS if "all" in names else dict.fromkeys(names):
        try:
            found.append(PEERS[name](device))
        except ImportError:
            if "all" not in names:
                raise
    return found


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
    parser.add_argument("--peer", nargs="+", default=["numpy"], choices=[*PEERS, "all"])
    parser.add_argument("--elements", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each side in each turn")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--cpu-time", action="store_true", help="of this thread; with RAYON_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1")
    options = parser.parse_args()
    if options.cpu_time:
        global clock
        clock = time.thread_time

    with hologram.device(options.device) as device:
        executor = device.executor
        peers = peers_of(options.peer, executor.backend)
        numexpr = next((peer.numexpr for peer in peers if peer.numexpr), None)
        names = "; ".join(peer.names for peer in peers)
        print(f"{executor.device}; {options.elements:,} elements of float32 unless said otherwise; {names};\nmicroseconds\n")
        heads = ["operation", "hologram"]
        for peer in peers:
            heads += [peer.names.split()[0], "of its time"]
        heads += ["numexpr"] if numexpr else []
        print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
        for name, fused, work, arrays, text in rows(options.elements):
            if options.only not in name:
                continue
            ours = [hologram.asarray(a) for a in arrays]

            def mine():
                work(hp, *ours).compute()
                executor.synchronize()

            wide = name.startswith("cumulative")
            # Sums one after the other in float32 are far from what they should be.
            expected = np.asarray(work(np, *(a.astype(np.float64) if wide else a for a in arrays)))
            expected = expected.astype(np.float32) if wide else expected
            found = np.array(work(hp, *ours))
            assert found.shape == expected.shape and found.dtype == expected.dtype, name
            scale = float(np.abs(expected).max(initial=0)) if expected.dtype.kind == "f" else 0
            near = {"rtol": 1e-3, "atol": 1e-5 * scale}
            np.testing.assert_allclose(found, expected, err_msg=name, **near)
            works = [mine]
            for peer in peers:
                theirs = [peer.asarray(a) for a in arrays]

                def others(peer=peer, theirs=theirs):
                    result = work(peer.module, *theirs)
                    peer.synchronize()
                    return result

                if not wide:
                    given = peer.to_numpy(others())
                    np.testing.assert_allclose(given, expected, err_msg=f"{name} by {peer.names}", **near)
                works.append(others)
            if numexpr and text:
                local = dict(zip("xy", arrays))
                works.append(lambda: numexpr.evaluate(text, local))
            first, *rest = medians(works, options.turns, options.seconds)
            cells = [name + (" (fused)" if fused else ""), f"{first * 1e6:,.0f}"]
            for time_of_peer in rest[: len(peers)]:
                cells += [f"{time_of_peer * 1e6:,.0f}", f"{first / time_of_peer:.2f}"]
            cells += [f"{t * 1e6:,.0f}" for t in rest[len(peers) :]] or ([""] if numexpr else [])
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
