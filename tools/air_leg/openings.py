"""Cases of the openings and of tables over the hypercube."""

import numpy as np

from . import oracle as o
from .cases import Case, case, params, planes, threads_of


@case("openings_contract", "openings_fold")
def contract(r, text, kernel):
    for length, terms, at in [(1, 2, 0), (70, 4, 3), (33, 8, 1)]:
        weights = r.ext(at + terms)
        if kernel == "openings_fold":
            cells = r.ext(length, terms)
            p = params("IIII", length, terms.bit_length() - 1, at, 1)
            yield threads_of(
                length, 64, {"out": o.esum(o.emul(cells, weights[at:]), 1)}, **{"in": cells, "weights": weights, "p": p}
            )
            continue
        cells = r.ext(2, terms, length)
        out = o.esum(o.emul(cells, weights[at:, None]), 1)
        p = params("QQQIIII", 0, terms * length, 0, 2, terms, length, at)
        yield threads_of(length, 64, {"out": out}, **{"in": cells, "weights": weights, "p": p})


def pair_sums(c, w):
    """Values at 1 and 2 of the sum of c(X) (w as a line) over pairs, with the coefficients of c that the kernel takes."""
    s = o.add(c[::2], c[1::2])
    line = o.sub(o.add(o.add(w[1::2], w[1::2]), w[1::2]), w[::2])
    return np.stack([o.emul(s, w[1::2]), o.emul(o.add(s, c[1::2]), line)])


