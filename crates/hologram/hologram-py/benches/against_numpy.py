"""Operations against NumPy in the same run; prints Markdown tables.

    python benches/against_numpy.py [--backend auto|cpu|metal|cuda] [--elements 10000 1000000 64000000] [--gemm 256 1024 4096]

A time is the median over five turns of the shortest in each turn; the two sides take turns, with a pause between
them because NumPy's threads go on spinning after a product, on cores that the other side then lacks. On devices that
run asynchronously a repetition is several calls and one wait.
"""

import argparse

import numpy as np
from arrays import medians

import hologram
from hologram import ops

TURNS = 5


def best_of(works, seconds):
    """The time of each work, in seconds; together they take about as many seconds as given."""
    return medians(works, TURNS, seconds / TURNS / len(works))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--elements", type=int, nargs="*", default=[10_000, 1_000_000, 64_000_000])
    parser.add_argument("--gemm", type=int, nargs="*", default=[256, 1024, 4096])
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row")
    options = parser.parse_args()

    ex = hologram.Executor(options.backend)
    calls = 1 if ex.backend == "cpu" else 20
    print(f"{ex.backend}: {ex.device}; NumPy {np.__version__}; float32; times in microseconds a call\n")

    def waiting(call):
        def work():
            for _ in range(calls):
                call()
            ex.synchronize()

        return work

    one = ex.allocate(1)
    (overhead,) = best_of([waiting(lambda: ops.vector_add(ex, one, one, one))], options.seconds)
    print(f"A call on one element takes {overhead / calls * 1e6:.2f} us.\n")

    rng = np.random.default_rng(0)
    print("| operation | elements | hologram | NumPy | ratio | GB/s | of a copy |")
    print("|---|---|---|---|---|---|---|")
    for n in options.elements:
        x, y = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32) - np.float32(0.5)
        z = np.zeros_like(x)
        a, b, c = ex.from_numpy(x), ex.from_numpy(y), ex.from_numpy(z)
        rows = [
            ("copy", 8, lambda: ops.copy(ex, a, c), lambda: np.copyto(z, x)),
            ("add", 12, lambda: ops.vector_add(ex, a, b, c), lambda: np.add(x, y, out=z)),
            ("mul", 12, lambda: ops.vector_mul(ex, a, b, c), lambda: np.multiply(x, y, out=z)),
            ("relu", 8, lambda: ops.vector_relu(ex, b, c), lambda: np.maximum(y, 0, out=z)),
            ("exp", 8, lambda: ops.vector_exp(ex, a, c), lambda: np.exp(x, out=z)),
            ("sum", 4, lambda: ops.reduce_sum(ex, a), lambda: x.sum()),
        ]
        copied = None
        for name, size, ours, numpys in rows:
            mine, theirs = best_of([waiting(ours), numpys], options.seconds)
            mine /= calls
            rate = size * n / mine / 1e9
            copied = copied or rate
            print(
                f"| {name} | {n:,} | {mine * 1e6:.1f} | {theirs * 1e6:.1f} | {mine / theirs:.2f}"
                f" | {rate:.1f} | {rate / copied:.0%} |"
            )
        # A fold is free to round otherwise than NumPy; the rest is not.
        ops.vector_mul(ex, a, b, c)
        assert np.array_equal(c.to_numpy(), x * y)

    print("\n| gemm | hologram | NumPy | ratio | GFLOP/s |")
    print("|---|---|---|---|---|")
    for n in options.gemm:
        x, y = rng.random((2, n, n), dtype=np.float32)
        z = np.empty_like(x)
        a, b, c = ex.from_numpy(x), ex.from_numpy(y), ex.allocate(n * n)
        mine, theirs = best_of(
            [waiting(lambda: ops.gemm(ex, a, b, c, n, n, n)), lambda: np.matmul(x, y, out=z)],
            options.seconds,
        )
        mine /= calls
        print(
            f"| {n} | {mine * 1e6:,.0f} | {theirs * 1e6:,.0f} | {mine / theirs:.2f}"
            f" | {2 * n**3 / mine / 1e9:,.0f} |"
        )
        np.testing.assert_allclose(c.to_numpy().reshape(n, n), z, rtol=1e-4)


if __name__ == "__main__":
    main()
