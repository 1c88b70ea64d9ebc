"""The numbers of `kernels.compile_all` as tables."""

COLUMNS = ["kernel", "instr", "bytes", "half-regs", "threads", "scratch", "spilled", "multiplier", "other", "load B", "store B"]


def weights(kernel):
    """How often each loop is entered and how often its body runs in one pass: loops of unknown length count once, and one
    under a condition within another loop is entered once for all of that loop."""
    entered, runs = [], []
    for loop in kernel["loops"]:
        parent = loop["parent"]
        around = 1 if parent < 0 else entered[parent] if loop["conditional"] else runs[parent]
        entered.append(around)
        runs.append(around * max(loop["trips"], 1))
    return zip(entered, runs)


def total(kernel, what):
    """Cycles of one pass through the kernel, or bytes."""
    loops = zip(weights(kernel), kernel["loops"])
    return kernel["outside"][what] + sum(e * l["edges"][what] + r * l["body"][what] for (e, r), l in loops)


def row(kernel):
    static = kernel["outside"]["instructions"] + sum(l["edges"]["instructions"] + l["body"]["instructions"] for l in kernel["loops"])
    return [
        kernel["kernel"],
        static,
        kernel["bytes"],
        kernel["half_registers"],
        kernel["threads"],
        kernel["array_bytes"],
        kernel["spill_bytes"],
        round(total(kernel, "multiplier")),
        round(total(kernel, "other")),
        total(kernel, "load_bytes"),
        total(kernel, "store_bytes"),
    ]


def table(found):
    rows = [COLUMNS] + [[str(v) for v in row(k)] for k in found]
    return _aligned(rows) + f"\n{len(found)} kernels"


def tab_separated(found):
    """The same rows as counts.tsv holds them."""
    return "".join("\t".join(map(str, line)) + "\n" for line in [COLUMNS] + [row(k) for k in found])


def comparison(old, new):
    """Old and new numbers of the kernels that differ."""
    before = {k["kernel"]: k for k in old}
    rows = [["kernel", "instr", "bytes", "half-regs", "threads", "spilled", "multiplier", "other"]]
    pick = (1, 2, 3, 4, 6, 7, 8)
    for k in new:
        now = row(k)
        if k["kernel"] not in before:
            rows.append([now[0]] + [f"new {now[i]}" for i in pick])
            continue
        then = row(before.pop(k["kernel"]))
        if [then[i] for i in pick] != [now[i] for i in pick]:
            rows.append([now[0]] + [_change(then[i], now[i]) for i in pick])
    rows += [[name, "gone"] + [""] * 6 for name in before]
    return _aligned(rows) if len(rows) > 1 else "no difference"


def _change(then, now):
    if then == now:
        return str(now)
    return f"{then} -> {now}" + (f" ({100 * (now - then) / then:+.0f}%)" if then else "")


def _aligned(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    out = []
    for r in rows:
        cells = [r[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(r[1:], widths[1:])]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)
