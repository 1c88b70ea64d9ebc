"""Inputs of the kernels and what their definitions make of them.

Field elements are numbers of 64 bits below the prime here; arrays of 32 bits go as they are.
"""

from dataclasses import dataclass
from struct import pack

import numpy as np

from . import oracle as o
from .oracle import P

CASES = {}


@dataclass
class Case:
    """A launch: arguments by name; results by name, as many words as are written; the rest of those buffers must stay."""

    groups: tuple
    threads: int
    arguments: dict
    results: dict


def case(*kernels):
    def add(function):
        for kernel in kernels:
            CASES[kernel] = function
        return function

    return add


def params(form, *values):
    """A struct of parameters: extension elements are lists."""
    flat = []
    for v in values:
        flat += [int(w) for w in o.montgomery(v)] if isinstance(v, (list, np.ndarray)) else [int(v)]
    data = pack("<" + form, *flat)
    return np.frombuffer(data + bytes(-len(data) % 16), np.uint32)


def threads_of(count, threads, results, /, **arguments):
    """A launch of at least `count` threads."""
    return Case((-(-count // threads), 1, 1), threads, arguments, results)


class Random:
    def __init__(self, seed):
        self.r = np.random.default_rng(seed)

    def fp(self, *shape):
        x = self.r.integers(0, P, shape, np.uint64)
        # The ends of the range meet the corrections of sums and products.
        ends = self.r.integers(0, 8, shape)
        return np.where(ends == 0, np.uint64(P - 1), np.where(ends == 1, np.uint64(0), x))

    def ext(self, *shape):
        return self.fp(*shape, 4)

    def below(self, n, *shape):
        return self.r.integers(0, n, shape).astype(np.uint32)


# Hashes.
def items(threads, log_stride, log_fold):
    g = np.arange(threads)[:, None]
    u = np.arange(1 << log_fold)[None]
    return ((((g >> log_stride) << log_fold) + u) << log_stride) + (g & ((1 << log_stride) - 1))


def leaves(p2, digests, log_fold):
    for _ in range(log_fold):
        digests = p2.compress(digests)
    return digests


@case("merkle_leaves_base", "merkle_leaves_ext", "merkle_leaves_resumed", "merkle_fold")
def rows(r, text, kernel):
    p2 = o.Poseidon2(text)
    for log_stride, log_fold, blocks, width in [
        (0, 0, 1, 1),
        (2, 1, 5, 7),
        (1, 2, 3, 8),
        (0, 3, 3, 13),
        (3, 0, 9, 17),
        (0, 4, 2, 3),
    ]:
        count = blocks << log_stride
        height = count << log_fold
        order = items(count, log_stride, log_fold).ravel()
        p = params("QIIII", height, count, width, log_stride, log_fold)
        if kernel == "merkle_fold":
            below = r.fp(height, 8)
            yield threads_of(count, 64, {"out": leaves(p2, below[order], log_fold)}, **{"in": below, "p": p})
            continue
        cells = r.fp(width, height) if kernel != "merkle_leaves_ext" else r.ext(width, height)
        table = cells.T if kernel != "merkle_leaves_ext" else cells.transpose(1, 0, 2).reshape(height, -1)
        kept = r.fp(height, 8) if kernel == "merkle_leaves_resumed" else None
        digests = p2.absorb(table, kept)[:, :8]
        more = {} if kept is None else {"states": kept}
        yield threads_of(count, 64, {"digests": leaves(p2, digests[order], log_fold)}, matrix=cells, p=p, **more)


@case("merkle_absorb")
def absorb(r, text, kernel):
    p2 = o.Poseidon2(text)
    for height, count, width, resumes in [(1, 1, 8, 0), (70, 67, 16, 1), (33, 33, 24, 0)]:
        cells, kept = r.fp(width, height), r.fp(count, 8)
        after = p2.absorb(cells.T[:count], kept if resumes else None)[:, 8:]
        yield threads_of(
            count, 64, {"states": after}, matrix=cells, states=kept, p=params("QIII", height, count, width, resumes)
        )


@case("merkle_subtree", "merkle_subtree_spread")
def subtree(r, text, kernel):
    p2 = o.Poseidon2(text)
    for log_nodes, log_block, levels, first, threads in [
        (1, 1, 1, 0, 32),
        (5, 4, 4, 3, 64),
        (7, 6, 3, 0, 256),
        (4, 2, 2, 5, 32),
    ]:
        # The other kernel's blocks have as many levels as it makes.
        log_block = levels if kernel.endswith("spread") else log_block
        tree = [r.fp(first, 8), r.fp(1 << log_nodes, 8)]
        for _ in range(levels):
            tree.append(p2.compress(tree[-1]))
        begun = np.concatenate([tree[0], tree[1], r.fp(sum(map(len, tree[2:])), 8)])
        p = params("QIIII", first, log_nodes, levels, log_block, 0)
        yield Case(
            (1 << (log_nodes - log_block), 1, 1), threads, {"tree": begun, "p": p}, {"tree": np.concatenate(tree)}
        )


@case("merkle_open_base", "merkle_open_ext")
def opened(r, text, kernel):
    for log_rows, log_stride, width, height, count in [(0, 0, 1, 1, 1), (2, 3, 5, 29, 9), (1, 4, 3, 32, 30)]:
        cells = r.fp(width, height) if kernel.endswith("base") else r.ext(width, height)
        queries = r.below(1 << log_stride, count)
        total = (count << log_rows) * width
        item, column = np.arange(total) // width, np.arange(total) % width
        row = ((item & ((1 << log_rows) - 1)) << log_stride) + queries[item >> log_rows]
        inside = (row < height).reshape((-1,) + (1,) * (cells.ndim - 2))
        found = np.where(inside, cells[column, np.minimum(row, height - 1)], np.uint64(0))
        p = params("QQIIII", height, total, width, log_rows, log_stride, 0)
        yield threads_of(total, 64, {"rows": found}, matrix=cells, queries=queries, p=p)


@case("merkle_siblings")
def siblings(r, text, kernel):
    for log_stride, count in [(1, 1), (5, 7), (6, 40)]:
        stride = 1 << log_stride
        tree, queries = r.fp(2 * stride, 8), r.below(1 << 20, count)
        found = []
        for q in queries:
            layer = 0
            for level in range(log_stride):
                found.append(tree[layer + (((int(q) % stride) >> level) ^ 1)])
                layer += stride >> level
        p = params("QQIIII", 0, 0, 0, 0, log_stride, count * log_stride)
        yield threads_of(len(found), 64, {"siblings": np.array(found)}, tree=tree, queries=queries, p=p)


@case("grind_slice")
def grind(r, text, kernel):
    p2 = o.Poseidon2(text)
    for position, bits, start in [(0, 4, 0), (5, 3, 1000), (7, 6, 77)]:
        state, threads = r.fp(1, 16), 512
        tried = np.repeat(state, threads, 0)
        tried[:, position] = np.arange(threads) + start
        hit = np.flatnonzero((p2.permute(tried)[:, 7] & np.uint64((1 << bits) - 1)) == 0)
        best = np.array([hit[0] if len(hit) else 0xFFFFFFFF], np.uint32)
        begun = np.array([0xFFFFFFFF], np.uint32)
        p = np.concatenate([o.montgomery(state[0]), np.array([position, (1 << bits) - 1, start, threads], np.uint32)])
        yield threads_of(threads, 64, {"best": best}, best=begun, p=p)


@case("transcript_step")
def transcript(r, text, kernel):
    p2 = o.Poseidon2(text)
    for observed, sampled, absorbed, left in [(1, 1, 0, 0), (8, 3, 3, 8), (21, 19, 7, 2), (0, 5, 0, 3), (40, 0, 5, 0)]:
        cells, words, p = r.fp(16), r.fp(observed + sampled), params("II", observed, sampled)
        begun = np.concatenate([o.montgomery(cells), np.array([absorbed, left, 0, 0], np.uint32)])
        after, out = cells.copy(), words.copy()
        for x in words[:observed]:
            after[absorbed] = x
            absorbed += 1
            if absorbed == 8:
                after, absorbed, left = p2.permute(after[None])[0], 0, 8
        for i in range(sampled):
            if absorbed or not left:
                after, absorbed, left = p2.permute(after[None])[0], 0, 8
            left -= 1
            out[observed + i] = after[left]
        state = np.concatenate([o.montgomery(after), np.array([absorbed, left, 0, 0], np.uint32)])
        yield Case((1, 1, 1), 32, {"state": begun, "words": words, "p": p}, {"state": state, "words": out})


# Transforms.
def root_table(inverse):
    table = []
    for half in range(2):
        start = len(table)
        table.append(1)
        for bit in range(13):
            w = o.root(min(half * 13 + bit + 2, 27))
            w = pow(w, P - 2, P) if inverse else w
            table += [table[start + j] * w % P for j in range(1 << bit)]
    return np.array(table, np.uint64)


def radices(stages):
    rounds, out = -(-stages // 4), 0
    for i in range(rounds):
        radix = -(-stages // (rounds - i))
        out |= radix << (4 * i)
        stages -= radix
    return out


@case("ntt_columns", "ntt_columns_in_place", "ntt_chunks", "ntt_small")
def transforms(r, text, kernel):
    shapes = {
        "ntt_small": [
            (1, 1, 0, 1, 0, 3, 0),
            (5, 4, 0, 5, 0, 9, 0),
            (8, 8, 0, 8, 0, 2, 0),
            (3, 1, 0, 3, 2, 5, 1),
            (7, 7, 0, 7, 2, 1, 1),
        ],
        "ntt_chunks": [
            (9, 9, 4, 5, 0, 3, 0),
            (10, 10, 4, 6, 0, 1, 1),
            (12, 12, 5, 7, 0, 2, 0),
            (12, 12, 4, 8, 0, 1, 1),
            (9, 9, 3, 6, 2, 2, 1),
        ],
        "ntt_columns": [
            (9, 9, 0, 5, 0, 3, 0),
            (12, 12, 0, 8, 0, 1, 0),
            (12, 11, 0, 8, 0, 2, 0),
            (11, 11, 0, 7, 0, 1, 0),
            (11, 8, 0, 6, 0, 2, 0),
        ]
        + [(13, 13, 4, 5, 0, 1, 0), (9, 8, 0, 4, 2, 2, 0)],
    }
    for log_n, log_message, first, stages, log_cells, columns, inverse in shapes[kernel.removesuffix("_in_place")]:
        words, cells = 1 << (log_n + log_cells), 1 << log_cells
        last = first + stages == log_n
        data = r.fp(columns, words)
        whole = data.reshape(columns, 1 << log_n, cells).transpose(0, 2, 1).copy()
        whole[..., 1 << log_message :] = 0
        runs = whole.reshape(columns, cells, 1 << first, -1)
        out = o.transform_pass(runs, log_n, first, stages, bool(inverse)).reshape(columns, cells, -1)
        scale = 0
        if last:
            out = out[..., [o.reverse(i, log_n) for i in range(1 << log_n)]]
        if last and inverse:
            scale = pow(1 << log_n, P - 2, P)
            out = o.mul(out, scale)
        out = out.transpose(0, 2, 1)
        skipped, tile = log_n - log_message, 4 - log_cells
        sets = min(1 << (8 - stages), -(-columns // (1 << tile)))
        form = [words, words, log_n, log_message, first, stages, skipped, radices(stages - skipped), log_cells, columns]
        p = params("QQIIIIIIIIII", *form, int(o.montgomery(scale)), sets)
        if kernel == "ntt_small":
            groups, threads = -(-columns // (sets << tile)), 256
        elif last:
            groups, threads = columns << (first - tile), 1 << stages
        else:
            groups, threads = columns << (first + log_n - first - stages + log_cells - 4), 1 << stages
        arguments = {"roots": root_table(bool(inverse)), "p": p}
        own = {"data": data} if kernel in ("ntt_small", "ntt_columns_in_place") else {"src": data}
        yield Case(
            (groups, 1, 1), min(max(threads, 32), 256), arguments | own, {"data" if "data" in own else "dst": out}
        )


@case("matrix_transpose_base")
def transpose(r, text, kernel):
    for height, width, log_tile in [(1, 1, 5), (300, 7, 3), (65, 130, 5), (128, 64, 6)]:
        cells, tiles = r.fp(height, width), -(-width // (1 << log_tile))
        down = -(-height // (1 << (11 - log_tile)))
        p = params("QQII", height, width, log_tile, tiles)
        yield Case((down * tiles, 1, 1), 256, {"in": cells, "p": p}, {"out": cells.T})


# GKR.
def planes(x):
    """Extension elements as four arrays of words."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 0)).reshape(-1)


def fractions(r, count, real, kernel):
    """Fractions, and the arguments that hold them as leaves or planes; from `real` on they are 0 over a constant."""
    q, padding = r.ext(count), r.ext()
    p = r.fp(count) if kernel.endswith("leaves") else r.ext(count)
    p[real:] = 0
    q[real:] = padding
    held = {"p": p, "q": q} if kernel.endswith("leaves") else {"p": planes(p), "q": planes(q)}
    return (o.base(p) if p.ndim == 1 else p), q, padding, held


def add_fractions(p, q):
    return o.add(o.emul(p[::2], q[1::2]), o.emul(p[1::2], q[::2])), o.emul(q[::2], q[1::2])


@case("gkr_build_leaves", "gkr_build_planes")
def build(r, text, kernel):
    for quads, real in [(1, 1), (67, 67), (128, 100)]:
        p, q, padding, held = fractions(r, 4 * quads, 4 * real, kernel)
        above = add_fractions(p, q)
        top = add_fractions(*above)
        results = {
            "parents": np.concatenate([planes(x) for x in above]),
            "grandparents": np.concatenate([planes(x) for x in top]),
        }
        yield threads_of(quads, 64, results, params=params("QQ4I", quads, real, padding), **held)


@case("gkr_eq_heaps")
def heaps(r, text, kernel):
    for low_vars, high_vars, skipped, first, stride in [
        (3, 2, 2, 1, 1),
        (5, 4, 4, 0, 2),
        (0, 0, 0, 0, 1),
        (9, 6, 6, 2, 3),
    ]:
        variables = low_vars + skipped
        low, high = 2 << low_vars, 2 << high_vars
        points = r.ext(first + stride * (variables + 1) + 1)
        out = []
        for i in range(low + high):
            e, last = max(i if i < low else i - low, 1), variables if i >= low else variables - skipped
            value = np.array(o.ONE, np.uint64)
            for s, bit in enumerate(f"{e:b}"[1:]):
                x = points[first + stride * max(last - s, 0)]
                value = o.emul(value, x if bit == "1" else o.sub(o.ONE, x))
            out.append(value)
        p = params("8I", first, stride, low_vars, high_vars, skipped, low, low + high, variables)
        yield threads_of(low + high, 64, {"out": np.array(out)}, coordinates=points, params=p)


def round_sums(a0, a1, b0, b1, at_one):
    """Value at 0 or 1 and first coefficient of the product of two lines."""
    return np.stack([o.emul(a1, b1) if at_one else o.emul(a0, b0), o.emul(o.sub(a1, a0), o.sub(b1, b0))])


@case(
    "gkr_first_round_leaves",
    "gkr_first_round_planes",
    "gkr_first_fold_leaves",
    "gkr_first_fold_planes",
    "gkr_fold_round",
)
def rounds(r, text, kernel):
    shapes = [
        (1, 1, 1, 32, 0, 0),
        (96, 32, 96, 64, 0, 1),
        (128, 32, 96, 32, 1, 0),
        (512, 128, 512, 256, 1, 0),
        (320, 160, 160, 128, 0, 1),
    ]
    for pairs, chunk, real, threads, split, at_one in shapes:
        low_vars, folds = chunk.bit_length() - 1, "fold" in kernel
        challenges, eq = r.ext(4), r.ext(pairs + 8)
        lam, x = challenges[1], challenges[2]
        if at_one:
            challenges[3] = 0
        if kernel == "gkr_fold_round":
            four = r.ext(4, 4 * pairs)
            padding = r.ext()
            folded = o.fold(four[:, ::2], four[:, 1::2], x)
            constants = np.stack([o.emul(lam, padding), padding, 0 * padding, padding])
            folded[:, 2 * real :] = constants[:, None]
            held = {"in": np.concatenate([planes(f) for f in four])}
        else:
            n, d, padding, held = fractions(r, (8 if folds else 4) * pairs, (8 if folds else 4) * real, kernel)
            folded = np.stack([o.add(n[::2], o.emul(d[::2], lam)), d[1::2], n[1::2], d[::2]])
            if folds:
                folded = o.fold(folded[:, ::2], folded[:, 1::2], x)
        a, b, c, e = ((f[::2], f[1::2]) for f in folded)
        terms = o.add(round_sums(*a, *b, at_one), round_sums(*c, *e, at_one))
        i = np.arange(pairs)
        weights = eq[3 + (i & (chunk - 1))] if split else eq[3 + i]
        sums = o.esum(o.emul(terms, weights).reshape(2, pairs // chunk, chunk, 4), 2).transpose(1, 0, 2)
        if split:
            sums = o.emul(sums, eq[5 + np.arange(pairs // chunk)][:, None])
        p = params("Q10IQQ4I", pairs, chunk, 3, low_vars, 5, split, 1, 2, 3, 1, 0, real, 0, padding)
        results = {"partials": sums} | ({"out": np.concatenate([planes(f) for f in folded])} if folds else {})
        yield Case((pairs // chunk, 1, 1), threads, {"eq": eq, "challenges": challenges, "params": p} | held, results)
