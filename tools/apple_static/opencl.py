"""Apple's text of a unit as C++ for OpenCL, which clang compiles to SPIR-V.

Kernel signatures, directives and tables change; function bodies only in spellings that OpenCL does not have.
"""

import re

# A position attribute becomes the built-in function of OpenCL.
POSITIONS = {
    "thread_position_in_grid": "get_global_id",
    "thread_position_in_threadgroup": "get_local_id",
    "thread_index_in_threadgroup": "get_local_id",
    "threadgroup_position_in_grid": "get_group_id",
    "threads_per_threadgroup": "get_local_size",
}
SIMD_WIDTH = 32
# Ordinary names in Metal, keywords in OpenCL.
OPENCL_WORDS = ("local", "global", "private", "generic", "pipe")


def kernels(text):
    """Names of the kernels of a unit."""
    return re.findall(r"\bkernel\s+void\s+(\w+)\s*\(", text)


def opencl(text, header, parameters=None):
    """The unit as C++ for OpenCL, `header` (a path) in place of Apple's headers. `parameters` turns the parameters of a
    kernel into those of the result and its first statements, by default with OpenCL's functions for positions."""
    parameters = parameters or _parameters
    text = _without_comments(text)
    text = re.sub(r"^\s*#\s*include\s*<metal_\w+>.*$", "", text, flags=re.M)
    text = re.sub(r"^\s*#\s*pragma\s+METAL\b.*$", "", text, flags=re.M)
    # Tables live in the program; other `constant` is a buffer.
    text = re.sub(r"\bconstant(\s+(?:constexpr|const)\b)", r"__constant\1", text)
    text = re.sub(rf"\b({'|'.join(OPENCL_WORDS)})\b", r"msl_\1", text)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uU][lL][lL]\b", r"\1ul", text)
    # `uint4(a, b, c, d)` is a cast of one operand in OpenCL.
    text = re.sub(r"\b((?:u?(?:char|short|int|long)|float)[234])\(", r"make_\1(", text)
    text = _operands(text)
    out, at = [f'#include "{header}"\n'], 0
    for m in re.finditer(r"(?:\[\[max_total_threads_per_threadgroup\(\w+\)\]\]\s*)?\bkernel\s+void\s+(\w+)\s*\(", text):
        close = _matching(text, m.end() - 1)
        brace = text.index("{", close)
        kept, first = parameters(text[m.end() : close])
        out.append(text[at : m.start()])
        out.append(f"__kernel void {m.group(1)}({', '.join(kept)}) {{ {' '.join(first)}")
        at = brace + 1
    return "".join(out) + text[at:]


def constant_arguments(source, kernel):
    """Bit i is set where argument i of a kernel of `opencl` is a `constant` buffer."""
    start = re.search(rf"__kernel void {kernel}\(", source).end()
    arguments = _split(source[start : _matching(source, start - 1)])
    return sum(1 << i for i, a in enumerate(arguments) if a.strip().startswith("constant "))


def _without_comments(text):
    text = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def _operands(text):
    """`c ? x : y` as `c ? operand(x) : operand(y)`."""
    at = 0
    while True:
        at = text.find("?", at)
        if at < 0:
            return text
        colon = _stop(text, at + 1, ":")
        end = _stop(text, colon + 1, ",;")
        yes, no = text[at + 1 : colon].strip(), text[colon + 1 : end].strip()
        text = f"{text[: at + 1]} operand({yes}) : operand({no}){text[end:]}"
        at += 1


def _stop(text, at, ends):
    """The first of `ends` outside of brackets, or the bracket that closes before; the `:` of an inner `?` is none."""
    depth = inner = 0
    for i in range(at, len(text)):
        c = text[i]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return i
            depth -= 1
        elif depth == 0:
            if c == "?":
                inner += 1
            elif c == ":" and "::" in (text[i : i + 2], text[i - 1 : i + 1]):
                continue
            elif c == ":" and inner:
                inner -= 1
            elif c in ends:
                return i
    raise ValueError("a conditional expression does not end")


def _matching(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("a parenthesis is not closed")


def attributes(text):
    """Type, name, attribute and index of each parameter of a kernel."""
    for p in _split(re.sub(r"//[^\n]*", "", text)):
        m = re.fullmatch(r"(.*?)(\w+)\s*\[\[(\w+)(?:\((\d+)\))?\]\]", p.strip(), flags=re.S)
        if not m:
            raise ValueError(f"a kernel parameter without attribute: {p.strip()}")
        yield m.group(1).strip(), m.group(2), m.group(3), m.group(4)


def _parameters(text):
    """Parameters of the OpenCL kernel and the statements that define the others."""
    kept, first = [], []
    for kind, name, attribute, _ in attributes(text):
        if attribute == "threads_per_simdgroup":
            first.append(f"{kind} {name} = {SIMD_WIDTH};")
        elif attribute in POSITIONS:
            call = POSITIONS[attribute]
            width = re.search(r"[23]", kind)
            if width:
                first.append(f"{kind} {name};")
                first += [f"{name}.{c} = {call}({i});" for i, c in enumerate("xyz"[: int(width.group())])]
            else:
                first.append(f"{kind} {name} = {call}(0);")
        elif attribute in ("buffer", "threadgroup"):
            if kind.endswith("&"):
                kept.append(f"{kind[:-1].strip()}* {name}__at")
                first.append(f"{kind} {name} = *{name}__at;")
            else:
                kept.append(f"{kind} {name}")
        else:
            raise ValueError(f"the attribute {attribute} is not known here")
    return kept, first


def _split(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "(<[") - (c in ")>]")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return parts + [text[start:]]
