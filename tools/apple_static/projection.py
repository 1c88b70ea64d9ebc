"""Floors of a keccakf proof on Apple GPUs: units of work times cycles a unit, or bytes, whichever takes longer."""

from . import report

# name, cores, GHz, GB/s (the clock of M4 Max is an estimate)
MACHINES = [("M1", 8, 1.278, 68), ("M2 Max", 38, 1.398, 400), ("M4 Max", 40, 1.58, 546)]
SCHEDULERS = 4  # of a core; each takes one instruction of a SIMD-group of 32 lanes a cycle
LANES = 32

# keccakf of p3-keccak-air: 24 rows a permutation, columns, instructions of its zerocheck program.
COLUMNS = 2633
STEPS = 34_119
LOG_SKIP = 4
LOG_STACKED = 21
DEGREE = 3
PRODUCT = 20  # multiplier cycles of a product in the field
WIDE = 8

# Cycles of one instruction of a rule program at one point, on the path variable * register + register -> register:
# blocks of the loop of `constraint_eval_base_single` and `constraint_eval_ext_single` added up by hand, over the points
# that a thread takes at a time, and of adding a constraint to the accumulator (3,182 of the instructions do).
STEP_BASE = (32, 54)
STEP_EXT = (205, 275)
ACCUMULATE = 3182 / STEPS
ACCUMULATE_BASE = (80, 27)
ACCUMULATE_EXT = (178, 117)


def phases(found, log_permutations):
    """(what, units, multiplier cycles, other cycles, bytes) of each large part of a proof."""
    kernels = {k["kernel"]: k for k in found}
    rows = 1 << (24 * (1 << log_permutations) - 1).bit_length()
    stacked = -(-rows * COLUMNS // (1 << LOG_STACKED))
    cells, code = rows * COLUMNS, 2 << LOG_STACKED
    chunk = 1 << LOG_SKIP

    def whole(name):
        return report.total(kernels[name], "multiplier"), report.total(kernels[name], "other")

    def loop(name, index, share):
        body = kernels[name]["loops"][index]["body"]
        return body["multiplier"] / share, body["other"] / share

    def step(one, accumulate):
        return tuple(a + ACCUMULATE * b for a, b in zip(one, accumulate))

    permutation = whole("merkle_fold")
    points = (DEGREE - 1) * rows
    mle_points = DEGREE * rows // chunk
    return [
        ("evaluations to messages", stacked * (1 << LOG_STACKED) // chunk, *whole("commit_message_4"), 8 * chunk),
        ("transforms, 3 passes", stacked * code, 11 * PRODUCT, 0, 24),
        ("row hash", code * (-(-stacked // 8) + 1), *permutation, 0),
        ("extension to cosets", cells // chunk, 3 * chunk * (LOG_SKIP + 1) / 2 * PRODUCT, 0, 3 * 4 * chunk),
        ("round 0, interpreter", points * STEPS, *step(STEP_BASE, ACCUMULATE_BASE), 0),
        ("fold by the first challenge", cells // chunk, 8 * chunk * WIDE, 0, 4 * chunk + 32),
        ("MLE rounds, interpreter", mle_points * STEPS, *step(STEP_EXT, ACCUMULATE_EXT), 0),
        ("stacked reduction, batch", cells, *loop("stacked_batch_rows", 2, 4), 4),
        ("stacked reduction, values", cells, *loop("stacked_column_values", 4, 8), 4),
        ("WHIR, batch", stacked << LOG_STACKED, *loop("whir_batch_columns", 1, 2), 4),
    ]


def seconds(phase, cores, ghz, bandwidth):
    """The longest of: multiplier pipe, other pipe, memory."""
    _, units, multiplier, other, size = phase
    rate = cores * SCHEDULERS * LANES * ghz * 1e9
    return max(units * max(multiplier, other) / rate, units * size / (bandwidth * 1e9))


def markdown(found):
    names = [m[0] for m in MACHINES]
    sizes = (10, 13)
    head = ["floor, ms"] + [f"2^{s}, {n}" for s in sizes for n in names]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    columns = [(phases(found, s), m) for s in sizes for m in MACHINES]
    totals = [0.0] * len(columns)
    for i in range(len(columns[0][0])):
        cells = []
        for c, (list_, machine) in enumerate(columns):
            ms = 1e3 * seconds(list_[i], *machine[1:])
            totals[c] += ms
            cells.append(f"{ms:,.1f}")
        lines.append(f"| {columns[0][0][i][0]} | " + " | ".join(cells) + " |")
    lines.append("| sum | " + " | ".join(f"{t:,.0f}" for t in totals) + " |")
    return "\n".join(lines)
