"""Definitions: the field of 2^31 - 2^27 + 1 elements, its extension by X^4 - 11, Poseidon2, transforms."""

import re

import numpy as np

P = 0x78000001
R = pow(2, 32, P)
ONE = [1, 0, 0, 0]
WIDTH = 16
INVERSE_2 = (P + 1) // 2
# The matrix of the inner rounds is this diagonal plus ones.
DIAGONAL = [
    -2,
    1,
    2,
    INVERSE_2,
    3,
    4,
    -INVERSE_2,
    -3,
    -4,
    pow(INVERSE_2, 8, P),
    pow(INVERSE_2, 2, P),
    pow(INVERSE_2, 3, P),
]
DIAGONAL += [pow(INVERSE_2, 27, P), -pow(INVERSE_2, 8, P), -pow(INVERSE_2, 4, P), -pow(INVERSE_2, 27, P)]
MATRIX_4 = np.array([[2, 3, 1, 1], [1, 2, 3, 1], [1, 1, 2, 3], [3, 1, 1, 2]], np.uint64)
OUTER = np.array(
    [[MATRIX_4[i % 4, j % 4] * (2 if i // 4 == j // 4 else 1) for j in range(WIDTH)] for i in range(WIDTH)], np.uint64
)
INNER = (np.ones((WIDTH, WIDTH), np.uint64) + np.diag(np.array([d % P for d in DIAGONAL], np.uint64))) % np.uint64(P)


def montgomery(x):
    """Words in which the kernels keep field elements."""
    return (np.asarray(x, np.uint64) * np.uint64(R) % np.uint64(P)).astype(np.uint32)


def add(a, b):
    return (np.asarray(a, np.uint64) + np.asarray(b, np.uint64)) % np.uint64(P)


def sub(a, b):
    return (np.asarray(a, np.uint64) + np.uint64(P) - np.asarray(b, np.uint64)) % np.uint64(P)


def mul(a, b):
    return np.asarray(a, np.uint64) * np.asarray(b, np.uint64) % np.uint64(P)


def emul(a, b):
    """Products of extension elements, four words along the last axis."""
    a, b = np.broadcast_arrays(np.asarray(a, np.uint64), np.asarray(b, np.uint64))
    out = np.zeros(a.shape, np.uint64)
    for i in range(4):
        for j in range(4):
            out[..., (i + j) % 4] = add(out[..., (i + j) % 4], mul(mul(a[..., i], b[..., j]), 11 if i + j > 3 else 1))
    return out


def esum(a, axis=0):
    return np.asarray(a, np.uint64).sum(axis=axis) % np.uint64(P)


def base(x):
    """Elements of the field as elements of the extension."""
    return np.stack([np.asarray(x, np.uint64)] + [np.zeros(np.shape(x), np.uint64)] * 3, -1)


def powers(x, count):
    out = [np.array(ONE, np.uint64)]
    for _ in range(count - 1):
        out.append(emul(out[-1], x))
    return np.array(out)


def eq(point, bits):
    """Products of x or 1 - x, by the bits of each number, the lowest for the first coordinate."""
    bits = np.asarray(bits)
    out = np.broadcast_to(np.array(ONE, np.uint64), bits.shape + (4,))
    for k, x in enumerate(point):
        out = emul(out, np.where(((bits >> k) & 1)[..., None] != 0, x, sub(ONE, x)))
    return out


def fold(x0, x1, r):
    """The value at r of the line through x0 at 0 and x1 at 1."""
    return add(x0, emul(sub(x1, x0), r))


def root(log_n):
    return pow(31, (P - 1) >> log_n, P)


def reverse(i, bits):
    return int(f"{i:0{bits}b}"[::-1], 2) if bits else 0


def transform_pass(runs, log_n, first, stages, inverse=False):
    """Runs of 2^(log_n - first) coefficients, one along the last axis for each of 2^first run numbers, modulo the factors of
    the polynomial of which each is a remainder: run j has those modulo X^length - w^(length i), where i is j reversed."""
    w = root(log_n) if not inverse else pow(root(log_n), P - 2, P)
    length = 1 << (log_n - first - stages)
    out = []
    for j in range(1 << (first + stages)):
        z = pow(w, length * reverse(j, first + stages), P)
        parts = runs[..., j >> stages, :].reshape(runs.shape[:-2] + (1 << stages, length))
        weights = np.array([pow(z, m, P) for m in range(1 << stages)], np.uint64)
        out.append(mul(parts, weights[:, None]).sum(axis=-2) % np.uint64(P))
    return np.stack(out, axis=-2)


class Poseidon2:
    def __init__(self, text):
        """Round constants from a unit's text, where they are Montgomery words less the prime."""
        outer, inner = (
            re.search(rf"{name}\[\d+\] = \{{(.*?)\}};", text, re.S).group(1)
            for name in ("P2_RC_EXTERNAL", "P2_RC_INTERNAL")
        )
        back = pow(R, P - 2, P)
        words = [[(int(w, 16) + P) % 2**32 * back % P for w in re.findall(r"0x[0-9a-f]+", t)] for t in (outer, inner)]
        self.outer, self.inner = np.array(words[0], np.uint64).reshape(8, WIDTH), words[1]

    def permute(self, s):
        def linear(matrix, s):
            return sum(mul(matrix[:, k], s[..., k, None]) for k in range(WIDTH)) % np.uint64(P)

        def seventh(x):
            y = mul(mul(x, x), x)
            return mul(mul(y, y), x)

        s = linear(OUTER, s)
        for r in range(8):
            if r == 4:
                for c in self.inner:
                    s = np.concatenate([seventh(add(s[..., :1], c)), s[..., 1:]], -1)
                    s = linear(INNER, s)
            s = linear(OUTER, seventh(add(s, self.outer[r])))
        return s

    def absorb(self, rows, kept=None):
        """State after rows of cells went in, eight at a time, over the first half; the second begins as `kept`."""
        s = np.zeros((len(rows), WIDTH), np.uint64)
        if kept is not None:
            s[:, 8:] = kept
        for at in range(0, rows.shape[1], 8):
            part = rows[:, at : at + 8]
            s[:, : part.shape[1]] = part
            s = self.permute(s)
        return s

    def compress(self, digests):
        """Parents of neighbours."""
        return self.permute(digests.reshape(-1, WIDTH))[:, :8]
