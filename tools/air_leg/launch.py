"""One launch of a case on the driver, and whether it left what the definition says."""

import numpy as np

from .oracle import montgomery

# What memory holds that a kernel must not write.
UNTOUCHED = 0xA5A5A5A5
TAIL = 64


def words(array):
    """Words of an array: numbers of 64 bits are field elements."""
    array = np.ascontiguousarray(array)
    return (montgomery(array) if array.dtype == np.uint64 else array.astype(np.uint32)).reshape(-1)


def differs(driver, case, spirv, arguments):
    """Empty if every word is as it ought to be, or where the first is not."""
    buffers, named = {}, {}
    for _, name, attribute, index in arguments:
        if attribute != "buffer":
            continue
        wanted = case.results.get(name)
        if name == "msl_slice":
            held = np.zeros(8, np.uint32)
        elif name in case.arguments:
            held = words(case.arguments[name])
        else:
            held = np.full(words(wanted).size, UNTOUCHED, np.uint32)
        buffers[int(index)] = np.concatenate([held, np.full(TAIL, UNTOUCHED, np.uint32)])
        named[name] = int(index)
    pipeline = driver.pipeline(spirv[case.threads], sorted(buffers))
    left = driver.run(pipeline, buffers, case.groups)
    for name, at in named.items():
        wanted = buffers[at].copy()
        if name in case.results:
            result = words(case.results[name])
            wanted[: result.size] = result
        wrong = np.flatnonzero(left[at] != wanted)
        if wrong.size:
            i = int(wrong[0])
            return f"{wrong.size} of {wanted.size - TAIL} words of {name} differ, at {i}: {left[at][i]:08x} for {wanted[i]:08x}"
    return ""