@case("whir_round_sums", "whir_fold_sums", "whir_fold_tables")
def whir_rounds(r, text, kernel):
    for groups, block, threads in [(1, 1, 32), (3, 48, 64), (2, 256, 256)]:
        folds, count = "fold" in kernel, groups * block
        size = count * (4 if folds else 2)
        c, w, x = r.ext(size), r.ext(size), r.ext()
        p, results = params("4II", x, block) if folds else params("I", block), {}
        if folds:
            # c has coefficients, w has values at 0 and 1 after a change of basis.
            c_next = o.add(c[::2], o.emul(c[1::2], x))
            twice = o.add(w[1::2], w[1::2])
            w_next = o.add(o.sub(w[::2], w[1::2]), o.emul(o.sub(twice, w[::2]), x))
            results = {"c_out": c_next, "w_out": w_next}
        if kernel == "whir_fold_tables":
            yield threads_of(size // 2, 64, results, c=c, w=w, p=params("4II", x, size // 2))
            continue
        terms = pair_sums(c_next, w_next) if folds else pair_sums(c, w)
        results["partial"] = o.esum(terms.reshape(2, groups, block, 4), 2).transpose(1, 0, 2)
        yield Case((groups, 1, 1), threads, {"c": c, "w": w, "p": p}, results)


@case("whir_power_tables")
def power_tables(r, text, kernel):
    for queries, low, high in [(1, 2, 1), (5, 7, 3)]:
        z, gammas = r.fp(queries), r.ext(queries)
        of = [[pow(int(x), i, o.P) for i in range(1 << low)] for x in z]
        steps = np.array([[pow(int(x), i << low, o.P) for x in z] for i in range(1 << high)], np.uint64)
        results = {"low": np.array(of, np.uint64), "high": o.mul(steps[..., None], gammas)}
        yield Case(
            (queries, 1, 1),
            64,
            {"points": z, "gammas": gammas, "p": params("6I", queries, low, high, 0, 0, 0)},
            results,
        )


@case("whir_update_weights")
def update_weights(r, text, kernel):
    for queries, low, high, terms, accumulate in [(1, 5, 1, 1, 0), (6, 7, 2, 2, 1), (3, 6, 0, 0, 1)]:
        of, step = r.fp(queries, 1 << low), r.ext(1 << high, queries)
        term_low, term_high, w = r.ext(terms, 1 << low), r.ext(terms, 1 << high), r.ext(1 << high, 1 << low)
        out = w * np.uint64(accumulate)
        for q in range(queries):
            out = o.add(out, o.mul(of[q][None, :, None], step[:, q][:, None]))
        for t in range(terms):
            out = o.add(out, o.emul(term_low[t][None], term_high[t][:, None]))
        p = params("6I", queries, low, high, terms, accumulate, 32)
        more = {"term_low": term_low if terms else r.ext(1), "term_high": term_high if terms else r.ext(1)}
        yield Case((1 << (high + low - 5), 1, 1), 64, {"low": of, "high": step, "w": w, "p": p} | more, {"w": out})


@case("stacked_row_weights")
def row_weights(r, text, kernel):
    for log_base, bits in [(0, 1), (3, 4)]:
        base, point, length = r.ext(1 << log_base), r.ext(bits + 2), 1 << (log_base + bits)
        i = np.arange(length)
        out = o.emul(base[i % (1 << log_base)], o.eq(point[2:], i >> log_base))
        yield threads_of(
            length, 64, {"out": planes(out)}, base=base, point=point, p=params("IIII", length, log_base, bits, 2)
        )


@case("constraint_place_weights")
def place_weights(r, text, kernel):
    for count in [1, 70]:
        xi, first, bits = r.ext(12), r.below(4, count), r.below(8, count)
        place = r.below(1 << 8, count)
        out = [o.eq(xi[f : f + b], int(k)) for f, b, k in zip(first, bits, place)]
        yield threads_of(
            count,
            64,
            {"weights": np.array(out)},
            places=np.stack([place, first, bits], 1),
            xi=xi,
            count=params("I", count),
        )


@case("constraint_logup_weights", "constraint_join_sums")
def group_sums(r, text, kernel):
    firsts = np.array([0, 1, 1, 90, 400], np.uint32)
    for threads in [32, 64, 256]:
        if kernel == "constraint_join_sums":
            sums = r.ext(400)
            out = [o.esum(sums[a:b]) if b > a else np.zeros(4, np.uint64) for a, b in zip(firsts, firsts[1:])]
            yield Case((4, 1, 1), threads, {"firsts": firsts, "sums": sums}, {"joined": np.array(out)})
            continue
        weights, powers, factor = r.ext(9), r.ext(7), r.fp(400)
        interaction, power = r.below(9, 400), r.below(7, 400)
        each = o.mul(o.emul(weights[interaction], powers[power]), factor[:, None])
        out = [o.esum(each[a:b]) if b > a else np.zeros(4, np.uint64) for a, b in zip(firsts, firsts[1:])]
        terms = np.stack([interaction, power, o.montgomery(factor)], 1)
        yield Case(
            (4, 1, 1),
            threads,
            {"firsts": firsts, "terms": terms, "weights": weights, "powers": powers},
            {"out": np.array(out)},
        )


@case("constraint_eq_tables", "constraint_fold_mle")
def table_jobs(r, text, kernel):
    for size, block in [(4, 64), (7, 32)]:
        ends = params("QIIII", 0, 2**32 - 1, 0, 0, 0)[:6]
        jobs = np.concatenate([params("QIIII", 0, 0, *more)[:6] for more in [(size, 1, 0)]] + [ends])
        groups = -(-(1 << size) // block)
        if kernel == "constraint_eq_tables":
            xi = r.ext(2 * (size + 1))
            out = o.eq(xi[2::2][:size], np.arange(1 << size))
            arguments = {"jobs": jobs, "starts": np.zeros(8, np.uint32), "xi": xi, "p": params("II", 2, block)}
            yield Case((groups, 1, 1), 64, arguments, {"tables": out})
            continue
        columns, half = 2, 1 << (size - 1)
        arena, challenges = r.ext(columns, 2 * half), r.ext(2)
        after = arena.copy()
        after[:, :half] = o.fold(arena[:, :half], arena[:, half:], challenges[1])
        jobs = np.concatenate([params("QIIII", 0, 0, columns * half, size - 1, 2 * half)[:6], ends])
        arguments = {
            "jobs": jobs,
            "starts": np.zeros(8, np.uint32),
            "challenges": challenges,
            "params": params("II", 1, block),
        }
        flat = [np.concatenate([planes(c) for c in t]) for t in (arena, after)]
        yield Case((groups, 1, 1), 64, arguments | {"arena": flat[0]}, {"arena": flat[1]})


@case("bench_fp_mul")
def products(r, text, kernel):
    for threads, rounds in [(1, 0), (100, 5)]:
        out = np.array([36 * pow(i, rounds + 1, o.P) % o.P for i in range(threads)], np.uint64)
        yield threads_of(threads, 64, {"out": out}, p=params("II", threads, rounds))


@case("bench_copy", "constraint_fill_leaves")
def copies(r, text, kernel):
    for count in [1, 77]:
        if kernel == "bench_copy":
            cells = r.fp(4 * count)
            yield threads_of(count, 64, {"out": cells}, **{"in": cells, "p": params("II", count, 0)})
        else:
            alpha = r.ext()
            results = {"numerators": np.zeros(count, np.uint64), "denominators": np.tile(alpha, count)}
            yield threads_of(count, 64, results, alpha=alpha, count=params("I", count))
